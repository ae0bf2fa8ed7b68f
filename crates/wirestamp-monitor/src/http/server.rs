//! The HTTP server: one thread, limits for everything.

use super::answer::{State, answer};
use super::connections::{Connections, Place};
use super::patient::Patient;
use super::rendered::Newest;
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
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
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
    /// The address in the configuration: the port may be 0.
    listen: SocketAddr,
    state: Arc<State>,
    connections: Connections,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A bound address with its settings. Clients that connect wait until it serves.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    listen: SocketAddr,
    listener: TcpListener,
    settings: Settings,
}

impl Listener {
    /// Opens the address that the configuration names, and reads token and certificate.
    ///
    /// # Errors
    /// `InvalidInput` for an unreadable token or certificate; `Busy` if the address is taken; `NotPermitted`; `Io`.
    pub fn bind(configuration: &Configuration) -> Result<Self> {
        let listen = configuration.http.listen;
        let settings = Settings::read(configuration)?;
        let opened = || {
            let listener = TcpListener::bind(listen)?;
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = opened().map_err(|error| failed(listen, &error))?;
        Ok(Self {
            address,
            listen,
            listener,
            settings,
        })
    }

    /// Serves a monitor.
    ///
    /// # Errors
    /// `Io` if the system cannot start a thread.
    pub fn serve(self, handle: Handle) -> Result<Server> {
        let failed = |error: std::io::Error| failed(self.listen, &error);
        let state = Arc::new(State {
            handle,
            settings: Current::new(self.settings),
            newest: Newest::default(),
            reading: Arc::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let connections = Connections::default();
        let (shared, table) = (Arc::clone(&state), connections.clone());
        let runtime = Builder::new_current_thread()
            .enable_all()
            // reads the history
            .max_blocking_threads(1)
            .build()
            .map_err(failed)?;
        let listener = self.listener;
        let run = move || {
            runtime.block_on(serve(listener, shared, table, stopped));
            // the history's disk may hang
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new()
            .name("wirestamp-http".into())
            .spawn(run)
            .map_err(failed)?;
        Ok(Server {
            address: self.address,
            listen: self.listen,
            state,
            connections,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

/// A configuration that a server can go over to at once: what could fail is done.
#[derive(Debug)]
pub struct Prepared(Settings);

impl Server {
    /// Opens the address that the configuration names, and serves.
    ///
    /// # Errors
    /// As [`Listener::bind`] and [`Listener::serve`].
    pub fn start(configuration: &Configuration, handle: Handle) -> Result<Self> {
        Listener::bind(configuration)?.serve(handle)
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether it serves over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.state.settings.get().tls.is_some()
    }

    /// Reads token, certificate and key for another configuration. Returns `None` if the address is another, which takes another server.
    ///
    /// # Errors
    /// `InvalidInput` for an unreadable token or certificate.
    pub fn prepare(&self, configuration: &Configuration) -> Result<Option<Prepared>> {
        let is_same = configuration.http.listen == self.listen;
        is_same
            .then(|| Settings::read(configuration).map(Prepared))
            .transpose()
    }

    /// Applies another configuration. Connections keep the certificate that they began with; those beyond the new limit
    /// are closed. New requests need the new token.
    pub fn reload(&self, Prepared(settings): Prepared) {
        let limit = settings.connections;
        self.state.settings.set(settings);
        self.connections.shrink(limit);
    }

    /// Returns how many connections were closed because there were too many.
    pub fn refused(&self) -> u64 {
        self.connections.closed()
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
    connections: Connections,
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
        let (stream, from) = match accepted.await {
            None => return,
            Some(Ok(accepted)) => accepted,
            Some(Err(error)) => {
                tracing::warn!("the HTTP server accepts no connection: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let limit = state.settings.get().connections;
        let Some(place) = connections.admit(from.ip(), limit) else {
            continue;
        };
        let number = place.number();
        let task = tokio::spawn(attend(stream, Arc::clone(&state), Arc::new(place)));
        connections.serve(number, task.abort_handle());
    }
}

async fn attend(stream: TcpStream, state: Arc<State>, place: Arc<Place>) {
    let settings = state.settings.get();
    match &settings.tls {
        None => converse(stream, state, place).await,
        Some(tls) => match timeout(HEAD, tls.accept::<TcpStream>(stream)).await {
            Ok(Ok(stream)) => converse(stream, state, place).await,
            Ok(Err(error)) => tracing::debug!("a TLS handshake: {error}"),
            Err(_) => tracing::debug!("a TLS handshake took longer than {HEAD:?}"),
        },
    }
}

/// Answers the requests of one connection.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    state: Arc<State>,
    place: Arc<Place>,
) {
    let stream = Patient::new(TokioIo::new(stream), Arc::clone(&place));
    let service =
        service_fn(move |request| answer(request, Arc::clone(&state), Arc::clone(&place)));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD)
        .max_headers(MOST_HEADERS)
        .serve_connection(stream, service)
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
