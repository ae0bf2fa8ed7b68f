//! Waiting for a socket where the runtime can't watch it: asks now and then.

use crate::socket::UdpSocket;
use ::tokio::time;
use std::time::Duration;
use wirestamp_core::Result;
use wirestamp_core::backend::Incoming;

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

    /// Waits for datagrams, and receives them.
    pub(super) async fn datagrams(
        &self,
        socket: &UdpSocket,
        batch: &mut [Incoming<'_>],
    ) -> Result<usize> {
        loop {
            time::sleep(PAUSE).await;
            let count = socket.try_receive_batch(batch)?;
            if count > 0 {
                return Ok(count);
            }
        }
    }
}
