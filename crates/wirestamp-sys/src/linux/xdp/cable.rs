//! A pair of veth interfaces in a network namespace of the test's thread, for the tests of AF_XDP.

use super::super::call;
use super::super::namespace::in_namespace;
pub(super) use super::super::namespace::ip;
use super::super::wire::link::LinkAddress;
use crate::System;
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::Duration;
use wirestamp_core::backend::Backend;
use wirestamp_core::interface::InterfaceDescription;

/// A cable: packets sent on one end arrive at the other.
pub(super) struct Cable {
    pub(super) end: InterfaceDescription,
    pub(super) other: InterfaceDescription,
    sender: socket2::Socket,
}

/// Runs `test` in a namespace of its own; without root it is skipped, which is said.
pub(super) fn with_cable(test: impl FnOnce(&Cable) + Send) {
    in_namespace("AF_XDP", || test(&lay_cable()));
}

fn lay_cable() -> Cable {
    for line in [
        "link add xdp0 type veth peer name xdp1",
        "link set xdp0 up",
        "link set xdp1 up",
    ] {
        ip(line).expect("it was there");
    }
    wait_until_up();
    let all = System::new().interfaces().expect("interfaces");
    let named = |name: &str| all.iter().find(|one| one.name == name).cloned();
    let sender = socket2::Socket::new(socket2::Domain::PACKET, socket2::Type::RAW, None);
    let sender = sender.expect("a packet socket");
    let other = named("xdp0").expect("made");
    let place = LinkAddress::of_no_ethertype(other.index);
    call::bind(sender.as_fd(), &place).expect("binds");
    let end = named("xdp1").expect("made");
    Cable { end, other, sender }
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
