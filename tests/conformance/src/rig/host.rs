//! What behaviours do to the simulated host from outside, and what they ask it about the
//! truth: in this process, or behind the system's interface in the model of Windows.

use super::steering::Steering;
use wirestamp::interface::HardwareConfiguration;
use wirestamp::sim::{Datagram, NicName, World};
use wirestamp::{HardwareTicks, InterfaceIndex, MonotonicTime, Span, TransmitId};

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
    pub(crate) sent_at: MonotonicTime,
    pub(crate) transmit_software_at: MonotonicTime,
    pub(crate) transmit_hardware_at: Option<MonotonicTime>,
    pub(crate) receive_hardware_at: Option<MonotonicTime>,
    pub(crate) receive_software_at: Option<MonotonicTime>,
    pub(crate) delivered_at: Option<MonotonicTime>,
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

const fn name(nic: NicName) -> &'static str {
    match nic {
        NicName::Sim0 => "sim0",
        NicName::Sim1 => "sim1",
    }
}

/// What happens from outside.
impl Host<'_> {
    pub(crate) fn reset_nic(self, nic: NicName, to: u64) {
        match self {
            Self::Here(world) => world.reset_nic(nic, to),
            Self::Behind(steering) => steering.act(&format!("reset {} {to}", name(nic))),
        }
    }

    pub(crate) fn step_hardware_clock(self, nic: NicName, ticks: i64) {
        match self {
            Self::Here(world) => world.step_hardware_clock(nic, ticks),
            Self::Behind(steering) => steering.act(&format!("step-hardware {} {ticks}", name(nic))),
        }
    }

    pub(crate) fn reconfigure_by_another(self, nic: NicName, wanted: HardwareConfiguration) {
        let HardwareConfiguration { transmit, receive } = wanted;
        match self {
            Self::Here(world) => world.reconfigure_by_another(nic, wanted),
            Self::Behind(steering) => {
                steering.act(&format!(
                    "reconfigure {} {transmit} {}",
                    name(nic),
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

    pub(crate) fn remove_nic(self, nic: NicName) {
        match self {
            Self::Here(world) => world.remove_nic(nic),
            Self::Behind(steering) => steering.act(&format!("remove {}", name(nic))),
        }
    }

    pub(crate) fn add_nic(self, nic: NicName) {
        match self {
            Self::Here(world) => world.add_nic(nic),
            Self::Behind(steering) => steering.act(&format!("add {}", name(nic))),
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

    /// For behaviours that need virtual time.
    pub(crate) fn change_clock(self, nic: NicName, clock: u32, ahead: Span) {
        self.simulator().change_clock(nic, clock, ahead);
    }

    /// As [`change_clock`](Self::change_clock).
    pub(crate) fn change_clock_silently(self, nic: NicName, clock: u32, ahead: Span) {
        self.simulator().change_clock_silently(nic, clock, ahead);
    }

    fn simulator(&self) -> &World {
        let Self::Here(world) = self else {
            panic!("the behaviour does not say that it needs virtual time")
        };
        world
    }

    /// The real-time clock of the model is Wine's own. For behaviours that need
    /// [`Need::SteppableClock`](super::Need::SteppableClock).
    pub(crate) fn step_real_time_clock(self, by: Span) {
        let Self::Here(world) = self else {
            panic!("the behaviour does not say that it steps the real-time clock")
        };
        world.step_real_time_clock(by);
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

    pub(crate) fn now(self) -> MonotonicTime {
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
        at: MonotonicTime,
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
    pub(crate) fn monotonic_time_of(
        self,
        interface: InterfaceIndex,
        ticks: HardwareTicks,
    ) -> Option<MonotonicTime> {
        if let Self::Here(world) = self {
            world.truth().monotonic_time_of(interface, ticks)
        } else {
            None
        }
    }

    /// Whether a time that the system told is the true one.
    pub(crate) fn is_true(self, told: MonotonicTime, truly: Option<MonotonicTime>) -> bool {
        truly.is_some_and(|truly| (told - truly).abs() <= self.tick())
    }
}
