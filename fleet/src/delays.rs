//! One-way delays of flows: transmit and receive timestamps of the same packets, joined by flow and sequence number.
//!
//! What it says is defined by `latency.sql` and `pairs.sql`, which Spark runs; tests compare both. It is fast where rows come
//! as the files have them: long runs of one host's packets of one flow, in the order of time, which are only put together. A
//! packet takes 24 bytes, at most twice, and a run as much again. Nothing here reads or writes anything.

mod flow;

use flow::{Arrival, Packet};
use std::collections::HashMap;

/// A packet's transmit or receive timestamp. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    /// Number of the flow.
    pub flow: i64,
    /// Number of the packet in its flow and direction.
    pub sequence: i64,
    /// UTC since 1970; not negative.
    pub utc: i64,
    /// UTC is within this distance of `utc`; [`UNKNOWN`]: not known.
    pub error_bound: i64,
    /// The host that recorded it.
    pub host: u32,
}

/// What an error bound is that is not known.
pub const UNKNOWN: i64 = i64::MIN;

/// The packets of one host's flow: what became of them, and their one-way delays. Nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// The host that sent them.
    pub host: u32,
    /// Number of the flow.
    pub flow: i64,
    /// The host that received one of them; the last, if there are several.
    pub peer: Option<u32>,
    /// How many were sent.
    pub sent: i64,
    /// Sent, and received by nobody.
    pub missing: i64,
    /// Received again.
    pub duplicate: i64,
    /// Received before a packet that was sent earlier.
    pub reordered: i64,
    /// Received by other hosts, and sent by nobody.
    pub unmatched: i64,
    /// Least delay.
    pub least: Option<i64>,
    /// Half of the packets needed no more, duplicates not counted.
    pub median: Option<i64>,
    /// 99 of 100 packets needed no more, duplicates not counted.
    pub p99: Option<i64>,
    /// Greatest delay.
    pub most: Option<i64>,
    /// The error bound of each delay is at most this.
    pub error_bound: Option<i64>,
}

/// The sum of two error bounds is more than 64 bits hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow;

/// Where the timestamps of one host, flow and direction are that came one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    flow: i64,
    first: usize,
    end: usize,
    host: u32,
    is_received: bool,
}

/// The timestamps of some flows; all of each.
#[derive(Debug, Default)]
pub struct Packets {
    packets: Vec<Packet>,
    runs: Vec<Run>,
}

impl Packets {
    /// Room for so many timestamps.
    pub fn with_capacity(timestamps: usize) -> Self {
        Self {
            packets: Vec::with_capacity(timestamps),
            runs: Vec::new(),
        }
    }

    /// Takes the transmit timestamp of a packet.
    pub fn sent(&mut self, timestamp: Timestamp) {
        self.push(timestamp, false);
    }

    /// Takes the receive timestamp of a packet.
    pub fn received(&mut self, timestamp: Timestamp) {
        self.push(timestamp, true);
    }

    fn push(&mut self, timestamp: Timestamp, is_received: bool) {
        let Timestamp { flow, host, .. } = timestamp;
        let first = self.packets.len();
        self.packets.push(Packet {
            sequence: timestamp.sequence,
            utc: timestamp.utc,
            error_bound: timestamp.error_bound,
        });
        let same =
            |run: &&mut Run| (run.flow, run.host, run.is_received) == (flow, host, is_received);
        match self.runs.last_mut().filter(same) {
            Some(run) => run.end = first + 1,
            None => self.runs.push(Run {
                flow,
                first,
                end: first + 1,
                host,
                is_received,
            }),
        }
    }

    /// Joins them. Hosts are numbered anew by `ranks`, whose order is that of their names. A packet is found at the receiver within
    /// `most` nanoseconds. Sorted by host and flow.
    ///
    /// # Errors
    /// Two error bounds whose sum is too great.
    ///
    /// # Panics
    /// If a host has no rank.
    pub fn flows(mut self, ranks: &[u32], most: u64) -> Result<Vec<Flow>, Overflow> {
        for run in &mut self.runs {
            run.host = ranks[run.host as usize];
        }
        let mut runs = std::mem::take(&mut self.runs);
        // stable: the runs of one host stay in the order in which they came, which is that of time
        runs.sort_by_key(|run| (run.flow, run.is_received, run.host));
        let mut flows = Vec::new();
        for runs in runs.chunk_by(|one, next| one.flow == next.flow) {
            self.flow(runs, most, &mut flows)?;
        }
        flows.sort_by_key(|flow| (flow.host, flow.flow));
        Ok(flows)
    }

    /// `runs`: of one flow, by direction and host.
    fn flow(&self, runs: &[Run], most: u64, flows: &mut Vec<Flow>) -> Result<(), Overflow> {
        let (sent, received) = runs.split_at(runs.partition_point(|run| !run.is_received));
        if sent.is_empty() {
            return Ok(());
        }
        let mut by_host = HashMap::<u32, usize>::new();
        let mut arrivals = Vec::with_capacity(received.iter().map(Run::count).sum());
        for run in received {
            let host = run.host;
            *by_host.entry(host).or_default() += run.count();
            arrivals.extend(self.of(run).iter().map(|&packet| Arrival { packet, host }));
        }
        arrivals.sort_by_key(|a| {
            (
                a.packet.sequence,
                a.packet.utc,
                a.host,
                a.packet.error_bound,
            )
        });
        for runs in sent.chunk_by(|one, next| one.host == next.host) {
            let Run { flow, host, .. } = runs[0];
            let mut sent: Vec<_> = runs.iter().flat_map(|run| self.of(run)).copied().collect();
            sent.sort_by_key(|packet| (packet.utc, packet.sequence, packet.error_bound));
            let others = arrivals.len() - by_host.get(&host).copied().unwrap_or(0);
            flows.push(flow::analyse(
                (flow, host),
                &sent,
                &arrivals,
                others as i64,
                most,
            )?);
        }
        Ok(())
    }

    fn of(&self, run: &Run) -> &[Packet] {
        &self.packets[run.first..run.end]
    }
}

impl Run {
    fn count(&self) -> usize {
        self.end - self.first
    }
}
