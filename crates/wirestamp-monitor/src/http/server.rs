//! The HTTP server: one thread, limits for everything.

use super::answer::{State, answer};
use super::patient::Patient;
use super::settings::{Current, Settings};
use crate::configuration::Configuration;
use crate::service::Handle;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::{Future as _, poll_fn};
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;
use wirestamp::{Error, ErrorKind, Result};

/// A request whose head is not complete by then is not answered, an idle connection and an unfinished TLS handshake are closed.
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
    /// As the configuration has it: the port may be 0.
    listen: SocketAddr,
    state: Arc<State>,
    refused: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the address that the configuration names, and serves.
    ///
    /// # Errors
    /// `InvalidInput` for an unreadable token or certificate; `Busy` if the address is taken; `NotPermitted`; `Io`.
    pub fn start(configuration: &Configuration, handle: Handle) -> Result<Self> {
        let http = &configuration.http;
        let failed = |error: &std::io::Error| failed(http.listen, error);
        let settings = Current::new(Settings::read(configuration)?);
        let listener = TcpListener::bind(http.listen).map_err(|error| failed(&error))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let state = Arc::new(State {
            handle,
            settings,
            turn: Mutex::new(()),
            reading: Arc::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let refused = Arc::new(AtomicU64::new(0));
        let (count, shared) = (Arc::clone(&refused), Arc::clone(&state));
        let runtime = Builder::new_current_thread()
            .enable_all()
            // reads the history
            .max_blocking_threads(1)
            .build()
            .map_err(|error| failed(&error))?;
        let run = move || runtime.block_on(serve(listener, shared, count, stopped));
        let thread = thread::Builder::new()
            .name("wirestamp-http".into())
            .spawn(run)
            .map_err(|error| failed(&error))?;
        Ok(Self {
            address,
            listen: http.listen,
            state,
            refused,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether it serves over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.state.settings.get().tls.is_some()
    }

    /// Goes over to another configuration, and reads token, certificate and key again: connections live on with the certificate that they began
    /// with, requests that come from now on need the new token. Returns `false` if the address is another, which takes another server; nothing
    /// has changed then.
    ///
    /// # Errors
    /// `InvalidInput` for an unreadable token or certificate: nothing has changed.
    pub fn reload(&self, configuration: &Configuration) -> Result<bool> {
        if configuration.http.listen != self.listen {
            return Ok(false);
        }
        self.state.settings.set(Settings::read(configuration)?);
        Ok(true)
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
    refused: Arc<AtomicU64>,
    mut stopped: oneshot::Receiver<()>,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!("the HTTP server: {error}"),
    };
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
        let settings = state.settings.get();
        let Ok(permit) = Arc::clone(&settings.permits).try_acquire_owned() else {
            refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            match &settings.tls {
                None => converse(stream, state).await,
                Some(tls) => match timeout(HEAD, tls.accept::<TcpStream>(stream)).await {
                    Ok(Ok(stream)) => converse(stream, state).await,
                    Ok(Err(error)) => tracing::debug!("a TLS handshake: {error}"),
                    Err(_) => tracing::debug!("a TLS handshake took longer than {HEAD:?}"),
                },
            }
            drop(permit);
        });
    }
}

/// Answers the requests of one connection.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(stream: S, state: Arc<State>) {
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
