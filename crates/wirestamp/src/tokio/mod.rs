//! Sockets for tokio: [`AsyncUdpSocket`] and [`AsyncEthernetSocket`], whose waits are futures.

#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
mod linux;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
use linux as native;
#[cfg(all(windows, not(wirestamp_unsupported)))]
mod windows;
#[cfg(all(windows, not(wirestamp_unsupported)))]
use windows as native;
#[cfg(any(not(any(target_os = "linux", windows)), wirestamp_unsupported))]
mod polled;
#[cfg(any(not(any(target_os = "linux", windows)), wirestamp_unsupported))]
use polled as native;

mod poll;

use crate::deadline::Deadline;
use crate::inner::Supported;
use crate::socket::{Socket, UdpSocket};
use ::tokio::task::coop;
use ::tokio::{runtime, select, task, time};
use native::Registered;
use poll::Polls;
use std::slice;
use std::sync::Arc;
use std::time::Duration;
use wirestamp_core::backend::{Ethernet, Incoming, Interest, Outgoing, Received, Udp};
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{TransmitAnswer, TransmitId, TransmitOutcome, TransmitRecord};
use wirestamp_core::{Error, ErrorKind, Result};

/// How long a send waits for room in the send buffer, like [`UdpSocket::send`].
const PATIENCE: Span = Span::from_seconds(1);
/// How long to wait before trying to send again: tokio's timer has a resolution of 1 ms.
const PAUSE: Duration = Duration::from_millis(1);

/// A [`Socket`] whose waits are futures: an [`AsyncUdpSocket`] or an [`AsyncEthernetSocket`].
///
/// Any number of tasks can wait at once, for different IDs or for datagrams. All methods are cancel
/// safe: dropping a future loses no data. Each call uses one unit of its task's budget
/// (`tokio::task::coop`), so that other tasks of the thread run even if datagrams come fast. On a
/// simulated interface, virtual time passes while a task waits, so a wait without an end keeps its
/// thread busy.
///
/// For hand-written futures and streams there are [`poll_send`](Self::poll_send),
/// [`poll_receive`](Self::poll_receive) and
/// [`poll_transmit_timestamps`](Self::poll_transmit_timestamps).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use wirestamp::tokio::AsyncUdpSocket;
/// use wirestamp::{Interface, Timestamping, TransmitId};
///
/// let nic = Interface::find("sim0")?;
/// let address = nic.description().addresses[0].address;
/// let socket = AsyncUdpSocket::new(nic.bind((address, 0).into())?)?;
/// socket.socket().configure(Timestamping::new().receive().transmit(64))?;
/// socket.send_to(b"to itself", socket.socket().local_address()?, Some(TransmitId(7))).await?;
/// let mut buffer = [0; 64];
/// let received = socket.receive(&mut buffer).await?;
/// let answer = socket.transmit_timestamp(TransmitId(7)).await?;
/// println!("{received:?} {answer:?}");
/// # Ok(()) })
/// # }
/// ```
///
/// Code for both kinds is generic over the transport:
///
/// ```
/// use wirestamp::tokio::AsyncSocket;
/// use wirestamp::socket::Supported;
/// use wirestamp::Incoming;
///
/// /// Sends back what comes in, until the socket is closed.
/// async fn echo<T: Supported>(socket: &AsyncSocket<T>) -> wirestamp::Result<()> {
///     let mut buffer = [0; 1500];
///     loop {
///         let mut batch = [Incoming::new(&mut buffer)];
///         socket.receive_batch(&mut batch).await?;
///         if let Some(source) = batch[0].received.source {
///             socket.send_to(batch[0].payload(), source, None).await?;
///         }
///     }
/// }
/// ```
#[derive(Debug)]
pub struct AsyncSocket<T: Supported = Udp> {
    /// The futures of the poll methods; declared before `shared`, which they use.
    polls: Polls,
    shared: Arc<Shared<T>>,
}

/// A [`UdpSocket`] whose waits are futures; see [`AsyncSocket`].
pub type AsyncUdpSocket = AsyncSocket<Udp>;

/// An [`EthernetSocket`](crate::ethernet::EthernetSocket) whose waits are futures; see
/// [`AsyncSocket`].
pub type AsyncEthernetSocket = AsyncSocket<Ethernet>;

/// The socket, shared with the futures of the poll methods.
#[derive(Debug)]
struct Shared<T: Supported> {
    /// `None` if the socket is simulated.
    registered: Option<Registered>,
    socket: Socket<T>,
}

impl<T: Supported> AsyncSocket<T> {
    /// Registers `socket` with the current tokio runtime.
    ///
    /// # Errors
    /// `InvalidInput` outside a tokio runtime; `Io` if the registration fails.
    ///
    /// # Panics
    /// On a runtime without I/O or time enabled, like tokio's own types.
    pub fn new(socket: Socket<T>) -> Result<Self> {
        if runtime::Handle::try_current().is_err() {
            let cause = "this thread runs no tokio runtime";
            let error = Error::new(
                ErrorKind::InvalidInput,
                "register with tokio",
                format!("{socket:?}"),
                cause,
            );
            return Err(error.with_remedy("call it inside the runtime, or enter the runtime first"));
        }
        let registered = if socket.is_simulated() {
            None
        } else {
            Some(Registered::new(&socket)?)
        };
        Ok(Self {
            polls: Polls::default(),
            shared: Arc::new(Shared { registered, socket }),
        })
    }

    /// Returns the socket itself, for its configuration, its counters and all other methods that do
    /// not wait.
    pub fn socket(&self) -> &Socket<T> {
        &self.shared.socket
    }

    /// Returns the socket and ends its registration. [`UdpSocket::into_std`] and tokio's `from_std`
    /// convert it to a tokio socket.
    ///
    /// # Panics
    /// Never: once the poll futures are dropped, there is no other reference.
    pub fn into_inner(self) -> Socket<T> {
        drop(self.polls);
        let shared = Arc::into_inner(self.shared).expect("only polls share it");
        shared.socket
    }

    /// Waits for the outcome of `id`. Never returns [`Pending`](TransmitAnswer::Pending), because
    /// every ID resolves by its own deadline.
    ///
    /// # Errors
    /// As [`UdpSocket::transmit_timestamp`].
    pub async fn transmit_timestamp(&self, id: TransmitId) -> Result<TransmitAnswer> {
        coop::consume_budget().await;
        loop {
            let seen = self.shared.socket.changes();
            match self.shared.socket.transmit_timestamp(id)? {
                TransmitAnswer::Pending => {
                    self.shared
                        .until_timestamps(seen, self.shared.socket.deadline_of(id))
                        .await?;
                }
                answer => return Ok(answer),
            }
        }
    }

    /// Sends one datagram to the connected peer and waits for its transmit timestamps: see
    /// [`UdpSocket::send_timestamped`]. Dropping the future ends the wait and resolves the ID.
    ///
    /// # Errors
    /// As [`UdpSocket::send_timestamped`].
    pub async fn send_timestamped(
        &self,
        payload: &[u8],
        deadline: impl Into<Deadline>,
    ) -> Result<TransmitOutcome> {
        self.send_and_wait(payload, None, deadline.into()).await
    }

    /// Sends one datagram to `to` and waits for its transmit timestamps: see
    /// [`UdpSocket::send_timestamped`]. Dropping the future ends the wait and resolves the ID.
    ///
    /// # Errors
    /// As [`UdpSocket::send_timestamped`].
    pub async fn send_to_timestamped(
        &self,
        payload: &[u8],
        to: T::Address,
        deadline: impl Into<Deadline>,
    ) -> Result<TransmitOutcome> {
        self.send_and_wait(payload, Some(to), deadline.into()).await
    }

    async fn send_and_wait(
        &self,
        payload: &[u8],
        to: Option<T::Address>,
        deadline: Deadline,
    ) -> Result<TransmitOutcome> {
        let socket = &self.shared.socket;
        let own = socket.own_id()?;
        let id = Some(own.id);
        self.send_one(&Outgoing::new(payload).to(to).id(id)).await?;
        let until = deadline.resolve(|| socket.now());
        loop {
            let seen = socket.changes();
            match socket.transmit_timestamp(own.id)? {
                TransmitAnswer::Pending if socket.now() >= until => return own.give_up(),
                TransmitAnswer::Pending => {
                    let ends = socket.deadline_of(own.id).unwrap_or(until).min(until);
                    self.shared.until_timestamps(seen, Some(ends)).await?;
                }
                answer => return socket.outcome_in(answer),
            }
        }
    }

    /// Waits until IDs have resolved, and takes as many outcomes as fit into `records`. Returns
    /// their number.
    ///
    /// # Errors
    /// `Closed` if the socket was closed and every outcome was fetched.
    pub async fn transmit_timestamps(&self, records: &mut [TransmitRecord]) -> Result<usize> {
        coop::consume_budget().await;
        loop {
            let seen = self.shared.socket.changes();
            let count = self
                .shared
                .socket
                .wait_transmit_timestamps(records, Duration::ZERO)?;
            if count > 0 || records.is_empty() {
                return Ok(count);
            }
            self.shared
                .until_timestamps(seen, self.shared.socket.next_deadline())
                .await?;
        }
    }

    /// Receives one datagram into `buffer`.
    ///
    /// # Errors
    /// As [`UdpSocket::receive`].
    pub async fn receive(&self, buffer: &mut [u8]) -> Result<Received<T>> {
        let mut incoming = Incoming::new(buffer);
        self.receive_batch(slice::from_mut(&mut incoming)).await?;
        Ok(incoming.received)
    }

    /// Waits for datagrams, and receives as many as are available and fit into `batch`. Returns
    /// their number.
    ///
    /// # Errors
    /// As [`UdpSocket::receive_batch`].
    pub async fn receive_batch(&self, batch: &mut [Incoming<'_, T>]) -> Result<usize> {
        coop::consume_budget().await;
        loop {
            let seen = self.shared.socket.changes();
            if self.shared.socket.is_closed() {
                return Err(self.shared.socket.closed("receive"));
            }
            let count = self.shared.socket.try_receive_batch(batch)?;
            if count > 0 || batch.is_empty() {
                return Ok(count);
            }
            self.shared.until_readable(seen).await?;
        }
    }

    /// Sends one datagram to `to`; with an `id`, it gets a transmit timestamp. Waits up to a second
    /// for room in the send buffer.
    ///
    /// # Errors
    /// As [`UdpSocket::send_to`].
    pub async fn send_to(
        &self,
        payload: &[u8],
        to: T::Address,
        id: Option<TransmitId>,
    ) -> Result<()> {
        self.send_one(&Outgoing::new(payload).to(to).id(id)).await
    }

    /// Sends one datagram to the connected peer; with an `id`, it gets a transmit timestamp. Waits
    /// up to a second for room in the send buffer.
    ///
    /// # Errors
    /// As [`UdpSocket::send`].
    pub async fn send(&self, payload: &[u8], id: Option<TransmitId>) -> Result<()> {
        self.send_one(&Outgoing::new(payload).id(id)).await
    }

    /// Polls for room instead of waiting for readiness: after the first timestamp, tokio considers
    /// the socket closed for writing forever (tokio-rs/tokio#5550).
    async fn send_one(&self, outgoing: &Outgoing<'_, T>) -> Result<()> {
        coop::consume_budget().await;
        let until = self.shared.socket.now() + PATIENCE;
        while self.shared.socket.send_batch(slice::from_ref(outgoing))? == 0 {
            if self.shared.socket.now() >= until {
                return Err(self.shared.socket.no_room());
            }
            self.shared.until_room().await?;
        }
        Ok(())
    }
}

impl AsyncSocket<Udp> {
    /// Adopts a tokio socket. Replaces its registration with the runtime by one that also covers
    /// transmit timestamps.
    ///
    /// # Errors
    /// As [`UdpSocket::adopt`] and [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn adopt(socket: ::tokio::net::UdpSocket) -> Result<Self> {
        let socket = socket.into_std().map_err(|error| {
            Error::new(
                ErrorKind::Io,
                "adopt a socket",
                "tokio's UDP socket",
                error.to_string(),
            )
            .with_system(&error)
        })?;
        Self::new(UdpSocket::adopt(socket)?)
    }
}

impl TryFrom<::tokio::net::UdpSocket> for AsyncUdpSocket {
    type Error = Error;

    fn try_from(socket: ::tokio::net::UdpSocket) -> Result<Self> {
        Self::adopt(socket)
    }
}

impl<T: Supported> Shared<T> {
    /// Waits until IDs may have resolved: a timestamp came, another task or thread collected, or
    /// `until` passed.
    async fn until_timestamps(&self, seen: u64, until: Option<MonotonicTime>) -> Result<()> {
        let Some(registered) = &self.registered else {
            return self.pass_virtual_time(Interest::Timestamps, until).await;
        };
        let left = until.map_or(Duration::MAX, |until| {
            (until - self.socket.now()).to_duration()
        });
        select! {
            collected = registered.timestamps(&self.socket) => collected,
            () = self.socket.changed(seen) => Ok(()),
            () = time::sleep(left) => Ok(()),
        }
    }

    /// Waits until there may be datagrams, or the socket was closed.
    async fn until_readable(&self, seen: u64) -> Result<()> {
        let Some(registered) = &self.registered else {
            return self.pass_virtual_time(Interest::Receive, None).await;
        };
        select! {
            came = registered.readable(&self.socket) => came,
            () = self.socket.changed(seen) => Ok(()),
        }
    }

    /// Waits until there may be room to send.
    async fn until_room(&self) -> Result<()> {
        match self.registered {
            Some(_) => {
                time::sleep(PAUSE).await;
                Ok(())
            }
            None => self.pass_virtual_time(Interest::Send, None).await,
        }
    }

    async fn pass_virtual_time(
        &self,
        interest: Interest,
        until: Option<MonotonicTime>,
    ) -> Result<()> {
        self.socket.pass_virtual_time(interest, until)?;
        task::yield_now().await; // other tasks may cause the next event
        Ok(())
    }
}
