//! Which device made a hardware timestamp: found out from the socket's interface where only one can, else named by the
//! kernel with each packet.
//!
//! Received packets have their device in `SCM_TIMESTAMPING_PKTINFO`. A transmit timestamp has it in `IP_PKTINFO`, if it comes
//! with the packet (`SOF_TIMESTAMPING_OPT_CMSG` without `OPT_TSONLY`), which costs a reference to the packet and its room in
//! the receive buffer: only sockets ask for it whose packets can leave by several devices.

use super::{Kind, Socket, adopt, probe};
use crate::native::device::{self, Maker};
use crate::native::wire::constants::{PACKET_CHARGE, TIMESTAMP_CHARGE};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::configuration::Timestamping;
use wirestamp_core::interface::InterfaceIndex;

/// How the devices of a socket's timestamps are found.
#[derive(Debug)]
pub(super) struct Naming {
    /// Of the interface that it is bound to.
    maker: Option<Maker>,
    /// For a socket that is bound to none; `None`: they can't be listed.
    ways_out: OnceLock<Option<Box<[InterfaceIndex]>>>,
    /// Whether transmit timestamps come with packets, by which the kernel names the device.
    by_kernel: AtomicBool,
}

impl Naming {
    /// Of a socket that is bound to `interface`.
    pub(super) fn new(interface: Option<InterfaceIndex>) -> Self {
        // where the kernel can't be asked, timestamps are of the interface itself
        let maker = |bound| device::maker(bound).unwrap_or(Maker::Itself(bound));
        Self {
            maker: interface.map(maker),
            ways_out: OnceLock::new(),
            by_kernel: AtomicBool::new(false),
        }
    }

    /// Whether the kernel names the device of each transmit timestamp.
    pub(super) fn is_by_kernel(&self) -> bool {
        self.by_kernel.load(Ordering::Relaxed)
    }

    /// Lists by which interfaces packets come from and go to other network namespaces, as they are now. `is_here`: whether
    /// the socket is of the calling thread's namespace.
    fn list(&self, is_here: impl FnOnce() -> bool) {
        let listed = || is_here().then(|| device::ways_out().ok()).flatten();
        let _ = self.ways_out.get_or_init(listed);
    }

    fn ways_out(&self) -> Option<&[InterfaceIndex]> {
        self.ways_out.get()?.as_deref()
    }

    /// Whether the kernel's number of the device that timestamped a packet, which `interface` delivered, is one of this
    /// network namespace.
    fn is_of_here(&self, interface: Option<InterfaceIndex>) -> bool {
        match self.maker {
            Some(Maker::Itself(_)) => false,
            Some(_) => true,
            None => self.ways_out().is_some_and(|ways| match interface {
                Some(interface) => !ways.contains(&interface),
                None => ways.is_empty(),
            }),
        }
    }

    /// Whether its packets can leave by several devices, all of this network namespace.
    fn is_wanted(&self) -> bool {
        match self.maker {
            Some(maker) => matches!(maker, Maker::Several | Maker::Member(_)),
            None => self.ways_out().is_some_and(<[_]>::is_empty),
        }
    }
}

impl<K: Kind> Socket<K> {
    /// Decides whether the kernel shall name the devices of transmit timestamps.
    pub(super) fn decide_naming(&self, wanted: &Timestamping) -> bool {
        let has_hardware = self.is_local && wanted.source.includes(TimestampSource::Hardware);
        if has_hardware && self.naming.maker.is_none() {
            let is_here = || adopt::is_local(&self.fd).is_ok_and(|is_here| is_here);
            self.naming.list(is_here);
        }
        let named = K::NAMES_DEVICES
            && has_hardware
            && wanted.transmit.is_some()
            && self.naming.is_wanted()
            && probe::kernel_names_devices();
        self.naming.by_kernel.store(named, Ordering::Relaxed);
        named
    }

    /// Which device timestamped a packet that was sent, if the kernel `named` one.
    #[inline]
    pub(super) fn sent_by(&self, named: Option<InterfaceIndex>) -> Option<InterfaceIndex> {
        if self.naming.is_by_kernel() {
            return named;
        }
        self.naming.maker.and_then(Maker::interface)
    }

    /// Which device timestamped a packet that `interface` delivered, if the kernel `named` one.
    #[inline]
    pub(super) fn received_by(
        &self,
        named: Option<InterfaceIndex>,
        interface: Option<InterfaceIndex>,
    ) -> Option<InterfaceIndex> {
        let is_of_here = |_: &InterfaceIndex| self.is_local && self.naming.is_of_here(interface);
        if let Some(device) = named.filter(is_of_here) {
            return Some(device);
        }
        match interface {
            bound if bound == self.interface => self.naming.maker.and_then(Maker::interface),
            other => other,
        }
    }

    /// What one transmit timestamp is charged to the receive buffer at most.
    pub(super) fn charge(&self) -> u32 {
        if self.naming.is_by_kernel() {
            PACKET_CHARGE
        } else {
            TIMESTAMP_CHARGE
        }
    }
}
