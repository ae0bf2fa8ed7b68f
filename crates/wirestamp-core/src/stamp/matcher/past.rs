//! Owns what is remembered of ids that are over, the last so many of them. Never asks whose they are:
//! the index of the entries points here.

use super::mark::Mark;
use crate::stamp::TransmitId;
use alloc::vec::Vec;

/// An id whose stamps all came and were fetched: any other stamp for it is a duplicate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Past {
    pub(super) id: TransmitId,
    pub(super) begun_order: u64,
    /// What its stamps were, to know them again if they come for a later use of the id.
    pub(super) mark: Mark,
}

/// A ring: the oldest makes room for the newest.
#[derive(Debug)]
pub(super) struct Remembered {
    ring: Vec<Past>,
    next: usize,
    limit: usize,
}

impl Remembered {
    pub(super) fn new(limit: usize) -> Self {
        Self { ring: Vec::with_capacity(limit), next: 0, limit }
    }

    #[inline]
    pub(super) fn at(&self, place: u32) -> &Past {
        &self.ring[place as usize]
    }

    /// Where it is now, and who was there before. There must be room for one at least.
    #[inline]
    pub(super) fn push(&mut self, past: Past) -> (u32, Option<TransmitId>) {
        let place = self.next;
        self.next = if place + 1 == self.limit { 0 } else { place + 1 };
        let forgotten = match self.ring.get_mut(place) {
            Some(before) => Some(core::mem::replace(before, past).id),
            None => {
                self.ring.push(past);
                None
            }
        };
        (place as u32, forgotten)
    }

    /// With their places, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Past)> {
        let (newer, older) = self.ring.split_at(self.next.min(self.ring.len()));
        let places = (newer.len()..self.ring.len()).chain(0..newer.len());
        places.map(|place| place as u32).zip(older.iter().chain(newer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let past = |id| Past { id: TransmitId(id), begun_order: 0, mark: Mark::NONE };
        let mut remembered = Remembered::new(3);
        let forgotten: [_; 5] = core::array::from_fn(|id| remembered.push(past(id as u32)));
        let id = |id| Some(TransmitId(id));
        assert_eq!(forgotten, [(0, None), (1, None), (2, None), (0, id(0)), (1, id(1))]);
        assert!(remembered.iter().map(|(place, past)| (place, past.id.0)).eq([(2, 2), (0, 3), (1, 4)]));
        assert_eq!(remembered.at(1).id, TransmitId(4));
    }
}
