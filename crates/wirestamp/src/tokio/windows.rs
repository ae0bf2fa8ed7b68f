//! Waiting for a socket on Windows, where the system's threads wait and wake the task.
//! Decides nothing about timestamps.

use crate::inner::Supported;
use crate::socket::Socket;
use ::tokio::sync::Notify;
use ::tokio::task;
use std::sync::Arc;
use wirestamp_core::Result;
use wirestamp_core::backend::NoSocket;
use wirestamp_sys::Alarm;

type Ring = Arc<dyn Fn() + Send + Sync>;

/// What the system can wait for.
pub trait Watched {
    /// Has `ring` called once timestamps may be there; `None`: they may be now.
    ///
    /// # Errors
    /// The system's.
    #[doc(hidden)]
    fn when_timestamps(&self, ring: &Ring) -> Result<Option<Alarm>>;

    /// Has `ring` called once there may be datagrams; `None`: there may be now.
    ///
    /// # Errors
    /// The system's.
    #[doc(hidden)]
    fn when_readable(&self, ring: &Ring) -> Result<Option<Alarm>>;
}

impl Watched for wirestamp_sys::Socket {
    fn when_timestamps(&self, ring: &Ring) -> Result<Option<Alarm>> {
        self.when_timestamps_may_be_there(ring)
    }

    fn when_readable(&self, ring: &Ring) -> Result<Option<Alarm>> {
        Self::when_readable(self, ring)
    }
}

/// There is none to wait for.
impl Watched for NoSocket {
    fn when_timestamps(&self, _: &Ring) -> Result<Option<Alarm>> {
        Ok(None)
    }

    fn when_readable(&self, _: &Ring) -> Result<Option<Alarm>> {
        Ok(None)
    }
}

/// Nothing to register: each wait is one of the system's.
#[derive(Debug)]
pub(super) struct Registered;

impl Registered {
    pub(super) fn new<T: Supported>(_: &Socket<T>) -> Result<Self> {
        Ok(Self)
    }

    /// Waits until timestamps may be there, and collects them.
    pub(super) async fn timestamps<T: Supported<Native: Watched>>(
        &self,
        socket: &Socket<T>,
    ) -> Result<()> {
        alarm(socket, Watched::when_timestamps).await?;
        socket.collect()
    }

    /// Waits until there may be datagrams, or the socket was closed.
    pub(super) async fn readable<T: Supported<Native: Watched>>(
        &self,
        socket: &Socket<T>,
    ) -> Result<()> {
        alarm(socket, Watched::when_readable).await
    }
}

/// Waits for what `set` sets an alarm for; where that is now, other tasks have their turn.
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
