//! The deadline of a wait: a duration or an instant.

use std::time::Duration;
use wirestamp_core::time::{MonotonicTime, Span};

/// The latest end of a wait: a [`Duration`] from now, or an instant of the monotonic clock.
///
/// Methods that wait take `impl Into<Deadline>`, so that either can be passed. `Duration::MAX` and
/// [`MonotonicTime::MAX`] wait forever. With a duration of zero or an instant in the past they do
/// not wait, and return results that are already available.
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
    /// A duration, from the beginning of the wait.
    After(Duration),
    /// An instant of the monotonic clock.
    At(MonotonicTime),
}

impl Deadline {
    /// Returns the instant at which a wait that begins now ends. Reads the clock only if needed.
    pub(crate) fn resolve(self, now: impl FnOnce() -> MonotonicTime) -> MonotonicTime {
        match self {
            Self::After(time) => now() + Span::from(time),
            Self::At(at) => at,
        }
    }

    /// Whether the wait ends at once, whatever the time.
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
