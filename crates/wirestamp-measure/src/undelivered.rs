//! Packets that did not leave because nobody is where the next hop should be: ICMP says so some seconds later, and no
//! timestamp comes. That is no fault of the timestamps.

use crate::host::icmp_error;
use crate::state::{Reasons, TimestampCounts};
use crate::task::counts;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use wirestamp::{Error, MissingReason, MonotonicTime, Span, UdpSocket};

/// What ICMP said holds for so long: a neighbour is looked for again and again, three seconds each time.
const SAID: Span = Span::from_seconds(5);
/// So many are in doubt at most: of more in so short a time, the oldest stay missing.
const MOST: usize = 64;

/// What is known of a socket's packets.
#[derive(Debug, Default)]
pub(crate) struct Undelivered {
    /// What ICMP said last, and when.
    said: Option<(Error, MonotonicTime)>,
    asked: Option<MonotonicTime>,
    /// Timestamps that are missing, and since when: ICMP may still say why.
    recent: VecDeque<(MissingReason, MonotonicTime)>,
    /// How many did not leave, by the reason for which the system says that their timestamps are missing.
    reasons: Reasons,
}

impl Undelivered {
    /// What ICMP said last of these packets since one was answered.
    pub(crate) fn said(&self) -> Option<&Error> {
        self.said.as_ref().map(|(error, _)| error)
    }

    /// One was answered: what ICMP said of those before is over.
    pub(crate) fn answered(&mut self) {
        self.said = None;
    }

    /// What else says that the peer cannot be reached.
    pub(crate) fn say(&mut self, error: Error, now: MonotonicTime) {
        self.said = Some((error, now));
    }

    /// Asks what ICMP said since the last time, which may be why packets had no timestamp. Returns it, if it said something.
    pub(crate) fn ask(&mut self, socket: &UdpSocket, peer: SocketAddr) -> Option<&Error> {
        let now = socket.now();
        let since = self.asked.replace(now).unwrap_or(now) - SAID;
        let Some(error) = icmp_error(socket, peer) else {
            self.recent.retain(|(_, at)| *at >= since);
            return None;
        };
        self.say(error, now);
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
        let is_fresh = |(_, said): &(Error, MonotonicTime)| now - *said < SAID;
        if self.said.as_ref().is_some_and(is_fresh) {
            self.attribute(now);
        }
        self.recent.back() != Some(&(reason, now))
    }

    /// Counts what had no timestamp since then, if no packet reaches the host.
    fn attribute(&mut self, since: MonotonicTime) {
        let said = self.said.as_ref();
        if !said.is_some_and(|(error, _)| has_no_way(error)) {
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

/// Whether no packet reaches the host; a port that nobody listens on is reached.
fn has_no_way(error: &Error) -> bool {
    let kind = |code| io::Error::from_raw_os_error(code).kind();
    let no_way = [
        io::ErrorKind::HostUnreachable,
        io::ErrorKind::NetworkUnreachable,
    ];
    error
        .code()
        .is_some_and(|code| no_way.contains(&kind(code)))
}
