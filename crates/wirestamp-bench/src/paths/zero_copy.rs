//! The cases of MSG_ZEROCOPY with transmit timestamps, by bare calls: what the library does not offer, and why
//! (docs/decisions/0007-cost-per-packet.md). Over a veth pair whose other end drops: loopback and TUN devices copy all the same.

use super::Path;
use super::sockets::run;
use super::timing::{Case, Chunk};
use nix::libc::MSG_ZEROCOPY;
use nix::sys::socket::MsgFlags;
use std::error::Error;
use std::io::{ErrorKind, IoSlice};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::thread::sleep;
use std::time::{Duration, Instant};
use wirestamp_sys::bare;

type Failure = Box<dyn Error>;

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 79, 1, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 79, 1, 2);
const DEVICES: [&str; 2] = ["wsbench1", "wsbench2"];
/// Datagrams in a chunk: their timestamps and notices fit into a usual receive buffer.
const COUNT: usize = 32;
const LONG: Duration = Duration::from_secs(1);

/// In the network namespace of the calling thread.
pub(crate) fn paths() -> Result<Vec<Path>, Failure> {
    let [near, far] = DEVICES;
    let far_mac = "02:00:00:00:00:02";
    for arguments in [
        format!("link add {near} mtu 65535 type veth peer name {far} mtu 65535"),
        format!("addr add {NEAR}/24 dev {near}"),
        format!("link set {near} up"),
        format!("link set {far} up"),
        format!("neighbour add {FAR} lladdr {far_mac} dev {near}"),
    ] {
        run("ip", &arguments)?;
    }
    wait_for_link()?;
    let path = |name, length| -> Result<Path, Failure> {
        Ok(Path {
            name,
            cases: vec![
                case("MSG_ZEROCOPY", length, true)?,
                case("copied", length, false)?,
            ],
            goals: Vec::new(),
        })
    };
    Ok(vec![
        path("bare send + timestamp, 1,472 bytes, zero copy", 1_472)?,
        path("bare send + timestamp, 8,972 bytes, zero copy", 8_972)?,
        path("bare send + timestamp, 60,000 bytes, zero copy", 60_000)?,
    ])
}

fn connected() -> Result<UdpSocket, Failure> {
    let socket = UdpSocket::bind((NEAR, 0))?;
    socket.connect((FAR, 9))?;
    socket.set_nonblocking(true)?;
    bare::timestamp_all(socket.as_fd())?;
    Ok(socket)
}

/// A new link drops the first datagrams, before the driver could timestamp them.
fn wait_for_link() -> Result<(), Failure> {
    let socket = connected()?;
    for _ in 0..200 {
        socket.send(b"?")?;
        sleep(Duration::from_millis(10));
        if bare::entries(socket.as_fd()).is_ok() {
            return Ok(());
        }
    }
    Err("the link did not come up".into())
}

/// Sends, and reads until every datagram has its timestamp and every buffer may be written again.
fn case(name: &'static str, length: usize, zero_copy: bool) -> Result<Case, Failure> {
    let socket = connected()?;
    let (mut flags, mut notices_due) = (MsgFlags::MSG_DONTWAIT, 0);
    if zero_copy {
        bare::accept_zero_copy(socket.as_fd())?;
        flags |= MsgFlags::from_bits_retain(MSG_ZEROCOPY);
        notices_due = COUNT;
    }
    let payload = vec![0x42; length];
    let chunk = move || -> Result<(), Failure> {
        let (begun, mut timestamps, mut notices) = (Instant::now(), 0, 0);
        for _ in 0..COUNT {
            let vector = [IoSlice::new(&payload)];
            nix::sys::socket::sendmsg::<()>(socket.as_raw_fd(), &vector, &[], flags, None)?;
        }
        while (timestamps, notices) != (COUNT, notices_due) {
            match bare::entries(socket.as_fd()) {
                Ok((more_timestamps, more_notices)) => {
                    timestamps += more_timestamps;
                    notices += more_notices;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < LONG => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    };
    Ok(Case::new(name, move || -> Chunk {
        let begun = Instant::now();
        chunk().map_err(|error| error.to_string())?;
        Ok((COUNT as u64, begun.elapsed()))
    }))
}
