//! Waiting for a socket on Windows, where the system's threads wait and wake the task.
//! Decides nothing about timestamps.

use crate::socket::UdpSocket;
use ::tokio::sync::Notify;
use ::tokio::task;
use std::sync::Arc;
use wirestamp_core::Result;
use wirestamp_sys::{Alarm, Socket};

/// Nothing to register: each wait is one of the system's.
#[derive(Debug)]
pub(super) struct Registered;

impl Registered {
    pub(super) fn new(_: &UdpSocket) -> Result<Self> {
        Ok(Self)
    }

    /// Waits until timestamps may be there, and collects them.
    pub(super) async fn timestamps(&self, socket: &UdpSocket) -> Result<()> {
        alarm(socket, Socket::when_timestamps_may_be_there).await?;
        socket.collect()
    }

    /// Waits until there may be datagrams, or the socket was closed.
    pub(super) async fn readable(&self, socket: &UdpSocket) -> Result<()> {
        alarm(socket, Socket::when_readable).await
    }
}

/// Waits for what `set` sets an alarm for; where that is now, other tasks have their turn.
async fn alarm(
    socket: &UdpSocket,
    set: impl FnOnce(&Socket, &Arc<dyn Fn() + Send + Sync>) -> Result<Option<Alarm>>,
) -> Result<()> {
    let rung = Arc::new(Notify::new());
    let bell = Arc::clone(&rung);
    let ring: Arc<dyn Fn() + Send + Sync> = Arc::new(move || bell.notify_one());
    let alarm = socket
        .native()
        .map(|native| set(native, &ring))
        .transpose()?;
    match alarm.flatten() {
        Some(_held) => rung.notified().await,
        None => task::yield_now().await,
    }
    Ok(())
}
