//! Waiting for a socket on Windows, where threads of the system wait and wake the task.

use crate::inner::{Handle, Ring, Supported};
use crate::socket::Socket;
use ::tokio::sync::Notify;
use ::tokio::task;
use std::sync::Arc;
use wirestamp_core::Result;
use wirestamp_sys::Alarm;

/// No registration: each wait registers with the system's thread pool.
#[derive(Debug)]
pub(super) struct Registered;

impl Registered {
    pub(super) fn new<T: Supported>(_: &Socket<T>) -> Result<Self> {
        Ok(Self)
    }

    /// Waits until timestamps may be there, and collects them.
    pub(super) async fn timestamps<T: Supported>(&self, socket: &Socket<T>) -> Result<()> {
        alarm(socket, Handle::when_timestamps).await?;
        socket.collect()
    }

    /// Waits until there may be datagrams, or the socket was closed.
    pub(super) async fn readable<T: Supported>(&self, socket: &Socket<T>) -> Result<()> {
        alarm(socket, Handle::when_readable).await
    }
}

/// Waits for the event for which `set` sets an alarm. If it is there already, yields to other
/// tasks.
async fn alarm<T: Supported>(
    socket: &Socket<T>,
    set: impl FnOnce(&T::Native, &Ring) -> Result<Option<Alarm>>,
) -> Result<()> {
    let rung = Arc::new(Notify::new());
    let bell = Arc::clone(&rung);
    let ring: Ring = Arc::new(move || bell.notify_one());
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
