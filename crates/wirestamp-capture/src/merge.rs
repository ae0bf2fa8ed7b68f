//! Merges the packets of several captures of an interface in time order, while they arrive.
//!
//! Each capture passes its packets in encoded batches, with the time up to which they are complete.
//! A packet is released once no other capture can still have an earlier one, or after [`LONGEST`],
//! or when [`MOST`] bytes wait.

use std::collections::VecDeque;
use std::time::Duration;

/// The longest time that a packet waits for packets of other captures.
pub const LONGEST: Duration = Duration::from_secs(1);
/// The most bytes that wait.
pub const MOST: usize = 256 << 20;

/// Encoded packets of one capture.
#[derive(Debug, Default)]
pub struct Batch {
    /// The encoded packets, one after the other.
    pub bytes: Vec<u8>,
    /// A mark for each packet, in order.
    pub marks: Vec<Mark>,
}

/// The position and the properties of a packet in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The capture time in nanoseconds since 1970; if unknown, that of the previous packet.
    pub time: u64,
    /// The end of its bytes in the batch.
    pub end: usize,
    /// The length of the packet.
    pub length: u32,
    /// Whether its capture time is known.
    pub has_utc: bool,
}

/// The counts of released packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// The number of packets.
    pub packets: u64,
    /// The total length of the packets.
    pub packets_bytes: u64,
    /// The number of packets with an unknown capture time.
    pub without_utc: u64,
    /// The number of packets that come after a later one.
    pub out_of_order: u64,
}

/// The merger: packets that wait to be released.
#[derive(Debug)]
pub struct Merge {
    queues: Vec<Queue>,
    waiting: usize,
    most: usize,
    latest: u64,
    totals: Totals,
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Held>,
    /// No packets earlier than this time will come.
    until: u64,
    given: u64,
}

#[derive(Debug)]
struct Held {
    batch: Batch,
    next: usize,
    /// When it was added, on the caller's clock.
    since: Duration,
}

impl Merge {
    /// Creates a merger for this many captures.
    pub fn new(queues: usize) -> Self {
        let mut all = Vec::new();
        all.resize_with(queues, Queue::default);
        Self {
            queues: all,
            waiting: 0,
            most: MOST,
            latest: 0,
            totals: Totals::default(),
        }
    }

    /// Adds a batch of a capture, at `now` of a clock that is not stepped. The capture must have no
    /// more packets before `until`.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn put(&mut self, queue: usize, batch: Batch, until: u64, now: Duration) {
        let queue = &mut self.queues[queue];
        queue.until = until;
        if !batch.marks.is_empty() {
            self.waiting += batch.bytes.len();
            let (next, since) = (0, now);
            queue.batches.push_back(Held { batch, next, since });
        }
    }

    /// Releases the packets that are due at `now`, at most `packets`, and about `bytes` bytes.
    /// Returns whether more are due.
    pub fn take(&mut self, to: &mut Vec<u8>, packets: u64, bytes: usize, now: Duration) -> bool {
        let most = self.totals.packets.saturating_add(packets);
        loop {
            let Some((queue, limit)) = self.first(now) else {
                return false;
            };
            if self.totals.packets >= most || to.len() >= bytes {
                return true;
            }
            self.give(queue, limit, most, to);
        }
    }

    /// Returns the counts of released packets.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the number of released packets of a capture.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn given(&self, queue: usize) -> u64 {
        self.queues[queue].given
    }

    /// Returns the queue of the next packet, and the time up to which the packets after it are due
    /// too; `None` if none is due.
    fn first(&self, now: Duration) -> Option<(usize, u64)> {
        let heads = self.queues.iter().enumerate();
        let (time, place) = heads
            .filter_map(|(place, queue)| Some((queue.head()?.0, place)))
            .min()?;
        let (_, since) = self.queues[place].head()?;
        let is_overdue = self.waiting > self.most || now.saturating_sub(since) >= LONGEST;
        let others = self.queues.iter().enumerate();
        let limit = others
            .filter(|(other, _)| *other != place)
            .filter_map(|(_, queue)| match queue.head() {
                Some((time, _)) => Some(time),
                None => (!is_overdue).then_some(queue.until),
            })
            .min()
            .unwrap_or(u64::MAX);
        (time <= limit).then_some((place, limit))
    }

    /// Releases the head of a queue, and the packets after it up to `limit`, within one batch.
    fn give(&mut self, place: usize, limit: u64, most: u64, to: &mut Vec<u8>) {
        let queue = &mut self.queues[place];
        let Some(held) = queue.batches.front_mut() else {
            return;
        };
        let Batch { bytes, marks } = &held.batch;
        let start = held.next.checked_sub(1).map_or(0, |last| marks[last].end);
        let mut end = start;
        while self.totals.packets < most {
            let Some(mark) = marks.get(held.next).filter(|mark| mark.time <= limit) else {
                break;
            };
            end = mark.end;
            held.next += 1;
            queue.given += 1;
            self.totals.packets += 1;
            self.totals.packets_bytes += u64::from(mark.length);
            self.totals.without_utc += u64::from(!mark.has_utc);
            self.totals.out_of_order += u64::from(mark.time < self.latest);
            self.latest = self.latest.max(mark.time);
        }
        to.extend_from_slice(&bytes[start..end]);
        if held.next == marks.len() {
            self.waiting -= bytes.len();
            queue.batches.pop_front();
        }
    }
}

impl Queue {
    /// Returns the time of the next packet, and since when its batch waits.
    fn head(&self) -> Option<(u64, Duration)> {
        let held = self.batches.front()?;
        Some((held.batch.marks.get(held.next)?.time, held.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A byte for each packet: its queue.
    fn batch(queue: u8, times: &[u64]) -> Batch {
        let mark = |(place, time): (usize, &u64)| Mark {
            time: *time,
            end: place + 1,
            length: 100,
            has_utc: true,
        };
        Batch {
            bytes: vec![queue; times.len()],
            marks: times.iter().enumerate().map(mark).collect(),
        }
    }

    fn take(merge: &mut Merge, now: Duration) -> Vec<u8> {
        let mut taken = Vec::new();
        assert!(!merge.take(&mut taken, u64::MAX, usize::MAX, now));
        taken
    }

    const NOW: Duration = Duration::from_secs(7);

    #[test]
    fn packets_wait_until_no_other_queue_can_have_an_earlier_one() {
        let mut merge = Merge::new(2);
        merge.put(0, batch(0, &[10, 20, 30]), 30, NOW);
        assert!(take(&mut merge, NOW).is_empty());
        merge.put(1, batch(1, &[15, 21]), 25, NOW);
        assert_eq!(take(&mut merge, NOW), [0, 1, 0, 1]);
        merge.put(1, Batch::default(), 29, NOW);
        assert!(take(&mut merge, NOW).is_empty());
        merge.put(1, Batch::default(), 30, NOW);
        assert_eq!(take(&mut merge, NOW), [0]);
        let totals = merge.totals();
        assert_eq!((totals.packets, totals.packets_bytes), (5, 500));
        assert_eq!((totals.out_of_order, totals.without_utc), (0, 0));
        assert_eq!((merge.given(0), merge.given(1)), (3, 2));
    }

    #[test]
    fn a_silent_queue_holds_nothing_back_for_longer_than_a_second() {
        let mut merge = Merge::new(2);
        merge.put(0, batch(0, &[10]), 10, NOW);
        let almost = NOW + LONGEST - Duration::from_nanos(1);
        assert!(take(&mut merge, almost).is_empty());
        assert_eq!(take(&mut merge, NOW + LONGEST), [0]);
        // packets that arrive too late are written and counted
        merge.put(1, batch(1, &[9]), 9, NOW + LONGEST);
        assert_eq!(take(&mut merge, NOW + 2 * LONGEST), [1]);
        assert_eq!(merge.totals().out_of_order, 1);
    }

    #[test]
    fn no_more_waits_than_there_is_room_for() {
        let mut merge = Merge::new(2);
        merge.most = 3;
        merge.put(0, batch(0, &[10, 20, 30]), 30, NOW);
        assert!(take(&mut merge, NOW).is_empty());
        merge.put(0, batch(0, &[40, 50]), 50, NOW);
        assert_eq!(take(&mut merge, NOW), [0, 0, 0], "a batch at a time");
        merge.put(1, batch(1, &[60]), 60, NOW);
        assert_eq!(take(&mut merge, NOW), [0, 0]);
    }

    #[test]
    fn no_more_is_given_out_than_was_asked_for() {
        let mut merge = Merge::new(1);
        merge.put(0, batch(0, &[1, 2, 3]), 3, NOW);
        let mut taken = Vec::new();
        assert!(merge.take(&mut taken, 2, usize::MAX, NOW));
        assert_eq!(taken.len(), 2);
        assert!(merge.take(&mut taken, 2, 1, NOW), "enough bytes");
        assert!(!merge.take(&mut taken, 2, usize::MAX, NOW));
        assert_eq!(taken.len(), 3);
    }

    proptest! {
        #[test]
        fn every_packet_comes_out_once_and_in_order(queues in proptest::collection::vec(proptest::collection::vec(0u64..1_000, 0..40), 1..5), cut in 1usize..10) {
            let mut merge = Merge::new(queues.len());
            let mut given = Vec::new();
            let sorted: Vec<Vec<u64>> = queues.into_iter().map(|mut times| { times.sort_unstable(); times }).collect();
            let most = sorted.iter().map(|times| times.len().div_ceil(cut)).max().unwrap_or(0);
            for turn in 0..most {
                for (queue, times) in sorted.iter().enumerate() {
                    let batch = times.chunks(cut).nth(turn).map(|part| batch(queue as u8, part)).unwrap_or_default();
                    let until = times.chunks(cut).nth(turn + 1).map_or(u64::MAX, |next| next[0]);
                    merge.put(queue, batch, until, NOW);
                    merge.take(&mut given, u64::MAX, usize::MAX, NOW);
                }
            }
            merge.take(&mut given, u64::MAX, usize::MAX, NOW);
            let mut left: Vec<_> = sorted.iter().map(|times| times.iter()).collect();
            let times: Vec<_> = given.iter().map(|queue| left[usize::from(*queue)].next()).collect();
            prop_assert!(times.iter().all(Option::is_some), "more of a queue than it has: {:?}", given);
            prop_assert!(times.is_sorted(), "{:?}", times);
            prop_assert_eq!(merge.totals().out_of_order, 0);
            for (queue, (times, mut left)) in sorted.iter().zip(left).enumerate() {
                prop_assert_eq!(left.next(), None, "of queue {}", queue);
                prop_assert_eq!(merge.given(queue), times.len() as u64);
            }
        }
    }
}
