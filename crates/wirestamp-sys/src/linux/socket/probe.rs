//! Probes of the running kernel on throw-away sockets: whether datagrams carry the caller's ids,
//! and how its own count of timestamped datagrams behaves. Version numbers do not show it, because
//! fixes are backported. `wirestamp_core` draws the conclusions.

use super::messages::{ReceiveMessages, SendMessages, send_plain};
use crate::native::call;
use crate::native::wire::address::AddressBytes;
use crate::native::wire::constants::{
    OPT_CMSG, OPT_ID, OPT_TSONLY, SCM_TS_OPT_ID, SO_TIMESTAMPING_NEW, SOFTWARE, TX_HARDWARE,
    TX_SOFTWARE,
};
use crate::native::wire::control::{self, QueueEntry};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;
use wirestamp_core::timestamp::{CountProbe, CountRules};

const FLAGS: u32 = OPT_ID | OPT_TSONLY | SOFTWARE;
/// One more than fits into a packet, and not so much that the kernel refuses it before it counts.
const TOO_LONG: usize = 65_508;
/// The kernel limits how many ICMP errors it sends; the limit recovers within milliseconds.
const ATTEMPTS: u32 = 5;

/// Returns how this kernel counts; probed once per process. If loopback is down or filtered, it
/// returns the worst case, and the next caller probes again.
pub(super) fn count_rules() -> CountRules {
    static KNOWN: Mutex<Option<CountRules>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(rules) = *known {
        return rules;
    }
    let probe = observe();
    let rules = CountRules::of(probe);
    let whole = [
        probe.nothing,
        probe.too_long,
        probe.pending_error,
        probe.hardware_alone,
        probe.after_restart,
    ];
    if whole.iter().all(Option::is_some) {
        *known = Some(rules);
    }
    rules
}

fn observe() -> CountProbe {
    let Ok(prober) = Prober::new() else {
        return CountProbe::default();
    };
    let too_long = vec![0; TOO_LONG];
    CountProbe {
        nothing: prober.moved_by(|| Some(())),
        too_long: prober.moved_by(|| fails_as(prober.send(&too_long, TX_SOFTWARE), libc::EMSGSIZE)),
        pending_error: (0..ATTEMPTS)
            .find_map(|attempt| prober.moved_by(|| prober.meets_a_pending_error(attempt))),
        hardware_alone: prober.moved_by(|| prober.send(&[0], TX_HARDWARE).ok()),
        after_restart: prober.restart().ok().and_then(|()| prober.count()),
    }
}

/// Whether a transmit timestamp that comes with its packet names the device. The kernel gives packets to all sockets, or,
/// where `net.core.tstamp_allow_data` is 0, to those whose maker had CAP_NET_RAW when it made them, and no timestamp at all to
/// the others. Asked with each configuration, because the setting can change. A prober has the rights of the thread that
/// configures: it stands for sockets whose maker had no fewer.
pub(super) fn kernel_names_devices(maker_had_net_raw: bool) -> bool {
    let stands = || maker_had_net_raw || !has_net_raw().unwrap_or(true);
    let by_prober = || Prober::new().is_ok_and(|prober| prober.names_device().unwrap_or(false));
    gives_all_packets() || stands() && by_prober()
}

/// Whether the calling thread has CAP_NET_RAW.
pub(super) fn has_net_raw() -> io::Result<bool> {
    const CAP_NET_RAW: u32 = 13;
    call::has_capability(CAP_NET_RAW)
}

/// Whether the kernel gives packets to all; where it does not say (older ones in all network namespaces but the first), no.
fn gives_all_packets() -> bool {
    let read = std::fs::read_to_string("/proc/sys/net/core/tstamp_allow_data");
    read.is_ok_and(|value| value.trim() == "1")
}

/// A socket on loopback that sends to itself: its timestamps are there when a send returns.
struct Prober {
    socket: UdpSocket,
    own: SocketAddr,
}

impl Prober {
    fn new() -> io::Result<Self> {
        let (socket, own) = bound()?;
        let prober = Self { socket, own };
        prober.connect(own)?;
        prober.set(FLAGS)?;
        Ok(prober)
    }

    fn set(&self, flags: u32) -> io::Result<()> {
        call::set_option(
            self.socket.as_fd(),
            libc::SOL_SOCKET,
            SO_TIMESTAMPING_NEW,
            &flags.to_ne_bytes(),
        )
    }

    fn restart(&self) -> io::Result<()> {
        self.set(FLAGS & !OPT_ID)?;
        self.set(FLAGS)
    }

    fn connect(&self, to: SocketAddr) -> io::Result<()> {
        self.socket.connect(to)
    }

    /// Sends to whom it is connected to, and asks for a timestamp by `bits`.
    fn send(&self, payload: &[u8], bits: u32) -> io::Result<()> {
        let mut messages = SendMessages::<1>::new();
        let control = messages.push(payload, (AddressBytes::NONE, []));
        assert!(
            control.push(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &bits.to_ne_bytes()),
            "room for one"
        );
        messages.send(self.socket.as_fd()).map(drop)
    }

    /// Sends one timestamped datagram to itself; returns its count.
    fn count(&self) -> Option<u32> {
        while self.next_count().is_some() {}
        self.send(&[0], TX_SOFTWARE).ok()?;
        self.next_count()
    }

    /// The next timestamp of the error queue.
    fn next_count(&self) -> Option<u32> {
        let mut messages = <ReceiveMessages<1>>::new();
        while let Ok(1) = messages.receive_errors(self.socket.as_fd()) {
            if let Some(QueueEntry::Timestamp { id, .. }) =
                control::queue_entry(messages.control(0), || None)
            {
                return Some(id.0);
            }
        }
        None
    }

    /// Whether the timestamp of a datagram names the device that sent it. `None`: it does not come.
    fn names_device(&self) -> Option<bool> {
        let fd = self.socket.as_fd();
        call::set_number(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, 1).ok()?;
        self.set(FLAGS & !OPT_TSONLY | OPT_CMSG).ok()?;
        self.send(&[0], TX_SOFTWARE).ok()?;
        let mut messages = <ReceiveMessages<1>>::new();
        messages.receive_errors(fd).ok()?;
        match control::queue_entry(messages.control(0), || None)? {
            QueueEntry::Timestamp { device, .. } => Some(device.is_some()),
            _ => None,
        }
    }

    /// How far the count moves from one timestamped datagram to the next with `step` between them.
    fn moved_by(&self, step: impl FnOnce() -> Option<()>) -> Option<u32> {
        let before = self.count()?;
        step()?;
        Some(self.count()?.wrapping_sub(before))
    }

    /// Sends a datagram that is refused, and a timestamped one that fails because of it. The later
    /// the attempt, the more time the refusal has to come.
    fn meets_a_pending_error(&self, attempt: u32) -> Option<()> {
        let (closed, nobody) = bound().ok()?;
        drop(closed);
        self.connect(nobody).ok()?;
        let refused = send_plain(self.socket.as_fd(), &[0], &AddressBytes::NONE);
        thread::sleep(Duration::from_millis(10) * attempt);
        let met = refused
            .ok()
            .and_then(|()| fails_as(self.send(&[0], TX_SOFTWARE), libc::ECONNREFUSED));
        self.connect(self.own).ok()?;
        met
    }
}

fn fails_as(sent: io::Result<()>, code: i32) -> Option<()> {
    sent.err()
        .filter(|error| error.raw_os_error() == Some(code))
        .map(drop)
}

fn bound() -> io::Result<(UdpSocket, SocketAddr)> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let own = socket.local_addr()?;
    Ok((socket, own))
}

/// Whether this kernel takes `SCM_TS_OPT_ID` (6.13 and later). Found out without a packet: a
/// broadcast without the permission for it is refused *after* the control data was read.
pub(super) fn kernel_carries_ids() -> bool {
    static CARRIES: OnceLock<bool> = OnceLock::new();
    *CARRIES.get_or_init(|| {
        let prepared = || -> io::Result<Socket> {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
            call::set_option(
                socket.as_fd(),
                libc::SOL_SOCKET,
                SO_TIMESTAMPING_NEW,
                &FLAGS.to_ne_bytes(),
            )?;
            Ok(socket)
        };
        let Ok(socket) = prepared() else { return false };
        let mut messages = SendMessages::<1>::new();
        let control = messages.push(
            &[],
            (
                AddressBytes::new(SocketAddr::from((Ipv4Addr::BROADCAST, 9)), false),
                [],
            ),
        );
        assert!(
            control.push(libc::SOL_SOCKET, SCM_TS_OPT_ID, &[0; 4]),
            "room for one control message"
        );
        let sent = messages.send(socket.as_fd());
        !matches!(sent, Err(error) if error.raw_os_error() == Some(libc::EINVAL))
    })
}

/// The running kernel as messages name it.
pub(super) fn kernel_name() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_names_the_device_that_sent_a_packet() {
        let prober = Prober::new().expect("loopback");
        assert_eq!(prober.names_device(), Some(true));
        // the prober gets its packet, so a socket of this thread's does; one of another maker's if the prober has no right to it
        assert!(kernel_names_devices(true));
        let all_have = gives_all_packets() || !has_net_raw().expect("an answer");
        assert_eq!(kernel_names_devices(false), all_have);
    }

    /// Loopback shows everything: each step was observed, whatever this kernel does.
    #[test]
    fn every_step_is_observed_on_loopback() {
        let probe = observe();
        assert_eq!(
            (probe.nothing, probe.after_restart),
            (Some(1), Some(0)),
            "{probe:?}"
        );
        for step in [probe.too_long, probe.pending_error, probe.hardware_alone] {
            assert!(matches!(step, Some(1 | 2)), "{probe:?}");
        }
        if kernel_carries_ids() {
            assert_eq!(
                count_rules(),
                CountRules::FIXED,
                "it is younger than the fixes"
            );
        }
    }
}
