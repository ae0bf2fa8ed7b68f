//! The error type of all crates: operation, target, cause and remedy.
//!
//! Missing timestamps and failed conversions have types of their own: see [`crate::timestamp`] and
//! [`crate::correlate`].

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

/// A `Result` with this library's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The kind of an [`Error`], by what the caller would do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
/// `eth0: cannot enable hardware timestamps: operation not permitted (code 1); run as root or grant CAP_NET_ADMIN`.
///
/// It is one pointer wide. [`source`](core::error::Error::source) returns the system's error as a
/// `std::io::Error` if it has an error number (feature `std`, which the crate `wirestamp` enables).
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    operation: Cow<'static, str>,
    target: String,
    cause: Cow<'static, str>,
    system: Option<SystemError>,
    remedy: Cow<'static, str>,
}

/// The system's error, with its number.
struct SystemError {
    code: i32,
    #[cfg(feature = "std")]
    error: std::io::Error,
}

impl SystemError {
    fn new(code: i32) -> Self {
        Self {
            code,
            #[cfg(feature = "std")]
            error: std::io::Error::from_raw_os_error(code),
        }
    }
}

impl Clone for SystemError {
    fn clone(&self) -> Self {
        Self::new(self.code)
    }
}

impl PartialEq for SystemError {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl Eq for SystemError {}

impl Error {
    /// Creates an error without a system error number. `operation` is an infinitive: the message is
    /// "target: cannot operation: cause".
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
            system: None,
            remedy: Cow::Borrowed(""),
        }))
    }

    /// Adds the operating system's error number (errno, Win32 or Winsock error).
    #[must_use]
    pub fn with_code(mut self, code: i32) -> Self {
        self.0.system = Some(SystemError::new(code));
        self
    }

    /// Adds the error number of `error`, if it has one.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_system(self, error: &std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(code) => self.with_code(code),
            None => self,
        }
    }

    /// Adds a remedy: what the reader can do about it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<Cow<'static, str>>) -> Self {
        self.0.remedy = remedy.into();
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the operation that failed, as an infinitive: "enable hardware timestamps".
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// Returns the target of the operation: an interface, an address, an ID.
    pub fn target(&self) -> &str {
        &self.0.target
    }

    /// Returns the cause in words, usually the system's.
    pub fn cause(&self) -> &str {
        &self.0.cause
    }

    /// Returns the system's error number, if there is one.
    pub fn code(&self) -> Option<i32> {
        self.0.system.as_ref().map(|system| system.code)
    }

    /// Returns the remedy; empty if there is none.
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
            remedy,
            ..
        } = &*self.0;
        write!(f, "{target}: cannot {operation}: {cause}")?;
        if let Some(code) = self.code() {
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

impl core::error::Error for Error {
    /// Returns the system's error, a `std::io::Error` with its number; `None` if there is no
    /// number.
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        #[cfg(feature = "std")]
        if let Some(system) = &self.0.system {
            return Some(&system.error);
        }
        None
    }
}

/// Wraps the error with its full message, under the standard library's kind for the system's error
/// number: `AddrInUse`, `ConnectionRefused`, `AddrNotAvailable` and the like.
///
/// [`std::io::Error::get_ref`] returns the original error, and its [`code`](Error::code) the
/// system's number. [`raw_os_error`](std::io::Error::raw_os_error) is `None`, because an
/// `io::Error` with a message of its own has no number; the source of the original error has it.
///
/// ```
/// # use wirestamp_core::{Error, ErrorKind};
/// # #[cfg(all(feature = "std", target_os = "linux"))] {
/// use std::error::Error as _;
/// use std::io;
///
/// # let error = Error::new(ErrorKind::Busy, "bind", "127.0.0.1:123", "address in use").with_code(98);
/// let bare = error.source().and_then(|source| source.downcast_ref::<io::Error>());
/// assert_eq!(bare.and_then(io::Error::raw_os_error), Some(98));
///
/// let whole = io::Error::from(error);
/// assert_eq!(whole.kind(), io::ErrorKind::AddrInUse);
/// assert!(whole.to_string().starts_with("127.0.0.1:123: cannot bind: address in use"));
/// # }
/// ```
///
/// If there is no number, or the standard library has no kind for it, the kind is derived from
/// [`kind`](Error::kind): `Busy` is [`ResourceBusy`](std::io::ErrorKind::ResourceBusy),
/// `NoSuchDevice` is [`NotFound`](std::io::ErrorKind::NotFound), `Unreachable` is
/// [`HostUnreachable`](std::io::ErrorKind::HostUnreachable), `Closed` is
/// [`NotConnected`](std::io::ErrorKind::NotConnected), `Io` is
/// [`Other`](std::io::ErrorKind::Other). `NotSupported` is always
/// [`Unsupported`](std::io::ErrorKind::Unsupported), because drivers report it with numbers that
/// have other kinds.
#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        Self::new(standard_kind(&error), error)
    }
}

#[cfg(feature = "std")]
fn standard_kind(error: &Error) -> std::io::ErrorKind {
    use std::io::ErrorKind as Kind;
    let of_the_number = error.0.system.as_ref().map(|system| system.error.kind());
    // the kind of unknown numbers, which has no stable name
    let none = std::io::Error::from_raw_os_error(0).kind();
    match (error.kind(), of_the_number) {
        (ErrorKind::NotSupported, _) => Kind::Unsupported,
        (_, Some(kind)) if kind != none && kind != Kind::Other => kind,
        (ErrorKind::NotPermitted, _) => Kind::PermissionDenied,
        (ErrorKind::NoSuchDevice, _) => Kind::NotFound,
        (ErrorKind::Busy, _) => Kind::ResourceBusy,
        (ErrorKind::InvalidInput, _) => Kind::InvalidInput,
        (ErrorKind::Unreachable, _) => Kind::HostUnreachable,
        (ErrorKind::Closed, _) => Kind::NotConnected,
        (ErrorKind::Io, _) => Kind::Other,
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
            "eth0: cannot enable hardware timestamps: operation not permitted (code 1); run as root"
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

    #[cfg(feature = "std")]
    #[test]
    fn the_source_is_the_systems_error() {
        use core::error::Error as _;
        let error = Error::new(ErrorKind::Io, "steer", "ptp0", "no");
        assert!(error.source().is_none());
        let error = error.with_code(7);
        let number = |error: &Error| {
            let source = error.source()?.downcast_ref::<std::io::Error>()?;
            source.raw_os_error()
        };
        assert_eq!(number(&error), Some(7));
        assert_eq!(number(&error.clone()), Some(7));
        assert_eq!(error.clone(), error);
        assert_ne!(error.clone(), error.with_code(8));
    }

    /// 0 would print "Success" in a chain of causes.
    #[cfg(feature = "std")]
    #[test]
    fn a_system_error_without_a_number_adds_none() {
        use core::error::Error as _;
        let with = |system| Error::new(ErrorKind::Io, "steer", "ptp0", "no").with_system(&system);
        let without = with(std::io::Error::other("no more threads"));
        assert_eq!(without.code(), None);
        assert!(without.source().is_none());
        assert_eq!(with(std::io::Error::from_raw_os_error(7)).code(), Some(7));
    }

    /// Error numbers of this system, by the standard library's kinds.
    #[cfg(all(feature = "std", target_os = "linux"))]
    #[test]
    fn an_io_error_has_the_kind_of_the_systems_number() {
        use std::io::ErrorKind as Kind;
        let kind = |kind, code: Option<i32>| {
            let error = Error::new(kind, "bind", "a socket", "no");
            let error = code.map_or(error.clone(), |code| error.with_code(code));
            std::io::Error::from(error).kind()
        };
        for (ours, code, expected) in [
            (ErrorKind::Busy, Some(98), Kind::AddrInUse),
            (ErrorKind::NoSuchDevice, Some(99), Kind::AddrNotAvailable),
            (ErrorKind::Unreachable, Some(111), Kind::ConnectionRefused),
            (ErrorKind::Unreachable, Some(101), Kind::NetworkUnreachable),
            (ErrorKind::Busy, Some(11), Kind::WouldBlock),
            (ErrorKind::NotPermitted, Some(1), Kind::PermissionDenied),
            // EINVAL of a driver that does not support it
            (ErrorKind::NotSupported, Some(22), Kind::Unsupported),
            (ErrorKind::InvalidInput, Some(22), Kind::InvalidInput),
            // ENODEV: the standard library has no kind for it
            (ErrorKind::NoSuchDevice, Some(19), Kind::NotFound),
            (ErrorKind::Io, Some(71), Kind::Other),
            (ErrorKind::Closed, None, Kind::NotConnected),
            (ErrorKind::Busy, None, Kind::ResourceBusy),
        ] {
            assert_eq!(kind(ours, code), expected, "{ours:?} {code:?}");
        }
    }
}
