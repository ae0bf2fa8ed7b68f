//! Packet capture: all packets that an interface receives and sends, each with its timestamps,
//! their clock and their error bound.

pub use wirestamp_core::capture::{
    CaptureOptions, CaptureStatistics, CapturedDirection, Fanout, LinkType,
};

use crate::correlator::CorrelatorOptions;
use crate::deadline::Deadline;
use crate::host::Host;
use crate::host_clock::{HostClock, TimestampPolicy};
use crate::inner;
use crate::interface::Interface;
use std::fmt;
use std::sync::Arc;
use wirestamp_core::Result;
use wirestamp_core::backend::Backend;
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::configuration::Source;
use wirestamp_core::correlate::{ClockGeneration, ConversionError, Estimate};
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::time::{Utc, UtcTime};
use wirestamp_core::timestamp::Timestamps;

/// A capture of all packets that an interface receives and sends, whatever their destination.
///
/// [`Interface::capture`] opens one. The kernel writes packets into a ring of blocks in shared
/// memory; a [`CaptureBlock`] lends them without a copy until it is dropped. While all blocks are
/// full, the kernel drops packets and counts them: [`statistics`](Self::statistics).
///
/// Packets carry the kernel's timestamp. With [`Source::Hardware`] they carry the NIC's instead if
/// it made one. In a capture, most NICs timestamp received packets only, and all of these only
/// after [`enable_hardware`](Interface::enable_hardware) with
/// [`AllPackets`](crate::HardwareRequest::AllPackets). The others keep the kernel's timestamp.
///
/// Requires Linux and the capability CAP_NET_RAW. Simulated interfaces can be captured on every
/// system, but without filters.
///
/// ```
/// # #[cfg(feature = "sim")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use wirestamp::capture::CaptureOptions;
/// use wirestamp::Interface;
///
/// let nic = Interface::find("sim0")?; // or "eth0", …
/// let mut capture = nic.capture(&CaptureOptions::new().snap_length(128))?;
/// # let socket = nic.bind((nic.description().addresses[0].address, 0).into())?;
/// # socket.send_to(b"hello", socket.local_address()?, None)?;
/// while let Some(block) = capture.next_block(Duration::from_secs(10))? {
///     for packet in block.packets() {
///         let time = packet.utc()?;
///         println!("{time}: {} bytes", packet.length());
///     }
/// }
/// println!("{:?}", capture.statistics()?);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "sim"))]
/// # fn main() {}
/// ```
pub struct Capture {
    host: Arc<Host>,
    inner: inner::Capture,
    /// Places the NIC's timestamps.
    clock: HostClock,
}

/// A block of packets lent from a [`Capture`]'s ring. Dropping it returns the memory to the kernel.
pub struct CaptureBlock<'a> {
    inner: inner::Block<'a>,
    clock: &'a HostClock,
    /// Whether the NIC's clock was read after these packets. True if no hardware timestamps are
    /// asked for.
    is_confirmed: bool,
}

/// A captured packet, borrowed from its [`CaptureBlock`].
#[derive(Clone, Copy)]
pub struct CapturedPacket<'a> {
    inner: inner::Captured<'a>,
    clock: &'a HostClock,
    is_confirmed: bool,
}

impl Capture {
    pub(crate) fn open(interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let clock = clock(interface, options)?;
        let inner = interface.host().capture(interface.description(), options)?;
        Ok(Self {
            host: Arc::clone(interface.host()),
            inner,
            clock,
        })
    }

    pub(crate) fn open_several(
        interface: &Interface,
        options: &CaptureOptions,
        count: usize,
        fanout: Fanout,
    ) -> Result<Vec<Self>> {
        let clock = clock(interface, options)?;
        let description = interface.description();
        let host = interface.host();
        let all = host.capture_several(description, options, count, fanout)?;
        let around = |inner| Self {
            host: Arc::clone(interface.host()),
            inner,
            clock: clock.clone(),
        };
        Ok(all.into_iter().map(around).collect())
    }

    /// Returns the link type: the header that each packet begins with.
    pub fn link_type(&self) -> LinkType {
        self.inner.link_type()
    }

    /// Waits for the next block of packets; returns `None` if none came before the deadline. The
    /// kernel hands a block over when it is full, or after [`CaptureOptions::hold`].
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone or was set down: reported once, after the packets
    /// that came before it; `Io`.
    #[inline]
    pub fn next_block(&mut self, wait: impl Into<Deadline>) -> Result<Option<CaptureBlock<'_>>> {
        let until = wait.into().resolve(|| self.host.now());
        let Some(inner) = self.inner.next_block(until)? else {
            return Ok(None);
        };
        // a change of the NIC's clock before the packets shows in this reading
        let is_confirmed = match self.clock.correlator() {
            Some(correlator) => correlator.read_after(self.host.now()).is_ok(),
            None => true,
        };
        Ok(Some(CaptureBlock {
            inner,
            clock: &self.clock,
            is_confirmed,
        }))
    }

    /// Returns the numbers of packets received and dropped since the capture was opened.
    ///
    /// # Errors
    /// `Io` if the system cannot report them.
    pub fn statistics(&mut self) -> Result<CaptureStatistics> {
        self.inner.statistics()
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("link_type", &self.link_type())
            .finish_non_exhaustive()
    }
}

/// The clock that converts the NIC's timestamps, if they are asked for.
fn clock(interface: &Interface, options: &CaptureOptions) -> Result<HostClock> {
    if options.source == Source::Software {
        return Ok(HostClock::software());
    }
    let correlator = interface.correlator(CorrelatorOptions::default())?;
    Ok(HostClock::hardware(Arc::new(correlator)))
}

impl CaptureBlock<'_> {
    /// Returns the packets in their order of arrival.
    #[inline]
    pub fn packets(&self) -> impl Iterator<Item = CapturedPacket<'_>> {
        let (clock, is_confirmed) = (self.clock, self.is_confirmed);
        self.inner.packets().map(move |inner| CapturedPacket {
            inner,
            clock,
            is_confirmed,
        })
    }

    /// Returns the number of packets.
    #[inline]
    pub fn count(&self) -> u32 {
        self.inner.count()
    }
}

impl fmt::Debug for CaptureBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureBlock")
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

impl<'a> CapturedPacket<'a> {
    /// Returns the captured bytes, at most the snap length, without a VLAN tag:
    /// [`vlan`](Self::vlan) returns the tag.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        self.inner.data()
    }

    /// Returns the length on the wire in bytes, without a VLAN tag.
    #[inline]
    pub fn length(&self) -> u32 {
        self.inner.length()
    }

    /// Returns the type of the packet's VLAN tag (0x8100 or 0x88a8) and the tag; `None` if it has
    /// none.
    #[inline]
    pub fn vlan(&self) -> Option<(u16, VlanTag)> {
        self.inner.vlan()
    }

    /// Returns whether the packet was received or sent. On loopback each packet is captured twice,
    /// once in each direction.
    #[inline]
    pub fn direction(&self) -> CapturedDirection {
        self.inner.direction()
    }

    /// Returns the timestamp: the NIC's if there is one, else the kernel's. Empty if the kernel
    /// made its timestamp around a step of the real-time clock.
    #[inline]
    pub fn timestamps(&self) -> Timestamps {
        self.inner.timestamps()
    }

    /// Returns the kernel's timestamp as written in the ring: the unchecked value of the real-time
    /// clock. `None` if the NIC made the timestamp.
    #[inline]
    pub fn kernel_time(&self) -> Option<UtcTime> {
        self.inner.time().filter(|_| !self.inner.is_hardware())
    }

    /// Returns whether the NIC or the kernel made the timestamp.
    #[inline]
    pub fn clock(&self) -> TimestampSource {
        if self.inner.is_hardware() {
            TimestampSource::Hardware
        } else {
            TimestampSource::Software
        }
    }

    /// Returns the capture time in UTC as the system's real-time clock showed it, with an error
    /// bound and the generation of the clock that made the timestamp.
    ///
    /// The kernel's timestamp is a value of the real-time clock: its error bound is one tick (1
    /// ns), and its generation counts that clock's steps. The NIC's timestamp is converted as by
    /// [`Correlator::to_utc`](crate::Correlator::to_utc), with a cross timestamp taken after the
    /// packet. Neither error bound includes the offset of the real-time clock from UTC: for that
    /// see [`utc_error_bound`](crate::clock::utc_error_bound).
    ///
    /// # Errors
    /// As [`Correlator::to_utc`](crate::Correlator::to_utc); [`ConversionError::Stale`] if the NIC's clock could not be read
    /// after the packet; [`ConversionError::UtcUnknown`] if the timestamp was made around a step of the real-time clock.
    #[inline]
    pub fn utc(&self) -> Result<Estimate<Utc>, ConversionError> {
        let timestamps = self.timestamps();
        if let Some(software) = timestamps.software {
            let converted = self.inner.software_utc(&software);
            return converted.ok_or(ConversionError::UtcUnknown);
        }
        let time = self
            .clock
            .place(&timestamps, TimestampPolicy::OnlyHardware)
            .map_err(|error| match error {
                ConversionError::NoTimestamp => ConversionError::UtcUnknown,
                error => error,
            })?;
        if !self.is_confirmed {
            return Err(ConversionError::Stale);
        }
        self.clock.hardware_utc(&time)
    }
}

impl CapturedPacket<'_> {
    /// Returns the generation of the real-time clock for [`utc`](Self::utc): the number of its
    /// steps noticed between the start of the capture and that time. The difference of two UTC
    /// times is an elapsed time only if both have the same generation.
    ///
    /// # Errors
    /// As [`utc`](Self::utc).
    pub fn utc_generation(&self) -> Result<ClockGeneration, ConversionError> {
        match (self.timestamps().hardware, self.clock.correlator()) {
            (Some(_), Some(_)) if !self.is_confirmed => Err(ConversionError::Stale),
            (Some(hardware), Some(correlator)) => correlator.utc_generation(&hardware),
            _ => self.utc().map(|time| time.generation),
        }
    }
}

impl fmt::Debug for CapturedPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapturedPacket")
            .field("length", &self.length())
            .field("direction", &self.direction())
            .field("timestamps", &self.timestamps())
            .finish_non_exhaustive()
    }
}
