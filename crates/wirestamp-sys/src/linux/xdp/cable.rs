//! What the tests of AF_XDP stand on: a pair of veth interfaces in a network namespace of the test's thread.

use super::super::call;
use super::super::wire::link::LinkAddress;
use crate::System;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::Duration;
use wirestamp_core::backend::Backend;
use wirestamp_core::interface::InterfaceDescription;

/// A cable: what is sent on one end comes in at the other.
pub(super) struct Cable {
    pub(super) end: InterfaceDescription,
    pub(super) other: InterfaceDescription,
    sender: socket2::Socket,
}

/// Runs `test` in a namespace of its own; without root it is skipped, which is said.
pub(super) fn with_cable(test: impl FnOnce(&Cable) + Send) {
    thread::scope(|scope| {
        let ended = scope.spawn(|| match lay_cable() {
            Ok(cable) => test(&cable),
            Err(missing) => {
                writeln!(io::stderr(), "skipped: AF_XDP: {missing}").expect("open");
                assert!(std::env::var_os("WIRESTAMP_NO_SKIP").is_none(), "{missing}");
            }
        });
        ended.join().expect("the test passes");
    });
}

fn lay_cable() -> Result<Cable, String> {
    // SAFETY: takes a number; this thread alone changes its namespace.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err("needs root, for a network namespace".into());
    }
    ip("link add xdp0 type veth peer name xdp1")?;
    ip("link set xdp0 up")?;
    ip("link set xdp1 up")?;
    wait_until_up();
    let all = System::new().interfaces().expect("interfaces");
    let named = |name: &str| all.iter().find(|one| one.name == name).cloned();
    let sender = socket2::Socket::new(socket2::Domain::PACKET, socket2::Type::RAW, None);
    let sender = sender.expect("a packet socket");
    let other = named("xdp0").expect("made");
    let place = LinkAddress::of_no_ethertype(other.index);
    call::bind(sender.as_fd(), &place).expect("binds");
    let end = named("xdp1").expect("made");
    Ok(Cable { end, other, sender })
}

/// Runs `ip` with these arguments.
pub(super) fn ip(line: &str) -> Result<(), String> {
    let status = Command::new("ip").args(line.split(' ')).status();
    let status = status.map_err(|error| format!("iproute2: {error}"))?;
    assert!(status.success(), "ip {line}");
    Ok(())
}

/// Until the kernel has taken note that both ends are up, it drops what is sent.
fn wait_until_up() {
    for _ in 0..500 {
        let shown = Command::new("ip").args(["-o", "link"]).output();
        let shown = String::from_utf8(shown.expect("it was there").stdout).expect("text");
        if shown.matches("state UP").count() == 2 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the cable is not up after 5 s");
}

impl Cable {
    pub(super) fn send(&self, ethertype: u16, payload: &[u8]) {
        let frame = [&[0xff; 6][..], &[2; 6], &ethertype.to_be_bytes(), payload].concat();
        self.sender.send(&frame).expect("sent");
    }
}
