//! Waiting for a socket by polling every millisecond, on systems where the runtime cannot watch it.

use crate::inner::Supported;
use crate::socket::Socket;
use ::tokio::time;
use std::time::Duration;
use wirestamp_core::Result;

/// The resolution of tokio's timer.
const PAUSE: Duration = Duration::from_millis(1);

/// Nothing to register.
#[derive(Debug)]
pub(super) struct Registered;

impl Registered {
    pub(super) fn new<T: Supported>(_: &Socket<T>) -> Result<Self> {
        Ok(Self)
    }

    /// Waits a millisecond, then collects timestamps.
    pub(super) async fn timestamps<T: Supported>(&self, socket: &Socket<T>) -> Result<()> {
        time::sleep(PAUSE).await;
        socket.collect()
    }

    /// Waits a millisecond, after which there may be datagrams.
    pub(super) async fn readable<T: Supported>(&self, _: &Socket<T>) -> Result<()> {
        time::sleep(PAUSE).await;
        Ok(())
    }
}
