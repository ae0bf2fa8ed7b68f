//! One clock per interface over Ethernet, as UDP's ports have it. Two programs that send as one clock take each
//! other's answers, which are of requests that they did not send: no error bound would hold.
//!
//! A second wirestamp is refused by the name of a socket. Other programs are found by their sockets, if this
//! user may see them, and only when the clock starts.
//!
//! Source: unix(7): an abstract name is one of the network namespace, and ends with its socket.

use crate::configuration::{Configuration, DelayMechanism};
use crate::identity::identity_of;
use crate::owner;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use wirestamp::{Error, ErrorKind, Interface, Result};

const OPERATION: &str = "start PTP over Ethernet";
/// Programs that send as the clock of the interface's MAC address, as this one does. The kernel cuts
/// names at 15 octets.
const OTHERS: [&str; 3] = ["ptp4l", "ptpd", "ptpd2"];

/// Excludes other clocks on an interface until it is dropped.
#[derive(Debug)]
pub(super) struct Alone(#[expect(dead_code, reason = "held")] Option<UnixDatagram>);

impl Alone {
    /// Takes the interface. Its name is what counts: it lasts when the interface comes back.
    pub(super) fn on(interface: &Interface, configuration: &Configuration) -> Result<Self> {
        if interface.description().simulated {
            return Ok(Self(None));
        }
        let alone = Self::named(interface.name())?;
        // with an identity of its own, only answers to a neighbour's requests would come twice
        let own = configuration.clock_identity()?;
        let is_apart = own.is_some_and(|own| own != identity_of(interface))
            && configuration.delay_mechanism == DelayMechanism::E2e;
        match owner::of_packet_socket(interface.index().get(), &OTHERS) {
            Some(owner) if !is_apart => Err(busy(interface.name(), &owner)),
            _ => Ok(alone),
        }
    }

    fn named(interface: &str) -> Result<Self> {
        let name = format!("wirestamp-ptp-ethernet/{interface}");
        let bound = SocketAddr::from_abstract_name(&name)
            .and_then(|address| UnixDatagram::bind_addr(&address));
        match bound {
            Ok(socket) => Ok(Self(Some(socket))),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let owner = owner::of_abstract_name(&name);
                Err(busy(
                    interface,
                    owner.as_deref().unwrap_or("another wirestamp"),
                ))
            }
            Err(error) => {
                let cause = error.to_string();
                Err(Error::new(ErrorKind::Io, OPERATION, interface, cause).with_system(&error))
            }
        }
    }
}

fn busy(interface: &str, owner: &str) -> Error {
    let cause = "another PTP program is a clock there";
    let remedy = format!(
        "{owner} uses PTP over Ethernet on {interface}: end it, or use another interface; beside ptp4l, set \
         identity in the configuration and do not measure peer to peer"
    );
    Error::new(ErrorKind::Busy, OPERATION, interface, cause).with_remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_clocks_on_an_interface_the_second_is_refused() {
        let name = format!("alone-{}", std::process::id());
        let first = Alone::named(&name).expect("free");
        let refused = Alone::named(&name).expect_err("taken");
        assert_eq!(refused.kind(), ErrorKind::Busy);
        let own = format!("(process {})", std::process::id());
        assert!(refused.remedy().contains(&own), "{refused}");
        Alone::named("another").expect("free");
        drop(first);
        Alone::named(&name).expect("free again");
    }
}
