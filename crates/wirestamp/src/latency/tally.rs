//! The figures of the packets that are through, and the table of those in flight. Sends and
//! receives nothing.

use super::{LatencyReport, Losses, NotMeasured, PacketLatency, PathTime};
use crate::correlator::Correlator;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::latency::{self, Arrival, Flight, Histogram, InFlight};
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{HardwareTimestamp, Timestamps, TransmitOutcome, TransmitRecord};

/// The correlators of both ends, where hardware timestamps are measured.
#[derive(Debug)]
pub(super) struct Clocks {
    pub(super) sender: Option<Arc<Correlator>>,
    pub(super) receiver: Option<Arc<Correlator>>,
}

/// The packets in flight, and the report that grows from those that have left it.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) in_flight: InFlight,
    timeout: Span,
    report: LatencyReport,
    /// Who wants to know of each packet.
    packets: Option<Sender<PacketLatency>>,
    /// The number of the first that was counted.
    first: Option<u64>,
}

/// A timestamp on the monotonic clock.
#[derive(Debug, Clone, Copy)]
struct Placed {
    at: MonotonicTime,
    bound: Span,
}

/// What an arrival gives: the wire and the receive path.
type Arrived = (Option<PathTime>, PathTime);

impl Tally {
    pub(super) fn new(source: TimestampSource, in_flight: InFlight, timeout: Span) -> Self {
        let report = LatencyReport {
            source,
            packets: 0,
            unresolved: 0,
            warm_up: Span::ZERO,
            max_bound: None,
            lost: Losses::default(),
            send_path: Histogram::new(),
            wire: Histogram::new(),
            receive_path: Histogram::new(),
        };
        Self {
            in_flight,
            timeout,
            report,
            packets: None,
            first: None,
        }
    }

    /// From now on somebody wants to know of each packet.
    pub(super) fn send_packets_to(&mut self, packets: Sender<PacketLatency>) {
        self.packets = Some(packets);
    }

    /// Notes how long the warm-up took.
    pub(super) fn warmed_up(&mut self, after: Span) {
        self.report.warm_up = after;
    }

    /// Notes a packet just before it is sent.
    pub(super) fn sending(&mut self, sequence: u64, sent: MonotonicTime) {
        self.report.packets += 1;
        self.first.get_or_insert(sequence);
        self.in_flight.begin(sequence, sent);
    }

    /// The packet could not be sent after all.
    pub(super) fn not_sent(&mut self, sequence: u64) {
        self.report.packets -= 1;
        self.in_flight.cancel(sequence);
    }

    /// Whether the packet has arrived, or is not in flight any more.
    pub(super) fn has_arrived(&self, sequence: u64) -> bool {
        self.in_flight
            .get(sequence)
            .is_none_or(|flight| flight.received.is_some())
    }

    /// Whether the transmit id of the packet has not ended.
    pub(super) fn awaits_timestamp(&self, sequence: u64) -> bool {
        self.in_flight
            .get(sequence)
            .is_some_and(|flight| flight.transmitted.is_none())
    }

    /// A packet arrived; unknown ones (warm-up, duplicates) don't count.
    pub(super) fn received(
        &mut self,
        sequence: u64,
        timestamps: Timestamps,
        at: MonotonicTime,
        clocks: &Clocks,
    ) {
        match self.in_flight.received(sequence, timestamps, at) {
            Arrival::Unknown | Arrival::Noted => {}
            Arrival::Through(flight) => self.count(&flight, clocks),
            Arrival::Late => self.report.lost.late += 1,
        }
    }

    /// A transmit id ended.
    pub(super) fn transmitted(&mut self, record: &TransmitRecord, clocks: &Clocks) {
        if let Some(flight) = self.in_flight.transmitted(record.id, record.outcome) {
            self.count(&flight, clocks);
        }
    }

    /// Gives up what was not there at `now` and is over its time.
    pub(super) fn expire(&mut self, now: MonotonicTime, clocks: &Clocks) {
        while let Some(flight) = self.in_flight.expire(now) {
            self.count(&flight, clocks);
        }
    }

    /// What came out. `dropped`: how many datagrams this host's receive buffer had no room for.
    pub(super) fn report(mut self, dropped: u64) -> LatencyReport {
        self.report.unresolved = self.in_flight.len() as u64;
        let lost = &mut self.report.lost;
        lost.receive_buffer_full = dropped.min(lost.packets - lost.late);
        self.report
    }

    /// Counts a packet that has left the table.
    fn count(&mut self, flight: &Flight, clocks: &Clocks) {
        let transmitted = match flight.transmitted {
            Some(TransmitOutcome::Timestamped(timestamps)) => {
                self.placed(&timestamps, clocks.sender.as_deref())
            }
            Some(TransmitOutcome::Missing(reason)) => {
                self.report.lost.transmit_timestamps[reason as usize] += 1;
                Err(NotMeasured::TransmitTimestamp(reason))
            }
            None => Err(NotMeasured::NotTimestamped),
        };
        let send_path = transmitted.map(|placed| PathTime {
            time: latency::send_path(flight.sent, placed.at),
            error_bound: placed.bound,
        });
        if let Ok(send_path) = send_path {
            self.report.send_path.record(send_path.time);
        }
        let arrived = match flight.received {
            Some((timestamps, after)) => {
                self.count_arrival(flight.sent, transmitted.ok(), &timestamps, after, clocks)
            }
            None => {
                self.report.lost.packets += 1;
                Err(NotMeasured::NotArrived)
            }
        };
        let (Some(packets), Some(first)) = (&self.packets, self.first) else {
            return;
        };
        // once nobody listens any more, nobody wants to know
        let _ = packets.send(PacketLatency {
            number: flight.sequence - first + 1,
            sent: flight.sent,
            send_path: send_path.ok(),
            wire: arrived.ok().and_then(|(wire, _)| wire),
            receive_path: arrived.ok().map(|(_, receive_path)| receive_path),
            missing: arrived.err().or(send_path.err()),
        });
    }

    fn count_arrival(
        &mut self,
        sent: MonotonicTime,
        transmitted: Option<Placed>,
        timestamps: &Timestamps,
        after: MonotonicTime,
        clocks: &Clocks,
    ) -> Result<Arrived, NotMeasured> {
        let placed = self.placed(timestamps, clocks.receiver.as_deref());
        // the time that this program took to fetch it is no part of the way
        let arrived = placed.map_or(after, |placed| placed.at.min(after));
        if arrived - sent > self.timeout {
            self.report.lost.packets += 1;
            self.report.lost.late += 1;
            return Err(NotMeasured::Late);
        }
        self.report.lost.receive_timestamps += u64::from(!timestamps.has(self.report.source));
        let received = placed?;
        let receive_path = PathTime {
            time: latency::receive_path(received.at, after),
            error_bound: received.bound,
        };
        self.report.receive_path.record(receive_path.time);
        let wire = transmitted.map(|transmitted| PathTime {
            time: latency::wire(transmitted.at, received.at),
            error_bound: transmitted.bound + received.bound,
        });
        if let Some(wire) = wire {
            self.report.wire.record(wire.time);
        }
        Ok((wire, receive_path))
    }

    /// The timestamp of the wanted source, in system time.
    fn placed(
        &mut self,
        timestamps: &Timestamps,
        clock: Option<&Correlator>,
    ) -> Result<Placed, NotMeasured> {
        let placed = match self.report.source {
            TimestampSource::Software => timestamps.software.map(|timestamp| Placed {
                at: timestamp.at,
                bound: timestamp.bound,
            }),
            TimestampSource::Hardware => match (timestamps.hardware, clock) {
                (Some(timestamp), Some(clock)) => Some(self.converted(&timestamp, clock)?),
                _ => None,
            },
        };
        let placed = placed.ok_or(NotMeasured::NotTimestamped)?;
        self.report.max_bound = self.report.max_bound.max(Some(placed.bound));
        Ok(placed)
    }

    fn converted(
        &mut self,
        timestamp: &HardwareTimestamp,
        clock: &Correlator,
    ) -> Result<Placed, NotMeasured> {
        match clock.to_monotonic(timestamp) {
            Ok(estimate) => Ok(Placed {
                at: estimate.at,
                bound: estimate.bound,
            }),
            Err(refusal) => {
                self.report.lost.conversions += 1;
                self.report.lost.last_refusal = Some(refusal);
                Err(NotMeasured::Conversion(refusal))
            }
        }
    }
}
