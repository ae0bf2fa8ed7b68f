//! Waiting for a socket where the runtime can't watch it: asks now and then.

use crate::socket::UdpSocket;
use ::tokio::time;
use std::time::Duration;
use wirestamp_core::Result;

/// As fine as tokio's timer.
const PAUSE: Duration = Duration::from_millis(1);

/// Nothing to register.
#[derive(Debug)]
pub(super) struct Registered;

impl Registered {
    pub(super) fn new(_: &UdpSocket) -> Result<Self> {
        Ok(Self)
    }

    /// Lets a little time pass, and empties the queue of timestamps.
    pub(super) async fn timestamps(&self, socket: &UdpSocket) -> Result<()> {
        time::sleep(PAUSE).await;
        socket.collect()
    }

    /// Lets a little time pass, after which there may be datagrams.
    pub(super) async fn readable(&self, _: &UdpSocket) -> Result<()> {
        time::sleep(PAUSE).await;
        Ok(())
    }
}
