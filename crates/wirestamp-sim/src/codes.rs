//! The errors of the simulated system: kind, words and number on each platform.

use crate::scenario::Platform;
use std::borrow::Cow;
use std::fmt::Display;
use wirestamp_core::timestamp::SendFailure;
use wirestamp_core::{Error, ErrorKind};

/// Why the system says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    AddressInUse,
    AddressNotAvailable,
    AddressFamily,
    NotPermitted,
    AccessDenied,
    NoBuffers,
    NoRoom,
    MessageSize,
    FrameSize,
    ConnectionRefused,
    NetworkUnreachable,
    HostUnreachable,
    NoDevice,
    Busy,
    OutOfRange,
    NotSupported,
    NotConfigurable,
    NoTimestamping,
    InvalidArgument,
    DestinationRequired,
}

impl Refusal {
    /// The numbers are `errno` values of Linux, and Winsock or Win32 errors of Windows.
    const fn known(self) -> (ErrorKind, &'static str, i32, i32) {
        use ErrorKind as Kind;
        match self {
            Self::AddressInUse => (Kind::Busy, "the address is in use", 98, 10048),
            Self::AddressNotAvailable => (
                Kind::NoSuchDevice,
                "no interface has this address",
                99,
                10049,
            ),
            Self::AddressFamily => (
                Kind::InvalidInput,
                "the address is of another family",
                97,
                10047,
            ),
            Self::NotPermitted => (Kind::NotPermitted, "operation not permitted", 1, 5),
            Self::AccessDenied => (Kind::NotPermitted, "permission denied", 13, 10013),
            Self::NoBuffers => (Kind::Busy, "no buffer space available", 105, 10055),
            Self::NoRoom => (Kind::Busy, "the send buffer is full", 11, 10035),
            Self::MessageSize => (Kind::InvalidInput, "the datagram is too long", 90, 10040),
            Self::FrameSize => (Kind::InvalidInput, "the frame is too long", 90, 10040),
            Self::ConnectionRefused => {
                (Kind::Unreachable, "nobody listens on the port", 111, 10054)
            }
            Self::NetworkUnreachable => (Kind::Unreachable, "no route to the network", 101, 10051),
            Self::HostUnreachable => (Kind::Unreachable, "no route to the host", 113, 10065),
            Self::NoDevice => (Kind::NoSuchDevice, "no such interface", 19, 1168),
            Self::Busy => (Kind::Busy, "the NIC is busy", 16, 170),
            Self::OutOfRange => (Kind::InvalidInput, "the driver refuses the value", 34, 87),
            Self::NotSupported => (Kind::NotSupported, "not supported", 95, 50),
            Self::NotConfigurable => (Kind::NotSupported, "programs can't switch this NIC", 95, 50),
            Self::NoTimestamping => (
                Kind::NotSupported,
                "operation not supported on a socket",
                95,
                10045,
            ),
            Self::InvalidArgument => (Kind::InvalidInput, "invalid argument", 22, 10022),
            Self::DestinationRequired => (Kind::InvalidInput, "a destination is needed", 89, 10057),
        }
    }

    const fn remedy(self) -> &'static str {
        match self {
            Self::AddressInUse => "choose another port, or port 0 for any free one",
            Self::AddressNotAvailable => "list the interfaces and their addresses",
            Self::AddressFamily => "use a socket of that family, or one bound to [::] for both",
            Self::NotPermitted | Self::AccessDenied => {
                "choose a scenario with host.privileged = true"
            }
            Self::NoBuffers | Self::NoRoom | Self::Busy => "try again",
            Self::MessageSize => "send at most 65,507 bytes over IPv4, 65,527 over IPv6",
            Self::FrameSize => "a frame's payload is at most as long as the interface's MTU",
            Self::NetworkUnreachable => "the simulated networks are 192.0.2.0/24 and 2001:db8::/64",
            Self::NoDevice => "list the interfaces again",
            Self::OutOfRange => "ask for a filter that the NIC supports",
            Self::DestinationRequired => "give a destination, or connect the socket",
            Self::ConnectionRefused => "start what shall receive, or check its port",
            Self::HostUnreachable => {
                "check who has the address: 192.0.2.1 and .2, 2001:db8::1 and ::2"
            }
            Self::NotSupported => {
                "do with software timestamps, or take a NIC that can (another preset)"
            }
            Self::NotConfigurable => "switch it in the driver's own properties",
            Self::NoTimestamping => "needs Windows 11 or Server 2022 (another preset)",
            Self::InvalidArgument => "correct the value",
        }
    }

    /// Returns the reason why a counted send failed, and whether the kernel's count moves all the same; `old`: also
    /// where there was no packet yet.
    pub(crate) const fn counted(self, old: bool) -> (SendFailure, bool) {
        match self {
            // Linux counts some frames that are too long, and rejects others before
            Self::NotPermitted | Self::NoBuffers | Self::FrameSize => (SendFailure::Other, true),
            Self::ConnectionRefused | Self::HostUnreachable => (SendFailure::Other, old),
            Self::NoRoom => (SendFailure::NoRoom, old),
            Self::MessageSize => (SendFailure::TooLong, old),
            Self::DestinationRequired => (SendFailure::NoDestination, false),
            _ => (SendFailure::Other, false),
        }
    }

    pub(crate) const fn code(self, platform: Platform) -> i32 {
        let (_, _, linux, windows) = self.known();
        match platform {
            Platform::Linux => linux,
            Platform::Windows => windows,
        }
    }

    pub(crate) fn error(
        self,
        platform: Platform,
        operation: impl Into<Cow<'static, str>>,
        target: impl Display,
    ) -> Error {
        let (kind, cause, ..) = self.known();
        Error::new(kind, operation, target, cause)
            .with_code(self.code(platform))
            .with_remedy(self.remedy())
    }
}

/// A query that the system answers with a number of its own.
pub(crate) fn numbered(code: i32, operation: &'static str, target: impl Display) -> Error {
    let (kind, cause, remedy) = match code {
        50 | 95 | 10045 => (
            ErrorKind::NotSupported,
            "not supported",
            "needs Windows 11 or Server 2022, and a driver for it",
        ),
        23 => (
            ErrorKind::Io,
            "some layer between the system and the driver rejected the query",
            "update the driver",
        ),
        2001 => (
            ErrorKind::Io,
            "the driver advertises a configuration that is not allowed",
            "update the driver",
        ),
        _ => (ErrorKind::Io, "the system refused the query", ""),
    };
    Error::new(kind, operation, target, cause)
        .with_code(code)
        .with_remedy(remedy)
}

pub(crate) fn closed(operation: &'static str, target: impl Display) -> Error {
    Error::new(
        ErrorKind::Closed,
        operation,
        target,
        "the socket was closed",
    )
    .with_remedy("bind a new one")
}
