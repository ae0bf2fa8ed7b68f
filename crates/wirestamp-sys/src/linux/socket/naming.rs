//! Which device made a hardware timestamp: found out from the socket's interface where only one can, else named by the
//! kernel with each packet.
//!
//! Received packets have their device in `SCM_TIMESTAMPING_PKTINFO`. A transmit timestamp has it in `IP_PKTINFO`, if it comes
//! with the packet (`SOF_TIMESTAMPING_OPT_CMSG` without `OPT_TSONLY`), which costs a reference to the packet and its room in
//! the receive buffer: only sockets ask for it whose packets can leave by several devices.

use super::room::Room;
use super::{Kind, Socket, adopt, probe};
use crate::native::device::{self, Maker};
use crate::native::links::Links;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::configuration::Timestamping;
use wirestamp_core::interface::InterfaceIndex;

/// How the devices of a socket's timestamps are found.
#[derive(Debug)]
pub(super) struct Naming {
    /// The device of timestamps that the kernel does not name; 0: not known.
    unnamed: AtomicU32,
    surroundings: RwLock<Surroundings>,
    /// Whether transmit timestamps come with packets, by which the kernel names the device.
    by_kernel: AtomicBool,
    /// The room in the receive buffer.
    pub(super) room: Room,
}

/// The interfaces below and beside that of a socket, as of the latest configuration.
#[derive(Debug)]
struct Surroundings {
    /// Of the interface that it is bound to.
    maker: Option<Maker>,
    /// By which interfaces packets leave for other network namespaces; `None`: they can't be listed.
    ways_out: Option<BTreeSet<InterfaceIndex>>,
}

impl Surroundings {
    /// Whether the kernel's number of the device that timestamped a packet, which `interface` delivered, is one of this
    /// network namespace.
    fn is_of_here(&self, interface: Option<InterfaceIndex>) -> bool {
        match (self.maker, &self.ways_out) {
            (Some(Maker::Itself(_)), _) => false,
            (Some(Maker::Device(_)), _) => true,
            (_, None) => false,
            (Some(Maker::Member(_) | Maker::Several), Some(_)) => true,
            (Some(Maker::Routed), Some(ways)) => ways.is_empty(),
            (None, Some(ways)) => match interface {
                Some(interface) => !ways.contains(&interface),
                None => ways.is_empty(),
            },
        }
    }

    /// Whether its packets can leave by several devices, all of this network namespace.
    fn is_naming_wanted(&self) -> bool {
        let Some(ways) = &self.ways_out else {
            return false;
        };
        match self.maker {
            Some(Maker::Itself(_) | Maker::Device(_)) => false,
            Some(Maker::Member(_) | Maker::Several) => true,
            Some(Maker::Routed) | None => ways.is_empty(),
        }
    }
}

impl Naming {
    /// Of a socket that is bound to `interface`.
    pub(super) fn new(interface: Option<InterfaceIndex>) -> Self {
        // where the kernel can't be asked, timestamps are of the interface itself
        let maker = |bound| device::maker(bound).unwrap_or(Maker::Itself(bound));
        let maker = interface.map(maker);
        Self {
            unnamed: AtomicU32::new(number_of(maker)),
            surroundings: RwLock::new(Surroundings {
                maker,
                ways_out: None,
            }),
            by_kernel: AtomicBool::new(false),
            room: Room::default(),
        }
    }

    /// Whether the kernel names the device of each transmit timestamp.
    pub(super) fn is_by_kernel(&self) -> bool {
        self.by_kernel.load(Ordering::Relaxed)
    }

    /// Takes over what is around a socket that is bound to `interface`. Without `links`, what is below it stays as it was.
    fn look_around(&self, interface: Option<InterfaceIndex>, links: Option<&Links>) {
        let mut now = self
            .surroundings
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let found = links.and_then(|links| links.maker(interface?));
        now.maker = found.or(now.maker);
        now.ways_out = links.map(Links::ways_out);
        self.unnamed.store(number_of(now.maker), Ordering::Relaxed);
    }

    fn surroundings<T>(&self, ask: impl FnOnce(&Surroundings) -> T) -> T {
        ask(&self
            .surroundings
            .read()
            .unwrap_or_else(PoisonError::into_inner))
    }

    /// The device of timestamps that the kernel does not name.
    fn unnamed(&self) -> Option<InterfaceIndex> {
        InterfaceIndex::new(self.unnamed.load(Ordering::Relaxed))
    }
}

fn number_of(maker: Option<Maker>) -> u32 {
    maker
        .and_then(Maker::interface)
        .map_or(0, InterfaceIndex::get)
}

impl<K: Kind> Socket<K> {
    /// Decides whether the kernel shall name the devices of transmit timestamps, by the interfaces as they are now.
    pub(super) fn decide_naming(&self, wanted: &Timestamping) -> bool {
        let naming = &self.naming;
        let has_hardware = self.is_local && wanted.source.includes(TimestampSource::Hardware);
        // the calling thread can be in another namespace than the one that made the socket
        let is_here = || adopt::is_local(&self.fd).is_ok_and(|is_here| is_here);
        let links = (has_hardware && is_here())
            .then(|| Links::now().ok())
            .flatten();
        if has_hardware {
            naming.look_around(self.interface, links.as_ref());
        }
        let named = K::NAMES_DEVICES
            && wanted.transmit.is_some()
            && links.is_some()
            && naming.surroundings(Surroundings::is_naming_wanted)
            && probe::kernel_names_devices(self.former.maker_had_net_raw);
        naming.by_kernel.store(named, Ordering::Relaxed);
        named
    }

    /// Which device timestamped a packet that was sent, if the kernel `named` one.
    #[inline]
    pub(super) fn sent_by(&self, named: Option<InterfaceIndex>) -> Option<InterfaceIndex> {
        if self.naming.is_by_kernel() {
            return named;
        }
        self.naming.unnamed()
    }

    /// Which device timestamped a packet that `interface` delivered, if the kernel `named` one.
    #[inline]
    pub(super) fn received_by(
        &self,
        named: Option<InterfaceIndex>,
        interface: Option<InterfaceIndex>,
    ) -> Option<InterfaceIndex> {
        let is_of_here = |_: &InterfaceIndex| {
            self.is_local && self.naming.surroundings(|all| all.is_of_here(interface))
        };
        if let Some(device) = named.filter(is_of_here) {
            return Some(device);
        }
        match interface {
            bound if bound == self.interface => self.naming.unnamed(),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the device that the kernel names for a received packet.
    #[test]
    fn a_number_is_of_here_where_no_packet_comes_from_another_namespace() {
        let number = |index| InterfaceIndex::new(index).expect("not zero");
        let out = || Some(BTreeSet::from([number(7)]));
        let is_of_here = |maker, ways_out, by: Option<u32>| {
            let all = Surroundings { maker, ways_out };
            all.is_of_here(by.map(number))
        };
        for routed in [Some(Maker::Routed), None] {
            assert!(is_of_here(routed, Some(BTreeSet::new()), Some(3)));
            assert!(!is_of_here(routed, None, Some(3)), "not known");
            assert!(!is_of_here(routed, out(), Some(7)));
            assert!(!is_of_here(routed, out(), None));
        }
        // which ones a tunnel's packets came by, nobody says
        assert!(!is_of_here(Some(Maker::Routed), out(), Some(3)));
        assert!(is_of_here(None, out(), Some(3)));
        assert!(is_of_here(Some(Maker::Several), out(), Some(3)));
        assert!(is_of_here(Some(Maker::Device(number(3))), None, Some(3)));
        assert!(!is_of_here(Some(Maker::Itself(number(7))), out(), Some(7)));
    }
}
