//! How long answers take, in one capture: UDP requests and their answers, TCP handshakes, TCP segments and their acknowledgments.
//!
//! Times are those at which packets passed where the capture was made. An answer only counts if its request is certain: a UDP answer
//! while exactly one request waits (and, once it could be to several, when all of these were answered or timed out), a TCP
//! acknowledgment of bytes that were sent once. The rest counts as ambiguous. Memory is bounded: [`MOST_CONNECTIONS`], and
//! [`MOST_WAITING`] packets of each.

mod report;
mod roles;
mod waits;

pub use report::{Report, Service, ServiceReport};

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

/// So many connections are followed at a time; beyond, the oldest is forgotten.
pub const MOST_CONNECTIONS: usize = 65_536;
/// So many packets of a connection wait for their answer.
pub const MOST_WAITING: usize = 1_024;
/// A longer payload of UDP fits no Ethernet frame.
const LONGEST_DATAGRAM: u32 = 1_472;
/// So many services have figures of their own; the others have none, and are counted.
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

/// A time, and how far it can be from the truth.
#[derive(Debug, Clone, Copy)]
struct When {
    /// On a line that never goes back, and the number of the clock's run there.
    line_ns: i64,
    run: u32,
    /// The latest run that had begun.
    since: u32,
    utc_ns: Option<i64>,
    bound_ns: Option<u64>,
    /// The clock's run according to the file, and the numbers of both counters at this packet.
    named: Option<ClockRun>,
    counted: Counted,
    /// Of a request: how long the longest answer was that came since.
    longest_answer: u32,
}

/// The parts of a packet that are used.
#[derive(Debug, Clone, Copy)]
struct Observed {
    when: When,
    way: Option<CapturedDirection>,
    found: Result<Segment, Unreadable>,
}

/// Of an IP packet.
#[derive(Debug, Clone, Copy)]
struct Segment {
    flow: Flow,
    tcp: Option<Tcp>,
    length: u32,
    is_fragment: bool,
}

impl Segment {
    fn of(found: &Ip<'_>) -> Self {
        Self {
            flow: found.flow,
            tcp: found.tcp,
            length: found.payload_length,
            is_fragment: found.is_fragment,
        }
    }
}

/// A connection, as its client calls it.
#[derive(Debug)]
struct Connection {
    service: usize,
    /// UDP requests that wait.
    requests: VecDeque<When>,
    /// Whether it is unknown which of them were answered.
    uncertain: bool,
    /// UDP: whether it is unknown who asks, because the first packet came from a service.
    is_unclear: bool,
    /// The length of the shortest UDP answer that came while one request alone waited: it is one answer, not several, joined.
    shortest: Option<u32>,
    /// TCP, by who sent: the client first.
    sent: [Sender; 2],
    /// Which way packets go, by who sent. On loopback each is captured both ways, and counts once.
    ways: [Option<CapturedDirection>; 2],
}

#[derive(Debug, Default)]
struct Sender {
    /// A SYN, and the acknowledgment that it needs.
    syn: Option<(u32, When)>,
    /// Segments, and the acknowledgments that they need.
    segments: VecDeque<(u32, When)>,
    /// The number behind everything that was sent.
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

/// Measures how long answers take in a capture. A UDP request that nothing answers for `timeout_ns` is unanswered.
///
/// # Errors
/// As [`Reader::next_packet`]; `InvalidInput` if the packets are further from the order of time than 65,536 places.
pub fn answers(reader: &mut Reader<'_>, timeout_ns: i64) -> Result<Report> {
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
    let mut file = Ordered::new(reader, order::WINDOW, observe);
    while let Some(placed) = file.next()? {
        packets += 1;
        let Observed { when, way, found } = placed.packet;
        unusable.without_time += u64::from(when.utc_ns.is_none());
        let (line_ns, run) = (placed.line_ns, placed.run);
        let counted = when
            .named
            .map_or(counted_until, |run| counted_until.note(run));
        let since = answers.waits.reach(run, line_ns);
        match found {
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
        found: found.map(|found| Segment::of(&found)),
    }
}

impl Answers {
    fn observe(&mut self, found: &Segment, way: Option<CapturedDirection>, when: When) {
        let (client, by_client) = match &found.tcp {
            // the SYN alone shows who asks
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
            return; // to itself: questions and answers look alike
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
        if *known != way && way.is_some() {
            return; // the same packet again
        }
        let counts = &mut self.counts[service].1;
        match &found.tcp {
            Some(tcp) => connection.tcp(tcp, found.length, by_client, when, counts),
            None if by_client => connection.asked(when, &self.waits, counts),
            None => connection.answered(found.length, when, &self.waits, counts),
        }
    }

    /// The service that a client's connection is to; the connection is known from now on.
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

    /// `may_be_answers`: so many packets could not be used.
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

    /// A UDP request is not followed any more.
    fn gave_up(&self, asked: &When, wait: Wait, counts: &mut Counts) {
        match wait {
            Wait::Over if self.may_be_several(asked.longest_answer) => counts.undecided += 1,
            Wait::Over => counts.unanswered += 1,
            Wait::AcrossStep => counts.across_step += 1,
            Wait::Waits => counts.undecided += 1,
        }
    }

    /// Returns whether a UDP answer of this length may be several, joined: GSO cuts it only later, or GRO joined it. Where no
    /// answer of the flow is known to be one, nobody knows.
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
            self.requests.pop_back(); // the oldest one waits on: the doubt ends with its timeout
        } else if let Some(asked) = self.requests.pop_front() {
            counts.took(|counts| &mut counts.answers, asked, when);
        }
    }

    fn tcp(&mut self, tcp: &Tcp, length: u32, by_client: bool, when: When, counts: &mut Counts) {
        let (own, other) = if by_client { (0, 1) } else { (1, 0) };
        if tcp.ack {
            // a service's packets acknowledge the client's, and so stand first
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
            // sent again: nobody knows which one is answered
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

/// Whether one number of TCP's comes before another: they wrap around.
fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

impl Counts {
    /// Records an answer at `until` to a packet that was sent at `since`.
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
