//! The HTTP server: one thread, limits for everything.

use super::access::Access;
use super::answer::{State, answer};
use super::patient::Patient;
use crate::configuration::Configuration;
use crate::history::Reader;
use crate::service::Handle;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::{Future as _, poll_fn};
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::{Mutex, Semaphore, oneshot};
use wirestamp::{Error, ErrorKind, Result};

/// A request whose head is not complete by then is not answered, and an idle connection is closed.
const HEAD: Duration = Duration::from_secs(5);
/// The longest head of a request.
const LONGEST_HEAD: usize = 16 * 1_024;
const MOST_HEADERS: usize = 64;
/// A failed `accept` (no descriptors left) is tried again after this.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves a monitor over HTTP, on a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    refused: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the address that the configuration names, and serves.
    ///
    /// # Errors
    /// `InvalidInput` for an unreadable token; `Busy` if the address is taken; `NotPermitted`; `Io`.
    pub fn start(configuration: &Configuration, handle: Handle) -> Result<Self> {
        let http = &configuration.http;
        let failed = |error: &std::io::Error| failed(http.listen, error);
        let access = Access::new(http)?;
        let listener = TcpListener::bind(http.listen).map_err(|error| failed(&error))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let state = Arc::new(State {
            handle,
            access,
            series_limit: AtomicUsize::new(configuration.metrics.series_limit),
            turn: Mutex::new(()),
            history: configuration
                .history
                .as_ref()
                .map(|history| Arc::new(Reader::new(&history.directory))),
            reading: Arc::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let refused = Arc::new(AtomicU64::new(0));
        let (count, connections) = (Arc::clone(&refused), usize::from(http.connections));
        let runtime = Builder::new_current_thread()
            .enable_all()
            // reads the history
            .max_blocking_threads(1)
            .build()
            .map_err(|error| failed(&error))?;
        let run = move || runtime.block_on(serve(listener, state, connections, count, stopped));
        let thread = thread::Builder::new()
            .name("wirestamp-http".into())
            .spawn(run)
            .map_err(|error| failed(&error))?;
        Ok(Self {
            address,
            refused,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns how many connections were closed at once because there were too many.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    listener: TcpListener,
    state: Arc<State>,
    connections: usize,
    refused: Arc<AtomicU64>,
    mut stopped: oneshot::Receiver<()>,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!("the HTTP server: {error}"),
    };
    let permits = Arc::new(Semaphore::new(connections));
    loop {
        let accepted = poll_fn(|context| match Pin::new(&mut stopped).poll(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => listener.poll_accept(context).map(Some),
        });
        let stream = match accepted.await {
            None => return,
            Some(Ok((stream, _))) => stream,
            Some(Err(error)) => {
                tracing::warn!("the HTTP server accepts no connection: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, Arc::clone(&state)));
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(LONGEST_HEAD)
                .max_headers(MOST_HEADERS)
                .serve_connection(Patient::new(TokioIo::new(stream)), service)
                .await;
            if let Err(error) = served {
                tracing::debug!("a connection: {error}");
            }
            drop(permit);
        });
    }
}

fn failed(address: SocketAddr, error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::AddrInUse => ErrorKind::Busy,
        std::io::ErrorKind::PermissionDenied => ErrorKind::NotPermitted,
        _ => ErrorKind::Io,
    };
    Error::new(
        kind,
        "serve the monitor over HTTP",
        address.to_string(),
        error.to_string(),
    )
    .with_remedy("name another address with [http] listen")
}
