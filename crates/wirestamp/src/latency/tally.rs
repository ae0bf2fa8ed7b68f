//! Owns the datagrams under way and the figures of those that are through. Sends and receives
//! nothing.

use super::{LatencyReport, Losses};
use crate::correlator::Correlator;
use std::sync::Arc;
use wirestamp_core::capability::StampSource;
use wirestamp_core::latency::{self, Histogram};
use wirestamp_core::stamp::{HardwareStamp, Stamps, TransmitOutcome, TransmitRecord};
use wirestamp_core::time::{Span, SystemTime};

/// So many datagrams can be under way: their transmit stamps fit into every buffer.
pub(super) const WINDOW: usize = 1024;

/// The correlators of both ends, where hardware stamps are measured.
#[derive(Debug)]
pub(super) struct Clocks {
    pub(super) sender: Option<Arc<Correlator>>,
    pub(super) receiver: Option<Arc<Correlator>>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    sequence: u64,
    sent: SystemTime,
    received: Option<(Stamps, SystemTime)>,
    transmitted: Option<TransmitOutcome>,
}

/// The datagrams under way, by sequence number, and the report that grows from them.
#[derive(Debug)]
pub(super) struct Tally {
    entries: Vec<Option<Entry>>,
    report: LatencyReport,
}

impl Tally {
    pub(super) fn new(source: StampSource) -> Self {
        let report = LatencyReport {
            source,
            packets: 0,
            warm_up: Span::ZERO,
            max_bound: None,
            lost: Losses::default(),
            send_path: Histogram::new(),
            wire: Histogram::new(),
            receive_path: Histogram::new(),
        };
        Self { entries: vec![None; WINDOW], report }
    }

    /// Notes how long the warm-up took.
    pub(super) fn warmed_up(&mut self, after: Span) {
        self.report.warm_up = after;
    }

    /// Whether `sequence` would push out a datagram that is not through yet, and whether that
    /// one still awaits its transmit stamp.
    pub(super) fn is_in_the_way(&self, sequence: u64) -> Option<bool> {
        self.entries[place(sequence)].as_ref().map(|entry| entry.transmitted.is_none())
    }

    /// Notes a datagram just before it is sent. One that it pushes out did not arrive.
    pub(super) fn sending(&mut self, sequence: u64, sent: SystemTime, clocks: &Clocks) {
        self.finish(sequence, clocks);
        self.report.packets += 1;
        self.entries[place(sequence)] = Some(Entry { sequence, sent, received: None, transmitted: None });
    }

    /// The datagram could not be sent after all.
    pub(super) fn not_sent(&mut self, sequence: u64) {
        self.report.packets -= 1;
        self.entries[place(sequence)] = None;
    }

    /// A datagram arrived; unknown ones (warm-up, duplicates, too late) don't count.
    pub(super) fn received(&mut self, sequence: u64, stamps: Stamps, at: SystemTime, clocks: &Clocks) {
        let Some(entry) = self.entry(sequence) else { return };
        if entry.received.is_none() {
            entry.received = Some((stamps, at));
        }
        self.finish_if_through(sequence, clocks);
    }

    /// A transmit id ended: the low half of the sequence number.
    pub(super) fn transmitted(&mut self, record: &TransmitRecord, clocks: &Clocks) {
        let slot = &mut self.entries[record.id.0 as usize % WINDOW];
        let Some(entry) = slot.as_mut().filter(|entry| entry.sequence as u32 == record.id.0) else { return };
        entry.transmitted = Some(record.outcome);
        let sequence = entry.sequence;
        self.finish_if_through(sequence, clocks);
    }

    /// Whether nothing is under way.
    pub(super) fn is_through(&self) -> bool {
        self.entries.iter().all(Option::is_none)
    }

    /// What came out. What is still under way did not arrive.
    pub(super) fn report(mut self, clocks: &Clocks) -> LatencyReport {
        for sequence in 0..WINDOW as u64 {
            self.finish(sequence, clocks);
        }
        self.report
    }

    fn entry(&mut self, sequence: u64) -> Option<&mut Entry> {
        self.entries[place(sequence)].as_mut().filter(|entry| entry.sequence == sequence)
    }

    fn finish_if_through(&mut self, sequence: u64, clocks: &Clocks) {
        if self.entry(sequence).is_some_and(|entry| entry.received.is_some() && entry.transmitted.is_some()) {
            self.finish(sequence, clocks);
        }
    }

    /// Takes the entry at the place of `sequence` out and counts it.
    fn finish(&mut self, sequence: u64, clocks: &Clocks) {
        let Some(entry) = self.entries[place(sequence)].take() else { return };
        let transmitted = match entry.transmitted {
            Some(TransmitOutcome::Stamped(stamps)) => self.at(&stamps, clocks.sender.as_deref()),
            Some(TransmitOutcome::Lost(reason)) => {
                self.report.lost.transmit_stamps[reason as usize] += 1;
                None
            }
            None => None,
        };
        let received = match entry.received {
            Some((stamps, after)) => {
                let at = self.at(&stamps, clocks.receiver.as_deref());
                self.report.lost.receive_stamps += u64::from(!stamps.has(self.report.source));
                at.map(|at| (at, after))
            }
            None => {
                self.report.lost.packets += 1;
                None
            }
        };
        self.record(entry.sent, transmitted, received);
    }

    fn record(&mut self, sent: SystemTime, stamped: Option<SystemTime>, received: Option<(SystemTime, SystemTime)>) {
        if let Some(stamped) = stamped {
            self.report.send_path.record(latency::send_path(sent, stamped));
        }
        if let Some((stamped, after)) = received {
            self.report.receive_path.record(latency::receive_path(stamped, after));
        }
        if let (Some(transmitted), Some((received, _))) = (stamped, received) {
            self.report.wire.record(latency::wire(transmitted, received));
        }
    }

    /// The stamp of the wanted source, in system time.
    fn at(&mut self, stamps: &Stamps, clock: Option<&Correlator>) -> Option<SystemTime> {
        match self.report.source {
            StampSource::Software => stamps.software.map(|stamp| self.placed(stamp.at, stamp.bound)),
            StampSource::Hardware => self.converted(&stamps.hardware?, clock?),
        }
    }

    fn placed(&mut self, at: SystemTime, bound: Span) -> SystemTime {
        self.report.max_bound = self.report.max_bound.max(Some(bound));
        at
    }

    fn converted(&mut self, stamp: &HardwareStamp, clock: &Correlator) -> Option<SystemTime> {
        match clock.to_system(stamp) {
            Ok(estimate) => Some(self.placed(estimate.at, estimate.bound)),
            Err(refusal) => {
                self.report.lost.conversions += 1;
                self.report.lost.last_refusal = Some(refusal);
                None
            }
        }
    }
}

fn place(sequence: u64) -> usize {
    (sequence % WINDOW as u64) as usize
}
