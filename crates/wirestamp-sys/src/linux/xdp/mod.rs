//! AF_XDP: a program in the driver hands packets to a socket before the kernel has made anything of them, each with the time when the
//! program saw it, and the NIC's timestamp where the driver tells it. Packets are lent out of memory shared with the kernel.
//!
//! Which ways there are, and in which order they are tried, is decided in `wirestamp_core::xdp`.
//!
//! Source: the kernel's `Documentation/networking/af_xdp.rst` and `xdp-rx-metadata.rst`.

mod bpf;
mod features;
mod program;
mod rings;

use super::call;
use super::clock;
use super::error::system_error;
use super::wire::btf;
use program::{Note, Refers};
use rings::{Frames, OFFSETS, Ring};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{HardwareTicks, MonotonicTime, Span};
use wirestamp_core::timestamp::{HardwareTimestamp, SoftwareTimestamp, Timestamps};
use wirestamp_core::xdp::{XdpFeatures, XdpMode, XdpOptions, XdpStatistics, XdpWay};
use wirestamp_core::{Error, ErrorKind, Result};

const OPEN: &str = "open an AF_XDP socket";
/// The kernel's function that asks the NIC when a packet arrived.
const ASK_NIC: &str = "bpf_xdp_metadata_rx_timestamp";
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// How many packets are lent at once.
const MOST: u32 = 256;
/// What the program reads is `CLOCK_MONOTONIC`, without a lock: while the kernel changes the clock's frequency, it goes on at the former
/// one for some microseconds.
const BOUND: Span = Span::from_nanoseconds(1_000);
/// The kernel has let go of a queue by then.
const LET_GO: Duration = Duration::from_millis(200);
/// Bytes of `xdp_statistics`.
const STATISTICS: usize = 48;
/// Where in a frame the kernel leaves room in front of a packet, and for a tag behind it.
const ROOM: u32 = 256 + 64;

/// Asks what the driver of an interface says that it can do.
///
/// # Errors
/// `NotSupported` on kernels before 6.3; `NoSuchDevice`.
pub fn xdp_features(interface: &InterfaceDescription) -> Result<XdpFeatures> {
    features::ask(interface)
}

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
    interface: InterfaceIndex,
    read_at: MonotonicTime,
}

impl Xdp {
    /// Opens one in the best way that the system accepts.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW; `NotSupported` if no way works; `InvalidInput` for options that make no
    /// sense; `Busy` if the interface has an XDP program already; `NoSuchDevice`.
    pub fn open(interface: &InterfaceDescription, options: &XdpOptions) -> Result<Self> {
        check(interface, options)?;
        // a kernel that does not tell may be able all the same
        let features = match features::ask(interface) {
            Err(error) if error.kind() == ErrorKind::NotSupported => {
                XdpFeatures::from_masks(u64::MAX, 0, 0)
            }
            asked => asked?,
        };
        let mut tried = Vec::new();
        for way in XdpWay::of(features) {
            match Self::open_so(interface, options, way) {
                Ok(opened) => return Ok(Self { tried, ..opened }),
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => tried.push((way, error)),
            }
        }
        let last = tried.pop().map(|(_, error)| error);
        Err(last.unwrap_or_else(|| {
            Error::new(
                ErrorKind::NotSupported,
                OPEN,
                &interface.name,
                "no way is known",
            )
        }))
    }

    fn open_so(
        interface: &InterfaceDescription,
        options: &XdpOptions,
        way: XdpWay,
    ) -> Result<Self> {
        let failed = |error: io::Error| open_error(interface, &error);
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
        bind(&fd, &address(index, options.queue, way.mode)).map_err(failed)?;
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
            call::poll(&mut descriptors, clock::timeout(until))
                .map_err(|error| system_error("wait for packets", &self.name, &error))?;
            if descriptors[0].revents & (libc::POLLERR | libc::POLLHUP) != 0 {
                let cause = "the interface is gone or was switched off";
                return Err(Error::new(ErrorKind::NoSuchDevice, OPEN, &self.name, cause)
                    .with_remedy("switch it on and start again"));
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

    /// What was counted since it was opened.
    ///
    /// # Errors
    /// `Io`.
    pub fn statistics(&self) -> Result<XdpStatistics> {
        let failed = |error: io::Error| system_error("count packets of AF_XDP", &self.name, &error);
        let mut bytes = [0; STATISTICS];
        let fd = self.fd.as_fd();
        call::option(fd, libc::SOL_XDP, libc::XDP_STATISTICS, &mut bytes).map_err(failed)?;
        let count = |place: usize| {
            let eight = bytes.get(place * 8..).and_then(<[u8]>::first_chunk);
            eight.map_or(0, |eight| u64::from_ne_bytes(*eight))
        };
        let passed_on = bpf::count(&self.passed_on).map_err(failed)?;
        // dropped for other reasons, invalid descriptors (2), ring full, no free frame
        Ok(XdpStatistics::new(
            count(3).saturating_add(count(4)),
            count(0),
            passed_on,
        ))
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

    /// When it came: as the program saw it, and as the NIC says. Neither where the driver left no room for it.
    pub fn timestamps(&self) -> Timestamps {
        let Some(note) = self.note else {
            return Timestamps::NONE;
        };
        let software = i64::try_from(note.monotonic).ok();
        let software = software.map(|at| SoftwareTimestamp {
            at: MonotonicTime::from_nanoseconds(at),
            bound: BOUND,
            utc: None,
            clock_stepped: false,
        });
        let hardware = note.hardware.map(|ticks| HardwareTimestamp {
            ticks: HardwareTicks::new(ticks),
            interface: Some(self.interface),
            read_at: self.read_at,
        });
        Timestamps { software, hardware }
    }
}

/// Registers the frames, and shares both rings.
fn share(fd: &socket2::Socket, frames: &Frames, count: u32) -> io::Result<(Ring, Ring)> {
    let fd = fd.as_fd();
    let set = |name, value: &[u8]| call::set_option(fd, libc::SOL_XDP, name, value);
    set(libc::XDP_UMEM_REG, &frames.registration())?;
    set(libc::XDP_UMEM_FILL_RING, &count.to_ne_bytes())?;
    // has to be there, though nothing is sent
    set(libc::XDP_UMEM_COMPLETION_RING, &64u32.to_ne_bytes())?;
    set(libc::XDP_RX_RING, &count.to_ne_bytes())?;
    let mut offsets = [0; OFFSETS];
    if call::option(fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut offsets)? < OFFSETS {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)); // before 5.4
    }
    let free = Ring::free(fd, &offsets, count)?;
    Ok((free, Ring::received(fd, &offsets, count)?))
}

/// Binds to a queue. The kernel lets go of one in the background after its socket was closed: a queue that is taken is tried again for a while.
fn bind(fd: &socket2::Socket, address: &[u8; 16]) -> io::Result<()> {
    let until = Instant::now() + LET_GO;
    loop {
        match call::bind_xdp(fd.as_fd(), address) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < until => {
                thread::sleep(LET_GO / 20);
            }
            bound => return bound,
        }
    }
}

/// `sockaddr_xdp`.
fn address(interface: u32, queue: u32, mode: XdpMode) -> [u8; 16] {
    let how = match mode {
        XdpMode::ZeroCopy => libc::XDP_ZEROCOPY,
        _ => libc::XDP_COPY,
    };
    let flags = how | libc::XDP_USE_NEED_WAKEUP;
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&(libc::AF_XDP as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&flags.to_ne_bytes());
    bytes[4..8].copy_from_slice(&interface.to_ne_bytes());
    bytes[8..12].copy_from_slice(&queue.to_ne_bytes());
    bytes
}

/// Bytes of a frame: a power of two that whole packets fit into where that is possible.
fn frame_size(interface: &InterfaceDescription) -> usize {
    if interface.mtu.saturating_add(ROOM) <= 2_048 {
        2_048
    } else {
        4_096
    }
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

fn check(interface: &InterfaceDescription, options: &XdpOptions) -> Result<()> {
    let is_known = options.frames.is_power_of_two() && (64..=65_536).contains(&options.frames);
    let cause = match options.queue {
        _ if !is_known => "the number of frames must be a power of two, from 64 to 65,536",
        4_096.. => "no NIC has so many queues",
        _ => return Ok(()),
    };
    let error = Error::new(ErrorKind::InvalidInput, OPEN, &interface.name, cause);
    Err(error)
}

/// Whether another way would fail, too.
fn is_final(error: &Error) -> bool {
    use ErrorKind::{Busy, NoSuchDevice, NotPermitted};
    matches!(error.kind(), NotPermitted | NoSuchDevice | Busy)
}

fn open_error(interface: &InterfaceDescription, error: &io::Error) -> Error {
    let described = system_error(OPEN, &interface.name, error);
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            described.with_remedy("run as root or grant CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW")
        }
        Some(libc::EBUSY | libc::EEXIST) => {
            let cause = "the interface has an XDP program, or the queue an AF_XDP socket";
            Error::new(ErrorKind::Busy, OPEN, &interface.name, cause)
                .with_remedy("end the program that put it there: ip link show names it")
        }
        Some(libc::EAFNOSUPPORT) => described.with_remedy("needs CONFIG_XDP_SOCKETS"),
        _ => described,
    }
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
