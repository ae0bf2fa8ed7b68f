//! The one error type: what was tried, on what, what the system said, what to do.
//!
//! A missing timestamp is not an error (see [`crate::timestamp`]); a failed conversion is not
//! one either (see [`crate::correlate`]).

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

/// A `Result` with the error of this library.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The kind of an [`Error`], by what the caller would do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ErrorKind {
    /// This user lacks the privilege for the operation.
    NotPermitted,
    /// Do without: this system, driver or NIC cannot do it.
    NotSupported,
    /// Look again: no such interface, clock or address exists (any more).
    NoSuchDevice,
    /// Try again later: somebody else holds it, or a limit is reached for now.
    Busy,
    /// Correct the call: a value is out of range, malformed or contradicts the state.
    InvalidInput,
    /// The destination cannot be reached or rejected the packet.
    Unreachable,
    /// The object was closed, by this thread or another.
    Closed,
    /// None of the above; the system's code says what it is.
    Io,
}

impl ErrorKind {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotPermitted => "not_permitted",
            Self::NotSupported => "not_supported",
            Self::NoSuchDevice => "no_such_device",
            Self::Busy => "busy",
            Self::InvalidInput => "invalid_input",
            Self::Unreachable => "unreachable",
            Self::Closed => "closed",
            Self::Io => "io",
        }
    }
}

/// An operation that failed. Prints as
/// `enable hardware timestamps on eth0: operation not permitted (code 1); run as root or grant CAP_NET_ADMIN`.
///
/// One pointer wide; built only on failure.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    operation: Cow<'static, str>,
    target: String,
    cause: Cow<'static, str>,
    code: Option<i32>,
    remedy: Cow<'static, str>,
}

impl Error {
    /// Makes an error without a code of the system. `cause` completes "operation on target: …".
    pub fn new(
        kind: ErrorKind,
        operation: impl Into<Cow<'static, str>>,
        target: impl fmt::Display,
        cause: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self(Box::new(Inner {
            kind,
            operation: operation.into(),
            target: target.to_string(),
            cause: cause.into(),
            code: None,
            remedy: Cow::Borrowed(""),
        }))
    }

    /// Adds the operating system's own code (errno, Win32 or Winsock error).
    #[must_use]
    pub fn with_code(mut self, code: i32) -> Self {
        self.0.code = Some(code);
        self
    }

    /// Adds what the reader can do about it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<Cow<'static, str>>) -> Self {
        self.0.remedy = remedy.into();
        self
    }

    /// Returns the kind: what the caller would do next.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns what was tried, as an infinitive: "enable hardware timestamps".
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// Returns what it was tried on: an interface, an address, an id.
    pub fn target(&self) -> &str {
        &self.0.target
    }

    /// Returns what the system answered, in words.
    pub fn cause(&self) -> &str {
        &self.0.cause
    }

    /// Returns what the system answered, as its number, where it gave one.
    pub fn code(&self) -> Option<i32> {
        self.0.code
    }

    /// Returns what to do about it; empty where nothing helps.
    pub fn remedy(&self) -> &str {
        &self.0.remedy
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            operation,
            target,
            cause,
            code,
            remedy,
            ..
        } = &*self.0;
        write!(f, "{operation} on {target}: {cause}")?;
        if let Some(code) = code {
            write!(f, " (code {code})")?;
        }
        if !remedy.is_empty() {
            write!(f, "; {remedy}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.0.kind)
    }
}

impl core::error::Error for Error {}

/// Wraps the error, so that the message stays whole: [`std::io::Error::get_ref`] gives it back, and
/// [`code`](Error::code) of that the system's number.
///
/// The kind is the nearest of the standard library's: `Busy` is
/// [`ResourceBusy`](std::io::ErrorKind::ResourceBusy), `NoSuchDevice` is
/// [`NotFound`](std::io::ErrorKind::NotFound), `Unreachable` is
/// [`HostUnreachable`](std::io::ErrorKind::HostUnreachable), `Closed` is
/// [`NotConnected`](std::io::ErrorKind::NotConnected), `Io` is [`Other`](std::io::ErrorKind::Other).
#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind as Kind;
        let kind = match error.kind() {
            ErrorKind::NotPermitted => Kind::PermissionDenied,
            ErrorKind::NotSupported => Kind::Unsupported,
            ErrorKind::NoSuchDevice => Kind::NotFound,
            ErrorKind::Busy => Kind::ResourceBusy,
            ErrorKind::InvalidInput => Kind::InvalidInput,
            ErrorKind::Unreachable => Kind::HostUnreachable,
            ErrorKind::Closed => Kind::NotConnected,
            ErrorKind::Io => Kind::Other,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn message_names_operation_target_answer_and_remedy() {
        let error = Error::new(
            ErrorKind::NotPermitted,
            "enable hardware timestamps",
            "eth0",
            "operation not permitted",
        )
        .with_code(1)
        .with_remedy("run as root");
        assert_eq!(
            format!("{error}"),
            "enable hardware timestamps on eth0: operation not permitted (code 1); run as root"
        );
        assert_eq!(error.kind().name(), "not_permitted");
    }

    #[cfg(feature = "std")]
    #[test]
    fn an_io_error_keeps_kind_message_and_code() {
        let error =
            Error::new(ErrorKind::Busy, "steer", "ptp0", "held by another program").with_code(16);
        let message = format!("{error}");
        let converted = std::io::Error::from(error.clone());
        assert_eq!(converted.kind(), std::io::ErrorKind::ResourceBusy);
        assert_eq!(format!("{converted}"), message);
        let kept = converted
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Error>());
        assert_eq!(kept, Some(&error));
        assert_eq!(kept.and_then(Error::code), Some(16));
    }
}
