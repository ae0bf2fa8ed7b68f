//! The sockets that the cases measure with, and where their datagrams go. Times nothing.

use nix::sched::{CloneFlags, unshare};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::rc::Rc;
use std::thread;
use wirestamp_sys::bare::tun;

/// A peer's runtime: one thread.
pub(crate) type Runtime = Rc<tokio::runtime::Runtime>;

/// Datagrams of 64 bytes.
pub(crate) const PAYLOAD: [u8; 64] = [0x42; 64];
/// As many as are sent and received at once.
pub(crate) const BATCH: usize = 64;
/// Datagrams that wait when they are received: they fit into a usual receive buffer.
pub(crate) const WAITING: usize = 128;

pub(crate) fn runtime() -> Result<Runtime, Box<dyn Error>> {
    Ok(Rc::new(
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?,
    ))
}

pub(crate) fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Sends to `to` without timestamps.
pub(crate) fn sender(to: SocketAddr) -> std::io::Result<UdpSocket> {
    let sender = UdpSocket::bind(loopback())?;
    sender.connect(to)?;
    Ok(sender)
}

/// Receives without timestamps, and never waits.
pub(crate) fn receiver() -> std::io::Result<UdpSocket> {
    let receiver = UdpSocket::bind(loopback())?;
    receiver.set_nonblocking(true)?;
    Ok(receiver)
}

/// Where sent datagrams go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Over loopback, to a socket whose queue is full: the way to it is part of the cost.
    Loopback,
    /// Into a TUN device that nobody reads: timestamped in its driver and dropped, as near to an
    /// NIC's way as there is here.
    Tun,
}

/// Drops what is sent to it.
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    _socket: Option<UdpSocket>,
}

impl Setting {
    pub(crate) fn local(self) -> SocketAddr {
        match self {
            Self::Loopback => loopback(),
            Self::Tun => (NEAR, 0).into(),
        }
    }

    /// A std socket that sends to `to`.
    pub(crate) fn sender(self, to: SocketAddr) -> std::io::Result<UdpSocket> {
        let sender = UdpSocket::bind(self.local())?;
        sender.connect(to)?;
        Ok(sender)
    }

    pub(crate) fn sink(self) -> std::io::Result<Sink> {
        if self == Self::Tun {
            return Ok(Sink {
                address: (FAR, 9).into(),
                _socket: None,
            });
        }
        let socket = UdpSocket::bind(loopback())?;
        let filler = sender(socket.local_addr()?)?;
        for _ in 0..1_000 {
            filler.send(&PAYLOAD)?;
        }
        Ok(Sink {
            address: socket.local_addr()?,
            _socket: Some(socket),
        })
    }
}

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 2);
const DEVICE: &str = "wsbench0";

/// Does `work` on a thread in a network namespace of its own, with a TUN device that nobody reads. With
/// `shape`, it has this queueing discipline instead of its default. `None`: not permitted here.
pub(crate) fn with_tun<T: Send>(
    shape: Option<&str>,
    work: impl FnOnce() -> Result<T, String> + Send,
) -> Result<Option<T>, String> {
    let there = || -> Result<Option<T>, String> {
        let shown = |error: &dyn Error| error.to_string();
        let Ok(()) = unshare(CloneFlags::CLONE_NEWNET) else {
            return Ok(None);
        };
        let Ok(_device) = tun(DEVICE) else {
            return Ok(None);
        };
        run("ip", &format!("addr add {NEAR}/24 dev {DEVICE}")).map_err(|error| shown(&*error))?;
        run("ip", &format!("link set {DEVICE} up")).map_err(|error| shown(&*error))?;
        if let Some(shape) = shape {
            run("tc", &format!("qdisc replace dev {DEVICE} root {shape}"))
                .map_err(|error| shown(&*error))?;
        }
        work().map(Some)
    };
    thread::scope(|scope| {
        scope
            .spawn(there)
            .join()
            .map_err(|_| "the bench's thread panicked".to_owned())?
    })
}

/// A command that must succeed.
pub(crate) fn run(program: &str, arguments: &str) -> Result<(), Box<dyn Error>> {
    let output = Command::new(program)
        .args(arguments.split_whitespace())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{program} {arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    )
    .into())
}
