//! Conversion of the kernel's timestamps to the monotonic clock, for both directions and all
//! backends. A timestamp is converted when it is read, with the clocks' values at that time.

use super::{HardwareTimestamp, SoftwareTimestamp, Timestamps};
use crate::time::{Bounded, MonotonicTime, ResolvedUtc, Span, UtcModel, UtcTime};

/// A software timestamp as the kernel made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelTime {
    /// The real-time clock, in UTC (Linux).
    Utc(UtcTime),
    /// The monotonic clock (Windows).
    Monotonic(MonotonicTime),
}

/// The unconverted timestamps of an entry of the error queue, or of a received packet. Empty if the
/// system made none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawTimestamps {
    /// The kernel's timestamp.
    pub software: Option<KernelTime>,
    /// The NIC's timestamp.
    pub hardware: Option<HardwareTimestamp>,
}

/// The values of the clocks after timestamps were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// UTC was not stepped while the timestamps waited ([`Placement::is_unchanged`]).
    Unchanged,
    /// UTC may have been stepped. Both clocks were [observed](Placement::offset_mut), and the
    /// timestamps were read before this time.
    Read(MonotonicTime),
}

/// A converter to the monotonic clock for the timestamps of one direction of a socket.
#[derive(Debug, Clone)]
#[repr(C)] // `UtcModel` begins with what every timestamp needs
pub struct Placement {
    tick: Span,
    /// The rounding error of a clock that counts in ticks.
    rounding: Span,
    offset: UtcModel,
}

impl Placement {
    /// Creates a converter. `tick` is the resolution of the system's clocks.
    pub fn new(offset: UtcModel, tick: Span) -> Self {
        Self {
            offset,
            tick,
            rounding: tick - Span::from_nanoseconds(1),
        }
    }

    /// Returns the resolution of the system's clocks.
    #[inline]
    pub fn tick(&self) -> Span {
        self.tick
    }

    /// Returns whether the clocks are [`Clocks::Unchanged`], given their exact difference now.
    #[inline]
    pub fn is_unchanged(&self, difference: i64) -> bool {
        self.offset.is_unchanged(difference)
    }

    /// Returns the offset of both clocks, for updates.
    pub fn offset_mut(&mut self) -> &mut UtcModel {
        &mut self.offset
    }

    /// Notes that all timestamps that are still to be converted came to their queue after `at`.
    #[inline]
    pub fn emptied(&mut self, at: MonotonicTime) {
        self.offset.emptied(at);
    }

    /// Converts timestamps that were just read. Drops a timestamp of zero, and one in UTC that was
    /// made around a step of UTC.
    #[inline]
    pub fn place(&mut self, raw: RawTimestamps, clocks: Clocks) -> Timestamps {
        let placed = self.peek(raw, clocks);
        if let Some(SoftwareTimestamp {
            at, utc: Some(_), ..
        }) = placed.software
        {
            self.offset.emptied(at.value); // timestamps arrive roughly in the order in which they were made
        }
        placed
    }

    /// Converts the timestamps of a packet that stays in its queue, so that later packets need not
    /// follow it.
    #[inline]
    pub fn peek(&self, raw: RawTimestamps, clocks: Clocks) -> Timestamps {
        let software = raw.software.and_then(|time| match time {
            KernelTime::Utc(utc) => self.place_utc(utc, clocks),
            KernelTime::Monotonic(at) => Some(SoftwareTimestamp {
                at: Bounded::new(at, self.tick),
                utc: None,
                clock_stepped: false,
            }),
        });
        Timestamps {
            software,
            hardware: raw.hardware.filter(|timestamp| timestamp.ticks.raw() != 0),
        }
    }

    #[inline]
    fn place_utc(&self, utc: UtcTime, clocks: Clocks) -> Option<SoftwareTimestamp> {
        let (at, bound, clock_stepped) = match clocks {
            Clocks::Unchanged => (self.offset.place(utc), self.offset.bound(), false),
            Clocks::Read(read_at) => match self.offset.resolve(utc, read_at) {
                ResolvedUtc::At { at, bound, stepped } => (at, bound, stepped),
                ResolvedUtc::Stepped => return None,
            },
        };
        Some(SoftwareTimestamp {
            at: Bounded::new(at, bound + self.rounding),
            utc: Some(utc),
            clock_stepped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{HardwareTicks, UtcCrossTimestamp};

    const AHEAD: i64 = 1_000_000_000_000;
    const TICK: Span = Span::from_nanoseconds(1);

    fn at(nanoseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(nanoseconds)
    }

    fn utc(monotonic: i64) -> RawTimestamps {
        let software = Some(KernelTime::Utc(UtcTime::from_nanoseconds(
            monotonic + AHEAD,
        )));
        RawTimestamps {
            software,
            hardware: None,
        }
    }

    /// Both clocks were read at 5,000.
    fn placement(tick: Span) -> Placement {
        let utc = UtcTime::from_nanoseconds(5_000 + AHEAD);
        let mut offset = UtcModel::new(UtcCrossTimestamp {
            before: at(5_000),
            utc,
            after: at(5_000),
        });
        assert_eq!(offset.observe_exactly(AHEAD, at(5_000), at(5_000)), None);
        Placement::new(offset, tick)
    }

    #[test]
    fn utc_is_placed_with_the_bound_of_the_offset_and_of_the_tick() {
        for (tick, bound) in [(1, 1), (100, 100)] {
            let mut placement = placement(Span::from_nanoseconds(tick));
            assert!(placement.is_unchanged(AHEAD) && !placement.is_unchanged(AHEAD + 2));
            for clocks in [Clocks::Unchanged, Clocks::Read(at(9_000))] {
                let timestamp = placement
                    .place(utc(7_000), clocks)
                    .software
                    .expect("no step");
                assert_eq!(
                    (
                        timestamp.at.value,
                        timestamp.at.bound,
                        timestamp.clock_stepped
                    ),
                    (at(7_000), Span::from_nanoseconds(bound), false)
                );
            }
        }
    }

    #[test]
    fn a_timestamp_from_before_a_step_is_placed_by_the_offset_of_before_and_one_in_doubt_is_none() {
        let second = 1_000_000_000;
        let mut placement = placement(TICK);
        let stepped_at = 20 * second;
        placement.emptied(at(stepped_at));
        placement.offset_mut().observe_exactly(
            AHEAD - 10 * second,
            at(stepped_at + 1),
            at(stepped_at + 2),
        );
        let before = placement
            .place(utc(stepped_at), Clocks::Read(at(stepped_at + 9)))
            .software
            .expect("placed");
        assert_eq!(
            (before.at.value, before.clock_stepped),
            (at(stepped_at), true)
        );
        let after = placement.place(
            utc(stepped_at - 10 * second + 5),
            Clocks::Read(at(stepped_at + 9)),
        );
        assert!(
            after
                .software
                .is_some_and(|timestamp| timestamp.at.value == at(stepped_at + 5)
                    && !timestamp.clock_stepped),
            "{after:?}"
        );
        let neither = placement.place(
            utc(stepped_at + 5 * second),
            Clocks::Read(at(stepped_at + 9)),
        );
        assert!(neither.is_none(), "{neither:?}");
    }

    #[test]
    fn monotonic_time_stays_and_a_zero_of_the_nic_is_none() {
        let mut placement = placement(Span::from_nanoseconds(100));
        let hardware = |ticks| HardwareTimestamp {
            ticks: HardwareTicks::new(ticks),
            interface: None,
            read_at: at(9),
        };
        let raw = |ticks| RawTimestamps {
            software: Some(KernelTime::Monotonic(at(8))),
            hardware: Some(hardware(ticks)),
        };
        let placed = placement.place(raw(7), Clocks::Unchanged);
        let software = placed.software.expect("as it is");
        assert_eq!(
            (software.at.value, software.at.bound, software.utc),
            (at(8), Span::from_nanoseconds(100), None)
        );
        assert_eq!(placed.hardware, Some(hardware(7)));
        assert_eq!(placement.place(raw(0), Clocks::Unchanged).hardware, None);
    }
}
