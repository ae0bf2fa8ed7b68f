//! Recognises packets that did not leave because the next hop does not exist. ICMP reports it some seconds later, and
//! there is no transmit timestamp: they do not count as missing timestamps.

use crate::host::told;
use crate::place::Place;
use crate::state::{Reasons, TimestampCounts};
use crate::task::counts;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use wirestamp::timestamp::{IcmpError, Notice};
use wirestamp::{Error, ErrorKind, MissingReason, MonotonicTime, Span, UdpSocket};

/// What ICMP said holds for so long, and so long a packet is in doubt: a neighbour is looked for again and again, three seconds each time.
pub(crate) const SAID: Span = Span::from_seconds(5);
/// So many are in doubt at most: of more in so short a time, the oldest are missing.
const MOST: usize = 64;

/// This host itself reported that the next hop does not exist.
const NO_NEIGHBOUR: &str =
    "packets did not leave: no neighbour has the address of the peer, or of the router towards it";
/// What Linux, which is asked for neighbours, says to a socket of such packets: both are one error.
const HOST_UNREACHABLE: i32 = 113;
const SEE_NEIGHBOURS: &str = "see that it is on, and on this link (ip neigh)";

/// The delivery state of a socket's packets.
#[derive(Debug, Default)]
pub(crate) struct Undelivered {
    /// Where this host's addresses are looked up.
    place: Option<Place>,
    /// The last who said that no packet reaches the host, and whether that is this host.
    reporter: Option<(IpAddr, bool)>,
    /// The last ICMP error.
    said: Option<Error>,
    /// When this host said last that it finds no neighbour.
    no_way: Option<MonotonicTime>,
    /// Packets whose timestamp does not come, and since when: ICMP may still say that they did not leave.
    in_doubt: VecDeque<(MissingReason, MonotonicTime)>,
    /// Timestamps that are missing for good.
    missing: Reasons,
    /// How many packets did not leave.
    count: u64,
}

impl Undelivered {
    /// Of a socket of this place.
    pub(crate) fn of(place: &Place) -> Self {
        Self {
            place: Some(place.clone()),
            ..Self::default()
        }
    }

    /// What ICMP said last of these packets since one was answered.
    pub(crate) fn said(&self) -> Option<&Error> {
        self.said.as_ref()
    }

    /// Forgets earlier ICMP errors, because a packet was answered.
    pub(crate) fn answered(&mut self) {
        (self.said, self.no_way, self.reporter) = (None, None, None);
    }

    /// Returns whether the neighbour was missing when last something was said.
    pub(crate) fn is_without_neighbour(&self) -> bool {
        let said = self.said.as_ref();
        said.is_some_and(|said| said.cause() == NO_NEIGHBOUR)
    }

    /// A packet has left, or can leave: returns what was said of a missing neighbour, which is over.
    pub(crate) fn has_left(&mut self) -> Option<Error> {
        self.no_way = None;
        let is_over = self.is_without_neighbour();
        is_over.then(|| self.said.take()).flatten()
    }

    /// What the system says as well when ICMP has said that the peer cannot be reached. Returns what says more.
    pub(crate) fn say(&mut self, error: Error) -> &Error {
        let said = self.said.take();
        let said = said.filter(|said| said.code() == error.code());
        self.said.insert(said.unwrap_or(error))
    }

    /// Asks what ICMP said since the last time, which may be why packets had no timestamp. Returns it, if it said something.
    pub(crate) fn ask(&mut self, socket: &UdpSocket, peer: SocketAddr) -> Option<&Error> {
        let now = socket.now();
        let icmp = newest(socket);
        if let Some(icmp) = &icmp {
            let local = socket.local_address().map(|own| own.ip());
            self.hear(icmp, now, local.ok(), peer);
        }
        self.settle(now);
        icmp.and(self.said())
    }

    /// The system has looked for the neighbour, and nobody is there.
    pub(crate) fn no_neighbour(&mut self, now: MonotonicTime, peer: SocketAddr) -> &Error {
        self.no_way = Some(now);
        self.settle(now);
        let error = no_neighbour_of(peer).with_code(HOST_UNREACHABLE);
        self.said.insert(error)
    }

    /// ICMP says something of packets that the socket with this address has sent.
    fn hear(
        &mut self,
        icmp: &IcmpError,
        now: MonotonicTime,
        local: Option<IpAddr>,
        peer: SocketAddr,
    ) {
        let no_neighbour = has_no_way(icmp) && self.is_of_this_host(icmp, local);
        self.no_way = no_neighbour.then_some(now);
        self.said = Some(match no_neighbour {
            true => no_neighbour_of(peer).with_code(icmp.code),
            false => in_words(icmp, peer),
        });
    }

    /// Whether this host says so. A router that says it has had the packet. Linux answers from another of its addresses
    /// if the socket's is a secondary one.
    fn is_of_this_host(&mut self, icmp: &IcmpError, local: Option<IpAddr>) -> bool {
        let Some(reporter) = icmp.reporter.map(|reporter| reporter.to_canonical()) else {
            return false;
        };
        if local.is_some_and(|local| local.to_canonical() == reporter) {
            return true;
        }
        let known = self.reporter.filter(|(known, _)| *known == reporter);
        let place = self.place.as_ref();
        let look = || place.is_some_and(|place| place.owner(reporter).is_some());
        let is_own = known.map_or_else(look, |(_, is_own)| is_own);
        self.reporter = Some((reporter, is_own));
        is_own
    }

    /// Returns whether a packet may still turn out not to have left.
    pub(crate) fn is_in_doubt(&self) -> bool {
        !self.in_doubt.is_empty()
    }

    /// Whether a packet whose transmit timestamp does not come did not leave, by what ICMP said so far.
    pub(crate) fn note(&mut self, reason: MissingReason, now: MonotonicTime) -> bool {
        if !may_not_have_left(reason) {
            self.miss(reason);
            return false;
        }
        if self.in_doubt.len() == MOST {
            self.give_up_oldest();
        }
        self.in_doubt.push_back((reason, now));
        self.settle(now);
        self.in_doubt.is_empty()
    }

    /// Counts what is in doubt no more. A count never falls: a monitor's readers take that for a restart.
    fn settle(&mut self, now: MonotonicTime) {
        while let Some((_, since)) = self.in_doubt.front()
            && now - *since >= SAID
        {
            self.give_up_oldest();
        }
        if self.no_way.is_some_and(|said| now - said < SAID) {
            self.count += self.in_doubt.drain(..).len() as u64;
        }
    }

    fn give_up_oldest(&mut self) {
        if let Some((reason, _)) = self.in_doubt.pop_front() {
            self.miss(reason);
        }
    }

    fn miss(&mut self, reason: MissingReason) {
        *self.missing.entry(reason.name().to_owned()).or_default() += 1;
    }

    /// Returns how many packets did not leave.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the counts of the socket's timestamps. Packets in doubt are pending; those that did not leave have a
    /// reason of their own.
    pub(crate) fn timestamps(&self, socket: &UdpSocket) -> TimestampCounts {
        self.sorted(counts(socket))
    }

    fn sorted(&self, mut counts: TimestampCounts) -> TimestampCounts {
        for (reason, count) in &mut counts.missing {
            *count = self.missing.get(reason).copied().unwrap_or(0);
        }
        let not_sent = TimestampCounts::NOT_SENT.to_owned();
        counts.missing.insert(not_sent, self.count);
        let ended = counts.transmitted + counts.missing.values().sum::<u64>();
        counts.pending = counts.requested.saturating_sub(ended);
        counts
    }
}

fn no_neighbour_of(peer: SocketAddr) -> Error {
    let (kind, target) = (ErrorKind::Unreachable, peer.to_string());
    let error = Error::new(kind, "ask", target, NO_NEIGHBOUR);
    error.with_remedy(SEE_NEIGHBOURS)
}

/// What ICMP says otherwise.
fn in_words(icmp: &IcmpError, peer: SocketAddr) -> Error {
    let error = io::Error::from_raw_os_error(icmp.code);
    told("ask", &peer.to_string(), &error)
}

/// Of a packet whose timestamp is missing for another reason, one was made: it left.
fn may_not_have_left(reason: MissingReason) -> bool {
    matches!(
        reason,
        MissingReason::NeverGenerated | MissingReason::Deadline
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    const REASON: MissingReason = MissingReason::NeverGenerated;

    fn at(seconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(1_000_000_000 * (100 + seconds))
    }

    fn counts_of(requested: u64, undelivered: &Undelivered) -> [u64; 3] {
        let name = REASON.name().to_owned();
        let counts = undelivered.sorted(TimestampCounts {
            requested,
            missing: Reasons::from([(name.clone(), requested)]),
            ..TimestampCounts::default()
        });
        let missing = counts.missing_of_sent();
        assert_eq!(missing, counts.missing[&name]);
        [
            counts.pending,
            missing,
            counts.missing[TimestampCounts::NOT_SENT],
        ]
    }

    #[test]
    fn what_is_in_doubt_is_pending_and_missing_once_icmp_has_had_its_time() {
        let mut undelivered = Undelivered::default();
        assert!(!undelivered.note(REASON, at(0)));
        assert_eq!(counts_of(1, &undelivered), [1, 0, 0]);
        undelivered.settle(at(4));
        assert!(undelivered.is_in_doubt());
        undelivered.settle(at(5));
        assert_eq!(counts_of(1, &undelivered), [0, 1, 0]);
        // too late
        undelivered.no_way = Some(at(6));
        undelivered.settle(at(6));
        assert_eq!(counts_of(1, &undelivered), [0, 1, 0]);
    }

    #[test]
    fn what_icmp_says_is_of_those_before_and_of_those_that_follow() {
        let mut undelivered = Undelivered::default();
        assert!(!undelivered.note(REASON, at(0)));
        undelivered.no_way = Some(at(3));
        undelivered.settle(at(3));
        assert_eq!(counts_of(1, &undelivered), [0, 0, 1]);
        assert!(undelivered.note(REASON, at(7)));
        assert!(!undelivered.note(REASON, at(8)), "five seconds later");
        assert_eq!(counts_of(3, &undelivered), [1, 0, 2]);
    }

    /// A timestamp that found the buffer full was made.
    #[test]
    fn a_packet_that_has_left_is_not_called_unsent() {
        let mut undelivered = Undelivered {
            no_way: Some(at(0)),
            ..Undelivered::default()
        };
        assert!(!undelivered.note(MissingReason::BufferFull, at(1)));
        assert!(!undelivered.is_in_doubt());
        let full = MissingReason::BufferFull.name();
        assert_eq!((undelivered.count(), undelivered.missing[full]), (0, 1));
        assert!(undelivered.note(MissingReason::Deadline, at(1)));
    }

    #[test]
    fn once_packets_leave_nothing_is_said_of_a_missing_neighbour() {
        let peer = SocketAddr::from(([198, 51, 100, 1], 123));
        let mut undelivered = Undelivered::default();
        assert_eq!(undelivered.has_left(), None);
        let said = undelivered.no_neighbour(at(0), peer).clone();
        assert!(undelivered.is_without_neighbour());
        assert_eq!(undelivered.has_left(), Some(said));
        assert!(undelivered.said().is_none() && !undelivered.is_without_neighbour());
        assert!(!undelivered.note(REASON, at(1)), "its timestamp is missing");
        // that a port is closed is said of packets that have left
        undelivered.no_neighbour(at(2), peer);
        let refused = Error::new(ErrorKind::Unreachable, "ask", "it", "refused").with_code(111);
        undelivered.say(refused.clone());
        assert_eq!(undelivered.has_left(), None);
        assert_eq!(undelivered.said(), Some(&refused));
    }

    #[test]
    fn after_an_answer_a_missing_timestamp_is_one() {
        let mut undelivered = Undelivered {
            no_way: Some(at(0)),
            ..Undelivered::default()
        };
        undelivered.answered();
        assert!(!undelivered.note(REASON, at(1)));
        undelivered.settle(at(6));
        assert_eq!(counts_of(1, &undelivered), [0, 1, 0]);
    }

    /// A router had the packet: that it left and has no timestamp is a fault of the timestamps.
    #[test]
    fn packets_did_not_leave_only_if_this_host_says_so() {
        let [own, other] = ["192.0.2.1", "192.0.2.254"].map(|ip| Some(ip.parse().expect("one")));
        let peer = SocketAddr::from(([198, 51, 100, 1], 123));
        for (reporter, is_own) in [(own, true), (other, false), (None, false)] {
            let mut undelivered = Undelivered::default();
            assert!(!undelivered.note(REASON, at(0)));
            let icmp = IcmpError {
                destination: Some(peer),
                reporter,
                code: 113,
                icmp_type: 3,
                icmp_code: 1,
            };
            undelivered.hear(&icmp, at(3), own, peer);
            undelivered.settle(at(3));
            let said = undelivered.said().expect("it said something");
            assert_eq!(said.cause() == NO_NEIGHBOUR, is_own, "{said}");
            assert_eq!(undelivered.count(), u64::from(is_own), "{reporter:?}");
            undelivered.settle(at(5));
            assert_eq!(counts_of(1, &undelivered)[1], u64::from(!is_own));
        }
    }

    #[test]
    fn of_many_in_doubt_the_oldest_are_missing() {
        let mut undelivered = Undelivered::default();
        for _ in 0..MOST + 3 {
            assert!(!undelivered.note(REASON, at(0)));
        }
        let all = MOST as u64 + 3;
        assert_eq!(counts_of(all, &undelivered), [MOST as u64, 3, 0]);
    }
}
