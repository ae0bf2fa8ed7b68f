//! Times from a NIC's clock that later readings of it may still contradict.

use crate::host_stamp::{HostStamp, Stamper};
use std::collections::VecDeque;
use wirestamp::{Error, ErrorKind, Result, Span, TimestampSource, Timestamps, UdpSocket};

/// So many timestamps wait at most: those of some seconds. Of more, the oldest are taken as they are.
const MOST: usize = 1 << 16;
/// How often it is looked whether times have become final.
pub(crate) const SETTLE: Span = Span::from_milliseconds(100);

/// Timestamps that were used, with the times that they were taken for.
#[derive(Debug, Default)]
pub(crate) struct Provisional(VecDeque<(Timestamps, HostStamp)>);

/// Converts timestamps, once more.
pub(crate) trait Converts {
    /// Whether the time of these timestamps is final.
    fn is_confirmed(&self, timestamps: &Timestamps) -> bool;

    /// Their time now; `None`: they cannot be converted.
    fn place(&self, timestamps: &Timestamps) -> Option<HostStamp>;
}

impl Provisional {
    /// Remembers a timestamp that a measurement uses, unless its time is final already.
    pub(crate) fn note(
        &mut self,
        timestamps: &Timestamps,
        stamp: HostStamp,
        converts: &impl Converts,
    ) {
        // the kernel's stands, whatever becomes of the NIC's beside it
        if stamp.source == TimestampSource::Software || converts.is_confirmed(timestamps) {
            return;
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((*timestamps, stamp));
    }

    /// Returns whether all times are final.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares the times that have become final with those that were used.
    ///
    /// # Errors
    /// `Io` if one of them is another: somebody changed the NIC's clock or stepped the real-time clock. Nothing that was
    /// measured with it counts.
    pub(crate) fn settle(&mut self, converts: &impl Converts, measured: &str) -> Result<()> {
        while let Some((timestamps, used)) = self.0.front() {
            if !converts.is_confirmed(timestamps) {
                return Ok(());
            }
            let now = converts.place(timestamps);
            if !now.is_some_and(|now| agree(used, &now)) {
                self.0.clear();
                let cause = "the NIC's clock or the real-time clock was changed meanwhile";
                return Err(Error::new(
                    ErrorKind::Io,
                    "measure",
                    measured.to_owned(),
                    cause,
                ));
            }
            self.0.pop_front();
        }
        Ok(())
    }
}

/// Whether both can be true.
fn agree(used: &HostStamp, now: &HostStamp) -> bool {
    used.source == now.source
        && (now.at - used.at).abs() <= used.bound + now.bound
        && (now.utc - used.utc).abs() <= used.utc_bound + now.utc_bound
}

impl Converts for (&Stamper, &UdpSocket) {
    fn is_confirmed(&self, timestamps: &Timestamps) -> bool {
        self.0.is_confirmed(timestamps)
    }

    fn place(&self, timestamps: &Timestamps) -> Option<HostStamp> {
        self.0.place(timestamps, self.1)
    }
}
