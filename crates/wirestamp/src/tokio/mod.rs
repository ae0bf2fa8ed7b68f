//! The waits of a socket as futures of tokio's. What is waited for, and what comes of
//! it, is the socket's business; what the runtime watches on this system is in `native`.

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

/// How long a send waits for room, as [`UdpSocket::send`] does.
const PATIENCE: Span = Span::from_seconds(1);
/// How long to wait before trying to send again: tokio's timer ticks in milliseconds.
const PAUSE: Duration = Duration::from_millis(1);

/// A [`Socket`] whose waits are futures: an [`AsyncUdpSocket`] or an [`AsyncEthernetSocket`].
///
/// Any number of tasks can wait at once, for different ids or for datagrams; dropping a
/// future loses nothing. Each call spends one unit of its task's budget (`tokio::task::coop`), so that other tasks of
/// the thread have their turn however fast datagrams come. On a simulated interface, virtual time passes while a task waits,
/// so a wait for something that never comes keeps its thread busy.
///
/// For code that is written with polls: [`poll_send`](Self::poll_send), [`poll_receive`](Self::poll_receive),
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
    /// What the polls wait for; before what these use.
    polls: Polls,
    shared: Arc<Shared<T>>,
}

/// A [`UdpSocket`] whose waits are futures. What it does is described at [`AsyncSocket`].
pub type AsyncUdpSocket = AsyncSocket<Udp>;

/// An [`EthernetSocket`](crate::ethernet::EthernetSocket) whose waits are futures. What it does is described at
/// [`AsyncSocket`].
pub type AsyncEthernetSocket = AsyncSocket<Ethernet>;

/// The socket, for those who wait in the name of a poll too.
#[derive(Debug)]
struct Shared<T: Supported> {
    /// `None` where the socket is simulated.
    registered: Option<Registered>,
    socket: Socket<T>,
}

impl<T: Supported> AsyncSocket<T> {
    /// Registers `socket` with the runtime that this is called on.
    ///
    /// # Errors
    /// `InvalidInput` outside a tokio runtime; `Io` if the system can't register it.
    ///
    /// # Panics
    /// On a runtime without I/O or time, as tokio's own types do.
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

    /// Returns the socket itself: for its configuration, its counters, and everything that does not wait.
    pub fn socket(&self) -> &Socket<T> {
        &self.shared.socket
    }

    /// Gives the socket back; then [`UdpSocket::into_std`] and tokio's `from_std` give it back to tokio.
    ///
    /// # Panics
    /// Never: nobody else has it once the polls have ended.
    pub fn into_inner(self) -> Socket<T> {
        drop(self.polls);
        let shared = Arc::into_inner(self.shared).expect("only polls share it");
        shared.socket
    }

    /// Waits for the outcome of `id`. Never answers [`Pending`](TransmitAnswer::Pending): an id
    /// ends by its own deadline at the latest.
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
    /// [`UdpSocket::send_timestamped`]. Dropping the future ends the wait and the id.
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
    /// [`UdpSocket::send_timestamped`]. Dropping the future ends the wait and the id.
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

    /// Takes the outcomes of ended ids, as far as `records` has room, and waits for the first.
    ///
    /// # Errors
    /// `Closed` if the socket was closed and every outcome is fetched.
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

    /// Receives what waits, as far as `batch` has room, and waits for the first datagram.
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

    /// Sends one datagram to `to`; with an `id`, it is timestamped. Waits up to a second for room.
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

    /// Sends one datagram to the connected peer; with an `id`, it is timestamped. Waits up to a
    /// second for room.
    ///
    /// # Errors
    /// As [`UdpSocket::send`].
    pub async fn send(&self, payload: &[u8], id: Option<TransmitId>) -> Result<()> {
        self.send_one(&Outgoing::new(payload).id(id)).await
    }

    /// Room to send is not awaited by readiness: after the first timestamp, tokio holds the socket
    /// for closed to writing for ever (tokio-rs/tokio#5550).
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
    /// Adopts a socket of tokio's: it leaves the runtime's own registration and gets one that
    /// hears of transmit timestamps.
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
    /// Waits until ids may have ended: a timestamp came, somebody else collected, or `until` passed.
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
        task::yield_now().await; // other tasks make things happen too
        Ok(())
    }
}
