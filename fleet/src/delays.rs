//! One-way delays of flows: transmit and receive timestamps of the same packets, joined by flow and sequence number.
//!
//! What it says is defined by `latency.sql` and `pairs.sql`, which Spark runs; tests compare both. It is fast where rows come
//! as the files have them, in sorted runs: a stable sort merges those. Nothing here reads or writes anything.

mod flow;

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

/// The timestamps of some flows; all of each.
#[derive(Debug, Default)]
pub struct Packets {
    sent: Vec<Timestamp>,
    received: Vec<Timestamp>,
}

impl Packets {
    /// Room for so many timestamps, half of them in each direction.
    pub fn with_capacity(timestamps: usize) -> Self {
        let half = timestamps.div_ceil(2);
        Self {
            sent: Vec::with_capacity(half),
            received: Vec::with_capacity(half),
        }
    }

    /// Takes the transmit timestamp of a packet.
    pub fn sent(&mut self, timestamp: Timestamp) {
        self.sent.push(timestamp);
    }

    /// Takes the receive timestamp of a packet.
    pub fn received(&mut self, timestamp: Timestamp) {
        self.received.push(timestamp);
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
        for timestamp in self.sent.iter_mut().chain(&mut self.received) {
            timestamp.host = ranks[timestamp.host as usize];
        }
        self.sent
            .sort_by_key(|t| (t.flow, t.host, t.utc, t.sequence, t.error_bound));
        self.received
            .sort_by_key(|t| (t.flow, t.sequence, t.utc, t.host, t.error_bound));
        let mut flows = Vec::new();
        let mut received = self.received.as_slice();
        for sent in self.sent.chunk_by(|one, next| one.flow == next.flow) {
            let flow = sent[0].flow;
            let (before, rest) = received.split_at(received.partition_point(|t| t.flow < flow));
            debug_assert!(before.iter().all(|t| t.flow < flow));
            let (same, rest) = rest.split_at(rest.partition_point(|t| t.flow == flow));
            received = rest;
            let mut by_host = HashMap::<u32, i64>::new();
            for timestamp in same {
                *by_host.entry(timestamp.host).or_default() += 1;
            }
            for sent in sent.chunk_by(|one, next| one.host == next.host) {
                let own = by_host.get(&sent[0].host).copied().unwrap_or(0);
                flows.push(flow::analyse(sent, same, same.len() as i64 - own, most)?);
            }
        }
        flows.sort_by_key(|flow| (flow.host, flow.flow));
        Ok(flows)
    }
}
