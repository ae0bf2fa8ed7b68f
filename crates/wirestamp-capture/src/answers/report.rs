//! The report of a capture's response times by service.

use crate::packet::Unusable;
use crate::spread::Summary;
use std::net::IpAddr;

/// A service, which answers requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Service {
    /// The IP protocol number: 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// The response times and counts of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceReport {
    /// The service.
    pub service: Service,
    /// UDP: the time from a request to its answer.
    pub answers: Option<Summary>,
    /// TCP: the time from the client's SYN to the service's.
    pub handshake_service: Option<Summary>,
    /// TCP: the time from the service's SYN to the client's acknowledgment.
    pub handshake_client: Option<Summary>,
    /// TCP: the time from a client's segment to the service's acknowledgment.
    pub acknowledged_by_service: Option<Summary>,
    /// TCP: the time from a service's segment to the client's acknowledgment.
    pub acknowledged_by_client: Option<Summary>,
    /// UDP requests without an answer.
    pub unanswered: u64,
    /// UDP requests without an answer that may have had one: as many unusable packets may be
    /// answers (for example UDP fragments), a datagram that may be several joined answers came
    /// while they waited, the capture ended before their timeout, or too many others waited.
    pub undecided: u64,
    /// Answers to more than one possible packet, or to one that was sent again; and packets of a
    /// service that may answer requests from before the capture.
    pub ambiguous: u64,
    /// Answers and acknowledgments without a response time, because they or their requests have no
    /// timestamp.
    pub without_time: u64,
    /// Answers and acknowledgments without a response time, because the file reports a step of the
    /// real-time clock in between; and UDP requests whose timeout is uncertain for that reason.
    pub across_step: u64,
}

/// The response times and counts of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The services, the one with the most answers first.
    pub services: Vec<ServiceReport>,
    /// The number of packets in the capture.
    pub packets: u64,
    /// IP packets that are neither TCP nor UDP, and fragments.
    pub others: u64,
    /// Packets that could not be used, by reason.
    pub unusable: Unusable,
    /// Packets that the file has again from another interface or direction. Each counts once, where
    /// it was seen first.
    pub copies: u64,
    /// Packets that the file has again from the same interface within 10 ms, with the same IPv4
    /// identification: a mirror port seems to have sent them twice.
    pub mirrored: u64,
    /// The unit of the file's times in nanoseconds, rounded up; the coarsest of several.
    pub unit_ns: u64,
    /// Packets that come after a later one in the file. They were sorted.
    pub out_of_order: u64,
    /// Steps of the real-time clock that the file reports.
    pub clock_steps: u64,
    /// Packets of services beyond the first 1,024.
    pub left_out: u64,
    /// Packets that were dropped during the capture, as reported in the file.
    pub dropped: Option<u64>,
    /// Whether the file ends within a packet.
    pub truncated: bool,
}

impl ServiceReport {
    /// Returns the number of the service's answers with a response time.
    pub(super) fn timed(&self) -> u64 {
        let by_service = [
            &self.answers,
            &self.acknowledged_by_service,
            &self.handshake_service,
        ];
        let counts = by_service
            .iter()
            .map(|summary| summary.map_or(0, |summary| summary.count));
        counts.sum()
    }
}
