//! Poll methods, for code that implements futures and streams itself.

use super::{AsyncSocket, Shared};
use crate::inner::Supported;
use ::tokio::task::coop;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use wirestamp_core::Result;
use wirestamp_core::backend::{Incoming, Outgoing, Received};
use wirestamp_core::timestamp::TransmitRecord;

type Wait = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// The future that one kind of poll waits for; created by the first poll that returns `Pending`.
#[derive(Default)]
struct Slot(Mutex<Option<Wait>>);

impl Slot {
    /// Polls the future of an earlier poll, or one that `wait` creates.
    fn poll<F>(&self, context: &mut Context<'_>, wait: impl FnOnce() -> F) -> Poll<Result<()>>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = slot.get_or_insert_with(|| Box::pin(wait()));
        let polled = waits.as_mut().poll(context);
        if polled.is_ready() {
            *slot = None;
        }
        polled
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

/// Polls within the task's budget: if it is used up, other tasks run first.
fn within_budget<A>(
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<A>,
) -> Poll<A> {
    let turn = ready!(coop::poll_proceed(context));
    let polled = poll(context);
    if polled.is_ready() {
        turn.made_progress();
    }
    polled
}

/// The futures that the polls of one socket wait for.
#[derive(Debug, Default)]
pub(super) struct Polls {
    send: Slot,
    receive: Slot,
    transmit: Slot,
}

/// Like tokio's poll methods, each wakes only the task of its last call. Sending, receiving and
/// fetching timestamps do not interfere with each other. A poll that has to wait allocates.
impl<T: Supported> AsyncSocket<T> {
    /// Sends one datagram, or wakes the task when there is room in the send buffer. Unlike
    /// [`send`](Self::send), it has no time limit.
    ///
    /// # Errors
    /// As [`UdpSocket::send_batch`](crate::UdpSocket::send_batch).
    pub fn poll_send(
        &self,
        context: &mut Context<'_>,
        outgoing: &Outgoing<'_, T>,
    ) -> Poll<Result<()>> {
        within_budget(context, |context| {
            loop {
                if self.socket().send_batch(slice::from_ref(outgoing))? == 1 {
                    return Poll::Ready(Ok(()));
                }
                let wait = || {
                    let shared = Arc::clone(&self.shared);
                    async move { shared.until_room().await }
                };
                ready!(self.polls.send.poll(context, wait))?;
            }
        })
    }

    /// Receives one datagram into `buffer`, or wakes the task when one comes.
    ///
    /// # Errors
    /// As [`UdpSocket::receive`](crate::UdpSocket::receive).
    pub fn poll_receive(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<Received<T>>> {
        let mut incoming = Incoming::new(buffer);
        within_budget(context, |context| {
            loop {
                let seen = self.socket().changes();
                if self.socket().is_closed() {
                    return Poll::Ready(Err(self.socket().closed("receive")));
                }
                if self
                    .socket()
                    .try_receive_batch(slice::from_mut(&mut incoming))?
                    == 1
                {
                    return Poll::Ready(Ok(incoming.received));
                }
                let wait = || until_readable(Arc::clone(&self.shared), seen);
                ready!(self.polls.receive.poll(context, wait))?;
            }
        })
    }

    /// Takes the outcomes of resolved IDs, as many as fit into `records`, or wakes the task when
    /// one resolves. Ready with 0 only if `records` is empty.
    ///
    /// # Errors
    /// As [`transmit_timestamps`](Self::transmit_timestamps).
    pub fn poll_transmit_timestamps(
        &self,
        context: &mut Context<'_>,
        records: &mut [TransmitRecord],
    ) -> Poll<Result<usize>> {
        within_budget(context, |context| {
            loop {
                let seen = self.socket().changes();
                let count = self
                    .socket()
                    .wait_transmit_timestamps(records, Duration::ZERO)?;
                if count > 0 || records.is_empty() {
                    return Poll::Ready(Ok(count));
                }
                let wait = || until_timestamps(Arc::clone(&self.shared), seen);
                ready!(self.polls.transmit.poll(context, wait))?;
            }
        })
    }
}

async fn until_readable<T: Supported>(shared: Arc<Shared<T>>, seen: u64) -> Result<()> {
    shared.until_readable(seen).await
}

async fn until_timestamps<T: Supported>(shared: Arc<Shared<T>>, seen: u64) -> Result<()> {
    let until = shared.socket.next_deadline();
    shared.until_timestamps(seen, until).await
}
