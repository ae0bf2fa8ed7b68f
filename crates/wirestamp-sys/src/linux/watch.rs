//! Reports of change. Linux has no notification for timestamping configuration, nor for another clock behind an
//! interface, so this listens for links and clocks coming and going, and asks for both after each message and every second.
//!
//! Source: rtnetlink(7), kernel uevents; measured: neither ioctl nor netlink configuration
//! emits anything on any group. A bond's failover is a message of its link in which nothing differs.

use super::call;
use super::capability::{asking_socket, read_configuration, timestamping_information};
use super::error::system_error;
use super::wire::nic::HwtstampConfig;
use super::wire::uevent::{self, Uevent};
use super::{device, interface};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkMessage;
use netlink_sys::protocols::{NETLINK_KOBJECT_UEVENT, NETLINK_ROUTE};
use netlink_sys::{Socket, SocketAddr};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use wirestamp_core::Result;
use wirestamp_core::backend::{Change, ChangeKind, ChangeSink, Polled};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};

/// `RTNLGRP_LINK` as a bit, and the kernel's only uevent group.
const GROUP: u32 = 1;
/// How often configurations and clocks are asked for.
const PERIOD: libc::timespec = libc::timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// A running subscription; dropping it ends it without waiting.
#[derive(Debug)]
pub struct Subscription {
    stop: Arc<OwnedFd>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        call::signal(self.stop.as_fd());
    }
}

/// Reports every change from now on to `sink`, on a thread of its own.
pub(super) fn subscribe(sink: ChangeSink) -> Result<Subscription> {
    let failed =
        |error: io::Error| system_error("watch for changes", "this network namespace", &error);
    let stop = Arc::new(call::eventfd().map_err(failed)?);
    let mut watcher = Watcher::new(sink, Arc::clone(&stop)).map_err(failed)?;
    thread::Builder::new()
        .name("wirestamp-watch".into())
        .spawn(move || watcher.run())
        .map_err(failed)?;
    Ok(Subscription { stop })
}

struct Watcher {
    sink: ChangeSink,
    stop: Arc<OwnedFd>,
    links: Socket,
    uevents: Socket,
    asking: OwnedFd,
    known: BTreeMap<InterfaceIndex, Known>,
}

/// The last known state of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    /// As a message of its link describes it: without its addresses and its clock.
    link: InterfaceDescription,
    polled: Polled<HwtstampConfig>,
}

impl Watcher {
    /// Listens first and looks second: what changes in between is reported, not lost.
    fn new(sink: ChangeSink, stop: Arc<OwnedFd>) -> io::Result<Self> {
        let links = listen(NETLINK_ROUTE)?;
        let uevents = listen(NETLINK_KOBJECT_UEVENT)?;
        let asking = asking_socket()?;
        let mut watcher = Self {
            sink,
            stop,
            links,
            uevents,
            asking,
            known: BTreeMap::new(),
        };
        for mut link in interface::list().map_err(|error| io::Error::other(error.to_string()))? {
            link.addresses.clear();
            link.hardware_clock = None;
            let polled = watcher.poll(&link);
            watcher.known.insert(link.index, Known { link, polled });
        }
        Ok(watcher)
    }

    fn run(&mut self) {
        loop {
            let descriptor = |fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            };
            let mut descriptors = [
                descriptor(self.stop.as_raw_fd()),
                descriptor(self.links.as_raw_fd()),
                descriptor(self.uevents.as_raw_fd()),
            ];
            if call::poll(&mut descriptors, Some(PERIOD)).is_err() || descriptors[0].revents != 0 {
                return;
            }
            if descriptors[1].revents != 0 {
                self.read_links();
            }
            if descriptors[2].revents != 0 {
                self.read_uevents();
            }
            self.poll_all();
        }
    }

    fn report(&mut self, interface: Option<InterfaceIndex>, kind: ChangeKind) {
        (self.sink)(Change { interface, kind });
    }

    fn read_links(&mut self) {
        while let Some(datagram) = self.receive(|watcher| &watcher.links) {
            let mut rest = &datagram[..];
            while let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest) {
                let length = (message.header.length as usize).next_multiple_of(4).max(1);
                match message.payload {
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                        self.link_is(&link);
                    }
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::DelLink(link)) => {
                        self.link_went(&link);
                    }
                    _ => {}
                }
                rest = rest.get(length..).unwrap_or(&[]);
            }
        }
    }

    /// Every difference between one message and the next is reported: down and up again
    /// is two, though nothing differs in the end.
    fn link_is(&mut self, message: &LinkMessage) {
        let Some(link) = interface::describe(message) else {
            return;
        };
        let index = link.index;
        match self.known.get_mut(&index) {
            None => {
                let polled = self.poll(&link);
                self.known.insert(index, Known { link, polled });
                self.report(Some(index), ChangeKind::Added);
            }
            Some(known) if known.link != link => {
                known.link = link;
                self.report(Some(index), ChangeKind::Link);
            }
            Some(_) => {}
        }
    }

    fn link_went(&mut self, message: &LinkMessage) {
        let Some(index) = InterfaceIndex::new(message.header.index) else {
            return;
        };
        if self.known.remove(&index).is_some() {
            self.report(Some(index), ChangeKind::Removed);
        }
    }

    fn read_uevents(&mut self) {
        while let Some(datagram) = self.receive(|watcher| &watcher.uevents) {
            if uevent::read(&datagram) == Some(Uevent::HardwareClock) {
                self.report(None, ChangeKind::HardwareClock);
            }
        }
    }

    /// The next waiting datagram. Lost ones are reported as a change of anything.
    fn receive(&mut self, socket: fn(&Self) -> &Socket) -> Option<Vec<u8>> {
        loop {
            match socket(self).recv_from_full() {
                Ok((datagram, _)) => return Some(datagram),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.report(None, ChangeKind::Unspecified);
                }
                Err(_) => return None,
            }
        }
    }

    fn poll_all(&mut self) {
        let indexes: Vec<_> = self.known.keys().copied().collect();
        for index in indexes {
            let Some(known) = self.known.get(&index) else {
                continue;
            };
            let before = known.polled;
            let now = self.poll(&known.link).or_as_before(&before);
            self.known
                .entry(index)
                .and_modify(|known| known.polled = now);
            if let Some(kind) = before.change_to(&now) {
                self.report(Some(index), kind);
            }
        }
    }

    /// An interface that does not answer has neither.
    fn poll(&self, link: &InterfaceDescription) -> Polled<HwtstampConfig> {
        let information = timestamping_information(&self.asking, &link.name);
        let hardware_clock = information.ok().and_then(|info| info.hardware_clock());
        Polled {
            hardware_clock,
            device: hardware_clock.and_then(|_| device::behind(link).ok()),
            configuration: read_configuration(&self.asking, &link.name).ok(),
        }
    }
}

fn listen(protocol: isize) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind(&SocketAddr::new(0, GROUP))?;
    socket.set_non_blocking(true)?;
    Ok(socket)
}
