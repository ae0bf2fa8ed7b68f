//! Packets that did not leave because nobody is where the next hop should be: ICMP says so some seconds later, and no
//! timestamp comes. That is no fault of the timestamps.

use crate::host::told;
use crate::state::{Reasons, TimestampCounts};
use crate::task::counts;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use wirestamp::{Error, IcmpError, MissingReason, MonotonicTime, Notice, Span, UdpSocket};

/// What ICMP said holds for so long: a neighbour is looked for again and again, three seconds each time.
const SAID: Span = Span::from_seconds(5);
/// So many are in doubt at most: of more in so short a time, the oldest stay missing.
const MOST: usize = 64;

/// What is known of a socket's packets.
#[derive(Debug, Default)]
pub(crate) struct Undelivered {
    /// What ICMP said last.
    said: Option<Error>,
    /// When it said last that no packet reaches the host.
    no_way: Option<MonotonicTime>,
    asked: Option<MonotonicTime>,
    /// Timestamps that are missing, and since when: ICMP may still say why.
    recent: VecDeque<(MissingReason, MonotonicTime)>,
    /// How many did not leave, by the reason for which the system says that their timestamps are missing.
    reasons: Reasons,
}

impl Undelivered {
    /// What ICMP said last of these packets since one was answered.
    pub(crate) fn said(&self) -> Option<&Error> {
        self.said.as_ref()
    }

    /// One was answered: what ICMP said of those before is over.
    pub(crate) fn answered(&mut self) {
        (self.said, self.no_way) = (None, None);
    }

    /// What else says that the peer cannot be reached.
    pub(crate) fn say(&mut self, error: Error) {
        self.said = Some(error);
    }

    /// Asks what ICMP said since the last time, which may be why packets had no timestamp. Returns it, if it said something.
    pub(crate) fn ask(&mut self, socket: &UdpSocket, peer: SocketAddr) -> Option<&Error> {
        let now = socket.now();
        let since = self.asked.replace(now).unwrap_or(now) - SAID;
        let Some(icmp) = newest(socket) else {
            self.recent.retain(|(_, at)| *at >= since);
            return None;
        };
        self.no_way = has_no_way(&icmp).then_some(now);
        let error = io::Error::from_raw_os_error(icmp.code);
        self.said = Some(told("ask", &peer.to_string(), &error));
        self.attribute(since);
        self.said()
    }

    /// Whether a packet may still turn out not to have left.
    pub(crate) fn is_in_doubt(&self) -> bool {
        !self.recent.is_empty()
    }

    /// Whether a packet whose transmit timestamp does not come did not leave. Counts it then, now or when ICMP says so.
    pub(crate) fn note(
        &mut self,
        reason: MissingReason,
        socket: &UdpSocket,
        peer: SocketAddr,
    ) -> bool {
        let now = socket.now();
        if self.recent.len() == MOST {
            self.recent.pop_front();
        }
        self.recent.push_back((reason, now));
        self.ask(socket, peer);
        if self.no_way.is_some_and(|said| now - said < SAID) {
            self.attribute(now);
        }
        self.recent.back() != Some(&(reason, now))
    }

    /// Counts what had no timestamp since then, if no packet reaches the host.
    fn attribute(&mut self, since: MonotonicTime) {
        if self.no_way.is_none() {
            return;
        }
        let reasons = &mut self.reasons;
        self.recent.retain(|(reason, at)| {
            let is_of_that = *at >= since;
            if is_of_that {
                *reasons.entry(reason.name().to_owned()).or_default() += 1;
            }
            !is_of_that
        });
    }

    /// How many did not leave.
    pub(crate) fn count(&self) -> u64 {
        self.reasons.values().sum()
    }

    /// Counts of the socket's timestamps, without those of packets that did not leave.
    pub(crate) fn timestamps(&self, socket: &UdpSocket) -> TimestampCounts {
        let mut counts = counts(socket);
        for (reason, undelivered) in &self.reasons {
            if let Some(missing) = counts.missing.get_mut(reason) {
                *missing = missing.saturating_sub(*undelivered);
            }
            counts.requested = counts.requested.saturating_sub(*undelivered);
        }
        counts
    }
}

/// The newest of what ICMP said since it was asked, but that a packet was too large: the system remembers that. It comes beside
/// the transmit timestamps.
fn newest(socket: &UdpSocket) -> Option<IcmpError> {
    let mut notices = [Notice::Other { origin: 0, code: 0 }; 8];
    let count = socket.notices(&mut notices).unwrap_or(0);
    let icmp = |notice: &Notice| match notice {
        Notice::Icmp(error) => Some(*error).filter(|error| !is_too_large(error)),
        _ => None,
    };
    notices[..count].iter().rev().find_map(icmp)
}

/// RFC 792 (type 3) and RFC 4443 (type 1), whose numbers are the same on each system: no network or host there. A port that nobody listens on is
/// reached, and so is who refuses a packet.
fn has_no_way(error: &IcmpError) -> bool {
    const NET: u8 = 0;
    const HOST: u8 = 1;
    const ADDRESS_V6: u8 = 3;
    match (is_v6(error), error.icmp_type) {
        (false, 3) => matches!(error.icmp_code, NET | HOST),
        (true, 1) => matches!(error.icmp_code, NET | ADDRESS_V6),
        _ => false,
    }
}

/// RFC 792, code 4 of type 3; RFC 4443, type 2.
fn is_too_large(error: &IcmpError) -> bool {
    match is_v6(error) {
        false => (error.icmp_type, error.icmp_code) == (3, 4),
        true => error.icmp_type == 2,
    }
}

fn is_v6(error: &IcmpError) -> bool {
    let reporter = error.reporter.map(|reporter| reporter.is_ipv6());
    let destination = error.destination.map(|destination| destination.is_ipv6());
    reporter.or(destination).unwrap_or(false)
}
