//! Adopts existing sockets and returns them: checks their kind and network namespace, changes options
//! and restores them.
//!
//! Source: socket(7), ip(7), udp(7); `Documentation/networking/timestamping.rst`.

use super::queue::memory_of;
use super::{Datagrams, Kind, Socket, lock, probe};
use crate::native::error::system_error;
use crate::native::wire::address;
use crate::native::wire::constants::{SO_RXQ_OVFL, SO_TIMESTAMPING_OLD, UDP_GRO};
use crate::native::{call, clock};
use socket2::{Domain, Protocol, SockRef, Type};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use wirestamp_core::backend::DatagramSocket;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::timestamp::TransmitTracker;
use wirestamp_core::{Error, ErrorKind, Result};

const ADOPT: &str = "adopt a socket";

/// `IPPROTO_UDPLITE` and `IPPROTO_MPTCP`, which `socket2` gives no names on every target.
const UDP_LITE: i32 = 136;
const MPTCP: i32 = 262;

/// Options that a socket changes for itself, and takes back when it is given up.
const CHANGED: [(i32, i32); 6] = [
    (libc::SOL_SOCKET, SO_RXQ_OVFL),
    (libc::IPPROTO_IP, libc::IP_PKTINFO),
    (libc::IPPROTO_IP, libc::IP_RECVERR),
    (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
    (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
    (libc::IPPROTO_UDP, UDP_GRO),
];

/// How a socket was set before it was ours; all off for one that we made.
#[derive(Debug, Default)]
pub(super) struct Former {
    /// Of [`CHANGED`].
    options: [i32; CHANGED.len()],
    /// Whether its calls waited.
    blocking: bool,
    /// Datagrams that the system had dropped.
    pub(super) dropped: u64,
    /// Whether its maker had CAP_NET_RAW. That of an adopted socket is not known: no.
    pub(super) maker_had_net_raw: bool,
}

impl Former {
    /// Of a socket that this thread makes.
    pub(super) fn ours() -> Self {
        Self {
            maker_had_net_raw: probe::has_net_raw().unwrap_or(false),
            ..Self::default()
        }
    }

    /// Whether its owner asked for the address and the interface that datagrams came to.
    pub(super) fn has_packet_information(&self) -> bool {
        let is_it = |option| {
            matches!(
                option,
                (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
            )
        };
        let mut options = CHANGED.into_iter().zip(self.options);
        options.any(|(option, value)| value != 0 && is_it(option))
    }

    fn of(fd: &OwnedFd) -> io::Result<Self> {
        // An option of the other family is not there.
        let options =
            CHANGED.map(|(level, name)| call::number(fd.as_fd(), level, name).unwrap_or(0));
        let [.., dropped] = memory_of::<9>(fd.as_fd()).unwrap_or_default();
        Ok(Self {
            options,
            blocking: !SockRef::from(fd).nonblocking()?,
            dropped: dropped.into(),
            maker_had_net_raw: false,
        })
    }
}

impl Socket {
    /// Takes over a UDP socket, bound or connected or neither. Its timestamping is then off, and so is
    /// what would make timestamps up (`SO_TIMESTAMP`) or datagrams one (`UDP_GRO`). What waits to be
    /// received stays; timestamps that wait are discarded. If its owner had timestamping on,
    /// timestamps of the owner's datagrams may still come: for some seconds nothing that is sent is
    /// timestamped. The tracker, which knows that, is the only one for this socket.
    ///
    /// # Errors
    /// `InvalidInput` if it is no UDP socket; `Busy` if there are too many descriptors. The descriptor
    /// is then closed.
    pub fn adopt(fd: OwnedFd) -> Result<(Self, TransmitTracker)> {
        let kind = Datagrams {
            ipv6: family(&fd)? == Domain::IPV6,
        };
        let shown = format!("descriptor {}", fd.as_raw_fd());
        let failed = |error: io::Error| system_error(ADOPT, &shown, &error);
        let local = SockRef::from(&fd).local_addr().map_err(failed)?;
        let name = match local.as_socket().map(address::canonical) {
            Some(local) if local.port() != 0 => format!("the adopted socket bound to {local}"),
            _ => String::from("an adopted socket that is not bound"),
        };
        let former = Former::of(&fd).map_err(failed)?;
        let is_local = is_local(&fd).map_err(failed)?;
        let bound_to = call::number(fd.as_fd(), libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX);
        let interface = bound_to
            .ok()
            .and_then(|index| InterfaceIndex::new(index as u32));
        let mut socket = Self::around(fd, kind, interface.filter(|_| is_local), name, former);
        socket.is_local = is_local;
        let tracker = socket.silence()?;
        Ok((socket, tracker))
    }

    /// Switches off what the owner had switched on of timestamps, and discards those that wait.
    fn silence(&self) -> Result<TransmitTracker> {
        let set = |level, name, value| call::set_number(self.fd.as_fd(), level, name, value);
        let failed = |error: io::Error| self.failure(ADOPT, &error);
        let flags = call::number(self.fd.as_fd(), libc::SOL_SOCKET, SO_TIMESTAMPING_OLD);
        let was_timestamping = flags.map_err(failed)? != 0;
        if was_timestamping {
            set(libc::SOL_SOCKET, SO_TIMESTAMPING_OLD, 0).map_err(failed)?;
        }
        // With it, a datagram that has no timestamp gets the time at which it is received.
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMP, 0).map_err(failed)?;
        // Kernels before 5.0 lack these.
        let _ = set(libc::IPPROTO_UDP, UDP_GRO, 0);
        set(libc::SOL_SOCKET, SO_RXQ_OVFL, 1).map_err(failed)?;
        let mut tracker = self.tracker();
        tracker.adopt(clock::now());
        self.read_ahead(&mut tracker)?;
        tracker.adopted(was_timestamping);
        Ok(tracker)
    }

    /// Gives the socket up, and undoes what was [changed](Self::restore).
    pub fn into_handle(self) -> OwnedFd {
        self.restore();
        self.fd
    }

    /// Undoes what was changed. Its timestamping is off, and what was set for it is as it was before;
    /// `SO_TIMESTAMPING` and `SO_TIMESTAMP` of the former owner stay off, the receive buffer keeps its
    /// size. Timestamps that wait are discarded, and so are datagrams that a ring took from the socket.
    pub fn restore(&self) {
        // Each is set as it was, or cannot be: nothing is left to do about it.
        let _ = self.set_flags(0);
        for ((level, name), value) in CHANGED.into_iter().zip(self.former.options) {
            let _ = call::set_number(self.fd.as_fd(), level, name, value);
        }
        if self.former.blocking {
            let _ = SockRef::from(&self.fd).set_nonblocking(false);
        }
        self.timestamp_ring.store(false, Ordering::Relaxed);
        *lock(&self.ring) = None;
        let _ = self.read_ahead(&mut self.tracker());
    }

    /// The interface that it is bound to; `None` if to none, or to one of another network namespace.
    pub fn interface(&self) -> Option<InterfaceIndex> {
        self.interface
    }

    /// Whether it is of the network namespace of the thread that made or adopted it.
    pub fn is_local(&self) -> bool {
        self.is_local
    }
}

impl<K: Kind> Socket<K> {
    /// Rings wait where a call would, unless the socket says that nothing waits. Returns whether it does.
    pub(super) fn never_blocks(&self) -> bool {
        !self.former.blocking || SockRef::from(&self.fd).set_nonblocking(true).is_ok()
    }

    /// Refuses an interface's number where it would be another interface's.
    pub(super) fn check_local(&self, operation: &'static str) -> Result<()> {
        if self.is_local {
            return Ok(());
        }
        let cause = "the socket is of another network namespace, where the interface of this number is another one";
        Err(
            Error::new(ErrorKind::NotSupported, operation, &self.name, cause)
                .with_remedy("adopt the socket on a thread that has entered its namespace (setns)"),
        )
    }
}

/// The family of a UDP socket; anything else is refused by name.
fn family(fd: &OwnedFd) -> Result<Domain> {
    let refused = |what: String| {
        let shown = format!("descriptor {}", fd.as_raw_fd());
        Error::new(ErrorKind::InvalidInput, ADOPT, shown, what)
            .with_remedy("adopt a UDP socket: timestamps are those of UDP datagrams")
    };
    let socket = SockRef::from(fd);
    let asked = socket
        .domain()
        .and_then(|domain| Ok((domain, socket.r#type()?, socket.protocol()?)));
    let (domain, kind, protocol) = match asked {
        Ok(asked) => asked,
        Err(error) if error.raw_os_error() == Some(libc::ENOTSOCK) => {
            return Err(refused(String::from("it is not a socket")));
        }
        Err(error) => {
            return Err(refused(error.to_string()).with_system(&error));
        }
    };
    let internet = matches!(domain, Domain::IPV4 | Domain::IPV6);
    if internet && kind == Type::DGRAM && protocol == Some(Protocol::UDP) {
        return Ok(domain);
    }
    Err(refused(format!(
        "it is {}",
        name_of(domain, kind, protocol)
    )))
}

fn name_of(domain: Domain, kind: Type, protocol: Option<Protocol>) -> String {
    let number = protocol.map_or(0, i32::from);
    let known = match (domain, kind) {
        (Domain::UNIX, _) => "a Unix-domain socket",
        (Domain::PACKET, _) => "a packet socket (AF_PACKET)",
        (Domain::VSOCK, _) => "a socket to a virtual machine (AF_VSOCK)",
        (Domain::IPV4 | Domain::IPV6, Type::RAW) => "a raw socket",
        (Domain::IPV4 | Domain::IPV6, _) if protocol == Some(Protocol::TCP) => "a TCP socket",
        (Domain::IPV4 | Domain::IPV6, _) if number == MPTCP => "a multipath TCP socket",
        (Domain::IPV4 | Domain::IPV6, _) if number == UDP_LITE => "a UDP-Lite socket",
        (Domain::IPV4 | Domain::IPV6, Type::DGRAM)
            if matches!(protocol, Some(Protocol::ICMPV4 | Protocol::ICMPV6)) =>
        {
            "an ICMP socket"
        }
        _ if i32::from(domain) == libc::AF_NETLINK => "a netlink socket",
        _ => {
            let (domain, kind) = (i32::from(domain), i32::from(kind));
            return format!("a socket of family {domain}, type {kind}, protocol {number}");
        }
    };
    known.to_owned()
}

/// Whether a socket is of the calling thread's network namespace. If the kernel does not report it (before
/// 5.14), an unbound socket counts as foreign: no interface is better than a wrong one.
pub(super) fn is_local(fd: &OwnedFd) -> io::Result<bool> {
    let own = socket2::Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    match (namespace_of(fd), namespace_of(&own)) {
        (Ok(theirs), Ok(ours)) => Ok(theirs == ours),
        _ => is_listed(fd),
    }
}

/// The number of a socket's network namespace, which no other has had since the system started.
fn namespace_of(fd: &impl AsFd) -> io::Result<u64> {
    let mut cookie = [0; 8];
    match call::option(
        fd.as_fd(),
        libc::SOL_SOCKET,
        libc::SO_NETNS_COOKIE,
        &mut cookie,
    )? {
        8 => Ok(u64::from_ne_bytes(cookie)),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Whether the calling thread's namespace lists a socket among its bound UDP sockets.
fn is_listed(fd: &OwnedFd) -> io::Result<bool> {
    let inode = fs::File::from(fd.try_clone()?)
        .metadata()?
        .ino()
        .to_string();
    // The inode is the tenth column.
    let lists = |table: &str| {
        fs::read_to_string(format!("/proc/thread-self/net/{table}")).is_ok_and(|text| {
            text.lines()
                .any(|line| line.split_whitespace().nth(9) == Some(&inode))
        })
    };
    Ok(lists("udp") || lists("udp6"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixDatagram;
    use wirestamp_core::backend::{Incoming, Interest, Outgoing};
    use wirestamp_core::configuration::Timestamping;
    use wirestamp_core::time::Span;

    fn refusal(descriptor: impl Into<OwnedFd>) -> String {
        let error = Socket::adopt(descriptor.into()).expect_err("no UDP socket");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        error.to_string()
    }

    #[test]
    fn what_is_no_udp_socket_is_refused_by_name() {
        let file = fs::File::open("/dev/null").expect("a file");
        assert!(refusal(file).contains("it is not a socket"));
        let unix = UnixDatagram::unbound().expect("a Unix-domain socket");
        assert!(refusal(unix).contains("a Unix-domain socket"));
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a TCP socket");
        assert!(refusal(tcp).contains("a TCP socket"));
        let lite = socket2::Socket::new(Domain::IPV4, Type::DGRAM, Some(UDP_LITE.into()));
        if let Ok(lite) = lite {
            assert!(refusal(lite).contains("a UDP-Lite socket"));
        }
        let raw = socket2::Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP));
        if let Ok(raw) = raw {
            assert!(refusal(raw).contains("a raw socket"));
        }
    }

    #[test]
    fn both_ways_of_finding_the_namespace_agree() {
        let bound = OwnedFd::from(UdpSocket::bind("127.0.0.1:0").expect("a socket"));
        assert!(is_local(&bound).expect("an answer"));
        assert!(is_listed(&bound).expect("an answer"));
        let foreign = thread_of_another_namespace();
        if let Some(foreign) = foreign {
            assert!(!is_local(&foreign).expect("an answer"));
            assert!(!is_listed(&foreign).expect("an answer"));
        }
    }

    /// A socket of a namespace that exists for it alone; `None` without the privilege.
    fn thread_of_another_namespace() -> Option<OwnedFd> {
        std::thread::spawn(|| {
            // SAFETY: it takes a number, and concerns this thread alone, which then ends.
            let moved = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
            moved.then(|| UdpSocket::bind("0.0.0.0:0").expect("a socket").into())
        })
        .join()
        .expect("no panic")
    }

    #[test]
    fn what_was_set_is_as_before_when_the_socket_is_given_back() {
        let theirs = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let number = |socket: &UdpSocket, (level, name)| {
            call::number(socket.as_fd(), level, name).unwrap_or(-1)
        };
        call::set_number(theirs.as_fd(), libc::IPPROTO_IP, libc::IP_RECVERR, 1).expect("set");
        call::set_number(theirs.as_fd(), libc::IPPROTO_IP, libc::IP_PKTINFO, 1).expect("set");
        call::set_number(theirs.as_fd(), libc::IPPROTO_UDP, UDP_GRO, 1).expect("set");
        call::set_number(theirs.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMP, 1).expect("set");
        let before = CHANGED.map(|option| number(&theirs, option));

        let (socket, mut tracker) = Socket::adopt(theirs.into()).expect("adopted");
        let value = |level, name| call::number(socket.as_fd(), level, name).expect("a number");
        assert_eq!(value(libc::IPPROTO_UDP, UDP_GRO), 0);
        assert_eq!(value(libc::SOL_SOCKET, libc::SO_TIMESTAMP), 0);
        let wanted = Timestamping::OFF.receive().transmit(8);
        socket.configure(&wanted, &mut tracker).expect("configured");
        assert_ne!(value(libc::SOL_SOCKET, SO_TIMESTAMPING_OLD), 0);

        assert_eq!(value(libc::IPPROTO_IP, libc::IP_PKTINFO), 1, "its owner's");
        let to = socket.local_address().ok();
        let (payload, id) = (b"x".as_slice(), None);
        socket
            .send(&[Outgoing::new(payload).to(to).id(id)])
            .expect("sent");
        let until = clock::now() + Span::from_seconds(2);
        socket.wait(Interest::Receive, until).expect("waited");
        let mut buffer = [0; 8];
        let mut incoming = [Incoming::new(&mut buffer)];
        assert_eq!(socket.receive(&mut incoming).expect("received"), 1);
        assert_eq!(incoming[0].received.destination, None, "not asked for");

        let theirs = UdpSocket::from(socket.into_handle());
        assert_eq!(CHANGED.map(|option| number(&theirs, option)), before);
        assert_eq!(number(&theirs, (libc::SOL_SOCKET, SO_TIMESTAMPING_OLD)), 0);
        assert!(!SockRef::from(&theirs).nonblocking().expect("a mode"));
    }

    #[test]
    fn only_drops_since_the_adoption_are_told() {
        let theirs = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        SockRef::from(&theirs)
            .set_recv_buffer_size(1)
            .expect("a small buffer");
        let to = theirs.local_addr().expect("an address");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a sender");
        (0..100).for_each(|_| drop(sender.send_to(&[0; 1_000], to)));
        let (socket, _) = Socket::adopt(theirs.into()).expect("adopted");
        assert!(socket.former.dropped > 0, "{:?}", socket.former);
        let mut buffer = [0; 8];
        while socket
            .receive(&mut [Incoming::new(&mut buffer)])
            .expect("received")
            > 0
        {}
        sender.send_to(&[1], to).expect("sent");
        socket
            .receive(&mut [Incoming::new(&mut buffer)])
            .expect("received");
        assert_eq!(socket.dropped(), 0);
    }
}
