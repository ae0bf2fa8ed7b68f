//! Captures the packets of an interface: a packet socket whose ring of blocks the kernel fills (`TPACKET_V3`). Packets are
//! lent out of the ring, and their block goes back to the kernel when it is dropped.
//!
//! What a timestamp means is decided in `wirestamp_core`; what bytes mean, in [`packet_ring`].
//!
//! Source: packet(7), the kernel's `Documentation/networking/packet_mmap.rst` and `timestamping.rst`.

#[cfg(feature = "bare")]
mod bare;
mod filter;
mod ring;

use super::call;
use super::clock;
use super::error::system_error;
use super::socket::place;
use super::wire::constants::{
    RAW_HARDWARE, RX_HARDWARE, RX_SOFTWARE, SO_TIMESTAMPING_NEW, SOFTWARE,
};
use super::wire::link::{ADDRESS, LinkAddress};
use super::wire::packet_ring::{self, Packets, RingPacket};
use ring::Ring;
use socket2::{Domain, SockFilter, SockRef, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use wirestamp_core::capture::{
    Account, Blocks, CaptureOptions, CaptureStatistics, CapturedDirection, CapturedTime, Fanout,
    LinkType,
};
use wirestamp_core::configuration::Source;
use wirestamp_core::correlate::Estimate;
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{MonotonicTime, Span, Utc, UtcTime};
use wirestamp_core::timestamp::{Clocks, SoftwareTimestamp, Timestamps};
use wirestamp_core::{Error, ErrorKind, Result};

const OPEN: &str = "capture";
/// Bytes of `tpacket_stats_v3`.
const STATISTICS: usize = 12;
/// `TPACKET_V3`.
const VERSION_3: i32 = 2;
/// The kernel counts in 32 bits, which 5 million packets/s fill in 14 minutes: it is asked this often, whether anybody wants to know or not.
const COUNTED: Span = Span::from_seconds(10);

/// An open capture.
#[derive(Debug)]
pub struct Capture {
    fd: OwnedFd,
    ring: Ring,
    /// The block that the kernel fills next, or has filled.
    next: usize,
    account: Account,
    /// When the kernel was last asked what it counted.
    counted_at: MonotonicTime,
    link_type: LinkType,
    name: String,
}

/// A block of packets, lent out of the ring. Goes back to the kernel when it is dropped.
#[derive(Debug)]
pub struct Block<'a> {
    capture: &'a mut Capture,
    clocks: Clocks,
    read_at: MonotonicTime,
}

/// A packet of a block.
#[derive(Debug, Clone, Copy)]
pub struct Captured<'a> {
    packet: RingPacket<'a>,
    block: &'a Block<'a>,
}

impl Capture {
    /// Opens a capture on `interface`.
    ///
    /// # Errors
    /// `NotPermitted` without CAP_NET_RAW; `InvalidInput` for a filter or buffer that makes no sense; `NotSupported` for
    /// an interface whose packets begin with neither Ethernet nor IP headers, or a filter where there is no libpcap;
    /// `NoSuchDevice`; `Busy` if the memory is refused.
    pub fn open(interface: &InterfaceDescription, options: &CaptureOptions) -> Result<Self> {
        let blocks = options.blocks(interface)?;
        let link_type = link_type(interface)?;
        let program = program(options, link_type)?;
        Self::open_with(interface, options, blocks, link_type, &program)
    }

    /// Opens one whose packets `program` lets pass.
    fn open_with(
        interface: &InterfaceDescription,
        options: &CaptureOptions,
        blocks: Blocks,
        link_type: LinkType,
        program: &[SockFilter],
    ) -> Result<Self> {
        let failed = |error: io::Error| open_error(interface, &error);
        let fd = socket2::Socket::new(Domain::PACKET, Type::RAW, None).map_err(failed)?;
        // Before it is bound nothing comes in: no packet passes the filter by.
        SockRef::from(&fd).attach_filter(program).map_err(failed)?;
        let set = |name, value| call::set_number(fd.as_fd(), libc::SOL_PACKET, name, value);
        set(libc::PACKET_VERSION, VERSION_3).map_err(failed)?;
        timestamp(fd.as_fd(), options.source).map_err(failed)?;
        let hold = u32::try_from(options.hold.as_millis())
            .unwrap_or(u32::MAX)
            .max(1);
        let request = packet_ring::request(blocks.size, blocks.count, hold);
        call::set_option(fd.as_fd(), libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
            .map_err(|error| no_buffer(interface, options, &error))?;
        let ring = Ring::map(fd.as_fd(), blocks.size as usize, blocks.count as usize);
        let ring = ring.map_err(failed)?;
        if options.promiscuous {
            let request = packet_ring::promiscuous(interface.index);
            call::set_option(
                fd.as_fd(),
                libc::SOL_PACKET,
                libc::PACKET_ADD_MEMBERSHIP,
                &request,
            )
            .map_err(failed)?;
        }
        let place = LinkAddress::of_all_ethertypes(interface.index);
        call::bind(fd.as_fd(), &place).map_err(failed)?;
        Ok(Self {
            fd: fd.into(),
            ring,
            next: 0,
            account: Account::new(place::placement(), interface, options),
            counted_at: clock::now(),
            link_type,
            name: interface.name.clone(),
        })
    }

    /// Opens `count` captures that share the packets of `interface`.
    ///
    /// # Errors
    /// As [`open`](Self::open); `InvalidInput` for none, or more than 256.
    pub fn open_several(
        interface: &InterfaceDescription,
        options: &CaptureOptions,
        count: usize,
        fanout: Fanout,
    ) -> Result<Vec<Self>> {
        CaptureOptions::check_count(count, interface)?;
        let failed = |error: io::Error| open_error(interface, &error);
        let blocks = options.blocks(interface)?;
        let link_type = link_type(interface)?;
        let program = program(options, link_type)?;
        let nothing = filter::nothing();
        let mut captures = Vec::with_capacity(count);
        let mut group = packet_ring::NEW_GROUP;
        for _ in 0..count {
            let capture = Self::open_with(interface, options, blocks, link_type, &nothing)?;
            let fd = capture.fd.as_fd();
            let mode = packet_ring::fanout(group, fanout);
            call::set_number(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, mode).map_err(failed)?;
            group = packet_ring::group(
                call::number(fd, libc::SOL_PACKET, libc::PACKET_FANOUT).map_err(failed)?,
            );
            captures.push(capture);
        }
        // Until it is a member, a capture gets every packet: the others would have it, too.
        for capture in &captures {
            SockRef::from(&capture.fd)
                .attach_filter(&program)
                .map_err(failed)?;
        }
        Ok(captures)
    }

    /// What its packets begin with.
    pub fn link_type(&self) -> LinkType {
        self.link_type
    }

    /// Waits for the next block of packets; `None` if there is none until `until`.
    ///
    /// # Errors
    /// `NoSuchDevice` once, after all that came before, if the interface is gone or was switched off; `Io`.
    pub fn next_block(&mut self, until: MonotonicTime) -> Result<Option<Block<'_>>> {
        if !self.ring.is_ours(self.next) && !self.wait(until)? {
            return Ok(None);
        }
        let (clocks, read_at) = self.ask();
        if read_at - self.counted_at >= COUNTED {
            self.statistics()?;
        }
        Ok(Some(Block {
            capture: self,
            clocks,
            read_at,
        }))
    }

    /// Counts what the kernel counted since the last time.
    ///
    /// # Errors
    /// `Io`.
    pub fn statistics(&mut self) -> Result<CaptureStatistics> {
        let mut counts = [0; STATISTICS];
        call::option(
            self.fd.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            &mut counts,
        )
        .map_err(|error| system_error("count captured packets", &self.name, &error))?;
        self.counted_at = clock::now();
        Ok(self.account.count(packet_ring::statistics(&counts)))
    }

    /// Asks the clocks about the timestamps of the block that was just read.
    fn ask(&mut self) -> (Clocks, MonotonicTime) {
        let read_at = clock::now();
        if self.account.is_unchanged(clock::difference()) {
            return (Clocks::Unchanged, read_at);
        }
        self.account.observe(clock::observe);
        (Clocks::Read(read_at), read_at)
    }

    /// Whether the next block became ours.
    fn wait(&mut self, until: MonotonicTime) -> Result<bool> {
        loop {
            let gone = self.account.gone_until();
            if gone.is_some() {
                self.statistics()?;
                if self.account.is_over(clock::now()) {
                    return Err(self.account.end(&self.name, libc::ENETDOWN));
                }
            }
            let mut descriptors = [libc::pollfd {
                fd: self.fd.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            }];
            let timeout = clock::timeout(gone.unwrap_or(until).min(until));
            call::poll(&mut descriptors, timeout)
                .map_err(|error| system_error("wait for packets", &self.name, &error))?;
            if self.ring.is_ours(self.next) {
                return Ok(true);
            }
            if descriptors[0].revents & (libc::POLLERR | libc::POLLHUP) != 0 {
                self.check()?;
            }
            if clock::now() >= until {
                return Ok(false);
            }
        }
    }

    /// What the socket has to say of its interface.
    fn check(&mut self) -> Result<()> {
        match SockRef::from(&self.fd).take_error() {
            Ok(Some(error)) if error.raw_os_error() == Some(libc::ENETDOWN) => {
                self.account.gone(clock::now());
                Ok(())
            }
            Ok(Some(error)) | Err(error) => Err(system_error(OPEN, &self.name, &error)),
            Ok(None) => Ok(()),
        }
    }
}

impl Block<'_> {
    /// Its packets, in the order in which they came.
    #[inline]
    pub fn packets(&self) -> impl Iterator<Item = Captured<'_>> {
        let bytes = self.capture.ring.bytes(self.capture.next);
        Packets::of(bytes).map(|packet| Captured {
            packet,
            block: self,
        })
    }

    /// How many packets it has.
    #[inline]
    pub fn count(&self) -> u32 {
        Packets::of(self.capture.ring.bytes(self.capture.next)).left()
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        let capture = &mut *self.capture;
        let bytes = capture.ring.bytes(capture.next);
        let (packets, last) = (Packets::of(bytes).left(), packet_ring::last(bytes));
        capture.account.handed_over(packets, last, self.clocks);
        capture.ring.give_back(capture.next);
        capture.next = (capture.next + 1) % capture.ring.blocks();
    }
}

impl<'a> Captured<'a> {
    /// Returns the captured bytes, without the VLAN tag that the kernel has removed.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        self.packet.data()
    }

    /// How long it was on the wire, without that tag.
    #[inline]
    pub fn length(&self) -> u32 {
        self.packet.length()
    }

    /// The VLAN tag that the kernel has removed, behind its type.
    #[inline]
    pub fn vlan(&self) -> Option<(u16, VlanTag)> {
        self.packet.vlan()
    }

    /// Its timestamp as the kernel wrote it, on the clock that [`is_hardware`](Self::is_hardware) names.
    #[inline]
    pub fn time(&self) -> Option<UtcTime> {
        self.packet.timestamp()
    }

    /// Whether the NIC made its timestamp.
    #[inline]
    pub fn is_hardware(&self) -> bool {
        self.packet.is_hardware()
    }

    /// Which way it went.
    #[inline]
    pub fn direction(&self) -> CapturedDirection {
        self.packet.direction()
    }

    /// When it was captured: the NIC's timestamp where it made one, else the kernel's.
    #[inline]
    pub fn timestamps(&self) -> Timestamps {
        let time = CapturedTime {
            at: self.packet.timestamp(),
            is_hardware: self.packet.is_hardware(),
            is_sent: self.packet.direction() == CapturedDirection::Sent,
        };
        let Block {
            capture,
            clocks,
            read_at,
        } = self.block;
        capture.account.timestamps(time, *clocks, *read_at)
    }

    /// A software timestamp of this packet in UTC.
    #[inline]
    pub fn software_utc(&self, timestamp: &SoftwareTimestamp) -> Option<Estimate<Utc>> {
        self.block.capture.account.software_utc(timestamp)
    }
}

/// Which packets pass, and how much of each.
fn program(options: &CaptureOptions, link_type: LinkType) -> Result<Vec<SockFilter>> {
    match options.expression() {
        Some(expression) => filter::compile(expression, link_type, options.snap_length),
        None => Ok(filter::everything(options.snap_length)),
    }
}

/// What packets of this interface begin with, asked by a socket that receives nothing.
fn link_type(interface: &InterfaceDescription) -> Result<LinkType> {
    let failed = |error: io::Error| open_error(interface, &error);
    let probe = socket2::Socket::new(Domain::PACKET, Type::RAW, None).map_err(failed)?;
    let nothing = LinkAddress::of_no_ethertype(interface.index);
    call::bind(probe.as_fd(), &nothing).map_err(failed)?;
    let mut bound = [0; ADDRESS];
    call::bound_to(probe.as_fd(), &mut bound).map_err(failed)?;
    packet_ring::link_type(&bound).map_err(|kind| {
        let cause =
            format!("its packets begin with a header that wirestamp does not know (type {kind})");
        Error::new(ErrorKind::NotSupported, OPEN, &interface.name, cause)
            .with_remedy("Ethernet, loopback, TUN and IP tunnels can be captured")
    })
}

/// Asks for timestamps at the earliest place: of the NIC if wanted, else when the kernel takes the packet, not when it
/// comes to the ring.
fn timestamp(fd: BorrowedFd<'_>, source: Source) -> io::Result<()> {
    let mut generate = RX_SOFTWARE | SOFTWARE;
    if source != Source::Software {
        generate |= RX_HARDWARE | RAW_HARDWARE;
        let hardware = (RAW_HARDWARE | SOFTWARE) as i32;
        call::set_number(fd, libc::SOL_PACKET, libc::PACKET_TIMESTAMP, hardware)?;
    }
    call::set_option(
        fd,
        libc::SOL_SOCKET,
        SO_TIMESTAMPING_NEW,
        &generate.to_ne_bytes(),
    )
}

fn open_error(interface: &InterfaceDescription, error: &io::Error) -> Error {
    let described = system_error(OPEN, &interface.name, error);
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            described.with_remedy("run as root or grant CAP_NET_RAW")
        }
        _ => described,
    }
}

fn no_buffer(
    interface: &InterfaceDescription,
    options: &CaptureOptions,
    error: &io::Error,
) -> Error {
    let described = open_error(interface, error);
    match error.raw_os_error() {
        Some(libc::ENOMEM) => described.with_remedy(format!(
            "ask for a buffer of less than {} MiB, or for smaller blocks",
            options.buffer >> 20
        )),
        _ => described,
    }
}

#[cfg(test)]
mod tests;
