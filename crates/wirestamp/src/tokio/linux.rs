//! A socket's registration with tokio on Linux.

use crate::inner::Supported;
use crate::socket::Socket;
use ::tokio::io::Interest;
use ::tokio::io::unix::AsyncFd;
use std::io;
use std::os::fd::OwnedFd;
use wirestamp_core::{Error, ErrorKind, Result};

/// A second descriptor of the socket, registered for `READABLE` and `ERROR` only: a queued
/// timestamp makes tokio consider a socket closed for writing, and nothing clears that
/// (tokio-rs/tokio#5550).
#[derive(Debug)]
pub(super) struct Registered(AsyncFd<OwnedFd>);

impl Registered {
    pub(super) fn new<T: Supported>(socket: &Socket<T>) -> Result<Self> {
        let failed = |error| failed("register with tokio", socket, &error);
        let Some(descriptor) = socket.descriptor() else {
            return Err(Error::new(
                ErrorKind::Io,
                "register with tokio",
                format!("{socket:?}"),
                "it has no descriptor",
            ));
        };
        let descriptor = descriptor.try_clone_to_owned().map_err(failed)?;
        #[allow(
            deprecated,
            reason = "its successor is unsafe because a type could change its descriptor; this one can't"
        )]
        let registered = AsyncFd::with_interest(descriptor, Interest::READABLE | Interest::ERROR);
        registered.map(Self).map_err(failed)
    }

    /// Waits for entries in the error queue, and empties it.
    pub(super) async fn timestamps<T: Supported>(&self, socket: &Socket<T>) -> Result<()> {
        let ready = self.0.ready(Interest::ERROR).await;
        let mut ready =
            ready.map_err(|error| failed("wait for transmit timestamps", socket, &error))?;
        socket.collect()?;
        ready.clear_ready(); // later entries set it again
        Ok(())
    }

    /// Waits until there may be datagrams. Also empties the error queue, because both share one
    /// receive-buffer limit.
    pub(super) async fn readable<T: Supported>(&self, socket: &Socket<T>) -> Result<()> {
        let ready = self.0.ready(Interest::READABLE | Interest::ERROR).await;
        let mut ready = ready.map_err(|error| failed("wait for a datagram", socket, &error))?;
        if ready.ready().is_error() {
            socket.collect()?;
        }
        ready.clear_ready(); // before the receive: later datagrams set it again
        Ok(())
    }
}

fn failed<T: Supported>(operation: &'static str, socket: &Socket<T>, error: &io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        operation,
        format!("{socket:?}"),
        error.to_string(),
    )
    .with_system(error)
}
