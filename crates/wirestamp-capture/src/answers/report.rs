//! The report of a capture's answers, service by service.

use crate::packet::Unusable;
use crate::spread::Summary;
use std::net::IpAddr;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Service {
    /// IP protocol number: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// The times and counts of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceReport {
    /// Who answers.
    pub service: Service,
    /// UDP: from a request to its answer.
    pub answers: Option<Summary>,
    /// TCP: from the client's SYN to the service's.
    pub handshake_service: Option<Summary>,
    /// TCP: from the service's SYN to the client's acknowledgment.
    pub handshake_client: Option<Summary>,
    /// TCP: from a segment of the client's to the service's acknowledgment.
    pub acknowledged_by_service: Option<Summary>,
    /// TCP: from a segment of the service's to the client's acknowledgment.
    pub acknowledged_by_client: Option<Summary>,
    /// UDP requests that nothing answered.
    pub unanswered: u64,
    /// UDP requests without an answer that may have had one: as many packets could not be used that may be answers (fragments of UDP
    /// among them), a datagram that may be several answers, joined, came while they waited, the capture ended before their timeout, or
    /// too many others waited.
    pub undecided: u64,
    /// Answers that could be to more than one packet, or to one that was sent again; and packets of a service that may be answers to
    /// requests that the file does not have.
    pub ambiguous: u64,
    /// Answers and acknowledgments that are not timed, because they or their requests have no time.
    pub without_time: u64,
    /// The same, because the real-time clock was stepped in between, as the file says; and UDP requests whose timeout may or may not be
    /// over for that reason.
    pub across_step: u64,
}

/// The times and counts of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Services, the one with most answers first.
    pub services: Vec<ServiceReport>,
    /// Packets in the capture.
    pub packets: u64,
    /// IP packets that are neither TCP nor UDP, and fragments.
    pub others: u64,
    /// Packets that could not be used, by reason.
    pub unusable: Unusable,
    /// Packets that stand behind a later one. They were put in order.
    pub out_of_order: u64,
    /// Steps of the real-time clock that the file reports.
    pub clock_steps: u64,
    /// Packets of services beyond the first 1,024.
    pub left_out: u64,
    /// Packets that the capture itself dropped, as it says.
    pub dropped: Option<u64>,
    /// Whether the file ends within a packet.
    pub truncated: bool,
}

impl ServiceReport {
    /// How many answers were timed, by the service.
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
