//! Packets by a NIC's timestamps, until no later reading of its clock can contradict them.

use crate::provisional::Provisional;
use std::collections::VecDeque;
use wirestamp_probe::session::Sample;

/// Packets whose time is over, in order, each with how many times had been noted by then: it waits for all of them. As
/// many as are sent until a reading of the clock comes, or the session is withdrawn for lack of one.
#[derive(Default)]
pub(super) struct Held(VecDeque<(Sample, usize)>);

impl Held {
    /// Takes a packet.
    pub(super) fn put(&mut self, packet: Sample, times: &Provisional) {
        self.0.push_back((packet, times.noted()));
    }

    /// Returns the next packet whose times are final.
    pub(super) fn next(&mut self, times: &Provisional) -> Option<Sample> {
        let (_, noted) = self.0.front()?;
        let is_final = times.are_final_until(*noted);
        is_final.then(|| self.take()).flatten()
    }

    /// Returns the next packet, whether its times are final or not.
    pub(super) fn take(&mut self) -> Option<Sample> {
        self.0.pop_front().map(|(packet, _)| packet)
    }
}
