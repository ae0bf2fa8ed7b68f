//! What receiving and sending have in common: how a socket is opened in the best way that works, and bound to a queue.

use super::super::call;
use super::super::error::system_error;
use super::super::interface::list as list_interfaces;
use super::features;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp_core::interface::{InterfaceDescription, InterfaceState};
use wirestamp_core::xdp::{XdpFeatures, XdpMode, XdpWay};
use wirestamp_core::{Error, ErrorKind, Result};

pub(super) const OPEN: &str = "open an AF_XDP socket";
/// The kernel has let go of a queue by then.
const LET_GO: Duration = Duration::from_millis(200);
/// How long a restart of the NIC is waited for. The emulated igb takes 5 s.
const RESTART: Duration = Duration::from_secs(10);
/// Counts of `xdp_statistics`: received packets that were dropped, and that were invalid; sent ones that were invalid; ring full, no free
/// frame, nothing to send.
const STATISTICS: usize = 6;
/// Where in a frame the kernel leaves room in front of a packet, and for a tag behind it.
const ROOM: u32 = 256 + 64;

/// Returns the features that the driver reports. A kernel that does not report them may have them nevertheless.
pub(super) fn likely_features(interface: &InterfaceDescription) -> Result<XdpFeatures> {
    match features::ask(interface) {
        Err(error) if error.kind() == ErrorKind::NotSupported => {
            Ok(XdpFeatures::from_masks(u64::MAX, 0, 0))
        }
        asked => asked,
    }
}

/// Opens in the first way that is offered and that the system accepts; returns the better ones with the reasons why they are not, or failed,
/// too. Where a driver was asked, waits until the link is up again.
pub(super) fn open_best<T>(
    interface: &InterfaceDescription,
    ways: impl Iterator<Item = (XdpWay, Option<&'static str>)>,
    open: impl Fn(XdpWay) -> Result<T>,
) -> Result<(T, Vec<(XdpWay, Error)>)> {
    let mut tried = Vec::new();
    let mut may_restart = false;
    for (way, obstacle) in ways {
        if let Some(cause) = obstacle {
            let error = Error::new(ErrorKind::NotSupported, OPEN, &interface.name, cause);
            tried.push((way, error));
            continue;
        }
        // also where it then fails
        may_restart |= way.mode != XdpMode::Generic;
        match open(way) {
            Ok(opened) => {
                if may_restart {
                    wait_for_link(interface)?;
                }
                return Ok((opened, tried));
            }
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => tried.push((way, error)),
        }
    }
    let last = tried.pop().map(|(_, error)| error);
    Err(last.unwrap_or_else(|| {
        let cause = "no way is known";
        Error::new(ErrorKind::NotSupported, OPEN, &interface.name, cause)
    }))
}

/// Waits until the link is up again, if it was: many drivers restart the NIC for an XDP program or zero copy. The kernel keeps
/// or drops packets sent meanwhile, and receives none.
fn wait_for_link(interface: &InterfaceDescription) -> Result<()> {
    let until = Instant::now() + RESTART;
    let is_up = |one: &InterfaceDescription| {
        one.index == interface.index && one.state == InterfaceState::Up
    };
    while interface.state == InterfaceState::Up
        && Instant::now() < until
        && !list_interfaces()?.iter().any(is_up)
    {
        thread::sleep(RESTART / 200);
    }
    Ok(())
}

/// Whether another way would fail, too.
fn is_final(error: &Error) -> bool {
    use ErrorKind::{Busy, NoSuchDevice, NotPermitted};
    matches!(error.kind(), NotPermitted | NoSuchDevice | Busy)
}

/// Whether the numbers make sense.
pub(super) fn check(
    interface: &InterfaceDescription,
    queue: u32,
    frames: u32,
    most: u32,
) -> Result<()> {
    let is_known = frames.is_power_of_two() && (64..=most).contains(&frames);
    let cause = match queue {
        _ if !is_known => format!("the number of frames must be a power of two, from 64 to {most}"),
        4_096.. => "no NIC has so many queues".to_owned(),
        _ => return Ok(()),
    };
    let error = Error::new(ErrorKind::InvalidInput, OPEN, &interface.name, cause);
    Err(error)
}

/// Binds to a queue. The kernel lets go of one in the background after its socket was closed: a queue that is taken is tried again for a while.
pub(super) fn bind(
    fd: BorrowedFd<'_>,
    interface: &InterfaceDescription,
    queue: u32,
    mode: XdpMode,
) -> io::Result<()> {
    let address = address(interface.index.get(), queue, mode);
    let until = Instant::now() + LET_GO;
    loop {
        match call::bind_xdp(fd, &address) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < until => {
                thread::sleep(LET_GO / 20);
            }
            bound => return bound,
        }
    }
}

/// `sockaddr_xdp`.
fn address(interface: u32, queue: u32, mode: XdpMode) -> [u8; 16] {
    let how = match mode {
        XdpMode::ZeroCopy => libc::XDP_ZEROCOPY,
        _ => libc::XDP_COPY,
    };
    let flags = how | libc::XDP_USE_NEED_WAKEUP;
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&(libc::AF_XDP as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&flags.to_ne_bytes());
    bytes[4..8].copy_from_slice(&interface.to_ne_bytes());
    bytes[8..12].copy_from_slice(&queue.to_ne_bytes());
    bytes
}

/// Bytes of a frame: a power of two that whole packets fit into where that is possible.
pub(super) fn frame_size(interface: &InterfaceDescription) -> usize {
    if interface.mtu.saturating_add(ROOM) <= 2_048 {
        2_048
    } else {
        4_096
    }
}

/// Reads `xdp_statistics`; what an older kernel does not count is 0.
pub(super) fn statistics(fd: &impl AsFd) -> io::Result<[u64; STATISTICS]> {
    let mut bytes = [[0; 8]; STATISTICS];
    let flat = bytes.as_flattened_mut();
    call::option(fd.as_fd(), libc::SOL_XDP, libc::XDP_STATISTICS, flat)?;
    Ok(bytes.map(u64::from_ne_bytes))
}

pub(super) fn open_error(interface: &InterfaceDescription, error: &io::Error) -> Error {
    let described = system_error(OPEN, &interface.name, error);
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            described.with_remedy("run as root or grant CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW")
        }
        Some(libc::EBUSY | libc::EEXIST) => {
            let cause = "the interface has an XDP program, or the queue an AF_XDP socket";
            Error::new(ErrorKind::Busy, OPEN, &interface.name, cause)
                .with_remedy("end the program that put it there: ip link show names it")
        }
        Some(libc::EAFNOSUPPORT) => described.with_remedy("needs CONFIG_XDP_SOCKETS"),
        _ => described,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::xdp::cable::{Cable, ip, with_cable};

    const DOWN: Duration = Duration::from_millis(400);

    fn is_up(cable: &Cable) -> bool {
        let all = list_interfaces().expect("a list");
        let mut ends = all.iter().filter(|one| one.index == cable.end.index);
        ends.any(|one| one.state == InterfaceState::Up)
    }

    /// Opens in `ways`; the "driver" takes the link down for a while at the first of them, and only the last works. Whether the link is up then.
    fn is_up_after(cable: &Cable, ways: &[XdpMode]) -> bool {
        let all = XdpWay::of(XdpFeatures::from_masks(u64::MAX, 0, 0))
            .filter(|way| ways.contains(&way.mode))
            .map(|way| (way, None));
        let opened = open_best(&cable.end, all, |way| {
            if way.mode == ways[0] {
                ip("link set xdp0 down").expect("was there");
                assert!(!is_up(cable));
                thread::spawn(|| {
                    thread::sleep(DOWN);
                    ip("link set xdp0 up").expect("was there");
                });
            }
            if Some(&way.mode) == ways.last() {
                return Ok(way.mode);
            }
            Err(Error::new(ErrorKind::NotSupported, OPEN, "xdp1", "fails"))
        });
        assert_eq!(opened.expect("opens").0, ways[ways.len() - 1]);
        let found = is_up(cable);
        thread::sleep(2 * DOWN);
        found
    }

    #[test]
    fn what_opens_by_a_driver_that_restarts_the_nic_is_waited_for_until_the_link_is_up() {
        with_cable(|cable| {
            for ways in [
                &[XdpMode::ZeroCopy][..],
                &[XdpMode::Copy],
                &[XdpMode::ZeroCopy, XdpMode::Generic],
            ] {
                assert!(is_up_after(cable, ways), "{ways:?}");
            }
            assert!(
                !is_up_after(cable, &[XdpMode::Generic]),
                "no driver was asked, so nobody restarts it"
            );
        });
    }
}
