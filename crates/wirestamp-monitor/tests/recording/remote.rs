//! Other hosts of the simulation: each answers probes by a clock of its own, which is off by an amount that the test knows.

use std::net::SocketAddr;
use std::slice;
use wirestamp::{
    Incoming, MonotonicTime, Outgoing, Simulation, Span, TransmitOutcome, TransmitRecord, UdpSocket,
};
use wirestamp_monitor::Monitor;
use wirestamp_probe::HostTimestamp;
use wirestamp_probe::endpoint::Clock;
use wirestamp_probe::reflector::{Arrival, Decision, Reflector, ReflectorConfiguration};

/// A packet of the monitor's has arrived by then.
const ARRIVED: Span = Span::from_nanoseconds(60_000);
/// The hosts look at their queues at least so often.
const LOOK: Span = Span::from_milliseconds(50);

/// A host that reflects.
pub(crate) struct Remote {
    socket: UdpSocket,
    reflector: Reflector,
    clock: Clock,
    /// How far its real-time clock is ahead of that of the simulated host.
    pub(crate) ahead: Span,
}

impl Remote {
    pub(crate) fn on(simulation: &Simulation, port: u16, ahead_ns: i64) -> Self {
        let interface = simulation.interface("sim1").expect("it has one");
        let own = interface.description().addresses[0].address;
        let socket = interface.bind((own, port).into()).expect("a free port");
        let clock = Clock::software();
        clock.configure(&socket, 1_024).expect("configured");
        Self {
            socket,
            reflector: Reflector::new(ReflectorConfiguration::default()),
            clock,
            ahead: Span::from_nanoseconds(ahead_ns.into()),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.socket.local_address().expect("it has one")
    }

    fn collect(&mut self) {
        let mut records = [TransmitRecord::EMPTY; 8];
        while let Ok(count @ 1..) = self.socket.transmit_timestamps(&mut records) {
            for record in &records[..count] {
                if let TransmitOutcome::Timestamped(timestamps) = &record.outcome
                    && let Some(sent) = self.clock.read(timestamps, &self.socket)
                {
                    let HostTimestamp { at, method, .. } = sent;
                    self.reflector.sent(record.id, at, method);
                }
            }
        }
    }

    pub(crate) fn serve(&mut self) {
        self.collect();
        let mut buffer = [0; 2_048];
        loop {
            let mut incoming = Incoming::new(&mut buffer);
            let came = self
                .socket
                .try_receive_batch(slice::from_mut(&mut incoming));
            if !matches!(came, Ok(1)) {
                return;
            }
            let received = incoming.received;
            let by_clock = self.clock.read(&received.timestamps, &self.socket);
            let arrival = Arrival {
                payload: incoming.payload(),
                source: received.source.expect("it has one"),
                destination: None,
                port: self.address().port(),
                now: self.socket.now(),
                received: by_clock.map(|one| HostTimestamp {
                    utc: one.utc + self.ahead,
                    ..one
                }),
                hop_limit: received.hop_limit,
                traffic_class: received.traffic_class,
            };
            let mut reply = Vec::new();
            let Decision::Reply(prepared) = self.reflector.prepare(&arrival, &mut reply) else {
                continue;
            };
            let written = self.socket.now();
            prepared.complete(written, None, &mut reply);
            self.reflector
                .batch_sent([prepared.id].into_iter(), written);
            let answer = Outgoing::new(&reply).to(prepared.to).id(prepared.id);
            // a cable that is out loses it
            let _ = self.socket.send_batch(&[answer]);
            self.collect();
        }
    }
}

/// Runs the monitor, and the others between its turns.
pub(crate) fn run_until(
    monitor: &mut Monitor,
    until: MonotonicTime,
    mut others: impl FnMut() -> MonotonicTime,
) {
    while monitor.now() < until {
        let next = monitor.serve();
        let now = monitor.now();
        monitor.wait(now + ARRIVED).expect("it waits");
        let due = others();
        let next = next.min(until).min(now + LOOK).min(due);
        monitor.wait(next).expect("it waits");
    }
}

pub(crate) fn run(monitor: &mut Monitor, seconds: i64, remotes: &mut [Remote]) {
    let until = monitor.now() + Span::from_seconds(seconds);
    run_until(monitor, until, || {
        remotes.iter_mut().for_each(Remote::serve);
        MonotonicTime::MAX
    });
}

/// A session with each of them: `b`, `c` and so on.
pub(crate) fn sessions(remotes: &[(&str, &Remote)]) -> String {
    let session = |(name, remote): &(&str, &Remote)| {
        format!(
            "[[stamp]]\nname = \"to {name}\"\npeer_name = \"{name}\"\npeer = \"{}\"\ninterface = \"sim0\"\n",
            remote.address()
        )
    };
    remotes.iter().map(session).collect()
}
