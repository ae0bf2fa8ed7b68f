//! A connection whose client must read: a write without progress fails, and so does an answer that takes too long.

use super::connections::Place;
use hyper::rt::{Read, ReadBufCursor, Write};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// How long the other end may take no octet.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take for an answer, or for a piece of a stream.
const LONGEST: Duration = Duration::from_secs(60);

pub(super) struct Patient<S> {
    stream: S,
    place: Arc<Place>,
    /// When it began to write what is not taken yet.
    begun: Option<Instant>,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, place: Arc<Place>) -> Self {
        Self {
            stream,
            place,
            begun: None,
            waiting: None,
        }
    }

    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let until = *self.begun.get_or_insert_with(Instant::now) + LONGEST;
        if written.is_ready() {
            self.waiting = None;
            let is_late = Instant::now() >= until;
            return if is_late {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            } else {
                written
            };
        }
        let patience = Instant::now() + PATIENCE;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(sleep_until(patience.min(until))));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => {
                waiting.as_mut().reset(patience);
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: Read + Unpin> Read for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: Write + Unpin> Write for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, octets);
        self.judge(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        let flushed = self.judge(context, flushed);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.begun = None;
            self.place.taken();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, ended)
    }
}
