//! Times from a NIC's clock that later readings of it may still contradict.

use crate::host_stamp::{HostStamp, Stamper};
use std::collections::VecDeque;
use wirestamp::{Error, ErrorKind, Result, Timestamps, UdpSocket};

/// So many timestamps wait at most. Two for each request: some seconds' worth, except with the shortest intervals.
const MOST: usize = 1_024;

/// Timestamps that were used, with the times that they were taken for.
#[derive(Default)]
pub(super) struct Provisional(VecDeque<(Timestamps, HostStamp)>);

impl Provisional {
    /// Remembers a timestamp that a measurement uses, unless its time is final already.
    pub(super) fn note(&mut self, timestamps: &Timestamps, stamp: HostStamp, stamper: &Stamper) {
        if stamper.is_confirmed(timestamps) {
            return;
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((*timestamps, stamp));
    }

    /// Returns whether all times are final.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares the times that have become final with those that were used.
    ///
    /// # Errors
    /// `Io` if one of them is another: somebody changed the NIC's clock or stepped the real-time clock. Nothing that was
    /// measured with it counts.
    pub(super) fn settle(&mut self, stamper: &Stamper, socket: &UdpSocket) -> Result<()> {
        while let Some((timestamps, used)) = self.0.front() {
            if !stamper.is_confirmed(timestamps) {
                return Ok(());
            }
            let now = stamper.place(timestamps, socket);
            if !now.is_some_and(|now| agree(used, &now)) {
                self.0.clear();
                let cause = "the NIC's clock or the real-time clock was changed meanwhile";
                return Err(Error::new(ErrorKind::Io, "measure", "the offset", cause));
            }
            self.0.pop_front();
        }
        Ok(())
    }
}

/// Whether both can be true.
fn agree(used: &HostStamp, now: &HostStamp) -> bool {
    (now.at - used.at).abs() <= used.bound + now.bound
        && (now.utc - used.utc).abs() <= used.utc_bound + now.utc_bound
}
