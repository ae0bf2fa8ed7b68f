//! The kernel's cold start. The switch for software receive timestamps is global and turns
//! asynchronously: for some milliseconds after the first socket asks, packets arrive without
//! a timestamp (measured: 5 ms, 3,567 loopback packets).

use super::call;
use super::clock;
use super::socket::messages::ReceiveMessages;
use super::wire::address::AddressBytes;
use super::wire::constants::{RX_SOFTWARE, SO_TIMESTAMPING_NEW, SOFTWARE};
use super::wire::control;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use wirestamp_core::backend::Incoming;
use wirestamp_core::time::Span;

/// Held open for the life of the process, so that the switch stays on.
static HELPER: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// How long nothing may come back: loopback is filtered.
const SILENCE: Span = Span::from_milliseconds(50);
/// How long what comes back may have no timestamp. The switch is turned by a kernel thread, which on
/// a busy machine waits for its turn: 50 ms were too short once.
const COLD: Span = Span::from_seconds(2);

/// What a probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    Nothing,
    WithoutTimestamp,
    Timestamped,
}

/// Returns once received packets are timestamped, or after the time that [`SILENCE`] and [`COLD`] say.
///
/// Proves it with datagrams that a helper socket sends to itself over loopback; where there is
/// no loopback (a new network namespace), waits the 20 ms that the kernel's own tests wait.
pub(super) fn wait_until_timestamping() {
    let mut helper = HELPER.lock().unwrap_or_else(PoisonError::into_inner);
    if helper.is_none() {
        match warm_up() {
            Ok(socket) => *helper = Some(socket),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn warm_up() -> io::Result<OwnedFd> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(socket.local_addr()?)?;
    call::set_option(
        socket.as_fd(),
        libc::SOL_SOCKET,
        SO_TIMESTAMPING_NEW,
        &(RX_SOFTWARE | SOFTWARE).to_ne_bytes(),
    )?;
    let socket = OwnedFd::from(socket);
    probe_until_timestamped(|| probe(&socket))?;
    Ok(socket)
}

fn probe_until_timestamped(mut probe: impl FnMut() -> io::Result<Probe>) -> io::Result<()> {
    let begun = clock::now();
    let mut limit = SILENCE;
    loop {
        match probe()? {
            Probe::Timestamped => return Ok(()),
            Probe::WithoutTimestamp => limit = COLD,
            Probe::Nothing => {}
        }
        if clock::now() - begun >= limit {
            return Ok(());
        }
        thread::sleep(Duration::from_micros(200));
    }
}

/// Sends one byte to itself, and sees what came back.
fn probe(socket: &OwnedFd) -> io::Result<Probe> {
    super::socket::messages::send_plain(socket.as_fd(), &[0], &AddressBytes::NONE)?;
    let mut buffer = [0; 1];
    let mut incoming = [<Incoming<'_>>::new(&mut buffer)];
    let mut messages = <ReceiveMessages<1>>::new();
    let count = messages.receive(socket.as_fd(), &mut incoming)?;
    Ok(match count {
        0 => Probe::Nothing,
        _ if control::received(messages.control(0))
            .timestamps
            .software
            .is_none() =>
        {
            Probe::WithoutTimestamp
        }
        _ => Probe::Timestamped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// How many probes there were, each taking 10 ms.
    fn probes(answer: impl Fn(u32) -> Probe) -> u32 {
        let mut count = 0;
        let done = probe_until_timestamped(|| {
            thread::sleep(Duration::from_millis(10));
            count += 1;
            Ok(answer(count))
        });
        done.expect("no probe fails");
        count
    }

    #[test]
    fn while_datagrams_come_without_a_timestamp_it_is_waited_for() {
        assert_eq!(
            probes(|count| if count < 20 {
                Probe::WithoutTimestamp
            } else {
                Probe::Timestamped
            }),
            20
        );
    }

    #[test]
    fn where_nothing_comes_back_it_gives_up_soon() {
        assert!((1..=5).contains(&probes(|_| Probe::Nothing)));
    }

    #[test]
    fn where_no_timestamp_ever_comes_it_ends() {
        let begun = Instant::now();
        assert!(probes(|_| Probe::WithoutTimestamp) > 1);
        assert!(begun.elapsed() >= Duration::from_secs(2));
    }
}
