//! Receiving by AF_XDP: the program at the interface, the ring of packets that came, packets lent out of it.

use super::super::call;
use super::super::clock;
use super::super::error::system_error;
use super::super::wire::btf;
use super::bpf;
use super::program::{self, Note, Refers};
use super::rings::{self, Frames, Ring};
use super::socket::{
    OPEN, bind, check, frame_size, likely_features, open_best, open_error, statistics,
};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{Bounded, HardwareTicks, MonotonicTime, Span};
use wirestamp_core::timestamp::{HardwareTimestamp, SoftwareTimestamp, Timestamps};
use wirestamp_core::xdp::{XdpMode, XdpOptions, XdpStatistics, XdpWay};
use wirestamp_core::{Error, ErrorKind, Result};

/// The kernel's function that asks the NIC when a packet arrived.
const ASK_NIC: &str = "bpf_xdp_metadata_rx_timestamp";
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// How many packets are lent at once.
const MOST: u32 = 256;
const MOST_FRAMES: u32 = 65_536;
/// How often a wait checks that the interface still exists: since Linux 5.11, poll(2) does not report its removal.
const LOOK: Span = Span::from_milliseconds(500);
/// What the program reads is `CLOCK_MONOTONIC`, without a lock: while the kernel changes the clock's frequency, it goes on at the former
/// one for some microseconds.
const BOUND: Span = Span::from_nanoseconds(1_000);

/// An open AF_XDP socket, and its program at the interface.
#[derive(Debug)]
pub struct Xdp {
    // Dropped in this order: first the program goes, so that packets are the kernel's again.
    _link: OwnedFd,
    received: Ring,
    free: Ring,
    fd: OwnedFd,
    frames: Frames,
    passed_on: OwnedFd,
    way: XdpWay,
    tried: Vec<(XdpWay, Error)>,
    /// Frames of packets that were lent.
    lent: Vec<u64>,
    /// From the kernel's monotonic clock, which the program reads, to this process's.
    namespace: Span,
    interface: InterfaceIndex,
    name: String,
}

/// Packets lent together. Their memory goes back to the kernel when it is dropped.
#[derive(Debug)]
pub struct XdpBatch<'a> {
    socket: &'a mut Xdp,
    count: u32,
    read_at: MonotonicTime,
}

/// A packet of a batch.
#[derive(Debug, Clone, Copy)]
pub struct XdpPacket<'a> {
    data: &'a [u8],
    note: Option<Note>,
    namespace: Span,
    interface: InterfaceIndex,
    read_at: MonotonicTime,
}

impl Xdp {
    /// Opens one in the best way that the system accepts. Where the NIC is restarted for it, waits until the link is up again, 10 s at most.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW; `NotSupported` if no way works; `InvalidInput` for options that make no
    /// sense; `Busy` if the interface has an XDP program already; `NoSuchDevice`.
    pub fn open(interface: &InterfaceDescription, options: &XdpOptions) -> Result<Self> {
        check(interface, options.queue, options.frames, MOST_FRAMES)?;
        let ways = XdpWay::of(likely_features(interface)?);
        let unasked = "the options leave the driver alone";
        let ways = ways.map(|way| {
            let is_left = !options.driver && way.mode != XdpMode::Generic;
            (way, is_left.then_some(unasked))
        });
        let (opened, tried) = open_best(interface, ways, |way| {
            Self::open_so(interface, options, way)
        })?;
        Ok(Self { tried, ..opened })
    }

    pub(super) fn open_so(
        interface: &InterfaceDescription,
        options: &XdpOptions,
        way: XdpWay,
    ) -> Result<Self> {
        let failed = |error: io::Error| open_error(interface, &error);
        let namespace = clock::namespace_offset().map_err(failed)?;
        let index = interface.index.get();
        let sockets = bpf::socket_map(options.queue.saturating_add(1)).map_err(failed)?;
        let passed_on = bpf::count_map().map_err(failed)?;
        let refers = Refers {
            sockets: sockets.as_raw_fd(),
            passed_on: passed_on.as_raw_fd(),
            ask_nic: if way.hardware {
                Some(ask_nic(interface)?)
            } else {
                None
            },
        };
        let code = program::assemble(options.filter, refers);
        let bound = way.hardware.then_some(index);
        let program =
            bpf::load(&code, bound).map_err(|(error, said)| refused(interface, &error, &said))?;
        let fd =
            socket2::Socket::new(libc::AF_XDP.into(), socket2::Type::RAW, None).map_err(failed)?;
        let frames = Frames::new(options.frames, frame_size(interface)).map_err(failed)?;
        let (mut free, received) = share(&fd, &frames, options.frames).map_err(failed)?;
        free.give((0..u64::from(options.frames)).map(|place| place * frame_size(interface) as u64));
        let in_driver = way.mode != XdpMode::Generic;
        let link = bpf::attach(&program, index, in_driver).map_err(failed)?;
        bind(fd.as_fd(), interface, options.queue, way.mode).map_err(failed)?;
        bpf::set_socket(&sockets, options.queue, &fd).map_err(failed)?;
        Ok(Self {
            _link: link,
            received,
            free,
            fd: fd.into(),
            frames,
            passed_on,
            way,
            tried: Vec::new(),
            lent: Vec::with_capacity(MOST as usize),
            namespace,
            interface: interface.index,
            name: interface.name.clone(),
        })
    }

    /// In which way packets come.
    pub fn way(&self) -> XdpWay {
        self.way
    }

    /// The better ways that were tried, and why they did not work.
    pub fn tried(&self) -> &[(XdpWay, Error)] {
        &self.tried
    }

    /// Waits for packets; `None` if there are none until `until`.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone; `Io`.
    pub fn next_batch(&mut self, until: MonotonicTime) -> Result<Option<XdpBatch<'_>>> {
        while self.received.waiting() == 0 {
            let mut descriptors = [libc::pollfd {
                fd: self.fd.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            }];
            let look = until.min(clock::now() + LOOK);
            call::poll(&mut descriptors, clock::timeout(look))
                .map_err(|error| system_error("wait for packets", &self.name, &error))?;
            let ended = descriptors[0].revents & (libc::POLLERR | libc::POLLHUP) != 0;
            if self.received.waiting() == 0 && (ended || self.is_unbound()) {
                let cause = "the interface is gone";
                return Err(Error::new(ErrorKind::NoSuchDevice, OPEN, &self.name, cause)
                    .with_remedy("open a new receiver when it is there"));
            }
            if self.received.waiting() == 0 && clock::now() >= until {
                return Ok(None);
            }
        }
        let count = self.received.waiting().min(MOST);
        Ok(Some(XdpBatch {
            socket: self,
            count,
            read_at: clock::now(),
        }))
    }

    /// Whether the kernel has taken the socket off its interface, as it does when that goes away. It refuses to send then; where it does not, it
    /// says that nothing can be sent by this socket.
    fn is_unbound(&self) -> bool {
        let answer = call::wake_xdp(self.fd.as_fd());
        answer.is_err_and(|error| error.raw_os_error() == Some(libc::ENXIO))
    }

    /// Returns the counts since it was opened.
    ///
    /// # Errors
    /// `Io`.
    pub fn statistics(&self) -> Result<XdpStatistics> {
        let failed = |error: io::Error| system_error("count packets of AF_XDP", &self.name, &error);
        let [other, _, _, full, no_frame, _] = statistics(&self.fd).map_err(failed)?;
        let passed_on = bpf::count(&self.passed_on).map_err(failed)?;
        let dropped = full.saturating_add(no_frame);
        Ok(XdpStatistics::new(dropped, other, passed_on))
    }
}

impl XdpBatch<'_> {
    /// Its packets, in the order in which they came.
    pub fn packets(&self) -> impl Iterator<Item = XdpPacket<'_>> {
        let socket = &*self.socket;
        let all = (0..self.count).map(|place| socket.received.came(place));
        all.filter_map(|came| {
            let (note, data) = socket.frames.packet(came)?;
            Some(XdpPacket {
                data,
                note: Note::read(note),
                namespace: socket.namespace,
                interface: socket.interface,
                read_at: self.read_at,
            })
        })
    }

    /// How many it has.
    pub fn count(&self) -> u32 {
        self.count
    }
}

impl Drop for XdpBatch<'_> {
    fn drop(&mut self) {
        let socket = &mut *self.socket;
        socket.lent.clear();
        for place in 0..self.count {
            let came = socket.received.came(place);
            socket.frames.forget_note(came);
            socket.lent.push(socket.frames.frame(came));
        }
        socket.received.consume(self.count);
        socket.free.give(socket.lent.iter().copied());
        if socket.free.is_asleep() {
            let nothing = Some(libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            });
            let mut descriptors = [libc::pollfd {
                fd: socket.fd.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            }];
            // what it finds, the next wait finds again
            drop(call::poll(&mut descriptors, nothing));
        }
    }
}

impl<'a> XdpPacket<'a> {
    /// The whole frame, without a VLAN tag that the NIC has removed.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// When it came: as the program saw it, on this process's monotonic clock (time_namespaces(7)), and as the NIC says. Neither where the driver left no room for it.
    pub fn timestamps(&self) -> Timestamps {
        let Some(note) = self.note else {
            return Timestamps::NONE;
        };
        let software = i64::try_from(note.monotonic).ok();
        let software = software.map(|at| {
            let at = MonotonicTime::from_nanoseconds(at) + self.namespace;
            SoftwareTimestamp::new(Bounded::new(at, BOUND))
        });
        let hardware = note.hardware.map(|ticks| HardwareTimestamp {
            ticks: HardwareTicks::new(ticks),
            interface: Some(self.interface),
            read_at: self.read_at,
        });
        Timestamps::new(software, hardware)
    }
}

/// Registers the frames, and shares both rings.
fn share(fd: &socket2::Socket, frames: &Frames, count: u32) -> io::Result<(Ring, Ring)> {
    let fd = fd.as_fd();
    let set = |name, value: &[u8]| call::set_option(fd, libc::SOL_XDP, name, value);
    set(libc::XDP_UMEM_REG, &frames.registration(0))?;
    set(libc::XDP_UMEM_FILL_RING, &count.to_ne_bytes())?;
    // has to be there, though nothing is sent
    set(libc::XDP_UMEM_COMPLETION_RING, &64u32.to_ne_bytes())?;
    set(libc::XDP_RX_RING, &count.to_ne_bytes())?;
    let offsets = rings::offsets(fd)?;
    let free = Ring::free(fd, &offsets, count)?;
    Ok((free, Ring::received(fd, &offsets, count)?))
}

/// The number of the function that asks the NIC.
fn ask_nic(interface: &InterfaceDescription) -> Result<i32> {
    let missing = |cause: String| {
        Error::new(ErrorKind::NotSupported, OPEN, &interface.name, cause)
            .with_remedy("needs Linux 6.3 or later with CONFIG_DEBUG_INFO_BTF")
    };
    let bytes = fs::read(BTF).map_err(|error| missing(format!("can't read {BTF}: {error}")))?;
    let found = btf::function(&bytes, ASK_NIC).and_then(|number| i32::try_from(number).ok());
    found.ok_or_else(|| missing(format!("the kernel has no function {ASK_NIC}")))
}

/// The kernel's own words about the program are worth more than the number.
fn refused(interface: &InterfaceDescription, error: &io::Error, said: &str) -> Error {
    let described = open_error(interface, error);
    if said.is_empty() || error.raw_os_error() == Some(libc::EPERM) {
        return described;
    }
    let cause = format!("the kernel refuses the program: {said}");
    Error::new(ErrorKind::NotSupported, OPEN, &interface.name, cause)
}

#[cfg(test)]
mod tests;
