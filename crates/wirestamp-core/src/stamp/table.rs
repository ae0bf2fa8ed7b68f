//! Owns the index from transmit id to slot: a ring for ids that are counted up, a hash table for
//! those that meet in it. Knows nothing of what the slots hold, and never allocates once it is
//! made.

use super::TransmitId;
use alloc::boxed::Box;
use alloc::vec;

/// No slot: marks an empty place.
pub(super) const NO_SLOT: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Place {
    id: TransmitId,
    slot: u32,
}

const EMPTY: Place = Place { id: TransmitId(0), slot: NO_SLOT };

/// Each id has one place, by its low bits; one that finds it taken goes to the hash table.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// A power of two of them.
    ring: Box<[Place]>,
    others: Hashed,
}

impl Table {
    /// Room for `entries` ids.
    pub(super) fn new(entries: usize) -> Self {
        let size = entries.next_power_of_two().max(2);
        Self { ring: vec![EMPTY; size].into_boxed_slice(), others: Hashed::new(entries) }
    }

    /// The slot of `id`.
    #[inline]
    pub(super) fn find(&self, id: TransmitId) -> Option<u32> {
        let place = self.ring[self.home(id)];
        if place.id == id && place.slot != NO_SLOT {
            return Some(place.slot);
        }
        if self.others.count == 0 { None } else { self.others.find(id) }
    }

    /// Enters `id`, which must not be in the table, while there is room.
    pub(super) fn insert(&mut self, id: TransmitId, slot: u32) {
        let home = self.home(id);
        match self.ring[home].slot {
            NO_SLOT => self.ring[home] = Place { id, slot },
            _ => self.others.insert(id, slot),
        }
    }

    /// Takes `id` out, if it is in.
    pub(super) fn remove(&mut self, id: TransmitId) {
        let home = self.home(id);
        if self.ring[home].id == id && self.ring[home].slot != NO_SLOT {
            self.ring[home] = EMPTY;
        } else {
            self.others.remove(id);
        }
    }

    fn home(&self, id: TransmitId) -> usize {
        id.0 as usize & (self.ring.len() - 1)
    }
}

/// Open addressing, linear probing, at most half full. Removal moves later entries back
/// instead of leaving tombstones, so a long life costs nothing.
#[derive(Debug, Clone)]
struct Hashed {
    /// A power of two of them.
    places: Box<[Place]>,
    shift: u32,
    count: usize,
}

impl Hashed {
    fn new(entries: usize) -> Self {
        let size = (2 * entries).next_power_of_two().max(2);
        Self { places: vec![EMPTY; size].into_boxed_slice(), shift: u32::BITS - size.trailing_zeros(), count: 0 }
    }

    fn find(&self, id: TransmitId) -> Option<u32> {
        let place = self.places[self.probe(id)];
        (place.slot != NO_SLOT).then_some(place.slot)
    }

    fn insert(&mut self, id: TransmitId, slot: u32) {
        let place = self.probe(id);
        self.places[place] = Place { id, slot };
        self.count += 1;
    }

    fn remove(&mut self, id: TransmitId) {
        let mut hole = self.probe(id);
        if self.places[hole].slot == NO_SLOT {
            return;
        }
        self.count -= 1;
        let mut next = self.after(hole);
        while self.places[next].slot != NO_SLOT {
            // may move back into the hole unless that lies before its home
            let home = self.home(self.places[next].id);
            if self.distance(home, next) >= self.distance(hole, next) {
                self.places[hole] = self.places[next];
                hole = next;
            }
            next = self.after(next);
        }
        self.places[hole] = EMPTY;
    }

    /// Where `id` is, or would be.
    fn probe(&self, id: TransmitId) -> usize {
        let mut place = self.home(id);
        while self.places[place].slot != NO_SLOT && self.places[place].id != id {
            place = self.after(place);
        }
        place
    }

    /// Fibonacci hashing: 2³² divided by the golden ratio spreads runs of ids evenly.
    fn home(&self, id: TransmitId) -> usize {
        (id.0.wrapping_mul(0x9E37_79B9) >> self.shift) as usize
    }

    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u32),
        Remove(u32),
    }

    /// Few ids, so that they meet often; some of them far apart.
    fn id() -> impl Strategy<Value = u32> {
        prop_oneof![0u32..40, (0u32..40).prop_map(|id| u32::MAX - id), (0u32..40).prop_map(|id| id << 26)]
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_map(steps in prop::collection::vec(
            prop_oneof![id().prop_map(Step::Insert), id().prop_map(Step::Remove)], 0..120)
        ) {
            let (mut table, mut model) = (Table::new(16), HashMap::new());
            for (slot, step) in (0u32..).zip(steps) {
                match step {
                    Step::Insert(id) if model.len() < 16 && !model.contains_key(&id) => {
                        model.insert(id, slot);
                        table.insert(TransmitId(id), slot);
                    }
                    Step::Insert(_) => {}
                    Step::Remove(id) => {
                        model.remove(&id);
                        table.remove(TransmitId(id));
                    }
                }
                for id in (0..40).flat_map(|id| [id, u32::MAX - id, id << 26]) {
                    prop_assert_eq!(table.find(TransmitId(id)), model.get(&id).copied());
                }
            }
        }
    }

    #[test]
    fn a_table_for_nothing_finds_nothing() {
        assert_eq!(Table::new(0).find(TransmitId(7)), None);
    }
}
