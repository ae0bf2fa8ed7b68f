//! The IDs on the fast path, which are sent, timestamped and fetched in the same order, so that two
//! counters describe their state. IDs that leave the fast path become entries.
//!
//! Orders count the IDs as they begin. Those in `told..timestamped` have their timestamps and wait
//! to be fetched, those in `awaited..next` wait for timestamps; all others are fetched, or have
//! left the fast path.

use super::mark::Mark;
use super::record::Record;
use crate::time::MonotonicTime;
use crate::timestamp::TransmitId;
use alloc::boxed::Box;
use alloc::vec;
use core::mem;

/// The ID and mark of a past use: an array of numbers, so that it can be allocated as untouched
/// zero pages.
type Past = [u64; 3];

#[derive(Debug)]
pub(super) struct Window {
    /// Indexed by order; its length is a power of two.
    records: Box<[Record]>,
    /// Indexed by order; its length is a power of two, at least that of `records`.
    history: Box<[Past]>,
    told: u64,
    timestamped: u64,
    awaited: u64,
    next: u64,
}

impl Window {
    /// Creates a window for `width` IDs that remembers `remembered` past ones. `next` is the order
    /// of the first ID.
    pub(super) fn new(width: usize, remembered: usize, next: u64) -> Self {
        let width = width.next_power_of_two();
        Self {
            records: vec![Record::EMPTY; width].into_boxed_slice(),
            history: vec![[0; 3]; remembered.next_power_of_two().max(width)].into_boxed_slice(),
            told: next,
            timestamped: next,
            awaited: next,
            next,
        }
    }

    /// Returns the order of the next ID.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    #[inline]
    pub(super) fn awaited(&self) -> usize {
        (self.next - self.awaited) as usize
    }

    #[inline]
    pub(super) fn waiting(&self) -> usize {
        (self.timestamped - self.told) as usize
    }

    #[inline]
    pub(super) fn is_awaited(&self, order: u64) -> bool {
        order >= self.awaited
    }

    /// Returns the order of the first ID that waits to be fetched, if there is one.
    #[inline]
    pub(super) fn first_waiting(&self) -> u64 {
        self.told
    }

    #[inline]
    pub(super) fn is_first_waiting(&self, order: u64) -> bool {
        order == self.told
    }

    #[inline]
    pub(super) fn is_waiting(&self, order: u64) -> bool {
        (self.told..self.timestamped).contains(&order)
    }

    /// Whether it is the oldest awaited ID, directly after those that wait to be fetched.
    #[inline]
    pub(super) fn is_next(&self, order: u64) -> bool {
        order == self.awaited && order == self.timestamped
    }

    /// Returns the oldest awaited ID.
    #[inline]
    pub(super) fn first_awaited(&self) -> Option<&Record> {
        (self.awaited < self.next).then(|| self.record(self.awaited))
    }

    /// Returns all awaited IDs, oldest first.
    pub(super) fn awaited_records(&self) -> impl Iterator<Item = &Record> {
        (self.awaited..self.next).map(|order| self.record(order))
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.next - self.told >= self.records.len() as u64
    }

    /// Adds a use of an ID. There must be room. Returns the ID that it displaces.
    #[inline]
    pub(super) fn begin(
        &mut self,
        id: TransmitId,
        now: MonotonicTime,
        sending: bool,
        earlier: Mark,
    ) -> TransmitId {
        let order = self.next;
        self.next += 1;
        self.record_mut(order).begin(id, now, sending, earlier);
        TransmitId(mem::replace(&mut self.past_mut(order)[0], u64::from(id.0)) as u32)
    }

    /// Returns the number of IDs that fit.
    pub(super) fn width(&self) -> usize {
        self.records.len()
    }

    /// Returns the number of past uses that are remembered.
    pub(super) fn remembers(&self) -> u64 {
        self.history.len() as u64
    }

    /// Notes that all timestamps of the oldest awaited ID came.
    #[inline]
    pub(super) fn timestamp_first(&mut self) {
        self.awaited += 1;
        self.timestamped = self.awaited;
    }

    /// Notes that no ID waits to be fetched.
    pub(super) fn close(&mut self) {
        (self.told, self.timestamped) = (self.awaited, self.awaited);
    }

    /// Returns the timestamps of the oldest ID that waits, and marks it as fetched.
    #[inline]
    pub(super) fn tell_first(&mut self) -> &Record {
        let order = self.told;
        let [software, hardware] = Mark::of(&self.record(order).timestamps).to_words();
        self.past_mut(order)[1..].copy_from_slice(&[software, hardware]);
        self.told += 1;
        self.record(order)
    }

    /// Removes the oldest awaited ID if it began before `order`.
    pub(super) fn take_awaited(&mut self, order: u64) -> Option<(u64, Record)> {
        let first = (self.awaited < self.next.min(order)).then_some(self.awaited)?;
        self.awaited += 1;
        Some((first, *self.record(first)))
    }

    /// Removes the first ID that waits to be fetched if it began before `order`.
    #[inline]
    pub(super) fn take_waiting(&mut self, order: u64) -> Option<(u64, Record)> {
        let first = (self.told < self.timestamped.min(order)).then_some(self.told)?;
        self.told += 1;
        Some((first, *self.record(first)))
    }

    /// Returns the mark of a fetched ID's timestamps.
    pub(super) fn mark(&self, order: u64) -> Mark {
        let [_, words @ ..] = self.past(order);
        Mark::from_words(*words)
    }

    /// Returns the ID with this order.
    pub(super) fn id(&self, order: u64) -> TransmitId {
        TransmitId(self.past(order)[0] as u32)
    }

    /// Remembers an ID that was fetched from another window.
    pub(super) fn remember(&mut self, order: u64, id: TransmitId, mark: Mark) {
        let [software, hardware] = mark.to_words();
        *self.past_mut(order) = [u64::from(id.0), software, hardware];
    }

    #[inline]
    pub(super) fn record(&self, order: u64) -> &Record {
        &self.records[order as usize & (self.records.len() - 1)]
    }

    #[inline]
    pub(super) fn record_mut(&mut self, order: u64) -> &mut Record {
        let place = order as usize & (self.records.len() - 1);
        &mut self.records[place]
    }

    fn past(&self, order: u64) -> &Past {
        &self.history[order as usize & (self.history.len() - 1)]
    }

    #[inline]
    fn past_mut(&mut self, order: u64) -> &mut Past {
        let place = order as usize & (self.history.len() - 1);
        &mut self.history[place]
    }
}
