//! Decides which clock made a raw timestamp: Windows returns only a number, so the clock follows from
//! the NIC's active configuration. The caller reads the configuration.
//!
//! Source: the specification's page "Packet timestamping", example 1; NDIS: a driver never enables
//! both kinds, and leaves the timestamp zero if it made none.

use wirestamp_core::capability::{AddressFamily, Capabilities, Direction, TimestampSource};
use wirestamp_core::time::{HardwareTicks, MonotonicTime};
use wirestamp_core::timestamp::{ClockWitness, clock_by_value};

/// How the clock of an interface's timestamps is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocking {
    /// By the active configuration.
    Active(Clocks),
    /// The driver does not say what is active: by each value, with a cross timestamp where the driver takes them.
    ByValue(Option<ClockWitness>),
}

impl Clocking {
    /// Which clock made a timestamp that is read at `now`. `place` says when the performance counter shows a count.
    pub fn made(
        &self,
        direction: Direction,
        family: AddressFamily,
        raw: u64,
        now: MonotonicTime,
        place: impl Fn(u64) -> MonotonicTime,
    ) -> Option<TimestampSource> {
        match self {
            Self::Active(clocks) => clocks.made(direction, family),
            Self::ByValue(witness) => {
                let ticks = HardwareTicks::new(raw);
                clock_by_value(place(raw), ticks, witness.as_ref(), now)
            }
        }
    }

    /// Whether another cross timestamp is needed to decide at `now`.
    pub fn is_stale(&self, now: MonotonicTime) -> bool {
        matches!(self, Self::ByValue(Some(witness)) if witness.is_stale(now))
    }
}

/// Which clock an adapter's timestamps are of, by direction and family. Two bits each: cheap to
/// copy and compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clocks {
    hardware: u8,
    software: u8,
}

const fn bit(direction: Direction, family: AddressFamily) -> u8 {
    let place = match (direction, family) {
        (Direction::Receive, AddressFamily::Ipv4) => 0,
        (Direction::Receive, AddressFamily::Ipv6) => 1,
        (Direction::Transmit, AddressFamily::Ipv4) => 2,
        (Direction::Transmit, AddressFamily::Ipv6) => 3,
    };
    1 << place
}

impl Clocks {
    /// Nothing is timestamped, or it is not known what is.
    pub const UNKNOWN: Self = Self {
        hardware: 0,
        software: 0,
    };

    /// From what is active now.
    pub fn of(active: &Capabilities) -> Self {
        let mut clocks = Self::UNKNOWN;
        for direction in [Direction::Receive, Direction::Transmit] {
            for family in [AddressFamily::Ipv4, AddressFamily::Ipv6] {
                if active.hardware.timestamps_ptp_events(direction, family) {
                    clocks.hardware |= bit(direction, family);
                } else if active.software.timestamps(direction) {
                    clocks.software |= bit(direction, family);
                }
            }
        }
        clocks
    }

    /// Which clock made a timestamp. `None`: it can't be said, so the number means nothing.
    pub const fn made(
        self,
        direction: Direction,
        family: AddressFamily,
    ) -> Option<TimestampSource> {
        if self.hardware & bit(direction, family) != 0 {
            Some(TimestampSource::Hardware)
        } else if self.software & bit(direction, family) != 0 {
            Some(TimestampSource::Software)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressFamily::{Ipv4, Ipv6};
    use Direction::{Receive, Transmit};
    use wirestamp_core::capability::{HardwareCapabilities, SoftwareCapabilities};

    #[test]
    fn each_direction_and_family_has_its_own_clock() {
        let active = Capabilities {
            hardware: HardwareCapabilities {
                ptp_v2_over_udp_ipv4_event_message_receive: true,
                tagged_transmit: true,
                ..HardwareCapabilities::default()
            },
            software: SoftwareCapabilities {
                all_receive: true,
                ..SoftwareCapabilities::default()
            },
            ..Capabilities::default()
        };
        let clocks = Clocks::of(&active);
        assert_eq!(clocks.made(Receive, Ipv4), Some(TimestampSource::Hardware));
        assert_eq!(clocks.made(Receive, Ipv6), Some(TimestampSource::Software));
        assert_eq!(clocks.made(Transmit, Ipv4), Some(TimestampSource::Hardware));
        assert_eq!(clocks.made(Transmit, Ipv6), Some(TimestampSource::Hardware));
    }

    #[test]
    fn where_the_driver_does_not_say_the_value_decides() {
        let now = MonotonicTime::from_nanoseconds(5_000_000_000_000);
        let place = |count: u64| MonotonicTime::from_nanoseconds(count as i64 * 100);
        let made = |clocking: Clocking, raw| clocking.made(Receive, Ipv4, raw, now, place);
        let software = Some(TimestampSource::Software);
        assert_eq!(made(Clocking::ByValue(None), 49_999_999_000), software);
        assert_eq!(made(Clocking::ByValue(None), 5_000_000_000_000), None);
        let off = Clocking::Active(Clocks::UNKNOWN);
        assert_eq!(
            made(off, 49_999_999_000),
            None,
            "the driver says that it is off"
        );
        assert!(!off.is_stale(now) && !Clocking::ByValue(None).is_stale(now));
    }

    #[test]
    fn what_is_off_makes_no_timestamp() {
        let clocks = Clocks::of(&Capabilities::default());
        assert_eq!(clocks, Clocks::UNKNOWN);
        assert_eq!(clocks.made(Receive, Ipv4), None);
    }
}
