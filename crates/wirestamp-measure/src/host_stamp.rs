//! Timestamps on both of this host's clocks.

use wirestamp::{
    HostClock, MonotonicTime, Result, Source, Span, TimestampPolicy, TimestampSource, Timestamping,
    Timestamps, UdpSocket, UtcTime,
};

/// A packet's timestamp on both of this host's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostStamp {
    /// On the monotonic clock.
    pub at: MonotonicTime,
    /// Error bound of that.
    pub bound: Span,
    /// On the real-time clock. What that is off is not in the bound.
    pub utc: UtcTime,
    /// Error bound of that.
    pub utc_bound: Span,
    /// Who made it.
    pub source: TimestampSource,
}

/// What a socket's timestamps mean on the host's clocks: the kernel's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stamper(HostClock);

impl Stamper {
    /// Kernel timestamps.
    pub(crate) fn software() -> Self {
        Self(HostClock::software())
    }

    /// Switches the timestamps of a socket on that are needed; so many transmit timestamps may wait.
    pub(crate) fn configure(&self, socket: &UdpSocket, capacity: u16) -> Result<()> {
        let source = match self.0.has_hardware() {
            true => Source::Both,
            false => Source::Software,
        };
        let wanted = Timestamping::OFF.source(source).receive();
        socket.configure(wanted.transmit(capacity)).map(drop)
    }

    /// `None`: there is no timestamp, or none that can be converted.
    pub(crate) fn read(&self, timestamps: &Timestamps, socket: &UdpSocket) -> Option<HostStamp> {
        // a NIC's timestamp that has no UTC is no reason to do without the kernel's
        let policies = [
            TimestampPolicy::HardwareElseSoftware,
            TimestampPolicy::OnlySoftware,
        ];
        policies.into_iter().find_map(|policy| {
            let time = self.0.place(timestamps, policy).ok()?;
            let utc = self.0.utc(&time, || socket.utc_cross_timestamp()).ok()?;
            Some(HostStamp {
                at: time.monotonic.at,
                bound: time.monotonic.bound,
                utc: utc.at,
                utc_bound: utc.bound,
                source: time.source,
            })
        })
    }
}
