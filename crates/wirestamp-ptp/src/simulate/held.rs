//! Samples that are held until the clock that timestamps was read often enough after them: somebody may have stepped it, or
//! another one may be behind the interface, just before a Sync came. Then the sample is withdrawn, with the reason.

use super::outcome::Point;
use crate::node::Node;
use crate::report::Sample;
use std::collections::{BTreeMap, VecDeque};

/// The samples of all clocks, held and final.
#[derive(Debug, Default)]
pub(super) struct Held {
    waiting: BTreeMap<usize, VecDeque<(Sample, Point)>>,
    /// Those that are final.
    pub(super) points: Vec<Point>,
    /// How many were withdrawn, by reason.
    pub(super) withdrawn: BTreeMap<&'static str, u64>,
}

impl Held {
    /// A sample of the node at this place, and the truth about it.
    pub(super) fn add(&mut self, place: usize, sample: Sample, point: Point) {
        self.waiting
            .entry(place)
            .or_default()
            .push_back((sample, point));
    }

    /// Gives those of a node that are final now.
    pub(super) fn settle(&mut self, place: usize, node: &Node<'_>) {
        let Some(waiting) = self.waiting.get_mut(&place) else {
            return;
        };
        while let Some((sample, point)) = waiting.front()
            && let Some(word) = node.last_word(sample)
        {
            match word {
                Ok(()) => self.points.push(*point),
                Err(reason) => *self.withdrawn.entry(reason).or_default() += 1,
            }
            waiting.pop_front();
        }
    }

    /// The network has come to its end: reads the clocks for what still waits.
    pub(super) fn settle_all(&mut self, place: usize, node: &Node<'_>) {
        if let Some((newest, _)) = self.waiting.get(&place).and_then(VecDeque::back) {
            node.confirm(newest);
        }
        self.settle(place, node);
        let left = self.waiting.remove(&place).map_or(0, |left| left.len());
        if left > 0 {
            *self.withdrawn.entry("unconfirmed").or_default() += left as u64;
        }
    }
}
