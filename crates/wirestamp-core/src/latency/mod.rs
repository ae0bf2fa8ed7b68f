//! Definitions of the latencies, histograms, and the table of packets in flight. All times are on
//! the monotonic clock: convert hardware timestamps with [`crate::correlate`] first.
//!
//! Latencies are signed: a converted timestamp has an error bound, so a small difference can be
//! negative.
//!
//! Source: Microsoft's page "Winsock timestamping", send and receive latency.

mod flight;
mod histogram;
mod summary;

pub use flight::{Arrival, Flight, GRACE, InFlight};
pub use histogram::{Bucket, Histogram};
pub use summary::Summary;

use crate::time::{MonotonicTime, Span};

/// Returns the send path: the time from just before the application's send call to the transmit
/// timestamp.
pub fn send_path(before_send: MonotonicTime, transmit_timestamp: MonotonicTime) -> Span {
    transmit_timestamp - before_send
}

/// Returns the first part of the send path: the time from just before the application's send call
/// to the entry into the queueing discipline.
pub fn to_queue(before_send: MonotonicTime, queued: MonotonicTime) -> Span {
    queued - before_send
}

/// Returns the second part of the send path: the time from the entry into the queueing discipline
/// to the transmit timestamp.
pub fn from_queue(queued: MonotonicTime, transmit_timestamp: MonotonicTime) -> Span {
    transmit_timestamp - queued
}

/// Returns the wire latency: the time from the transmit timestamp to the receive timestamp, both on
/// the same host's monotonic clock.
pub fn wire(transmit_timestamp: MonotonicTime, receive_timestamp: MonotonicTime) -> Span {
    receive_timestamp - transmit_timestamp
}

/// Returns the receive path: the time from the receive timestamp to just after the application's
/// receive call.
pub fn receive_path(receive_timestamp: MonotonicTime, after_receive: MonotonicTime) -> Span {
    after_receive - receive_timestamp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_runs_the_way_the_packet_goes() {
        let at = MonotonicTime::from_nanoseconds;
        assert_eq!(send_path(at(10), at(25)), Span::from_nanoseconds(15));
        let parts = (to_queue(at(10), at(14)), from_queue(at(14), at(25)));
        let expected = (Span::from_nanoseconds(4), Span::from_nanoseconds(11));
        assert_eq!(parts, expected);
        assert_eq!(wire(at(25), at(20)), Span::from_nanoseconds(-5));
        assert_eq!(receive_path(at(20), at(90)), Span::from_nanoseconds(70));
        assert_eq!(
            send_path(MonotonicTime::MIN, MonotonicTime::MAX).nanoseconds(),
            i128::from(u64::MAX)
        );
    }
}
