//! Four timestamps of one exchange, and the interval that they leave to the offset.

use crate::packet::ServerState;
use crate::timestamp::NtpTimestamp;
use wirestamp_core::time::{MonotonicTime, Span, UtcTime};

/// A timestamp of the local host, on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    /// On the real-time clock, whose offset is measured.
    pub utc: UtcTime,
    /// How far the truth can be from `utc`: 0 for the kernel's timestamps, the conversion's bound for the NIC's.
    pub utc_bound: Span,
    /// On the monotonic clock, which is not stepped: it shows whether the real-time clock was.
    pub monotonic: MonotonicTime,
    /// How far the truth can be from `monotonic`.
    pub monotonic_bound: Span,
}

impl LocalTime {
    /// Whether the real-time clock was stepped between this and a later timestamp: by more than their bounds and the drift
    /// that is assumed anyway can explain.
    pub(crate) fn was_stepped_before(&self, later: &Self, max_drift_ppm: u32) -> bool {
        let elapsed = later.monotonic - self.monotonic;
        let by = (later.utc - self.utc) - elapsed;
        let unsure = [self, later].map(|one| one.utc_bound + one.monotonic_bound);
        let drift = elapsed.abs().nanoseconds() * i128::from(max_drift_ppm) / 1_000_000;
        by.abs() > unsure[0] + unsure[1] + Span::from_nanoseconds(drift)
    }
}

/// What one exchange says of the offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// When the response arrived.
    pub at: UtcTime,
    /// The middle of what is possible: local minus server.
    pub offset: Span,
    /// The truth lies within this distance of `offset`, drift during the exchange left out.
    pub error_bound: Span,
    /// Both directions together, without the residence time.
    pub path_delay: Span,
    /// From the arrival of the request at the server to the departure of the response.
    pub residence_time: Span,
    /// Whether the server sent the exact departure afterwards (RFC 9769).
    pub interleaved: bool,
    /// What the server said of itself.
    pub server: ServerState,
}

/// The timestamps of an exchange that have come so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    /// Request left.
    pub(crate) t1: LocalTime,
    /// Request arrived at the server.
    pub(crate) t2: NtpTimestamp,
    /// Response arrived.
    pub(crate) t4: LocalTime,
}

/// Bounds of the offset, each at its instant, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) sent_at: i64,
    pub(crate) at_least: i64,
    pub(crate) received_at: i64,
    pub(crate) at_most: i64,
}

impl Exchange {
    /// `None` if the timestamps contradict each other.
    pub(crate) fn complete(
        &self,
        t3: NtpTimestamp,
        interleaved: bool,
        server: ServerState,
    ) -> Option<(Sample, Bounds)> {
        let (t1, t4) = (self.t1.utc, self.t4.utc);
        let (t2, t3) = (self.t2.to_utc(t1)?, t3.to_utc(t4)?);
        let unsure = server.timestamp_bound() + self.t1.utc_bound.max(self.t4.utc_bound);
        let residence_time = t3 - t2;
        let path_delay = (t4 - t1) - residence_time;
        let (at_least, at_most) = (t1 - t2 - unsure, t4 - t3 + unsure);
        // both bounds are off by as much, so this allows what is unsure of all four
        if residence_time + unsure + unsure < Span::ZERO || at_least > at_most || t4 < t1 {
            return None;
        }
        let bounds = Bounds {
            sent_at: t1.nanoseconds(),
            at_least: i64::try_from(at_least.nanoseconds()).ok()?,
            received_at: t4.nanoseconds(),
            at_most: i64::try_from(at_most.nanoseconds()).ok()?,
        };
        let offset = (at_least.nanoseconds() + at_most.nanoseconds()).div_euclid(2);
        let half = at_most.nanoseconds() - offset;
        let sample = Sample {
            at: t4,
            offset: Span::from_nanoseconds(offset),
            error_bound: Span::from_nanoseconds(half),
            path_delay,
            residence_time,
            interleaved,
            server,
        };
        Some((sample, bounds))
    }
}
