//! Measures a path for ever, with one packet per interval.

use super::shown::shown;
use crate::moment::Moment;
use crate::nic::timestamps_everything;
use crate::options::{Path, Timestamper};
use crate::sample::{Departure, Kind, Sample, Segment, Subject};
use crate::state::{PathState, State, by_source};
use crate::task::{Task, Turn, is_no_end};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use wirestamp::latency::{LatencyOptions, LatencyRun, PacketLatency};
use wirestamp::socket::AddressFamily;
use wirestamp::socket::AnySocket;
use wirestamp::{Bounded, Interface, MonotonicTime, Result, Span, TimestampSource};

/// The time after which a packet is lost.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A packet each interval, until the engine ends.
pub(super) struct EachTask {
    configuration: Path,
    run: LatencyRun,
    packets: Receiver<PacketLatency>,
    due: MonotonicTime,
    /// The number of packets that the system did not send, and its last error.
    not_sent: u64,
    /// Timestamps that were used.
    stamps: u64,
    error: Option<String>,
}

impl EachTask {
    pub(super) fn open(configuration: &Path, interface: &Interface) -> Result<Self> {
        let mut run = LatencyRun::prepare(interface, options(configuration.source, interface))?;
        let (sender, packets) = channel();
        run.send_packets_to(sender);
        Ok(Self {
            configuration: configuration.clone(),
            due: run.sockets()[0].now(),
            run,
            packets,
            not_sent: 0,
            stamps: 0,
            error: None,
        })
    }

    fn send(&mut self) -> Result<()> {
        match self.run.send_next() {
            Ok(()) => self.error = None,
            Err(error) => {
                self.not_sent += 1;
                self.error = Some(error.to_string());
                is_no_end(error)?;
            }
        }
        Ok(())
    }

    /// Yields the packets whose times are final.
    fn pass(&mut self, turn: &mut Turn<'_>) {
        let subject = Subject {
            kind: Kind::Path,
            name: &self.configuration.interface,
        };
        for packet in self.packets.try_iter() {
            let (values, known) = segments(&packet);
            let stamped = values[..known].iter();
            let stamped = stamped.filter(|(segment, _)| *segment != Segment::Wire);
            self.stamps += stamped.count() as u64;
            turn.sink.passed(subject, &packet);
            turn.sink.sample(&Sample {
                subject,
                // the numbers on the wire begin with 0, and end nowhere
                sequence: (packet.number - 1) as u32,
                at: turn.now,
                utc: turn.utc,
                left: packet.left.map_or(Departure::Unknown, Departure::At),
                has_arrived: packet.has_arrived(),
                values: &values[..known],
            });
        }
    }
}

/// One packet at a time.
fn options(wanted: Timestamper, interface: &Interface) -> LatencyOptions {
    let first = interface.description().addresses.first();
    let by_nic = match wanted {
        Timestamper::Software => false,
        Timestamper::Hardware => true,
        Timestamper::Auto => timestamps_everything(interface),
    };
    LatencyOptions {
        count: u64::MAX,
        source: match by_nic {
            true => TimestampSource::Hardware,
            false => TimestampSource::Software,
        },
        family: match first.is_some_and(|own| own.address.is_ipv6()) {
            true => AddressFamily::Ipv6,
            false => AddressFamily::Ipv4,
        },
        timeout: TIMEOUT,
        // five times what an interval of 10 ms needs: as many numbers of lost packets are kept, for ever
        max_in_flight: 1_024,
        ..LatencyOptions::default()
    }
}

/// What a packet says, and how many of these are known: nothing of a packet that is lost.
fn segments(packet: &PacketLatency) -> ([(Segment, Bounded<Span>); 3], usize) {
    let mut values = [(Segment::Wire, Bounded::exact(Span::ZERO)); 3];
    let mut known = 0;
    let mut add = |segment, path: Option<Bounded<Span>>| {
        if let Some(path) = path {
            values[known] = (segment, path);
            known += 1;
        }
    };
    if packet.has_arrived() {
        add(Segment::SendPath, packet.send_path);
        add(Segment::ReceivePath, packet.receive_path);
        add(Segment::Wire, packet.wire);
    }
    (values, known)
}

impl Task for EachTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        self.run.take()?;
        self.pass(turn);
        if turn.now >= self.due {
            self.send()?;
            self.due = (self.due + Span::from(self.configuration.interval)).max(turn.now);
        }
        Ok(match self.run.in_flight() {
            0 => self.due,
            _ => self.due.min(turn.now + Span::from(TIMEOUT)),
        })
    }

    fn sockets<'a>(&'a self, into: &mut Vec<AnySocket<'a>>) {
        into.extend(self.run.sockets().map(AnySocket::from));
    }

    fn show(&self, _moment: &Moment, into: &mut State) {
        let name = &self.configuration.interface;
        into.paths.push(PathState {
            error: self.error.clone(),
            stamps: by_source(self.run.source(), self.stamps),
            ..shown(name, &self.run, self.not_sent)
        });
    }
}
