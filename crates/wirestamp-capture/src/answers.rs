//! Response times in one capture: UDP requests and their answers, TCP handshakes, TCP segments and
//! their acknowledgments.
//!
//! Times are those at which packets passed the capturing interface. An answer is used only if its
//! request is certain: a UDP answer while exactly one request waits (and, after an ambiguous
//! answer, once all possible requests are answered or timed out), or a TCP acknowledgment of bytes
//! that were sent once. All others count as ambiguous. Memory is bounded by [`MOST_CONNECTIONS`],
//! and [`MOST_WAITING`] packets of each.

mod report;
mod roles;
mod waits;

pub use report::{Report, Service, ServiceReport};

use crate::copies::{Copies, Vantage};
use crate::identity;
use crate::order::{self, Ordered};
use crate::packet::{self, Flow, Ip, Tcp, Unreadable, Unusable};
use crate::read::{FilePacket, Reader};
use crate::run::{ClockRun, Counted};
use crate::spread::Spread;
use roles::{Forgotten, service};
use std::collections::{HashMap, VecDeque};
use waits::{Wait, Waits};
use wirestamp_core::Result;
use wirestamp_core::capture::CapturedDirection;

/// The most connections that are followed at a time; beyond that the oldest is forgotten.
pub const MOST_CONNECTIONS: usize = 65_536;
/// The most packets of a connection that wait for their answer.
pub const MOST_WAITING: usize = 1_024;
/// The longest UDP payload that fits into an Ethernet frame.
const LONGEST_DATAGRAM: u32 = 1_472;
/// The most services with results of their own; packets of others are only counted.
pub const MOST_SERVICES: usize = 1_024;

#[derive(Debug, Default)]
struct Counts {
    answers: Spread,
    handshake: [Spread; 2],
    acknowledged: [Spread; 2],
    unanswered: u64,
    undecided: u64,
    ambiguous: u64,
    without_time: u64,
    across_step: u64,
}

/// A time with its error bound.
#[derive(Debug, Clone, Copy)]
struct When {
    /// The time on a monotonic scale, and the clock generation there.
    line_ns: i64,
    run: u32,
    /// The latest generation that had begun.
    since: u32,
    utc_ns: Option<i64>,
    bound_ns: Option<u64>,
    /// The clock generation in the file, and both counters at this packet.
    named: Option<ClockRun>,
    counted: Counted,
    /// For a request: the length of the longest answer since.
    longest_answer: u32,
}

/// The parts of a packet that are needed.
#[derive(Debug, Clone, Copy)]
struct Observed {
    when: When,
    way: Option<CapturedDirection>,
    vantage: Vantage,
    found: Result<Segment, Unreadable>,
}

/// The parts of an IP packet.
#[derive(Debug, Clone, Copy)]
struct Segment {
    flow: Flow,
    tcp: Option<Tcp>,
    length: u32,
    is_fragment: bool,
    identification: Option<u16>,
    /// The number that its copies have too; `None` if too little was captured.
    number: Option<i64>,
}

impl Segment {
    fn of(found: &Ip<'_>) -> Self {
        Self {
            flow: found.flow,
            tcp: found.tcp,
            length: found.payload_length,
            is_fragment: found.is_fragment,
            identification: found.identification,
            number: identity::copied(found),
        }
    }
}

/// A connection, from its client's view.
#[derive(Debug)]
struct Connection {
    service: usize,
    /// The UDP requests that wait.
    requests: VecDeque<When>,
    /// Whether it is unknown which of them were answered.
    uncertain: bool,
    /// UDP: whether it is unknown which end sends requests, because the first packet came from a
    /// service.
    is_unclear: bool,
    /// The length of the shortest UDP answer while a single request waited, which is one answer and
    /// not several joined ones.
    shortest: Option<u32>,
    /// TCP: the state by sender, the client first.
    sent: [Sender; 2],
    /// The direction of packets by sender. On loopback each packet is captured in both directions,
    /// and counts once.
    ways: [Option<CapturedDirection>; 2],
}

#[derive(Debug, Default)]
struct Sender {
    /// The SYN, and the acknowledgment number that answers it.
    syn: Option<(u32, When)>,
    /// Segments, and the acknowledgment numbers that answer them.
    segments: VecDeque<(u32, When)>,
    /// The sequence number after all sent bytes.
    next: Option<u32>,
}

#[derive(Debug)]
struct Answers {
    waits: Waits,
    connections: HashMap<Flow, Connection>,
    order: VecDeque<Flow>,
    forgotten: Forgotten,
    services: HashMap<Service, usize>,
    counts: Vec<(Service, Counts)>,
    left_out: u64,
}

/// How to read a capture of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// A UDP request without an answer for this long counts as unanswered, in nanoseconds.
    pub timeout_ns: i64,
    /// Packets that a mirror port sent again count once.
    pub mirrored_once: bool,
}

impl From<i64> for Options {
    /// With this timeout in nanoseconds.
    fn from(timeout_ns: i64) -> Self {
        Self {
            timeout_ns,
            mirrored_once: false,
        }
    }
}

/// Measures the response times in a capture. A UDP request without an answer for `timeout_ns`
/// counts as unanswered.
///
/// # Errors
/// As [`Reader::next_packet`]; `InvalidInput` if a packet is more than 65,536 positions out of
/// order.
pub fn answers(reader: &mut Reader<'_>, timeout_ns: i64) -> Result<Report> {
    answers_with(reader, timeout_ns.into())
}

/// Measures the response times in a capture, with options.
///
/// # Errors
/// As [`answers`].
pub fn answers_with(reader: &mut Reader<'_>, options: Options) -> Result<Report> {
    let Options {
        timeout_ns,
        mirrored_once,
    } = options;
    let mut answers = Answers {
        waits: Waits::new(timeout_ns),
        connections: HashMap::new(),
        order: VecDeque::new(),
        forgotten: Forgotten::default(),
        services: HashMap::new(),
        counts: Vec::new(),
        left_out: 0,
    };
    let (mut packets, mut others, mut fragments) = (0, 0, 0);
    let mut unusable = Unusable::default();
    let mut counted_until = Counted::default();
    let mut copies = Copies::new(mirrored_once);
    let mut file = Ordered::new(reader, order::WINDOW, observe);
    while let Some(placed) = file.next()? {
        packets += 1;
        let Observed {
            when,
            way,
            vantage,
            found,
        } = placed.packet;
        unusable.without_time += u64::from(when.utc_ns.is_none());
        let (line_ns, run) = (placed.line_ns, placed.run);
        let timed_ns = when.utc_ns.map(|_| line_ns);
        let counted = when
            .named
            .map_or(counted_until, |run| counted_until.note(run));
        let since = answers.waits.reach(run, line_ns);
        let is_copy = found.ok().is_some_and(|found: Segment| {
            found.number.is_some_and(|number| {
                copies.is_copy(number, vantage, timed_ns, found.identification)
            })
        });
        match found {
            _ if is_copy => {}
            Ok(found) if matches!(found.flow.protocol, 6 | 17) && !found.is_fragment => {
                let when = When {
                    line_ns,
                    run,
                    since,
                    counted,
                    ..when
                };
                answers.observe(&found, way, when);
            }
            Ok(found) => {
                others += 1;
                fragments += u64::from(found.is_fragment && found.flow.protocol == 17);
            }
            Err(why) => unusable.count(why),
        }
    }
    unusable.unknown_blocks = file.reader().unknown_blocks();
    let unusable_ip = unusable.encapsulated + unusable.cut_off;
    let may_be_answers = unusable_ip + unusable.unknown_blocks + fragments;
    let mut services = answers.finish(may_be_answers);
    services.sort_by_key(|report| (std::cmp::Reverse(report.timed()), report.service));
    Ok(Report {
        services,
        packets,
        others,
        unusable,
        copies: copies.count(),
        mirrored: copies.mirrored(),
        unit_ns: file.reader().unit_ns(),
        out_of_order: file.out_of_order(),
        clock_steps: file.steps(),
        left_out: answers.left_out,
        dropped: file.reader().dropped(),
        truncated: file.reader().is_truncated(),
    })
}

fn observe(packet: &FilePacket<'_>) -> Observed {
    let found = packet::read(packet.link, packet.data, packet.length);
    Observed {
        when: When {
            line_ns: 0,
            run: 0,
            since: 0,
            utc_ns: packet.utc_ns,
            bound_ns: packet.bound_ns,
            named: packet.run,
            counted: Counted::default(),
            longest_answer: 0,
        },
        way: packet.direction,
        vantage: packet.vantage,
        found: found.map(|found| Segment::of(&found)),
    }
}

impl Answers {
    fn observe(&mut self, found: &Segment, way: Option<CapturedDirection>, when: When) {
        let (client, by_client) = match &found.tcp {
            // only the SYN shows who the client is
            Some(tcp) if tcp.syn => (
                if tcp.ack {
                    found.flow.reversed()
                } else {
                    found.flow
                },
                !tcp.ack,
            ),
            _ => self.client(found.flow),
        };
        if found.flow == found.flow.reversed() {
            return; // to itself: requests and answers cannot be distinguished
        }
        let is_unclear = !by_client && found.tcp.is_none() && !self.forgotten.has(&client);
        let Some(service) = self.connect(client, is_unclear) else {
            self.left_out += 1;
            return;
        };
        let Some(connection) = self.connections.get_mut(&client) else {
            return;
        };
        let known = &mut connection.ways[usize::from(!by_client)];
        *known = known.or(way);
        // copies of numbered packets are left out before
        if found.number.is_none() && *known != way && way.is_some() {
            return; // the same packet, captured again
        }
        let counts = &mut self.counts[service].1;
        match &found.tcp {
            Some(tcp) => connection.tcp(tcp, found.length, by_client, when, counts),
            None if by_client => connection.asked(when, &self.waits, counts),
            None => connection.answered(found.length, when, &self.waits, counts),
        }
    }

    /// Adds a client's connection, and returns its service.
    fn connect(&mut self, client: Flow, is_unclear: bool) -> Option<usize> {
        if let Some(known) = self.connections.get(&client) {
            return Some(known.service);
        }
        let service = service(client);
        let number = match self.services.get(&service) {
            Some(known) => *known,
            None if self.counts.len() == MOST_SERVICES => return None,
            None => {
                self.counts.push((service, Counts::default()));
                self.services.insert(service, self.counts.len() - 1);
                self.counts.len() - 1
            }
        };
        if self.order.len() == MOST_CONNECTIONS {
            if let Some(oldest) = self.order.pop_front() {
                self.forget(oldest);
                self.forgotten.insert(oldest);
            }
        }
        self.order.push_back(client);
        let connection = Connection {
            service: number,
            requests: VecDeque::new(),
            uncertain: false,
            is_unclear,
            shortest: None,
            sent: [Sender::default(), Sender::default()],
            ways: [None; 2],
        };
        self.connections.insert(client, connection);
        Some(number)
    }

    fn forget(&mut self, client: Flow) {
        if let Some(connection) = self.connections.remove(&client) {
            let counts = &mut self.counts[connection.service].1;
            for asked in &connection.requests {
                connection.gave_up(asked, self.waits.of(asked), counts);
            }
        }
    }

    /// Ends the analysis. `may_be_answers` is the number of unusable packets that may have been
    /// answers.
    fn finish(&mut self, may_be_answers: u64) -> Vec<ServiceReport> {
        while let Some(client) = self.order.pop_front() {
            self.forget(client);
        }
        let counts = std::mem::take(&mut self.counts);
        let told = |(service, counts): (Service, Counts)| {
            let [by_service, by_client] = &counts.acknowledged;
            let [handshake_service, handshake_client] = &counts.handshake;
            ServiceReport {
                service,
                answers: counts.answers.summary(false),
                handshake_service: handshake_service.summary(false),
                handshake_client: handshake_client.summary(false),
                acknowledged_by_service: by_service.summary(false),
                acknowledged_by_client: by_client.summary(false),
                unanswered: counts.unanswered.saturating_sub(may_be_answers),
                undecided: counts.undecided + counts.unanswered.min(may_be_answers),
                ambiguous: counts.ambiguous,
                without_time: counts.without_time,
                across_step: counts.across_step,
            }
        };
        counts.into_iter().map(told).collect()
    }
}

impl Connection {
    fn asked(&mut self, when: When, waits: &Waits, counts: &mut Counts) {
        self.give_up(waits, counts);
        if self.is_unclear {
            counts.undecided += 1;
            return;
        }
        self.uncertain &= !self.requests.is_empty();
        if self.requests.len() == MOST_WAITING {
            if let Some(oldest) = self.requests.pop_front() {
                self.gave_up(&oldest, waits.of(&oldest), counts);
            }
        }
        self.requests.push_back(when);
    }

    fn give_up(&mut self, waits: &Waits, counts: &mut Counts) {
        let is_over = |request: &&When| waits.of(request) == Wait::Over;
        while let Some(oldest) = self.requests.front().filter(is_over) {
            self.gave_up(oldest, Wait::Over, counts);
            self.requests.pop_front();
        }
    }

    /// Counts a UDP request that is no longer followed.
    fn gave_up(&self, asked: &When, wait: Wait, counts: &mut Counts) {
        match wait {
            Wait::Over if self.may_be_several(asked.longest_answer) => counts.undecided += 1,
            Wait::Over => counts.unanswered += 1,
            Wait::AcrossStep => counts.across_step += 1,
            Wait::Waits => counts.undecided += 1,
        }
    }

    /// Returns whether a UDP answer of this length may be several joined ones (GSO splits it later,
    /// or GRO joined it), or whether that is unknown because no answer of the flow is known to be a
    /// single one.
    fn may_be_several(&self, length: u32) -> bool {
        let is_longer = self.shortest.is_none_or(|shortest| length > shortest);
        length > LONGEST_DATAGRAM || length > 0 && is_longer
    }

    fn answered(&mut self, length: u32, when: When, waits: &Waits, counts: &mut Counts) {
        self.give_up(waits, counts);
        if self.is_unclear {
            counts.ambiguous += 1;
            return;
        }
        for asked in &mut self.requests {
            asked.longest_answer = asked.longest_answer.max(length);
        }
        if self.requests.len() == 1 && !self.uncertain {
            let shortest = self.shortest.unwrap_or(length);
            self.shortest = Some(shortest.min(length));
        }
        self.uncertain = self.requests.len() > usize::from(!self.uncertain);
        if self.uncertain {
            counts.ambiguous += 1;
            self.requests.pop_back(); // the oldest one continues to wait, and the uncertainty ends with its timeout
        } else if let Some(asked) = self.requests.pop_front() {
            counts.took(|counts| &mut counts.answers, asked, when);
        }
    }

    fn tcp(&mut self, tcp: &Tcp, length: u32, by_client: bool, when: When, counts: &mut Counts) {
        let (own, other) = if by_client { (0, 1) } else { (1, 0) };
        if tcp.ack {
            // index 0 is for the service's packets, which acknowledge the client's
            let answered = &mut self.sent[other];
            if let Some((_, since)) = answered
                .syn
                .take_if(|(needed, _)| *needed == tcp.acknowledgment)
            {
                counts.took(
                    |counts| &mut counts.handshake[usize::from(by_client)],
                    since,
                    when,
                );
            }
            let is_acknowledged =
                |(needed, _): &&(u32, When)| !is_before(tcp.acknowledgment, *needed);
            while let Some((_, since)) = answered.segments.front().filter(is_acknowledged).copied()
            {
                answered.segments.pop_front();
                counts.took(
                    |counts| &mut counts.acknowledged[usize::from(by_client)],
                    since,
                    when,
                );
            }
        }
        let sender = &mut self.sent[own];
        if tcp.rst {
            *sender = Sender::default();
            return;
        }
        let end = tcp
            .sequence
            .wrapping_add(length)
            .wrapping_add(u32::from(tcp.syn) + u32::from(tcp.fin));
        if end == tcp.sequence {
            return;
        }
        if tcp.syn {
            // sent again, so it is unknown which one is answered
            let again = sender.next == Some(end);
            counts.ambiguous += u64::from(again);
            sender.syn = (!again).then_some((end, when));
            sender.segments.clear();
            sender.next = Some(end);
            return;
        }
        let again = sender
            .next
            .is_some_and(|next| is_before(tcp.sequence, next));
        if again {
            let before = sender.segments.len();
            sender
                .segments
                .retain(|(needed, _)| !is_before(tcp.sequence, *needed));
            counts.ambiguous += (before - sender.segments.len()) as u64;
            if sender.next.is_some_and(|next| is_before(next, end)) {
                sender.next = Some(end);
            }
            return;
        }
        if sender.segments.len() == MOST_WAITING {
            sender.segments.pop_front();
        }
        sender.segments.push_back((end, when));
        sender.next = Some(end);
    }
}

/// Whether a TCP sequence number is before another, modulo 2³².
fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

impl Counts {
    /// Records an answer at `until` to a packet sent at `since`.
    fn took(&mut self, of: impl Fn(&mut Self) -> &mut Spread, since: When, until: When) {
        let Some((from, to)) = since.utc_ns.zip(until.utc_ns) else {
            self.without_time += 1;
            return;
        };
        let run = until.named.unwrap_or(ClockRun::FIRST);
        if !since.counted.is_same_run(run, &until.counted) {
            self.across_step += 1;
            return;
        }
        let bound = since.bound_ns.zip(until.bound_ns);
        let bound = bound.map(|(one, other)| one.saturating_add(other));
        of(self).record(to.saturating_sub(from), bound);
    }
}
