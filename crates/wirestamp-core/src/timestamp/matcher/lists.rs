//! The lists of a matcher's entries. Each entry is on exactly one list, and every operation takes
//! constant time.

use alloc::vec::Vec;

/// The list of an entry. Each list is ordered from the oldest to the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// Awaited, in the order of sending.
    Awaited,
    /// Timestamped and not fetched, in the order of resolution.
    Timestamped,
    /// Missing and not fetched; a late timestamp could still come.
    LostOpen,
    /// Missing and not fetched; no timestamp can come.
    LostFinal,
    /// Fetched; a late timestamp could still come.
    Abandoned,
    /// Fetched; no timestamp can come. Kept to distinguish a duplicate from a timestamp of a later
    /// use.
    Settled,
}

impl List {
    const ALL: [Self; 6] = [
        Self::Awaited,
        Self::Timestamped,
        Self::LostOpen,
        Self::LostFinal,
        Self::Abandoned,
        Self::Settled,
    ];
}

/// The number of list ends, which are the first nodes, so that there are no special cases.
const ENDS: u32 = List::ALL.len() as u32;

#[derive(Debug, Clone, Copy)]
struct Node {
    next: u32,
    previous: u32,
    list: List,
}

/// The lists, each of which is a circle through its end.
#[derive(Debug)]
pub(super) struct Lists {
    nodes: Vec<Node>,
    lengths: [usize; List::ALL.len()],
}

impl Lists {
    /// Creates lists with room for `reserved` slots before they grow.
    pub(super) fn new(reserved: usize) -> Self {
        let mut nodes = Vec::with_capacity(List::ALL.len() + reserved);
        nodes.extend(List::ALL.map(|list| Node {
            next: list as u32,
            previous: list as u32,
            list,
        }));
        Self {
            nodes,
            lengths: [0; List::ALL.len()],
        }
    }

    /// Adds the next slot: 0, 1, 2 and so on.
    pub(super) fn add(&mut self, list: List) {
        let slot = self.nodes.len() as u32 - ENDS;
        self.nodes.push(Node {
            next: 0,
            previous: 0,
            list,
        });
        self.link(slot, list);
    }

    #[inline]
    pub(super) fn list(&self, slot: u32) -> List {
        self.nodes[at(slot)].list
    }

    #[inline]
    pub(super) fn length(&self, list: List) -> usize {
        self.lengths[list as usize]
    }

    /// Whether any resolved entry was not fetched.
    #[inline]
    pub(super) fn hold_ended(&self) -> bool {
        let [_, timestamped, open, last, ..] = self.lengths;
        timestamped + open + last != 0
    }

    #[inline]
    pub(super) fn oldest(&self, list: List) -> Option<u32> {
        slot(self.nodes[list as usize].next)
    }

    pub(super) fn newest(&self, list: List) -> Option<u32> {
        slot(self.nodes[list as usize].previous)
    }

    /// Returns the next newer entry of the same list.
    #[inline]
    pub(super) fn newer(&self, than: u32) -> Option<u32> {
        slot(self.nodes[at(than)].next)
    }

    /// Returns the next older entry of the same list.
    pub(super) fn older(&self, than: u32) -> Option<u32> {
        slot(self.nodes[at(than)].previous)
    }

    /// Appends a slot that is on no list to a list, as the newest.
    #[inline]
    pub(super) fn link(&mut self, slot: u32, list: List) {
        let newest = self.nodes[list as usize].previous;
        self.nodes[at(slot)] = Node {
            next: list as u32,
            previous: newest,
            list,
        };
        self.nodes[newest as usize].next = slot + ENDS;
        self.nodes[list as usize].previous = slot + ENDS;
        self.lengths[list as usize] += 1;
    }

    /// Removes a slot from its list.
    #[inline]
    pub(super) fn unlink(&mut self, slot: u32) {
        let Node {
            next,
            previous,
            list,
        } = self.nodes[at(slot)];
        self.nodes[previous as usize].next = next;
        self.nodes[next as usize].previous = previous;
        self.lengths[list as usize] -= 1;
    }
}

#[inline]
fn at(slot: u32) -> usize {
    (slot + ENDS) as usize
}

#[inline]
fn slot(node: u32) -> Option<u32> {
    node.checked_sub(ENDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::iter::successors;
    use proptest::prelude::*;
    use std::vec::Vec;

    const SLOTS: u32 = 5;

    proptest! {
        #[test]
        fn agrees_with_plain_vectors(moves in prop::collection::vec((0..SLOTS, 0..List::ALL.len()), 0..60)) {
            let mut lists = Lists::new(SLOTS as usize);
            (0..SLOTS).for_each(|_| lists.add(List::Awaited));
            let mut model: [Vec<u32>; List::ALL.len()] = Default::default();
            model[0] = (0..SLOTS).collect();
            for (slot, to) in moves {
                lists.unlink(slot);
                lists.link(slot, List::ALL[to]);
                model.iter_mut().for_each(|list| list.retain(|other| *other != slot));
                model[to].push(slot);
                for (list, expected) in List::ALL.into_iter().zip(&model) {
                    let forwards: Vec<_> = successors(lists.oldest(list), |slot| lists.newer(*slot)).collect();
                    let mut backwards: Vec<_> = successors(lists.newest(list), |slot| lists.older(*slot)).collect();
                    backwards.reverse();
                    prop_assert_eq!(&forwards, expected);
                    prop_assert_eq!(&backwards, expected);
                    prop_assert_eq!(lists.length(list), expected.len());
                    prop_assert!(expected.iter().all(|slot| lists.list(*slot) == list));
                }
            }
        }
    }
}
