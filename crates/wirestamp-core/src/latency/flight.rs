//! The packets in flight: sent, and neither completed nor given up. Determines when a packet is
//! complete and which packets are lost.

use crate::time::{MonotonicTime, Span};
use crate::timestamp::{SoftwareTimestamp, Timestamps, TransmitId, TransmitOutcome};
use alloc::collections::{BTreeSet, TryReserveError, VecDeque};

/// The time after its timeout at which a packet is given up: it can take this long from its receive
/// timestamp to the socket's queue.
pub const GRACE: Span = Span::from_milliseconds(20);

/// A sent packet and its timestamps so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// The packet's number.
    pub sequence: u64,
    /// The time just before the send call.
    pub sent: MonotonicTime,
    /// Its receive timestamps, and the time just after the receive call.
    pub received: Option<(Timestamps, MonotonicTime)>,
    /// The outcome of its transmit ID.
    pub transmitted: Option<TransmitOutcome>,
    /// The time at which it entered the queueing discipline.
    pub queued: Option<SoftwareTimestamp>,
}

/// The effect of an arrival.
#[expect(
    clippy::large_enum_variant,
    reason = "it is used at once; a box would be an allocation for each packet"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The packet is unknown: a duplicate, or not one of this measurement.
    Unknown,
    /// The packet has arrived; its transmit timestamp is still awaited.
    Noted,
    /// The packet is complete and leaves the table.
    Through(Flight),
    /// The packet had been given up: it counts as lost and late.
    Late,
}

/// The table of packets in flight, in the order of their numbers.
///
/// Every packet that [begins](Self::begin) leaves the table exactly once: complete, or given up by
/// [`expire`](Self::expire). The table never drops a packet to make room: check
/// [`is_full`](Self::is_full) before sending.
#[derive(Debug)]
pub struct InFlight {
    /// `None` for packets that have left the table while an earlier one has not.
    entries: VecDeque<Option<Flight>>,
    /// The number of the first entry.
    first: u64,
    in_flight: usize,
    /// The number of packets whose transmit ID is unresolved.
    awaiting: usize,
    /// Packets that were given up and have not arrived since.
    missing: BTreeSet<u64>,
    limit: usize,
    patience: Span,
}

impl InFlight {
    /// Creates a table for up to `limit` packets, each given up `timeout` plus [`GRACE`] after it
    /// was sent.
    pub fn new(limit: usize, timeout: Span) -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            in_flight: 0,
            awaiting: 0,
            missing: BTreeSet::new(),
            limit,
            patience: timeout + GRACE,
        }
    }

    /// Reserves memory for `count` packets.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn reserve(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.entries.try_reserve(count)
    }

    /// Returns whether the table is full, so that no packet may be sent.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.limit
    }

    /// Returns the number of packets in flight.
    pub fn len(&self) -> usize {
        self.in_flight
    }

    /// Returns whether no packet is in flight.
    pub fn is_empty(&self) -> bool {
        self.in_flight == 0
    }

    /// Returns the number of unresolved transmit IDs.
    pub fn awaiting(&self) -> usize {
        self.awaiting
    }

    /// Returns the number of packets that were given up and have not arrived since. If there are
    /// more than `limit`, the oldest are forgotten.
    pub fn missing(&self) -> usize {
        self.missing.len()
    }

    /// Adds a packet just before it is sent. Numbers must be consecutive.
    ///
    /// # Panics
    /// If `sequence` is not the next number.
    pub fn begin(&mut self, sequence: u64, sent: MonotonicTime) {
        if self.entries.is_empty() {
            self.first = sequence;
        }
        assert_eq!(
            sequence,
            self.first + self.entries.len() as u64,
            "numbers follow each other"
        );
        self.entries.push_back(Some(Flight {
            sequence,
            sent,
            received: None,
            transmitted: None,
            queued: None,
        }));
        self.in_flight += 1;
        self.awaiting += 1;
    }

    /// Removes a packet whose send failed.
    pub fn cancel(&mut self, sequence: u64) {
        if let Some(flight) = self.entry(sequence) {
            let awaits = flight.transmitted.is_none();
            self.awaiting -= usize::from(awaits);
            self.remove(sequence);
        }
    }

    /// Returns the packet while it is in flight.
    pub fn get(&self, sequence: u64) -> Option<&Flight> {
        self.entries.get(self.place(sequence)?)?.as_ref()
    }

    /// Notes the arrival of a packet; only the first one counts.
    pub fn received(
        &mut self,
        sequence: u64,
        timestamps: Timestamps,
        at: MonotonicTime,
    ) -> Arrival {
        let Some(flight) = self.entry(sequence) else {
            return if self.missing.remove(&sequence) {
                Arrival::Late
            } else {
                Arrival::Unknown
            };
        };
        if flight.received.is_some() {
            return Arrival::Unknown;
        }
        flight.received = Some((timestamps, at));
        if flight.transmitted.is_none() {
            return Arrival::Noted;
        }
        self.remove(sequence)
            .map_or(Arrival::Unknown, Arrival::Through)
    }

    /// Notes when the packet of a transmit ID (the low half of its number) entered the queueing
    /// discipline. Call it before [`transmitted`](Self::transmitted), which may complete the
    /// packet.
    pub fn queued(&mut self, id: TransmitId, queued: SoftwareTimestamp) {
        let sequence = self.sequence_of(id);
        if let Some(flight) = self.entry(sequence) {
            flight.queued = Some(queued);
        }
    }

    /// Notes the outcome of a transmit ID (the low half of a packet's number). Returns the packet
    /// if it is complete.
    pub fn transmitted(&mut self, id: TransmitId, outcome: TransmitOutcome) -> Option<Flight> {
        let sequence = self.sequence_of(id);
        let flight = self
            .entry(sequence)
            .filter(|flight| flight.transmitted.is_none())?;
        flight.transmitted = Some(outcome);
        let is_through = flight.received.is_some();
        self.awaiting -= 1;
        if is_through {
            self.remove(sequence)
        } else {
            None
        }
    }

    /// Gives up the oldest packet if it exceeds the timeout at `now` and its transmit ID is
    /// resolved. Call it until it returns `None`, with a time from before a receive call that found
    /// nothing.
    pub fn expire(&mut self, now: MonotonicTime) -> Option<Flight> {
        let oldest = self.entries.front()?.as_ref()?;
        if now - oldest.sent <= self.patience || oldest.transmitted.is_none() {
            return None;
        }
        let sequence = oldest.sequence;
        let flight = self.remove(sequence)?;
        if flight.received.is_none() {
            self.missing.insert(sequence);
            if self.missing.len() > self.limit {
                self.missing.pop_first();
            }
        }
        Some(flight)
    }

    fn sequence_of(&self, id: TransmitId) -> u64 {
        self.first + u64::from(id.0.wrapping_sub(self.first as u32))
    }

    fn place(&self, sequence: u64) -> Option<usize> {
        usize::try_from(sequence.checked_sub(self.first)?).ok()
    }

    fn entry(&mut self, sequence: u64) -> Option<&mut Flight> {
        let place = self.place(sequence)?;
        self.entries.get_mut(place)?.as_mut()
    }

    fn remove(&mut self, sequence: u64) -> Option<Flight> {
        let place = self.place(sequence)?;
        let flight = self.entries.get_mut(place)?.take()?;
        self.in_flight -= 1;
        while let Some(None) = self.entries.front() {
            self.entries.pop_front();
            self.first += 1;
        }
        Some(flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Bounded;
    use crate::timestamp::MissingReason;

    const LOST: TransmitOutcome = TransmitOutcome::Missing(MissingReason::NeverGenerated);
    const TIMEOUT: Span = Span::from_milliseconds(100);

    fn at(milliseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(milliseconds * 1_000_000)
    }

    fn sent(count: u64, limit: usize) -> InFlight {
        let mut table = InFlight::new(limit, TIMEOUT);
        (0..count).for_each(|sequence| table.begin(1_000 + sequence, at(sequence as i64)));
        table
    }

    #[test]
    fn a_packet_is_through_when_both_ends_are_known_in_any_order() {
        let mut table = sent(2, 10);
        assert_eq!(
            table.received(1_001, Timestamps::NONE, at(5)),
            Arrival::Noted
        );
        assert_eq!(
            table.received(1_001, Timestamps::NONE, at(6)),
            Arrival::Unknown,
            "a duplicate"
        );
        let through = table
            .transmitted(TransmitId(1_001), LOST)
            .expect("both are known");
        assert_eq!(
            (through.sequence, through.received),
            (1_001, Some((Timestamps::NONE, at(5))))
        );
        assert_eq!(table.transmitted(TransmitId(1_000), LOST), None);
        assert_eq!((table.len(), table.awaiting()), (1, 0));
        assert!(matches!(
            table.received(1_000, Timestamps::NONE, at(7)),
            Arrival::Through(_)
        ));
        assert_eq!(
            table.received(1_001, Timestamps::NONE, at(8)),
            Arrival::Unknown,
            "a duplicate"
        );
        assert!(table.is_empty());
    }

    #[test]
    fn a_packet_is_given_up_after_its_time_and_a_late_arrival_is_told_once() {
        let mut table = sent(2, 10);
        let over = at(100) + GRACE;
        assert_eq!(
            table.expire(over + Span::from_nanoseconds(1)),
            None,
            "its transmit id has not ended"
        );
        for id in [1_000, 1_001] {
            assert_eq!(table.transmitted(TransmitId(id), LOST), None);
        }
        assert_eq!(table.expire(over), None, "not yet");
        let lost = table
            .expire(over + Span::from_nanoseconds(1))
            .expect("its time is over");
        assert_eq!(
            (lost.sequence, lost.received, table.missing()),
            (1_000, None, 1)
        );
        assert_eq!(
            table.expire(over + Span::from_nanoseconds(1)),
            None,
            "the next was sent later"
        );
        assert_eq!(
            table.received(1_000, Timestamps::NONE, at(500)),
            Arrival::Late
        );
        assert_eq!(
            table.received(1_000, Timestamps::NONE, at(501)),
            Arrival::Unknown
        );
        assert_eq!((table.len(), table.missing()), (1, 0));
    }

    #[test]
    fn a_full_table_drops_nothing() {
        let mut table = sent(3, 3);
        assert!(table.is_full());
        for id in [1_001, 1_002] {
            table.transmitted(TransmitId(id), LOST);
            assert!(matches!(
                table.received(id.into(), Timestamps::NONE, at(9)),
                Arrival::Through(_)
            ));
        }
        assert!(table.is_full(), "the oldest is still in flight");
        table.transmitted(TransmitId(1_000), LOST);
        assert!(matches!(
            table.received(1_000, Timestamps::NONE, at(9)),
            Arrival::Through(_)
        ));
        assert!(!table.is_full() && table.is_empty());
        table.begin(1_003, at(10));
        assert_eq!(table.get(1_003).map(|flight| flight.sent), Some(at(10)));
    }

    #[test]
    fn ids_are_the_low_half_of_numbers() {
        let mut table = InFlight::new(10, TIMEOUT);
        let first = u64::from(u32::MAX);
        table.begin(first, at(0));
        table.begin(first + 1, at(0));
        table.transmitted(TransmitId(0), LOST);
        assert!(matches!(
            table.received(first + 1, Timestamps::NONE, at(1)),
            Arrival::Through(_)
        ));
        assert_eq!(table.transmitted(TransmitId(7), LOST), None, "nobody's");
        assert_eq!((table.len(), table.awaiting()), (1, 1));
    }

    #[test]
    fn the_time_in_the_queue_is_of_its_own_packet_and_leaves_with_it() {
        let mut table = sent(2, 10);
        let queued = SoftwareTimestamp::new(Bounded::new(at(1), Span::ZERO));
        table.queued(TransmitId(1_001), queued);
        table.queued(TransmitId(7), queued);
        for sequence in [1_000, 1_001] {
            table.received(sequence, Timestamps::NONE, at(5));
        }
        let through = [1_000, 1_001].map(|id| table.transmitted(TransmitId(id), LOST));
        let queued_of = through.map(|flight| flight.expect("both are known").queued);
        assert_eq!(queued_of, [None, Some(queued)]);
    }

    #[test]
    fn a_packet_that_was_not_sent_leaves_no_trace() {
        let mut table = sent(2, 10);
        table.cancel(1_001);
        assert_eq!((table.len(), table.awaiting()), (1, 1));
        assert_eq!(
            table.received(1_001, Timestamps::NONE, at(1)),
            Arrival::Unknown
        );
        table.begin(1_002, at(3));
        assert_eq!(table.len(), 2);
    }
}
