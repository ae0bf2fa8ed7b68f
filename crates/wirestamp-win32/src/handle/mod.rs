//! Tables that give out numbers for objects, as `SOCKET` and `HANDLE`. Knows no object.
//!
//! A number names its object until it is closed and nothing for a long time after: it holds
//! the place and how often that was used.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

/// Bits of the place.
const PLACE_BITS: u32 = 17;
/// As many objects fit.
const PLACES: usize = 1 << PLACE_BITS;
/// Uses of a place that are distinguished.
const USES: u32 = 1 << 10;
/// Closed places rest until so many others were closed.
const RESTING: usize = 64;

/// Which kind of number a table gives out; they never coincide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Socket,
    #[cfg_attr(windows, allow(dead_code, reason = "Windows gives out its own"))]
    Object,
    Registration,
}

impl Kind {
    /// The first two are multiples of 4; none is ever 0 or -1.
    const fn tag(self) -> usize {
        match self {
            Self::Socket => 4,
            Self::Object => 0,
            Self::Registration => 2,
        }
    }
}

/// Objects by number.
#[derive(Debug)]
pub(crate) struct Table<T> {
    kind: Kind,
    slots: RwLock<Slots<T>>,
}

#[derive(Debug)]
struct Slots<T> {
    places: Vec<Slot<T>>,
    free: VecDeque<usize>,
}

#[derive(Debug)]
struct Slot<T> {
    /// From 1.
    used: u32,
    object: Option<Arc<T>>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            slots: RwLock::new(Slots {
                places: Vec::new(),
                free: VecDeque::new(),
            }),
        }
    }

    /// Keeps `object` under a number of its own; `None` if all are taken.
    pub(crate) fn insert(&self, object: Arc<T>) -> Option<usize> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let place = if slots.free.len() > RESTING || slots.places.len() == PLACES {
            slots.free.pop_front()?
        } else {
            slots.places.push(Slot {
                used: 0,
                object: None,
            });
            slots.places.len() - 1
        };
        let slot = &mut slots.places[place];
        slot.used = slot.used % (USES - 1) + 1;
        slot.object = Some(object);
        let used = slot.used;
        Some(self.encode(place, used))
    }

    /// The object of this number.
    pub(crate) fn find(&self, number: usize) -> Option<Arc<T>> {
        let (place, used) = self.decode(number)?;
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots
            .places
            .get(place)
            .filter(|slot| slot.used == used)?
            .object
            .clone()
    }

    /// Gives the number back, and the object to whom it is closed for.
    pub(crate) fn remove(&self, number: usize) -> Option<Arc<T>> {
        let (place, used) = self.decode(number)?;
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let object = slots
            .places
            .get_mut(place)
            .filter(|slot| slot.used == used)?
            .object
            .take()?;
        slots.free.push_back(place);
        Some(object)
    }

    /// All objects there are, with their numbers.
    pub(crate) fn all(&self) -> Vec<(usize, Arc<T>)> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let numbered = |(place, slot): (usize, &Slot<T>)| {
            slot.object
                .as_ref()
                .map(|object| (self.encode(place, slot.used), Arc::clone(object)))
        };
        slots
            .places
            .iter()
            .enumerate()
            .filter_map(numbered)
            .collect()
    }

    fn encode(&self, place: usize, used: u32) -> usize {
        ((used as usize) << PLACE_BITS | place) << 3 | self.kind.tag()
    }

    fn decode(&self, number: usize) -> Option<(usize, u32)> {
        let (tag, rest) = (number & 7, number >> 3);
        let used = u32::try_from(rest >> PLACE_BITS).ok()?;
        (tag == self.kind.tag() && used != 0).then_some((rest & (PLACES - 1), used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_number_names_nothing_though_its_place_is_used_again() {
        let table = Table::new(Kind::Socket);
        let mut closed = Vec::new();
        for value in 0..1_000 {
            let number = table.insert(Arc::new(value)).expect("room");
            assert_eq!(table.find(number).as_deref(), Some(&value));
            assert_eq!(number % 4, 0);
            table.remove(number).expect("open");
            closed.push(number);
        }
        // Their places are taken by others now.
        let open: Vec<_> = (0..100)
            .map(|value| table.insert(Arc::new(value)).expect("room"))
            .collect();
        assert!(
            closed
                .iter()
                .all(|number| table.find(*number).is_none() && table.remove(*number).is_none())
        );
        assert_eq!(table.all().len(), 100);
        assert!(open.iter().all(|number| table.remove(*number).is_some()));
        assert!(
            table.slots.read().expect("not poisoned").places.len() <= RESTING + 102,
            "places are used again"
        );
    }

    #[test]
    fn sockets_and_objects_have_no_number_in_common() {
        let (sockets, objects) = (Table::new(Kind::Socket), Table::new(Kind::Object));
        let socket = sockets.insert(Arc::new(1)).expect("room");
        let object = objects.insert(Arc::new(2)).expect("room");
        assert!(sockets.find(object).is_none() && objects.find(socket).is_none());
        for wrong in [0, 4, 5, usize::MAX, usize::MAX - 3, socket + 1, object | 1] {
            assert!(
                sockets.find(wrong).is_none() && objects.find(wrong).is_none(),
                "{wrong:#x}"
            );
        }
    }
}
