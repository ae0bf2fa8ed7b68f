//! One host's packets of one flow.

use super::{Flow, Overflow, UNKNOWN};

/// So many receive timestamps are looked at one after the other, before the search is by halves.
const NEAR: usize = 4;

/// A timestamp whose flow, host and direction are known from where it is. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) sequence: i64,
    pub(super) utc: i64,
    pub(super) error_bound: i64,
}

/// A receive timestamp of a flow, of whichever host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) packet: Packet,
    pub(super) host: u32,
}

/// `sent`: of one flow and host, by time. `received`: of the same flow, by sequence number and time. `others`: how many of
/// these are of other hosts.
pub(super) fn analyse(
    (flow, host): (i64, u32),
    sent: &[Packet],
    received: &[Arrival],
    others: i64,
    most: u64,
) -> Result<Flow, Overflow> {
    let mut seen = Seen::of(flow, host, sent.len());
    let (mut place, mut before) = (0, None);
    for packet in sent {
        let earliest = packet.utc.saturating_sub_unsigned(most);
        place = first_from(received, place, (packet.sequence, earliest));
        let fits = |arrival: &&Arrival| {
            let Packet { sequence, utc, .. } = arrival.packet;
            sequence == packet.sequence && utc.abs_diff(packet.utc) <= most
        };
        let mut is_missing = true;
        for arrival in received[place..].iter().take_while(fits) {
            if arrival.host != host {
                let again = before.replace((packet.utc, packet.sequence));
                seen.arrival(packet, arrival, again == before)?;
                is_missing = false;
            }
        }
        if is_missing {
            before = Some((packet.utc, packet.sequence));
            seen.flow.sent += 1;
            seen.flow.missing += 1;
        }
    }
    Ok(seen.answer(others))
}

/// The first place whose sequence number and time are at least these: beside `hint`, if numbers count up as usual.
fn first_from(received: &[Arrival], hint: usize, least: (i64, i64)) -> usize {
    let is_before = |arrival: &Arrival| (arrival.packet.sequence, arrival.packet.utc) < least;
    if hint > 0 && !is_before(&received[hint - 1]) {
        return received[..hint].partition_point(is_before);
    }
    let near = received[hint..].iter().take(NEAR);
    let passed = near.take_while(|arrival| is_before(arrival)).count();
    if passed < NEAR {
        return hint + passed;
    }
    hint + passed + received[hint + passed..].partition_point(is_before)
}

/// What was seen so far of a flow.
struct Seen {
    flow: Flow,
    matched: i64,
    /// When the last of them came.
    latest: Option<i64>,
    /// Of all but duplicates.
    delays: Vec<i64>,
}

impl Seen {
    fn of(flow: i64, host: u32, packets: usize) -> Self {
        Self {
            flow: Flow {
                host,
                flow,
                peer: None,
                sent: 0,
                missing: 0,
                duplicate: 0,
                reordered: 0,
                unmatched: 0,
                least: None,
                median: None,
                p99: None,
                most: None,
                error_bound: None,
            },
            matched: 0,
            latest: None,
            delays: Vec::with_capacity(packets),
        }
    }

    fn arrival(
        &mut self,
        packet: &Packet,
        arrival: &Arrival,
        is_again: bool,
    ) -> Result<(), Overflow> {
        let Arrival {
            packet: received,
            host,
        } = *arrival;
        let delay = received.utc - packet.utc; // neither is negative
        let flow = &mut self.flow;
        flow.peer = flow.peer.max(Some(host));
        flow.least = Some(flow.least.map_or(delay, |least| least.min(delay)));
        flow.most = flow.most.max(Some(delay));
        if packet.error_bound != UNKNOWN && received.error_bound != UNKNOWN {
            let bound = packet.error_bound.checked_add(received.error_bound);
            flow.error_bound = flow.error_bound.max(Some(bound.ok_or(Overflow)?));
        }
        if is_again {
            flow.duplicate += 1;
        } else {
            flow.sent += 1;
            flow.reordered += i64::from(self.latest > Some(received.utc));
            self.delays.push(delay);
        }
        self.matched += 1;
        self.latest = self.latest.max(Some(received.utc));
        Ok(())
    }

    fn answer(mut self, others: i64) -> Flow {
        self.flow.unmatched = (others - self.matched).max(0);
        self.flow.median = quantile(&mut self.delays, 50);
        self.flow.p99 = quantile(&mut self.delays, 99);
        self.flow
    }
}

/// The least value that so many percent of them do not exceed.
fn quantile(values: &mut [i64], percent: usize) -> Option<i64> {
    let place = (values.len() * percent).div_ceil(100).checked_sub(1)?;
    Some(*values.select_nth_unstable(place).1)
}
