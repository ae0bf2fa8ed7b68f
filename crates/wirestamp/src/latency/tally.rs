//! The results of completed packets, and the table of those in flight.

use super::queueing;
use super::{LatencyReport, Losses, NotMeasured, PacketLatency};
use crate::host_clock::{HostClock, TimestampPolicy};
use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::correlate::{ConversionError, Estimate};
use wirestamp_core::latency::{self, Arrival, Flight, Histogram, InFlight};
use wirestamp_core::time::{Bounded, Monotonic, MonotonicTime, Span};
use wirestamp_core::timestamp::{Timestamps, TransmitOutcome, TransmitRecord};

/// The converters of both ends' timestamps.
#[derive(Debug)]
pub(super) struct Clocks {
    pub(super) sender: HostClock,
    pub(super) receiver: HostClock,
    pub(super) policy: TimestampPolicy,
}

/// The packets in flight, and the report of those that are completed.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) in_flight: InFlight,
    timeout: Span,
    report: LatencyReport,
    /// Packets that have left the table and whose times are not final yet.
    waiting: VecDeque<Flight>,
    /// The largest number of these. If there are more, the oldest is counted without being final.
    most_waiting: usize,
    /// The receiver of each packet's result.
    packets: Option<Sender<PacketLatency>>,
    /// The sequence number of the first counted packet.
    first: Option<u64>,
}

/// The wire and the receive path of a packet that arrived.
type Arrived = (Option<Bounded<Span>>, Bounded<Span>);

impl Tally {
    pub(super) fn new(
        source: TimestampSource,
        in_flight: InFlight,
        timeout: Span,
        most_waiting: usize,
    ) -> Self {
        let report = LatencyReport {
            source,
            packets: 0,
            unresolved: 0,
            warm_up: Span::ZERO,
            max_bound: None,
            lost: Losses::default(),
            send_path: Histogram::new(),
            to_queue: Histogram::new(),
            from_queue: Histogram::new(),
            wire: Histogram::new(),
            receive_path: Histogram::new(),
        };
        Self {
            in_flight,
            timeout,
            report,
            waiting: VecDeque::new(),
            most_waiting,
            packets: None,
            first: None,
        }
    }

    /// Sends each packet's result to `packets` from now on.
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

    /// Removes a packet whose send failed.
    pub(super) fn not_sent(&mut self, sequence: u64) {
        self.report.packets -= 1;
        self.in_flight.cancel(sequence);
    }

    /// Whether the packet has arrived or is no longer in flight.
    pub(super) fn has_arrived(&self, sequence: u64) -> bool {
        self.in_flight
            .get(sequence)
            .is_none_or(|flight| flight.received.is_some())
    }

    /// Whether the packet's transmit ID is unresolved.
    pub(super) fn awaits_timestamp(&self, sequence: u64) -> bool {
        self.in_flight
            .get(sequence)
            .is_some_and(|flight| flight.transmitted.is_none())
    }

    /// Notes the arrival of a packet. Ignores unknown ones (warm-up, duplicates).
    pub(super) fn received(
        &mut self,
        sequence: u64,
        timestamps: Timestamps,
        at: MonotonicTime,
        clocks: &Clocks,
    ) {
        match self.in_flight.received(sequence, timestamps, at) {
            Arrival::Unknown | Arrival::Noted => {}
            Arrival::Through(flight) => self.through(flight, clocks),
            Arrival::Late => self.report.lost.late += 1,
        }
    }

    /// Notes that a transmit ID has resolved.
    pub(super) fn transmitted(&mut self, record: &TransmitRecord, clocks: &Clocks) {
        if let Some(queued) = record.queued {
            self.in_flight.queued(record.id, queued);
        }
        if let Some(flight) = self.in_flight.transmitted(record.id, record.outcome) {
            self.through(flight, clocks);
        }
    }

    /// Gives up packets that exceed the timeout at `now`.
    pub(super) fn expire(&mut self, now: MonotonicTime, clocks: &Clocks) {
        while let Some(flight) = self.in_flight.expire(now) {
            self.through(flight, clocks);
        }
        self.count_confirmed(clocks);
    }

    /// The number of packets that are in flight, or whose times are not final.
    pub(super) fn unresolved(&self) -> u64 {
        (self.in_flight.len() + self.waiting.len()) as u64
    }

    /// The losses so far.
    pub(super) fn losses(&self) -> &Losses {
        &self.report.lost
    }

    /// Returns the report. `dropped` is the number of datagrams that did not fit into this host's
    /// receive buffer.
    pub(super) fn report(mut self, dropped: u64, clocks: &Clocks) -> LatencyReport {
        self.confirm(clocks);
        self.report.unresolved = self.in_flight.len() as u64;
        let lost = &mut self.report.lost;
        lost.receive_buffer_full = dropped.min(lost.packets - lost.late);
        self.report
    }

    /// Counts a packet that has left the table, once its times are final.
    fn through(&mut self, flight: Flight, clocks: &Clocks) {
        if self.waiting.is_empty() && clocks.have_confirmed(&flight) {
            return self.count(&flight, clocks);
        }
        self.waiting.push_back(flight);
        if self.waiting.len() > self.most_waiting {
            if let Some(oldest) = self.waiting.pop_front() {
                self.count(&oldest, clocks); // its clock could not be read for too long
            }
        }
    }

    /// Counts the waiting packets whose times have become final.
    fn count_confirmed(&mut self, clocks: &Clocks) {
        let is_confirmed = |flight: &Flight| clocks.have_confirmed(flight);
        while let Some(flight) = self.waiting.front().copied().filter(is_confirmed) {
            self.waiting.pop_front();
            self.count(&flight, clocks);
        }
    }

    /// Reads the clocks and counts all waiting packets.
    fn confirm(&mut self, clocks: &Clocks) {
        let mut answer = [true; 2];
        while let Some(flight) = self.waiting.pop_front() {
            clocks.confirm(&flight, &mut answer);
            self.count(&flight, clocks);
        }
    }

    /// Counts a packet that has left the table.
    fn count(&mut self, flight: &Flight, clocks: &Clocks) {
        let transmitted = match flight.transmitted {
            Some(TransmitOutcome::Timestamped(timestamps)) => {
                self.placed(&timestamps, &clocks.sender, clocks.policy)
            }
            Some(TransmitOutcome::Missing(reason)) => {
                self.report.lost.transmit_timestamps[reason as usize] += 1;
                Err(NotMeasured::TransmitTimestamp(reason))
            }
            None => Err(NotMeasured::NotTimestamped),
        };
        let left = match flight.transmitted {
            Some(TransmitOutcome::Timestamped(timestamps)) if transmitted.is_ok() => {
                timestamps.software.and_then(|software| software.utc)
            }
            _ => None,
        };
        let send_path = transmitted.map(|placed| {
            Bounded::new(
                latency::send_path(flight.sent, placed.at.value),
                placed.at.bound,
            )
        });
        if let Ok(send_path) = send_path {
            self.report.send_path.record(send_path.value);
        }
        let [to_queue, from_queue] = queueing::parts(flight, transmitted.ok());
        self.count_queue(flight, [to_queue, from_queue]);
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
        // an error means that the receiver is gone, which is fine
        let _ = packets.send(PacketLatency {
            number: flight.sequence - first + 1,
            sent: flight.sent,
            left,
            send_path: send_path.ok(),
            to_queue,
            from_queue,
            wire: arrived.ok().and_then(|(wire, _)| wire),
            receive_path: arrived.ok().map(|(_, receive_path)| receive_path),
            missing: arrived.err().or(send_path.err()),
        });
    }

    fn count_queue(&mut self, flight: &Flight, [to_queue, from_queue]: [Option<Bounded<Span>>; 2]) {
        let bound = flight.queued.map(|queued| queued.at.bound);
        self.report.max_bound = self.report.max_bound.max(bound);
        let histograms = [&mut self.report.to_queue, &mut self.report.from_queue];
        for (histogram, part) in histograms.into_iter().zip([to_queue, from_queue]) {
            part.iter().for_each(|part| histogram.record(part.value));
        }
    }

    fn count_arrival(
        &mut self,
        sent: MonotonicTime,
        transmitted: Option<Estimate<Monotonic>>,
        timestamps: &Timestamps,
        after: MonotonicTime,
        clocks: &Clocks,
    ) -> Result<Arrived, NotMeasured> {
        let placed = self.placed(timestamps, &clocks.receiver, clocks.policy);
        // the time until this program fetched the packet is not part of the path delay
        let arrived = placed.map_or(after, |placed| placed.at.value.min(after));
        if arrived - sent > self.timeout {
            self.report.lost.packets += 1;
            self.report.lost.late += 1;
            return Err(NotMeasured::Late);
        }
        self.report.lost.receive_timestamps += u64::from(!timestamps.has(self.report.source));
        let received = placed?;
        let receive_path = Bounded::new(
            latency::receive_path(received.at.value, after),
            received.at.bound,
        );
        self.report.receive_path.record(receive_path.value);
        let wire = transmitted.map(|transmitted| {
            let bound = transmitted.at.bound + received.at.bound;
            Bounded::new(
                latency::wire(transmitted.at.value, received.at.value),
                bound,
            )
        });
        if let Some(wire) = wire {
            self.report.wire.record(wire.value);
        }
        Ok((wire, receive_path))
    }

    /// The timestamp of the requested source on the monotonic clock. A time that is not final
    /// counts as lost, because it may be wrong.
    fn placed(
        &mut self,
        timestamps: &Timestamps,
        clock: &HostClock,
        policy: TimestampPolicy,
    ) -> Result<Estimate<Monotonic>, NotMeasured> {
        let placed = clock.place(timestamps, policy).and_then(|time| {
            let is_final = time.is_final.then_some(time.monotonic);
            is_final.ok_or(ConversionError::Stale)
        });
        match placed {
            Ok(placed) => {
                self.report.max_bound = self.report.max_bound.max(Some(placed.at.bound));
                Ok(placed)
            }
            Err(ConversionError::NoTimestamp) => Err(NotMeasured::NotTimestamped),
            Err(refusal) => {
                self.report.lost.conversions += 1;
                self.report.lost.last_refusal = Some(refusal);
                Err(NotMeasured::Conversion(refusal))
            }
        }
    }
}

impl Clocks {
    /// Whether all times of a packet are final.
    fn have_confirmed(&self, flight: &Flight) -> bool {
        self.timestamps(flight)
            .into_iter()
            .flatten()
            .all(|(clock, timestamps)| clock.is_confirmed(&timestamps))
    }

    /// Makes the times of a packet final, if the clocks can be read. A clock that failed once is
    /// not read again; its packets count as lost.
    fn confirm(&self, flight: &Flight, answer: &mut [bool; 2]) {
        for (end, answers) in self.timestamps(flight).into_iter().zip(answer) {
            if let Some((clock, timestamps)) = end.filter(|_| *answers) {
                *answers = clock.confirm(&timestamps).is_ok();
            }
        }
    }

    /// The timestamps of a packet that must be converted, with their converters.
    fn timestamps(&self, flight: &Flight) -> [Option<(&HostClock, Timestamps)>; 2] {
        let transmitted = match flight.transmitted {
            Some(TransmitOutcome::Timestamped(timestamps)) => Some(timestamps),
            _ => None,
        };
        let received = flight.received.map(|(timestamps, _)| timestamps);
        [
            transmitted.map(|timestamps| (&self.sender, timestamps)),
            received.map(|timestamps| (&self.receiver, timestamps)),
        ]
    }
}

#[cfg(all(test, feature = "sim"))]
mod tests;
