//! When a wait ends, as callers say it.

use std::time::Duration;
use wirestamp_core::time::{MonotonicTime, Span};

/// When a wait ends at the latest: a [`Duration`] from now, or an instant of the monotonic clock.
///
/// Methods that wait take `impl Into<Deadline>`, so that either can be given. `Duration::MAX` and
/// [`MonotonicTime::MAX`] mean: for ever. A wait of zero, and one until an instant that has passed,
/// takes what is there.
///
/// ```
/// # #[cfg(feature = "sim")]
/// # fn main() -> wirestamp::Result<()> {
/// # use std::time::Duration;
/// # use wirestamp::{Interface, Span};
/// # let nic = Interface::find("sim0")?;
/// # let socket = nic.bind((nic.description().addresses[0].address, 0).into())?;
/// let mut buffer = [0; 64];
/// assert_eq!(socket.receive(&mut buffer, Duration::from_millis(5))?, None);
/// let until = socket.now() + Span::from_milliseconds(5);
/// assert_eq!(socket.receive(&mut buffer, until)?, None);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "sim"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// So long from when the wait begins.
    After(Duration),
    /// When the monotonic clock shows this.
    At(MonotonicTime),
}

impl Deadline {
    /// As an instant, of a wait that begins now. The clock is read only if that is needed.
    pub(crate) fn resolve(self, now: impl FnOnce() -> MonotonicTime) -> MonotonicTime {
        match self {
            Self::After(time) => now() + Span::from(time),
            Self::At(at) => at,
        }
    }

    /// Whether nothing is waited for, whatever the time is.
    pub(crate) fn is_zero(self) -> bool {
        matches!(self, Self::After(Duration::ZERO))
    }
}

impl From<Duration> for Deadline {
    fn from(time: Duration) -> Self {
        Self::After(time)
    }
}

impl From<MonotonicTime> for Deadline {
    fn from(at: MonotonicTime) -> Self {
        Self::At(at)
    }
}
