//! Where a timestamp of the kernel lies on the monotonic clock, for both directions and every
//! backend. A timestamp is placed when it is read from the system, with what the clocks say then.

use super::{HardwareTimestamp, SoftwareTimestamp, Timestamps};
use crate::time::{Bounded, MonotonicTime, ResolvedUtc, Span, UtcModel, UtcTime};

/// A software timestamp as the kernel made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelTime {
    /// In UTC: Linux.
    Utc(UtcTime),
    /// On the monotonic clock: Windows.
    Monotonic(MonotonicTime),
}

/// The timestamps of one entry of the error queue, or of one received packet, as the system has
/// them. Neither: the system made none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawTimestamps {
    /// Made by the kernel.
    pub software: Option<KernelTime>,
    /// Made by the NIC.
    pub hardware: Option<HardwareTimestamp>,
}

/// The values of the clocks after timestamps were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// [`Placement::is_unchanged`]: UTC was not stepped while the timestamps waited.
    Unchanged,
    /// UTC may have been stepped. Both clocks were [observed](Placement::offset_mut); the timestamps
    /// were read before this.
    Read(MonotonicTime),
}

/// Places the timestamps of one direction of a socket on the monotonic clock.
#[derive(Debug, Clone)]
#[repr(C)] // `UtcModel` begins with what every timestamp needs
pub struct Placement {
    tick: Span,
    /// How far before the truth a clock can be that counts in ticks.
    rounding: Span,
    offset: UtcModel,
}

impl Placement {
    /// `tick`: in what steps the system's clocks count.
    pub fn new(offset: UtcModel, tick: Span) -> Self {
        Self {
            offset,
            tick,
            rounding: tick - Span::from_nanoseconds(1),
        }
    }

    /// Returns in what steps the system's clocks count.
    #[inline]
    pub fn tick(&self) -> Span {
        self.tick
    }

    /// Returns whether the clocks are [`Clocks::Unchanged`], given their difference just now, read
    /// exactly.
    #[inline]
    pub fn is_unchanged(&self, difference: i64) -> bool {
        self.offset.is_unchanged(difference)
    }

    /// Returns the offset of both clocks, to be updated.
    pub fn offset_mut(&mut self) -> &mut UtcModel {
        &mut self.offset
    }

    /// Notes that all timestamps still to be placed came to their queue after `at`.
    #[inline]
    pub fn emptied(&mut self, at: MonotonicTime) {
        self.offset.emptied(at);
    }

    /// Places timestamps that were just read. A timestamp of value zero is none, and neither is one in
    /// UTC that was made around a step of UTC.
    #[inline]
    pub fn place(&mut self, raw: RawTimestamps, clocks: Clocks) -> Timestamps {
        let placed = self.peek(raw, clocks);
        if let Some(SoftwareTimestamp {
            at, utc: Some(_), ..
        }) = placed.software
        {
            self.offset.emptied(at.value); // timestamps come about in the order in which they were made
        }
        placed
    }

    /// The same of a packet that stays where it is, and is not the last one before the others.
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
