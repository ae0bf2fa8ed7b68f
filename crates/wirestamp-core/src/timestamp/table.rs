//! The index from transmit IDs to places: a ring for consecutive IDs, and a hash table for those
//! that collide in it. The ring has a fixed size; the hash table grows by doubling.

use super::TransmitId;
use alloc::boxed::Box;
use alloc::vec;

/// An ID and its place in one word, so that empty tables are untouched zero pages.
type Word = u64;

const EMPTY: Word = 0;

#[inline]
fn word(id: TransmitId, place: u32) -> Word {
    u64::from(id.0) << 32 | u64::from(place + 1)
}

/// Returns the place of `id` if the word is its entry.
#[inline]
fn place_of(id: TransmitId, word: Word) -> Option<u32> {
    if (word >> 32) as u32 == id.0 {
        (word as u32).checked_sub(1)
    } else {
        None
    }
}

/// The index. Each ID has a word in the ring, by its low bits; if that is taken, it goes to the
/// hash table.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Its length is a power of two.
    ring: Box<[Word]>,
    others: Hashed,
}

impl Table {
    /// Creates an index with room for `counted` (a power of two) consecutive IDs, and initially for
    /// `others` that collide. Places must be below `u32::MAX`.
    pub(super) fn new(others: usize, counted: usize) -> Self {
        Self {
            ring: vec![EMPTY; counted].into_boxed_slice(),
            others: Hashed::new(others),
        }
    }

    /// Returns the place of `id`.
    #[inline]
    pub(super) fn find(&self, id: TransmitId) -> Option<u32> {
        let found = place_of(id, self.ring[self.home(id)]);
        if found.is_some() || self.others.count == 0 {
            found
        } else {
            self.others.find(id)
        }
    }

    /// Adds `id`, or changes its place.
    pub(super) fn set(&mut self, id: TransmitId, place: u32) {
        let home = self.home(id);
        let there = self.ring[home];
        let is_free = there == EMPTY && (self.others.count == 0 || self.others.find(id).is_none());
        if is_free || place_of(id, there).is_some() {
            self.ring[home] = word(id, place);
        } else {
            self.others.set(id, place);
        }
    }

    /// Removes the old ID if it has this place, and [sets](Self::set) the new one: consecutive IDs
    /// often use the same word of the ring.
    #[inline]
    pub(super) fn replace(
        &mut self,
        (old, old_place): (TransmitId, u32),
        id: TransmitId,
        place: u32,
    ) {
        let home = self.home(id);
        if self.ring[home] == word(old, old_place) && self.others.count == 0 {
            self.ring[home] = word(id, place);
        } else {
            self.remove(old, old_place);
            self.set(id, place);
        }
    }

    /// Removes `id` if it has this place.
    pub(super) fn remove(&mut self, id: TransmitId, place: u32) {
        let home = self.home(id);
        if self.ring[home] == word(id, place) {
            self.ring[home] = EMPTY;
        } else if self.others.count > 0 {
            self.others.remove(id, place);
        }
    }

    #[inline]
    fn home(&self, id: TransmitId) -> usize {
        id.0 as usize & (self.ring.len() - 1)
    }
}

/// A hash table with open addressing and linear probing, at most four fifths full. Removal moves
/// later entries back instead of leaving tombstones, so it does not degrade over time.
#[derive(Debug, Clone)]
struct Hashed {
    /// Its length is a power of two.
    words: Box<[Word]>,
    shift: u32,
    count: usize,
}

impl Hashed {
    fn new(entries: usize) -> Self {
        let size = (entries + entries / 4 + 1).next_power_of_two().max(2);
        Self {
            words: vec![EMPTY; size].into_boxed_slice(),
            shift: u32::BITS - size.trailing_zeros(),
            count: 0,
        }
    }

    #[inline(never)]
    fn find(&self, id: TransmitId) -> Option<u32> {
        place_of(id, self.words[self.probe(id)])
    }

    #[inline(never)]
    fn set(&mut self, id: TransmitId, place: u32) {
        let mut at = self.probe(id);
        if self.words[at] == EMPTY {
            if self.count + self.count / 4 + 1 >= self.words.len() {
                self.grow();
                at = self.probe(id);
            }
            self.count += 1;
        }
        self.words[at] = word(id, place);
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Self::new(self.words.len());
        for word in self.words.iter().filter(|word| **word != EMPTY) {
            let at = larger.probe(TransmitId((word >> 32) as u32));
            larger.words[at] = *word;
        }
        larger.count = self.count;
        *self = larger;
    }

    #[inline(never)]
    fn remove(&mut self, id: TransmitId, place: u32) {
        let mut hole = self.probe(id);
        if self.words[hole] != word(id, place) {
            return;
        }
        self.count -= 1;
        let mut next = self.after(hole);
        while self.words[next] != EMPTY {
            // may move back into the hole unless that is before its home
            let home = self.home(TransmitId((self.words[next] >> 32) as u32));
            if self.distance(home, next) >= self.distance(hole, next) {
                self.words[hole] = self.words[next];
                hole = next;
            }
            next = self.after(next);
        }
        self.words[hole] = EMPTY;
    }

    /// Returns the position where `id` is or would be.
    fn probe(&self, id: TransmitId) -> usize {
        let mut at = self.home(id);
        while self.words[at] != EMPTY && place_of(id, self.words[at]).is_none() {
            at = self.after(at);
        }
        at
    }

    /// Returns the home position by Fibonacci hashing: 2³² divided by the golden ratio spreads
    /// consecutive IDs evenly.
    fn home(&self, id: TransmitId) -> usize {
        (id.0.wrapping_mul(0x9E37_79B9) >> self.shift) as usize
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.words.len() - 1)
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.words.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[derive(Debug, Clone)]
    enum Step {
        Set(u32),
        /// Sets an ID in place of another one.
        Replace(u32, u32),
        Remove(u32),
        /// With a slot that it does not have.
        RemoveAnother(u32),
    }

    /// Few IDs, so that they often collide; some of them far apart.
    fn id() -> impl Strategy<Value = u32> {
        prop_oneof![
            0u32..40,
            (0u32..40).prop_map(|id| u32::MAX - id),
            (0u32..40).prop_map(|id| id << 26)
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => id().prop_map(Step::Set),
            3 => (id(), id()).prop_map(|(old, id)| Step::Replace(old, id)),
            3 => id().prop_map(Step::Remove),
            1 => id().prop_map(Step::RemoveAnother),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_map(steps in prop::collection::vec(step(), 0..160)) {
            // the hash table starts with two words and grows
            let (mut table, mut model) = (Table::new(0, 16), HashMap::new());
            for (place, step) in (0u32..).zip(steps) {
                match step {
                    Step::Set(id) if model.len() < 16 || model.contains_key(&id) => {
                        model.insert(id, place);
                        table.set(TransmitId(id), place);
                    }
                    Step::Set(_) => {}
                    Step::Replace(old, id) => {
                        let old_place = model.remove(&old).unwrap_or(place);
                        if model.len() < 16 || model.contains_key(&id) {
                            model.insert(id, place);
                            table.replace((TransmitId(old), old_place), TransmitId(id), place);
                        } else {
                            table.remove(TransmitId(old), old_place);
                        }
                    }
                    Step::Remove(id) => {
                        let place = model.remove(&id).unwrap_or(place);
                        table.remove(TransmitId(id), place);
                    }
                    Step::RemoveAnother(id) => table.remove(TransmitId(id), place),
                }
                for id in (0..40).flat_map(|id| [id, u32::MAX - id, id << 26]) {
                    prop_assert_eq!(table.find(TransmitId(id)), model.get(&id).copied());
                }
            }
        }
    }

    #[test]
    fn a_table_for_nothing_finds_nothing() {
        assert_eq!(Table::new(0, 1).find(TransmitId(7)), None);
    }
}
