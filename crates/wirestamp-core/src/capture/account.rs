//! The state of a capture: conversion of timestamps, steps of the real-time clock, counters, and
//! whether the interface is gone. Independent of the system that fills the buffer.

use super::{CaptureOptions, CaptureStatistics, OPERATION};
use crate::configuration::Source;
use crate::correlate::{ClockGeneration, Estimate};
use crate::error::{Error, ErrorKind};
use crate::interface::InterfaceDescription;
use crate::interface::InterfaceIndex;
use crate::time::{Bounded, HardwareTicks, MonotonicTime, Span, Utc, UtcModel, UtcTime};
use crate::timestamp::{
    Clocks, HardwareTimestamp, KernelTime, Placement, RawTimestamps, SoftwareTimestamp, Timestamps,
};

/// After an interface is gone, its last packets are awaited for this long, plus twice the hold
/// time, because the kernel's timer checks a block twice.
const LAST: Span = Span::from_milliseconds(100);

/// The timestamp of a captured packet as written in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedTime {
    /// The time that the clock showed; `None` if the packet has none.
    pub at: Option<UtcTime>,
    /// Whether the clock is the NIC's rather than the real-time clock.
    pub is_hardware: bool,
    /// Whether the packet was sent. A sent packet with a NIC's timestamp was forwarded, and the
    /// timestamp is of the NIC that received it.
    pub is_sent: bool,
}

/// The state of one capture.
#[derive(Debug)]
pub struct Account {
    placement: Placement,
    /// The number of noticed steps of the real-time clock.
    steps: u32,
    interface: InterfaceIndex,
    /// Whether the NIC was asked for timestamps.
    hardware: bool,
    /// How long the kernel may hold packets back.
    hold: Span,
    counted: CaptureStatistics,
    handed_over: u64,
    /// Set when the interface is gone or set down: until when its last packets are awaited.
    gone: Option<MonotonicTime>,
}

impl Account {
    /// Creates the state of a new capture; `placement` reflects the clocks now.
    pub fn new(
        placement: Placement,
        interface: &InterfaceDescription,
        options: &CaptureOptions,
    ) -> Self {
        Self {
            placement,
            steps: 0,
            interface: interface.index,
            hardware: options.source != Source::Software,
            hold: Span::from(options.hold),
            counted: CaptureStatistics::default(),
            handed_over: 0,
            gone: None,
        }
    }

    /// Returns whether the real-time clock was certainly not stepped, given its exact difference
    /// from the monotonic clock now.
    #[inline]
    pub fn is_unchanged(&self, difference: i64) -> bool {
        self.placement.is_unchanged(difference)
    }

    /// Updates the relation of the clocks with `observe`, which returns the size of a step if it
    /// finds one.
    pub fn observe(&mut self, observe: impl FnOnce(&mut UtcModel) -> Option<Span>) {
        if observe(self.placement.offset_mut()).is_some() {
            self.steps = self.steps.saturating_add(1);
        }
    }

    /// Converts the timestamp of a packet in a block that was read at `read_at`, with the clocks'
    /// values from then.
    #[inline]
    pub fn timestamps(
        &self,
        time: CapturedTime,
        clocks: Clocks,
        read_at: MonotonicTime,
    ) -> Timestamps {
        let Some(at) = time.at else {
            return Timestamps::NONE;
        };
        let mut raw = RawTimestamps::default();
        if time.is_hardware {
            raw.hardware = Some(HardwareTimestamp {
                ticks: HardwareTicks::new(at.nanoseconds() as u64),
                interface: (!time.is_sent).then_some(self.interface),
                read_at,
            });
        } else {
            raw.software = Some(KernelTime::Utc(at));
        }
        self.placement.peek(raw, clocks)
    }

    /// Returns the software timestamp of a captured packet in UTC, as the kernel's real-time clock showed it.
    ///
    /// The error bound is one tick of that clock and does not include the clock's offset from UTC.
    /// The generation counts the steps of the real-time clock that were noticed from the start of
    /// the capture until this packet was read. `None` if the timestamp has no UTC.
    #[inline]
    pub fn software_utc(&self, timestamp: &SoftwareTimestamp) -> Option<Estimate<Utc>> {
        let before = u32::from(timestamp.clock_stepped);
        Some(Estimate {
            at: Bounded::new(timestamp.utc?, self.placement.tick()),
            generation: ClockGeneration(self.steps.saturating_sub(before)),
        })
    }

    /// Notes that a block with this many packets, the last of them with this timestamp, returns to
    /// the kernel.
    pub fn handed_over(&mut self, packets: u32, last: Option<UtcTime>, clocks: Clocks) {
        self.handed_over += u64::from(packets);
        // following blocks may already be full, so their timestamps can only be assumed to be later
        // than this
        if let Some(utc) = last.filter(|_| !self.hardware) {
            let raw = RawTimestamps {
                software: Some(KernelTime::Utc(utc)),
                hardware: None,
            };
            self.placement.place(raw, clocks);
        }
    }

    /// Adds the kernel's counts since the last call, and returns the totals since the capture
    /// began.
    pub fn count(&mut self, since: CaptureStatistics) -> CaptureStatistics {
        self.counted = self.counted.plus(since);
        self.counted
    }

    /// Notes that the system reported at `now` that the interface is gone or was set down.
    pub fn gone(&mut self, now: MonotonicTime) {
        self.gone = Some(now + self.hold + self.hold + LAST);
    }

    /// Returns until when to wait for packets from before the interface went away; `None` while it
    /// is up.
    pub fn gone_until(&self) -> Option<MonotonicTime> {
        self.gone
    }

    /// Returns whether the capture is over at `now`: the interface is gone, and all counted packets
    /// were handed over. Call [`count`](Self::count) first.
    pub fn is_over(&self, now: MonotonicTime) -> bool {
        let kept = self.counted.received.saturating_sub(self.counted.dropped);
        self.gone
            .is_some_and(|until| self.handed_over >= kept || now >= until)
    }

    /// Returns the error of a capture that [is over](Self::is_over), and resets that state: an
    /// interface that was only set down can come back.
    pub fn end(&mut self, interface: &str, code: i32) -> Error {
        self.gone = None;
        let cause = "the interface is gone or was switched off";
        Error::new(ErrorKind::NoSuchDevice, OPERATION, interface, cause)
            .with_code(code)
            .with_remedy("switch it on and start again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::UtcCrossTimestamp;
    use core::time::Duration;

    const AHEAD: i64 = 1_000_000_000_000;
    const TICK: Span = Span::from_nanoseconds(4);

    fn at(nanoseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(nanoseconds)
    }

    fn utc(nanoseconds: i64) -> CapturedTime {
        CapturedTime {
            at: Some(UtcTime::from_nanoseconds(nanoseconds)),
            is_hardware: false,
            is_sent: false,
        }
    }

    /// Both clocks were read at 5,000.
    fn account(source: Source) -> Account {
        let mut offset = UtcModel::new(UtcCrossTimestamp {
            before: at(5_000),
            utc: UtcTime::from_nanoseconds(5_000 + AHEAD),
            after: at(5_000),
        });
        assert_eq!(offset.observe_exactly(AHEAD, at(5_000), at(5_000)), None);
        let index = InterfaceIndex::new(7).expect("not zero");
        let interface = InterfaceDescription::new("eth0", index);
        let options = CaptureOptions::new()
            .source(source)
            .hold(Duration::from_millis(10));
        Account::new(Placement::new(offset, TICK), &interface, &options)
    }

    #[test]
    fn a_timestamp_from_before_a_step_belongs_to_the_generation_before() {
        let mut account = account(Source::Software);
        account.observe(|_| Some(Span::from_seconds(1)));
        account.observe(|_| None);
        account.observe(|_| Some(Span::from_seconds(1)));
        let mut timestamp = SoftwareTimestamp {
            at: Bounded::new(at(5), Span::from_nanoseconds(300)),
            utc: Some(UtcTime::from_nanoseconds(7)),
            clock_stepped: false,
        };
        let converted = account.software_utc(&timestamp).expect("has UTC");
        assert_eq!(converted.at.value, UtcTime::from_nanoseconds(7));
        assert_eq!(converted.at.bound, TICK);
        assert_eq!(converted.generation, ClockGeneration(2));
        timestamp.clock_stepped = true;
        let converted = account.software_utc(&timestamp);
        assert_eq!(
            converted.map(|estimate| estimate.generation),
            Some(ClockGeneration(1))
        );
        timestamp.utc = None;
        assert_eq!(account.software_utc(&timestamp), None);
    }

    #[test]
    fn a_timestamp_is_of_the_clock_that_made_it() {
        let account = account(Source::Software);
        let placed = account.timestamps(utc(6_000 + AHEAD), Clocks::Unchanged, at(9_000));
        assert_eq!(placed.hardware, None);
        let software = placed.software.expect("placed");
        assert_eq!(software.at.value, at(6_000));
        let of_the_nic = CapturedTime {
            at: Some(UtcTime::from_nanoseconds(-1)),
            is_hardware: true,
            is_sent: false,
        };
        let placed = account.timestamps(of_the_nic, Clocks::Unchanged, at(9_000));
        assert_eq!(placed.software, None);
        let hardware = placed.hardware.expect("as it is");
        assert_eq!(hardware.ticks, HardwareTicks::new(u64::MAX));
        assert_eq!(
            (
                hardware.read_at,
                hardware.interface.map(InterfaceIndex::get)
            ),
            (at(9_000), Some(7))
        );
        let forwarded = CapturedTime {
            is_sent: true,
            ..of_the_nic
        };
        let placed = account.timestamps(forwarded, Clocks::Unchanged, at(9_000));
        let hardware = placed.hardware.expect("as it is");
        assert_eq!(hardware.interface, None, "another NIC received it");
        let none = CapturedTime {
            at: None,
            is_hardware: false,
            is_sent: false,
        };
        assert!(
            account
                .timestamps(none, Clocks::Unchanged, at(9_000))
                .is_none()
        );
    }

    #[test]
    fn the_last_packet_of_a_block_says_when_the_others_came_unless_the_nic_timestamped() {
        let second = 1_000_000_000;
        for (source, places) in [
            (Source::Software, true),
            (Source::HardwareElseSoftware, false),
        ] {
            let mut account = account(source);
            let last = UtcTime::from_nanoseconds(20 * second + AHEAD);
            account.handed_over(3, Some(last), Clocks::Unchanged);
            account.observe(|offset| {
                offset.observe_exactly(AHEAD - 30 * second, at(21 * second), at(21 * second))
            });
            // later than the last packet of the previous block only if it was made after the step
            let clocks = Clocks::Read(at(21 * second + 5));
            let placed = account.timestamps(utc(10 * second + AHEAD), clocks, at(21 * second + 5));
            let found = placed.software.map(|software| software.at.value);
            assert_eq!(
                found == Some(at(10 * second)),
                !places,
                "{source:?} {found:?}"
            );
        }
    }

    #[test]
    fn a_capture_is_over_when_everything_was_handed_over_that_was_counted() {
        let mut account = account(Source::Software);
        account.count(CaptureStatistics::new(6, 1, 1));
        assert_eq!(
            account.count(CaptureStatistics::new(4, 1, 0)),
            CaptureStatistics::new(10, 2, 1)
        );
        assert!(!account.is_over(at(0)), "the interface is there");
        account.gone(at(1_000));
        account.handed_over(7, None, Clocks::Unchanged);
        assert!(!account.is_over(at(2_000)), "one is still to come");
        account.handed_over(1, None, Clocks::Unchanged);
        assert!(account.is_over(at(2_000)));
        let error = account.end("eth0", 100);
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::NoSuchDevice, Some(100))
        );
        assert!(!account.is_over(at(2_000)), "it is told once");
    }

    #[test]
    fn what_was_counted_and_never_comes_is_not_waited_for_for_ever() {
        let mut account = account(Source::Software);
        account.count(CaptureStatistics::new(1, 0, 0));
        account.gone(at(0));
        let until = account.gone_until().expect("gone");
        assert_eq!(until, at(120_000_000));
        assert!(!account.is_over(at(119_999_999)) && account.is_over(until));
    }
}
