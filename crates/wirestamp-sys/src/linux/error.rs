//! Conversion of an errno to an error with a remedy.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use wirestamp_core::{Error, ErrorKind};

/// What failed, on what, with the kernel's answer and the remedy that usually helps.
pub(super) fn system_error(
    operation: impl Into<Cow<'static, str>>,
    target: impl Display,
    error: &io::Error,
) -> Error {
    let code = error.raw_os_error();
    let (kind, remedy) = code.map_or((ErrorKind::Io, ""), meaning);
    let text = error.to_string();
    let text = text
        .split(" (os error")
        .next()
        .unwrap_or_default()
        .to_lowercase();
    Error::new(kind, operation, target, text)
        .with_system(error)
        .with_remedy(remedy)
}

fn meaning(code: i32) -> (ErrorKind, &'static str) {
    use ErrorKind::{
        Busy, InvalidInput, Io, NoSuchDevice, NotPermitted, NotSupported, Unreachable,
    };
    match code {
        libc::EPERM => (
            NotPermitted,
            "run as root or grant CAP_NET_ADMIN; for a send: a firewall rule refused it",
        ),
        libc::EACCES => (
            NotPermitted,
            "run as root, or ask for access to this device, port or broadcast address",
        ),
        libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOPROTOOPT | libc::EAFNOSUPPORT => {
            (NotSupported, "")
        }
        libc::ENODEV | libc::ENXIO | libc::ENOENT => {
            (NoSuchDevice, "list what there is: wirestamp interfaces")
        }
        libc::EADDRNOTAVAIL => (
            NoSuchDevice,
            "no interface here has this address: wirestamp interfaces lists them",
        ),
        libc::EADDRINUSE => (
            Busy,
            "another socket has this address and port; port 0 takes a free one",
        ),
        libc::EBUSY | libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM => {
            (Busy, "try again in a moment")
        }
        libc::EMSGSIZE => (
            InvalidInput,
            "a UDP payload holds at most 65,507 bytes over IPv4, and what the path's MTU allows where fragments are forbidden",
        ),
        libc::EINVAL | libc::ERANGE => (
            InvalidInput,
            "the kernel or driver does not take this value",
        ),
        libc::EDESTADDRREQ => (InvalidInput, "give a destination or connect the socket"),
        libc::ECONNREFUSED => (Unreachable, "nobody listens on that port"),
        libc::EHOSTUNREACH | libc::ENETUNREACH | libc::ENETDOWN | libc::EHOSTDOWN => {
            (Unreachable, "check the route and that the interface is up")
        }
        _ => (Io, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_tried_on_what_the_answer_and_the_remedy() {
        let error = system_error(
            "configure hardware timestamping",
            "eth0",
            &io::Error::from_raw_os_error(libc::EPERM),
        );
        assert_eq!(error.kind(), ErrorKind::NotPermitted);
        assert_eq!(error.code(), Some(libc::EPERM));
        let text = error.to_string();
        assert!(
            text.starts_with(
                "eth0: cannot configure hardware timestamping: operation not permitted (code 1); run as root"
            ),
            "{text}"
        );
    }
}
