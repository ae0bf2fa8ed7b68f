//! Samples that wait until the timestamping clock was read often enough after them. A sample is
//! withdrawn, with the reason, if the clock was stepped or replaced just before its Sync came.

use super::outcome::Point;
use crate::lost::Lost;
use crate::node::Node;
use crate::report::Sample;
use std::collections::{BTreeMap, VecDeque};

/// A sample, by the index of its node and its number there.
type Number = (usize, u64);

/// A waiting sample. Along a chain, its error bound includes that of the sample `on` of the
/// previous clock.
#[derive(Debug)]
struct Waiting<S> {
    sample: S,
    point: Point,
    on: Option<Number>,
}

/// The samples of one node.
#[derive(Debug)]
struct Queue<S> {
    waiting: VecDeque<Waiting<S>>,
    settled: u64,
}

/// The samples of all clocks, waiting and final.
#[derive(Debug)]
pub(super) struct Held<S = Sample> {
    queues: BTreeMap<usize, Queue<S>>,
    /// The reasons of withdrawn samples.
    refused: BTreeMap<Number, Lost>,
    /// The final samples.
    pub(super) points: Vec<Point>,
    /// The numbers of withdrawn samples by reason.
    pub(super) withdrawn: BTreeMap<&'static str, u64>,
}

impl<S> Held<S> {
    pub(super) fn new() -> Self {
        Self {
            queues: BTreeMap::new(),
            refused: BTreeMap::new(),
            points: Vec::new(),
            withdrawn: BTreeMap::new(),
        }
    }

    /// Adds a sample of a node, with the truth about it.
    pub(super) fn add(&mut self, place: usize, sample: S, point: Point, on: Option<Number>) {
        let queue = self.queues.entry(place).or_insert_with(|| Queue {
            waiting: VecDeque::new(),
            settled: 0,
        });
        queue.waiting.push_back(Waiting { sample, point, on });
    }

    /// Returns the newest sample of a node.
    pub(super) fn newest(&self, place: usize) -> Option<Number> {
        let queue = self.queues.get(&place)?;
        let all = queue.settled + queue.waiting.len() as u64;
        Some((place, all.checked_sub(1)?))
    }

    /// Settles the samples of a node in order, as far as `last_word` knows whether they are
    /// confirmed.
    fn settle_by(&mut self, place: usize, last_word: impl Fn(&S) -> Option<Result<(), Lost>>) {
        while let Some((point, word)) = self.oldest(place, &last_word) {
            match word {
                Ok(()) => self.points.push(point),
                Err(reason) => self.refuse(place, reason),
            }
            self.pop(place);
        }
    }

    /// Returns the truth about the oldest sample of a node, and whether it is confirmed; `None` if
    /// it still waits.
    fn oldest(
        &self,
        place: usize,
        last_word: impl Fn(&S) -> Option<Result<(), Lost>>,
    ) -> Option<(Point, Result<(), Lost>)> {
        let first = self.queues.get(&place)?.waiting.front()?;
        let on = self.standing(first.on)?;
        let word = last_word(&first.sample)?;
        Some((first.point, on.and(word)))
    }

    /// Returns whether the sample that another one includes is confirmed; `None` if it still waits.
    fn standing(&self, on: Option<Number>) -> Option<Result<(), Lost>> {
        let Some((place, number)) = on else {
            return Some(Ok(()));
        };
        let is_settled = self.queues.get(&place)?.settled > number;
        let word = self.refused.get(&(place, number));
        is_settled.then(|| word.map_or(Ok(()), |reason| Err(*reason)))
    }

    /// Withdraws the oldest waiting sample of a node.
    fn refuse(&mut self, place: usize, reason: Lost) {
        if let Some(queue) = self.queues.get(&place) {
            self.refused.insert((place, queue.settled), reason);
            *self.withdrawn.entry(reason.name()).or_default() += 1;
        }
    }

    fn pop(&mut self, place: usize) {
        if let Some(queue) = self.queues.get_mut(&place) {
            queue.waiting.pop_front();
            queue.settled += 1;
        }
    }

    fn is_waiting(&self, place: usize) -> bool {
        let queue = self.queues.get(&place);
        queue.is_some_and(|queue| !queue.waiting.is_empty())
    }
}

impl Held {
    /// Settles the samples of a node that are final now.
    pub(super) fn settle(&mut self, place: usize, node: &Node<'_>) {
        self.settle_by(place, |sample| node.last_word(sample));
    }

    /// Settles all waiting samples at the end, after reading the clocks.
    pub(super) fn settle_all(&mut self, place: usize, node: &Node<'_>) {
        let queue = self.queues.get(&place);
        if let Some(newest) = queue.and_then(|queue| queue.waiting.back()) {
            node.confirm(&newest.sample);
        }
        self.settle(place, node);
        while self.is_waiting(place) {
            self.refuse(place, Lost::Unconfirmed);
            self.pop(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_ns: i64) -> Point {
        Point {
            at_ns,
            clock: 1,
            offset_ns: 0,
            error_ns: 0,
            error_bound_ns: 0,
            flight_ns: 0,
        }
    }

    /// The error bound of the boundary clock's sample is part of the next clock's: if the first is
    /// withdrawn, the second has no bound.
    #[test]
    fn a_sample_stands_and_falls_with_the_one_that_its_bound_includes() {
        let mut held = Held::new();
        assert_eq!(held.newest(1), None);
        for at in 0..3 {
            held.add(1, at, point(at), None);
            held.add(2, at, point(10 + at), held.newest(1));
        }
        held.settle_by(2, |_| Some(Ok(())));
        assert!(held.points.is_empty(), "those before are not settled");
        held.settle_by(1, |at| match at {
            0 => Some(Ok(())),
            1 => Some(Err(Lost::ClockGeneration)),
            _ => None,
        });
        held.settle_by(2, |_| Some(Ok(())));
        let times = |held: &Held<i64>| held.points.iter().map(|point| point.at_ns).collect();
        let all: Vec<i64> = times(&held);
        assert_eq!(all, [0, 10]);
        assert_eq!(
            held.withdrawn,
            BTreeMap::from([(Lost::ClockGeneration.name(), 2)])
        );
        held.settle_by(1, |_| Some(Ok(())));
        held.settle_by(2, |_| Some(Ok(())));
        let all: Vec<i64> = times(&held);
        assert_eq!(all, [0, 10, 2, 12]);
        assert_eq!(held.newest(2), Some((2, 2)));
    }
}
