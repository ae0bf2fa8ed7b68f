//! The times at which datagrams entered the queueing discipline, stored separately from the
//! records, so that sockets without this option need neither memory nor time for it. Each is stored
//! with the order of its use of an ID, so that another use of the same place never gets it.

use crate::time::{Bounded, MonotonicTime};
use crate::timestamp::SoftwareTimestamp;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The queueing time of one use of an ID.
#[derive(Debug, Clone, Copy)]
struct Queued {
    order: u64,
    first: SoftwareTimestamp,
}

impl Queued {
    /// An empty value: no use of an ID has the order 0.
    const NONE: Self = Self {
        order: 0,
        first: SoftwareTimestamp::new(Bounded::exact(MonotonicTime::MIN)),
    };

    /// Notes a time. Of several device layers the first is used, which is the earliest and topmost.
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

/// The queueing times of the IDs on the fast path and of those that left it.
#[derive(Debug, Default)]
pub(super) struct QueueTimes {
    /// Indexed by order; its length is a power of two. Empty if the times are not requested.
    on_the_way: Box<[Queued]>,
    /// Indexed by slot, up to the last slot with a time.
    aside: Vec<Queued>,
}

impl QueueTimes {
    /// Keeps the times of `width` IDs (a power of two) on the fast path from now on, and reserves
    /// memory for `reserved` entries; with 0, keeps none. Times of existing entries stay.
    pub(super) fn keep(&mut self, width: usize, reserved: usize) {
        let more = reserved.saturating_sub(self.aside.len());
        self.aside.reserve(more);
        if self.on_the_way.len() != width {
            self.on_the_way = vec![Queued::NONE; width].into_boxed_slice();
        }
    }

    /// Notes the time of an ID on the fast path.
    pub(super) fn note(&mut self, order: u64, queued: &SoftwareTimestamp) {
        let place = self.place(order);
        if let Some(kept) = self.on_the_way.get_mut(place) {
            kept.note(order, queued);
        }
    }

    /// Returns the time of an ID on the fast path.
    #[inline]
    pub(super) fn on_the_way(&self, order: u64) -> Option<SoftwareTimestamp> {
        self.on_the_way.get(self.place(order))?.of(order)
    }

    /// Notes the time of an ID that has left the fast path.
    pub(super) fn set_aside(&mut self, slot: u32, order: u64, queued: &SoftwareTimestamp) {
        let slot = slot as usize;
        if self.aside.len() <= slot {
            self.aside.resize(slot + 1, Queued::NONE);
        }
        self.aside[slot].note(order, queued);
    }

    /// Returns the time of an ID that has left the fast path.
    #[inline]
    pub(super) fn aside(&self, slot: u32, order: u64) -> Option<SoftwareTimestamp> {
        self.aside.get(slot as usize)?.of(order)
    }

    /// Returns the index of an order, which is beyond the end if no times are kept.
    #[inline]
    fn place(&self, order: u64) -> usize {
        order as usize & self.on_the_way.len().wrapping_sub(1)
    }
}
