//! Owns what behaviours do to the simulated host from outside, and what they ask it about the
//! truth: in this process, or behind the system's interface in the model of Windows.

use super::steering::Steering;
use wirestamp::sim::{AdapterName, Datagram, World};
use wirestamp::{
    HardwareConfiguration, HardwareTicks, InterfaceIndex, Span, SystemTime, TransmitId,
};

/// The simulated host.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Host<'a> {
    /// In this process, in virtual time.
    Here(&'a World),
    /// Behind the system's interface, in real time.
    Behind(&'a Steering),
}

/// The true times of one datagram, in the order of its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Course {
    pub(crate) sent_at: SystemTime,
    pub(crate) transmit_software_at: SystemTime,
    pub(crate) transmit_hardware_at: Option<SystemTime>,
    pub(crate) receive_hardware_at: Option<SystemTime>,
    pub(crate) receive_software_at: Option<SystemTime>,
    pub(crate) delivered_at: Option<SystemTime>,
}

impl From<Datagram> for Course {
    fn from(datagram: Datagram) -> Self {
        Self {
            sent_at: datagram.sent_at,
            transmit_software_at: datagram.transmit_software_at,
            transmit_hardware_at: datagram.transmit_hardware_at,
            receive_hardware_at: datagram.receive_hardware_at,
            receive_software_at: datagram.receive_software_at,
            delivered_at: datagram.delivered_at,
        }
    }
}

const fn name(adapter: AdapterName) -> &'static str {
    match adapter {
        AdapterName::Sim0 => "sim0",
        AdapterName::Sim1 => "sim1",
    }
}

/// What happens from outside.
impl Host<'_> {
    pub(crate) fn reset_adapter(self, adapter: AdapterName, to: u64) {
        match self {
            Self::Here(world) => world.reset_adapter(adapter, to),
            Self::Behind(steering) => steering.act(&format!("reset {} {to}", name(adapter))),
        }
    }

    pub(crate) fn step_hardware_clock(self, adapter: AdapterName, ticks: i64) {
        match self {
            Self::Here(world) => world.step_hardware_clock(adapter, ticks),
            Self::Behind(steering) => {
                steering.act(&format!("step-hardware {} {ticks}", name(adapter)))
            }
        }
    }

    pub(crate) fn reconfigure_by_another(
        self,
        adapter: AdapterName,
        wanted: HardwareConfiguration,
    ) {
        let HardwareConfiguration { transmit, receive } = wanted;
        match self {
            Self::Here(world) => world.reconfigure_by_another(adapter, wanted),
            Self::Behind(steering) => {
                steering.act(&format!(
                    "reconfigure {} {transmit} {}",
                    name(adapter),
                    receive.name()
                ));
            }
        }
    }

    pub(crate) fn set_link(self, up: bool) {
        match self {
            Self::Here(world) => world.set_link(up),
            Self::Behind(steering) => steering.act(if up { "link up" } else { "link down" }),
        }
    }

    pub(crate) fn remove_adapter(self, adapter: AdapterName) {
        match self {
            Self::Here(world) => world.remove_adapter(adapter),
            Self::Behind(steering) => steering.act(&format!("remove {}", name(adapter))),
        }
    }

    pub(crate) fn add_adapter(self, adapter: AdapterName) {
        match self {
            Self::Here(world) => world.add_adapter(adapter),
            Self::Behind(steering) => steering.act(&format!("add {}", name(adapter))),
        }
    }

    pub(crate) fn storm(self, count: u32) {
        match self {
            Self::Here(world) => world.storm(count),
            Self::Behind(steering) => steering.act(&format!("storm {count}")),
        }
    }

    pub(crate) fn lose_notifications(self, count: u32) {
        match self {
            Self::Here(world) => world.lose_notifications(count),
            Self::Behind(steering) => steering.act(&format!("lose-notifications {count}")),
        }
    }

    /// The civil clock of the model is Wine's own. For behaviours that need
    /// [`Need::SteppableClock`](super::Need::SteppableClock).
    pub(crate) fn step_civil_clock(self, by: Span) {
        let Self::Here(world) = self else {
            panic!("the behaviour does not say that it steps the civil clock")
        };
        world.step_civil_clock(by);
    }
}

/// What really happened.
impl Host<'_> {
    /// How far a true time and one that the system tells of it may lie apart: the system's tick.
    pub(crate) const fn tick(self) -> Span {
        match self {
            Self::Here(_) => Span::ZERO,
            Self::Behind(_) => Span::from_nanoseconds(100),
        }
    }

    pub(crate) fn now(self) -> SystemTime {
        match self {
            Self::Here(world) => world.truth().now(),
            Self::Behind(steering) => steering.time("now").expect("there is a clock"),
        }
    }

    pub(crate) fn datagrams(self) -> u64 {
        match self {
            Self::Here(world) => world.truth().datagrams(),
            Self::Behind(steering) => steering.number("datagrams").expect("a count"),
        }
    }

    pub(crate) fn datagram(self, sequence: u64) -> Option<Course> {
        match self {
            Self::Here(world) => world.truth().datagram(sequence).map(Course::from),
            Self::Behind(steering) => steering.course(&format!("datagram {sequence}")),
        }
    }

    pub(crate) fn datagram_with_id(self, id: TransmitId) -> Option<Course> {
        match self {
            Self::Here(world) => world.truth().datagram_with_id(id).map(Course::from),
            Self::Behind(steering) => steering.course(&format!("datagram-with-id {}", id.0)),
        }
    }

    pub(crate) fn hardware_ticks_at(
        self,
        interface: InterfaceIndex,
        at: SystemTime,
    ) -> Option<HardwareTicks> {
        match self {
            Self::Here(world) => world.truth().hardware_ticks_at(interface, at),
            Self::Behind(steering) => {
                let ticks = steering.number(&format!("ticks-at {interface} {}", at.nanoseconds()));
                ticks.map(HardwareTicks::new)
            }
        }
    }

    pub(crate) fn invalid_readings(self) -> u64 {
        match self {
            Self::Here(world) => world.truth().invalid_readings(),
            Self::Behind(steering) => steering.number("invalid-readings").expect("a count"),
        }
    }

    /// When the hardware clock of `interface` began to show `ticks`. Told in this process alone.
    pub(crate) fn system_time_of(
        self,
        interface: InterfaceIndex,
        ticks: HardwareTicks,
    ) -> Option<SystemTime> {
        if let Self::Here(world) = self {
            world.truth().system_time_of(interface, ticks)
        } else {
            None
        }
    }

    /// Whether a time that the system told is the true one.
    pub(crate) fn is_true(self, told: SystemTime, truly: Option<SystemTime>) -> bool {
        truly.is_some_and(|truly| (told - truly).abs() <= self.tick())
    }
}
