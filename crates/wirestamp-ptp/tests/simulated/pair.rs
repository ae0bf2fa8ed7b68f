//! Two PTP clocks at the ends of a simulated cable, whose true offset is known.

use wirestamp::sim::World;
use wirestamp::socket::AnySocket;
use wirestamp::{HardwareGuard, HardwareRequest, Interface, MonotonicTime, Simulation, Span};
use wirestamp_ptp::{Configuration, Engine, Node, Role, Sample};

/// The cable and its ends: `sim0` is meant for the transmitter.
pub(crate) struct Cable {
    pub(crate) simulation: Simulation,
    pub(crate) ends: [Interface; 2],
    _timestamping: Vec<HardwareGuard>,
}

impl Cable {
    /// The "ideal" NICs with changes. Hardware timestamping is on if it is supported.
    pub(crate) fn new(toml: &str) -> Self {
        let simulation =
            Simulation::from_toml(&format!("preset = \"ideal\"\n{toml}"), 7).expect("a scenario");
        let ends = ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
        let timestamping = ends
            .iter()
            .filter_map(|end| end.enable_hardware(HardwareRequest::Ptp).ok())
            .collect();
        Self {
            simulation,
            ends,
            _timestamping: timestamping,
        }
    }

    pub(crate) fn world(&self) -> &World {
        self.simulation.world()
    }

    pub(crate) fn engine(&self, end: usize, configuration: Configuration) -> Engine {
        let identity = [2, 0, 0, 0, 0, 0, 0, 1 + end as u8];
        Engine::new(configuration, identity).expect("a valid configuration")
    }

    pub(crate) fn node<'e>(&self, engine: &'e Engine, end: usize) -> Node<'e> {
        Node::start_seeded(engine, std::slice::from_ref(&self.ends[end]), end as u64)
            .expect("started")
    }

    /// The time of the NIC's clock at `end`, in nanoseconds.
    pub(crate) fn nic_clock(&self, end: usize, at: MonotonicTime) -> i64 {
        let ticks = self
            .world()
            .truth()
            .hardware_ticks_at(self.ends[end].index(), at)
            .expect("has a clock");
        ticks.raw() as i64
    }

    /// The error of a sample's system clock offset beyond its bound, in nanoseconds. The
    /// transmitter's NIC counts PTP time.
    pub(crate) fn system_error(&self, sample: &Sample, now: MonotonicTime) -> i64 {
        let transmitter = self.nic_clock(0, now) - 37_000_000_000;
        let offset = sample.system_offset.expect("the clocks are related");
        let [offset, bound] = [offset.value, offset.bound].map(Span::saturating_nanoseconds);
        (offset - (sample.time.nanoseconds() - transmitter)).abs() - bound
    }

    /// The true offset of the receiving NIC's clock.
    pub(crate) fn true_offset(&self, at: MonotonicTime) -> i64 {
        self.nic_clock(1, at) - self.nic_clock(0, at)
    }
}

/// Short message intervals: 8 messages per second.
pub(crate) fn quick(role: Role) -> Configuration {
    let mut configuration = Configuration::default();
    configuration.role = role;
    configuration.log_announce_interval = -3;
    configuration.log_sync_interval = -3;
    configuration.log_delay_interval = -3;
    configuration
}

/// Lets virtual time pass for all clocks of one simulation; `each` gets every report and its time.
pub(crate) fn run(
    nodes: &mut [&mut Node<'_>],
    time: Span,
    mut each: impl FnMut(usize, Sample, MonotonicTime),
) {
    let until = nodes[0].now() + time;
    loop {
        for (place, node) in nodes.iter_mut().enumerate() {
            node.serve();
            node.samples().into_iter().for_each(|sample| {
                let made = sample.at;
                each(place, sample, made);
            });
        }
        let next = nodes
            .iter()
            .map(|node| node.next_at())
            .fold(until, MonotonicTime::min);
        if nodes[0].now() >= until {
            return;
        }
        let sockets: Vec<_> = nodes.iter().flat_map(|node| node.sockets()).collect();
        AnySocket::wait_any(&sockets, next).expect("waited");
    }
}
