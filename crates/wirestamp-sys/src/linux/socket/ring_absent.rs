//! The substitute for rings without the feature `io-uring`: reports that there are none.

use crate::native::wire::control::QueueEntry;
use std::convert::Infallible;
use std::io;
use std::os::fd::BorrowedFd;
use wirestamp_core::configuration::IoUringUnavailable;

const REFUSAL: IoUringUnavailable =
    IoUringUnavailable::new("wirestamp was built without its feature `io-uring`", None);

/// Never made.
#[derive(Debug)]
pub(super) struct ReceiveRing(Infallible);

/// Never made.
#[derive(Debug)]
pub(super) struct TimestampIoUring(Infallible);

/// See the module of the same name.
#[derive(Debug)]
pub(super) struct Datagram<'a> {
    pub(super) name: &'a [u8],
    pub(super) control: &'a [u8],
    pub(super) payload: &'a [u8],
    pub(super) truncated: bool,
    pub(super) control_truncated: bool,
}

impl ReceiveRing {
    pub(super) fn new(_: u16) -> Result<Self, IoUringUnavailable> {
        Err(REFUSAL)
    }
    pub(super) fn another(&self) -> Result<Self, IoUringUnavailable> {
        match self.0 {}
    }
    pub(super) fn holds_any(&mut self) -> bool {
        match self.0 {}
    }
    pub(super) fn fill(&mut self, _: BorrowedFd<'_>, _: usize) -> io::Result<Option<usize>> {
        match self.0 {}
    }
    pub(super) fn take(
        &mut self,
        _: usize,
        _: impl FnMut(usize, Datagram<'_>),
    ) -> io::Result<usize> {
        match self.0 {}
    }
    pub(super) fn has_ended(&self) -> bool {
        match self.0 {}
    }
}

impl TimestampIoUring {
    pub(super) fn new(_: u32) -> Result<Self, IoUringUnavailable> {
        Err(REFUSAL)
    }
    pub(super) fn another(&self) -> Result<Self, IoUringUnavailable> {
        match self.0 {}
    }
    pub(super) fn fill(&mut self, _: BorrowedFd<'_>) -> io::Result<Option<usize>> {
        match self.0 {}
    }
    pub(super) fn take(&mut self, _: impl FnMut(QueueEntry)) -> io::Result<usize> {
        match self.0 {}
    }
    pub(super) fn is_stalled_after(&mut self, _: usize) -> bool {
        match self.0 {}
    }
    pub(super) fn missed_some(&mut self) {
        match self.0 {}
    }
}
