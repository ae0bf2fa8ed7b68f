//! A sender and a receiver on one host: at both ends of the simulated cable, or on the
//! loopback interface.

use std::env::consts::OS;
use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::sim::World;
use wirestamp::{Interface, Simulation, TransmitAnswer, TransmitId, TransmitOutcome, UdpSocket};

pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) struct Pair {
    pub(crate) sender: UdpSocket,
    pub(crate) receiver: UdpSocket,
    pub(crate) to: SocketAddr,
}

pub(crate) fn simulation(preset: &str) -> Simulation {
    Simulation::preset(preset, 7).expect("a preset")
}

/// The "ideal" NIC with a change.
pub(crate) fn ideal_but(toml: &str) -> Simulation {
    Simulation::from_toml(&format!("preset = \"ideal\"\n{toml}"), 7).expect("a scenario")
}

pub(crate) fn bound(interface: &Interface) -> UdpSocket {
    let address = interface.description().addresses[0].address;
    interface.bind((address, 0).into()).expect("a free port")
}

/// The loopback interface, if it timestamps.
pub(crate) fn timestamping_loopback() -> Option<Interface> {
    if OS == "windows" {
        eprintln!(
            "skipped: Windows has no driver below its loopback interface that could timestamp"
        );
        return None;
    }
    Interface::loopback()
        .inspect_err(|error| lacking(&error.to_string()))
        .ok()
}

/// Reports that a test is skipped because this machine lacks something; fails it on CI machines,
/// which set `WIRESTAMP_NO_SKIP` because they lack nothing.
pub(crate) fn lacking(what: &str) {
    assert!(
        std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
        "skipped, but nothing may be missing here: {what}"
    );
    eprintln!("skipped: {what}");
}

impl Pair {
    /// From `sim0` to `sim1`.
    pub(crate) fn over_the_cable(simulation: &Simulation) -> Self {
        let end = |name| bound(&simulation.interface(name).expect("a NIC"));
        Self::of(end("sim0"), end("sim1"))
    }

    /// On this system; `None` if the loopback interface does not timestamp.
    pub(crate) fn on_loopback() -> Option<Self> {
        let loopback = timestamping_loopback()?;
        Some(Self::of(bound(&loopback), bound(&loopback)))
    }

    fn of(sender: UdpSocket, receiver: UdpSocket) -> Self {
        let to = receiver.local_address().expect("bound");
        Self {
            sender,
            receiver,
            to,
        }
    }

    pub(crate) fn send(&self, id: u32) {
        self.sender
            .send_to(b"timestamped", self.to, Some(TransmitId(id)))
            .expect("sent");
    }

    pub(crate) fn wait_for(&self, id: u32) -> TransmitOutcome {
        self.wait_up_to(id, LONG)
    }

    pub(crate) fn wait_for_ever(&self, id: u32) -> TransmitOutcome {
        self.wait_up_to(id, Duration::MAX)
    }

    fn wait_up_to(&self, id: u32, timeout: Duration) -> TransmitOutcome {
        match self
            .sender
            .wait_transmit_timestamp(TransmitId(id), timeout)
            .expect("an answer")
        {
            TransmitAnswer::Resolved(outcome) => outcome,
            other => panic!("id {id}: {other:?}"),
        }
    }
}

pub(crate) fn is_timestamped(outcome: TransmitOutcome) -> bool {
    matches!(outcome, TransmitOutcome::Timestamped(_))
}

/// Advances a world's time by a [`Duration`].
pub(crate) fn pass(world: &World, time: Duration) {
    world.advance(time.into());
}

/// The CPU time of this thread in nanoseconds; `None` if the system does not report it.
pub(crate) fn processor_time() -> Option<u64> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split_whitespace().next()?.parse().ok()
}
