//! The named pipe that serves the status of a running clock. Only the user who runs the clock can
//! open it, and only from this machine. Windows only.

use crate::report::Status;
use interprocess::os::windows::named_pipe::pipe_mode::{self, Bytes};
use interprocess::os::windows::named_pipe::{PipeListener, PipeListenerOptions, RecvPipeStream};
use interprocess::os::windows::security_descriptor::SecurityDescriptor;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::{fmt, fs};
use widestring::U16CString;
use wirestamp::{Error, ErrorKind, Result};
use wirestamp_sys::utc;

/// The longest answer that is read, in octets.
const LONGEST: u64 = 1 << 20;
/// The size of the pipe's buffer, so that writing an answer does not wait for the client.
const ROOM: u32 = 1 << 16;
const PIPES: &str = r"\\.\pipe\";
const PREFIX: &str = "wirestamp-ptp-";
const REMEDY: &str = "start one: wirestamp ptp IFACE";

/// A server of a clock's status, until it is dropped.
pub struct StatusServer(PipeListener<pipe_mode::None, Bytes>);

impl fmt::Debug for StatusServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusServer").finish_non_exhaustive()
    }
}

/// Returns the prefix of the pipes of this user's clocks.
fn prefix() -> Result<String> {
    Ok(format!("{PREFIX}{}-", utc::user()?))
}

impl StatusServer {
    /// Fails: pipes have no folder.
    ///
    /// # Errors
    /// `NotSupported`.
    pub fn folder() -> Result<PathBuf> {
        let cause = "pipes are in no folder";
        Err(Error::new(
            ErrorKind::NotSupported,
            "find the folder of the status pipe",
            "this system",
            cause,
        ))
    }

    /// Opens the status pipe of the clock whose first interface is `interface`.
    ///
    /// # Errors
    /// `Busy` if another clock of this interface is running; `Io`.
    pub fn open(interface: &str) -> Result<Self> {
        const OPERATION: &str = "open the status pipe";
        let path = format!("{PIPES}{}{interface}", prefix()?);
        let busy = || {
            Error::new(
                ErrorKind::Busy,
                OPERATION,
                &path,
                "another clock answers there",
            )
            .with_remedy("end it, or use another interface")
        };
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => busy(), // it belongs to the program that created it first
            _ => told(OPERATION, &path, &error),
        };
        if RecvPipeStream::<Bytes>::connect_by_path(PathBuf::from(&path)).is_ok() {
            return Err(busy());
        }
        // full access for this user, none for others
        let rules =
            U16CString::from_str(format!("D:P(A;;GA;;;{})", utc::user()?)).unwrap_or_default();
        let listener = PipeListenerOptions::new()
            .path(PathBuf::from(&path))
            .security_descriptor(Some(
                SecurityDescriptor::deserialize(&rules).map_err(failed)?,
            ))
            .accept_remote(false)
            .nonblocking(true)
            .output_buffer_size_hint(ROOM)
            .create_send_only::<Bytes>();
        listener.map(Self).map_err(failed)
    }

    /// Answers pending requests without waiting.
    pub fn answer(&self, status: impl FnOnce() -> Status) {
        let Ok(mut stream) = self.0.accept() else {
            return;
        };
        let text = serde_json::to_string(&status()).unwrap_or_default();
        // a client that has gone away gets no answer
        let _ = stream.write_all(text.as_bytes());
    }
}

/// Returns the status of a running clock of this user as JSON: that of `interface`, or the only
/// one.
///
/// # Errors
/// `NoSuchDevice` if none is running; `InvalidInput` if several are and `interface` is `None`;
/// `Io`.
pub fn ask(interface: Option<&str>) -> Result<String> {
    const OPERATION: &str = "ask a running PTP clock";
    let prefix = prefix()?;
    let interface = match interface {
        Some(interface) => interface.to_owned(),
        None => only_one(&prefix)?,
    };
    let path = format!("{PIPES}{prefix}{interface}");
    let mut text = String::new();
    let asked = RecvPipeStream::<Bytes>::connect_by_path(PathBuf::from(&path))
        .and_then(|stream| stream.take(LONGEST).read_to_string(&mut text));
    match asked {
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::new(
            ErrorKind::NoSuchDevice,
            OPERATION,
            interface,
            "none of this user's runs there",
        )
        .with_remedy(REMEDY)),
        Err(error) => Err(told(OPERATION, &path, &error)),
    }
}

fn only_one(prefix: &str) -> Result<String> {
    const OPERATION: &str = "ask a running PTP clock";
    let entries = fs::read_dir(PIPES).map_err(|error| {
        told(OPERATION, PIPES, &error).with_remedy("name the interface of the clock")
    })?;
    let names = entries
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix(prefix)?.to_owned()));
    let mut found: Vec<_> = names.collect();
    found.sort();
    found.dedup();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Error::new(
            ErrorKind::NoSuchDevice,
            OPERATION,
            "this user",
            "none of this user's runs",
        )
        .with_remedy(REMEDY)),
        several => Err(Error::new(
            ErrorKind::InvalidInput,
            OPERATION,
            "this user",
            "several run",
        )
        .with_remedy(format!("name one of: {}", several.join(", ")))),
    }
}

fn told(operation: &'static str, target: &str, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::NotPermitted,
        _ => ErrorKind::Io,
    };
    Error::new(kind, operation, target, error.to_string()).with_system(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::PortIdentity;
    use wirestamp::UtcTime;

    fn status() -> Status {
        let nobody = PortIdentity::default();
        Status {
            time: UtcTime::from_nanoseconds(1),
            identity: nobody,
            time_transmitter: None,
            grandmaster: nobody,
            steps_removed: 0,
            ports: Vec::new(),
            agreement: crate::trust::Agreement::Single,
            sources: Vec::new(),
        }
    }

    #[test]
    fn answers_its_owner_and_leaves_nothing_behind() {
        let interface = format!("test {}", std::process::id());
        let nobody = || ask(Some(&interface)).map_err(|error| error.kind());
        assert_eq!(nobody(), Err(ErrorKind::NoSuchDevice));
        let server = StatusServer::open(&interface).expect("opened");
        let second = StatusServer::open(&interface);
        assert_eq!(
            second.map_err(|error| error.kind()).err(),
            Some(ErrorKind::Busy)
        );
        for _ in 0..3 {
            let answered = std::thread::scope(|scope| {
                let asking = scope.spawn(|| ask(Some(&interface)));
                while !asking.is_finished() {
                    server.answer(status);
                    std::thread::yield_now();
                }
                asking.join().expect("no panic")
            });
            let answer: serde_json::Value =
                serde_json::from_str(&answered.expect("answered")).expect("JSON");
            assert_eq!(answer["time_transmitter"], serde_json::Value::Null);
        }
        drop(server);
        assert_eq!(nobody(), Err(ErrorKind::NoSuchDevice));
    }
}
