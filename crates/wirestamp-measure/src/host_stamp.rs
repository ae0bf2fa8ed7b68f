//! Timestamps on both of this host's clocks.

use crate::nic::NicClock;
use std::cell::Cell;
use std::rc::Rc;
use wirestamp::{
    Bounded, HostClock, HostTime, MonotonicTime, Result, Source, TimestampPolicy, TimestampSource,
    Timestamping, Timestamps, UdpSocket, UtcTime,
};

/// A packet's timestamp on both of this host's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostStamp {
    /// On the monotonic clock.
    pub monotonic: Bounded<MonotonicTime>,
    /// On the real-time clock. Its error bound does not contain that clock's error.
    pub utc: Bounded<UtcTime>,
    /// The source: the NIC or the kernel.
    pub source: TimestampSource,
}

/// Converts a socket's timestamps to the host's clocks. It uses only the NIC's or only the kernel's, because they are
/// made at two different points of the path.
pub(crate) struct Stamper {
    clock: HostClock,
    nic: Option<Rc<NicClock>>,
    /// The number of timestamps read.
    read: Cell<u64>,
}

impl Stamper {
    /// Kernel timestamps.
    pub(crate) fn software() -> Self {
        Self {
            clock: HostClock::software(),
            nic: None,
            read: Cell::new(0),
        }
    }

    /// Hardware timestamps, converted.
    pub(crate) fn hardware(nic: Rc<NicClock>) -> Self {
        Self {
            clock: HostClock::hardware(nic.correlator()),
            nic: Some(nic),
            read: Cell::new(0),
        }
    }

    /// Returns the source whose timestamps count.
    pub(crate) fn source(&self) -> TimestampSource {
        match self.nic {
            Some(_) => TimestampSource::Hardware,
            None => TimestampSource::Software,
        }
    }

    /// Returns how many timestamps were read.
    pub(crate) fn count(&self) -> u64 {
        self.read.get()
    }

    /// Whether timestamps can be converted.
    ///
    /// # Errors
    /// The reason why not yet.
    pub(crate) fn ready(&self) -> Result<()> {
        self.nic.as_ref().map_or(Ok(()), |nic| nic.ready())
    }

    /// Switches on the timestamps that are needed on a socket, with room for this many transmit timestamps.
    pub(crate) fn configure(&self, socket: &UdpSocket, capacity: u16) -> Result<()> {
        let source = match self.nic {
            Some(_) => Source::Hardware,
            None => Source::Software,
        };
        // who refuses is found out where the system says so
        let wanted = Timestamping::OFF.source(source).receive().icmp_errors();
        socket.configure(wanted.transmit(capacity)).map(drop)
    }

    /// Reads a timestamp that counts. `None`: there is none of the right kind, or it cannot be converted.
    pub(crate) fn read(
        &self,
        timestamps: &Timestamps,
        socket: &UdpSocket,
    ) -> Option<(HostStamp, HostTime)> {
        let policy = match self.nic {
            Some(_) => TimestampPolicy::OnlyHardware,
            None => TimestampPolicy::OnlySoftware,
        };
        let time = self.clock.place(timestamps, policy).ok()?;
        // the kernel's is on the scale from before a step: a client sees that
        let both = || socket.utc_cross_timestamp();
        let utc = self.clock.utc(&time, both).ok()?;
        self.read.set(self.read.get() + 1);
        let stamp = HostStamp {
            monotonic: time.monotonic.at,
            utc: utc.at,
            source: time.source,
        };
        Some((stamp, time))
    }

    /// Returns the clock that converted them, which later confirms their times.
    pub(crate) fn host(&self) -> &HostClock {
        &self.clock
    }
}
