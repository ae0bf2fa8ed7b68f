//! Waiting for a socket where the runtime can't watch it: asks now and then.

use crate::inner::Supported;
use crate::socket::Socket;
use ::tokio::time;
use std::time::Duration;
use wirestamp_core::Result;

/// As fine as tokio's timer.
const PAUSE: Duration = Duration::from_millis(1);

/// Nothing to register.
#[derive(Debug)]
pub(super) struct Registered;

impl Registered {
    pub(super) fn new<T: Supported>(_: &Socket<T>) -> Result<Self> {
        Ok(Self)
    }

    /// Lets a little time pass, and empties the queue of timestamps.
    pub(super) async fn timestamps<T: Supported>(&self, socket: &Socket<T>) -> Result<()> {
        time::sleep(PAUSE).await;
        socket.collect()
    }

    /// Lets a little time pass, after which there may be datagrams.
    pub(super) async fn readable<T: Supported>(&self, _: &Socket<T>) -> Result<()> {
        time::sleep(PAUSE).await;
        Ok(())
    }
}
