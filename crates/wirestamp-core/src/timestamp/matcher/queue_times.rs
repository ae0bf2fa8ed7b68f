//! When datagrams entered the queueing discipline, beside the records they belong to, so that a socket that does not
//! ask for it pays neither memory nor time. Each is kept with the order of its use of an id: another use
//! of the same place never has it.

use crate::time::{Bounded, MonotonicTime};
use crate::timestamp::SoftwareTimestamp;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The time of one use of an id.
#[derive(Debug, Clone, Copy)]
struct Queued {
    order: u64,
    first: SoftwareTimestamp,
}

impl Queued {
    /// No use of an id has the order 0.
    const NONE: Self = Self {
        order: 0,
        first: SoftwareTimestamp::new(Bounded::exact(MonotonicTime::MIN)),
    };

    /// Of several device layers the first counts: it is the earliest, and the top-most.
    fn note(&mut self, order: u64, queued: &SoftwareTimestamp) {
        if self.order != order || queued.at.value < self.first.at.value {
            *self = Self {
                order,
                first: *queued,
            };
        }
    }

    #[inline]
    fn of(&self, order: u64) -> Option<SoftwareTimestamp> {
        (self.order == order).then_some(self.first)
    }
}

/// Of the ids on the usual way and of those that left it.
#[derive(Debug, Default)]
pub(super) struct QueueTimes {
    /// By order; a power of two of them. Empty where nobody asks.
    on_the_way: Box<[Queued]>,
    /// By slot, as far as any was there.
    aside: Vec<Queued>,
}

impl QueueTimes {
    /// Keeps those of `width` ids on the way from now on, a power of two, and of up to `reserved` aside before it
    /// grows; 0: of none. Those aside stay.
    pub(super) fn keep(&mut self, width: usize, reserved: usize) {
        let more = reserved.saturating_sub(self.aside.len());
        self.aside.reserve(more);
        if self.on_the_way.len() != width {
            self.on_the_way = vec![Queued::NONE; width].into_boxed_slice();
        }
    }

    /// Takes in the time of an id on the way.
    pub(super) fn note(&mut self, order: u64, queued: &SoftwareTimestamp) {
        let place = self.place(order);
        if let Some(kept) = self.on_the_way.get_mut(place) {
            kept.note(order, queued);
        }
    }

    /// Returns the time of an id on the way.
    #[inline]
    pub(super) fn on_the_way(&self, order: u64) -> Option<SoftwareTimestamp> {
        self.on_the_way.get(self.place(order))?.of(order)
    }

    /// Takes in the time of an id that has left the way.
    pub(super) fn set_aside(&mut self, slot: u32, order: u64, queued: &SoftwareTimestamp) {
        let slot = slot as usize;
        if self.aside.len() <= slot {
            self.aside.resize(slot + 1, Queued::NONE);
        }
        self.aside[slot].note(order, queued);
    }

    /// Returns the time of an id that has left the way.
    #[inline]
    pub(super) fn aside(&self, slot: u32, order: u64) -> Option<SoftwareTimestamp> {
        self.aside.get(slot as usize)?.of(order)
    }

    /// Beyond the end where nothing is kept.
    #[inline]
    fn place(&self, order: u64) -> usize {
        order as usize & self.on_the_way.len().wrapping_sub(1)
    }
}
