//! One clock per interface over Ethernet, as UDP's ports have it. Two programs that send as one clock take each
//! other's answers, which are of requests that they did not send: no error bound would hold.
//!
//! A second wirestamp is refused by the name of a socket, if its owner has a packet socket on the interface, or
//! may have one and this user may not see whose they are. Other programs are found by their sockets, if this
//! user may see them, and only when the clock starts.
//!
//! Source: unix(7): an abstract name is one of the network namespace, and ends with its socket.

use crate::configuration::{Configuration, DelayMechanism};
use crate::identity::identity_of;
use crate::owner::{self, Holder};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::thread;
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Interface, Result};

const OPERATION: &str = "start PTP over Ethernet";
/// Programs that send as the clock of the interface's MAC address, as this one does. The kernel cuts
/// names at 15 octets.
const OTHERS: [&str; 3] = ["ptp4l", "ptpd", "ptpd2"];

/// The names of one interface. Every user can take names: one that is taken by a program without a packet
/// socket there, which needs a privilege, excludes nobody.
const NAMES: usize = 8;
/// How often, and at what interval, a program without a packet socket is looked at.
const LOOKS: usize = 4;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Excludes other clocks on an interface until it is dropped.
#[derive(Debug)]
pub(super) struct Alone(#[expect(dead_code, reason = "held")] Option<UnixDatagram>);

impl Alone {
    /// Takes the interface. Its name is what counts: it lasts when the interface comes back.
    pub(super) fn on(interface: &Interface, configuration: &Configuration) -> Result<Self> {
        if interface.description().simulated {
            return Ok(Self(None));
        }
        let alone = Self::named(interface.name(), interface.index().get())?;
        // with an identity of its own, only answers to a neighbour's requests would come twice
        let own = configuration.clock_identity()?;
        let is_apart = own.is_some_and(|own| own != identity_of(interface))
            && configuration.delay_mechanism == DelayMechanism::E2e;
        match owner::of_packet_socket(interface.index().get(), &OTHERS) {
            Some(owner) if !is_apart => Err(busy(interface.name(), &owner)),
            _ => Ok(alone),
        }
    }

    /// Takes one of the names of an interface, and refuses if a program that has another one of them uses
    /// the interface. Of two that start at once, the one with the later name waits for the other.
    fn named(interface: &str, index: u32) -> Result<Self> {
        let mut own = None;
        for number in 0..NAMES {
            let name = format!("wirestamp-ptp-ethernet/{interface}/{number}");
            if own.is_none() {
                own = bound(&name, interface)?;
                if own.is_some() {
                    continue;
                }
            }
            let looks = if own.is_none() { LOOKS } else { 1 };
            match used_by(&name, index, looks) {
                Holder::Uses(owner) => return Err(busy(interface, &owner)),
                Holder::Unknown => return Err(perhaps_busy(interface)),
                Holder::Nobody | Holder::Idle => {}
            }
        }
        Ok(Self(own))
    }
}

/// Binds a socket to an abstract name; `None` if another has it.
fn bound(name: &str, interface: &str) -> Result<Option<UnixDatagram>> {
    let bound =
        SocketAddr::from_abstract_name(name).and_then(|address| UnixDatagram::bind_addr(&address));
    match bound {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => {
            let cause = error.to_string();
            Err(Error::new(ErrorKind::Io, OPERATION, interface, cause).with_system(&error))
        }
    }
}

/// Returns who has a name, once a program that is just starting had the time to open its sockets, if there
/// are several looks.
fn used_by(name: &str, index: u32, looks: usize) -> Holder {
    for look in 0..looks {
        if look > 0 {
            thread::sleep(BETWEEN_LOOKS);
        }
        match owner::of_abstract_name(name, index) {
            Holder::Idle => {}
            holder => return holder,
        }
    }
    Holder::Idle
}

fn busy(interface: &str, owner: &str) -> Error {
    let cause = "another PTP program is a clock there";
    let remedy = format!(
        "{owner} uses PTP over Ethernet on {interface}: end it, or use another interface; beside ptp4l, set \
         identity in the configuration and do not measure peer to peer"
    );
    Error::new(ErrorKind::Busy, OPERATION, interface, cause).with_remedy(remedy)
}

fn perhaps_busy(interface: &str) -> Error {
    let cause = "another program has the name of a PTP clock there, and this user may not see whether it is one";
    let remedy = "start this program as root, who may, or end the other one: ss --unix --all --processes shows the \
                  name wirestamp-ptp-ethernet";
    Error::new(ErrorKind::Busy, OPERATION, interface, cause).with_remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No interface has it: other tests of this process have packet sockets on some.
    const UNUSED: u32 = i32::MAX as u32;

    /// Every user can take the names; only the privilege gives a packet socket. Needs root.
    #[test]
    fn a_name_refuses_only_if_its_owner_uses_the_interface() {
        let lo = Interface::find("lo").expect("every Linux has it");
        let (name, index) = (format!("alone-{}", std::process::id()), lo.index().get());
        let taken: Vec<_> = (0..NAMES)
            .map(|number| format!("wirestamp-ptp-ethernet/{name}/{number}"))
            .map(|name| bound(&name, "lo").expect("bound").expect("free"))
            .collect();
        Alone::named(&name, UNUSED).expect("its owner uses no interface");
        drop(taken);
        let Ok(socket) = lo.open_ethernet(wirestamp::ethernet::Ethertype::PTP) else {
            return;
        };
        let first = Alone::named(&name, index).expect("free");
        let refused = Alone::named(&name, index).expect_err("taken");
        assert_eq!(refused.kind(), ErrorKind::Busy);
        let own = format!("(process {})", std::process::id());
        assert!(refused.remedy().contains(&own), "{refused}");
        Alone::named("another", index).expect("free");
        Alone::named(&name, UNUSED).expect("nobody uses that interface");
        drop(first);
        Alone::named(&name, index).expect("free again");
        drop(socket);
    }
}
