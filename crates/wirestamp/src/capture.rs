//! Captures: the packets that pass an interface, whoever they are for, with the timestamps, the clock and the error bound of
//! each.

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

/// A capture of the packets that an interface receives and sends, whoever they are for.
///
/// [`Interface::capture`] opens one. The kernel writes packets into a ring of blocks that it shares with the program; a
/// [`CaptureBlock`] lends them out of it, without a copy, until it is dropped. Packets that come while all blocks are full are
/// dropped by the kernel, and counted: [`statistics`](Self::statistics).
///
/// Packets carry the kernel's timestamp. With [`Source::Hardware`] they carry the NIC's where it made one
/// (most make one for each packet only after [`enable_hardware`](Interface::enable_hardware) with
/// [`AllPackets`](crate::HardwareRequest::AllPackets), and only for received ones); the others keep the kernel's.
///
/// Needs Linux and the privilege CAP_NET_RAW. Simulated interfaces can be captured everywhere; they have no filters.
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

/// Packets that arrived together, lent out of a [`Capture`]'s ring. Dropping it gives their memory back to the kernel.
pub struct CaptureBlock<'a> {
    inner: inner::Block<'a>,
    clock: &'a HostClock,
    /// Whether the NIC's clock was read since they were read, as far as it matters.
    is_confirmed: bool,
}

/// A captured packet, as long as its [`CaptureBlock`] is there.
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

    /// Returns what each packet begins with.
    pub fn link_type(&self) -> LinkType {
        self.inner.link_type()
    }

    /// Waits for packets; `None` if none came until then. The kernel hands them over when a block is full, or after
    /// [`CaptureOptions::hold`].
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone or was switched off: once, after the packets that came before; `Io`.
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

    /// Returns what was received and dropped since the capture was opened.
    ///
    /// # Errors
    /// `Io` if the system can't tell.
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

/// For the NIC's timestamps, if they are asked for.
fn clock(interface: &Interface, options: &CaptureOptions) -> Result<HostClock> {
    if options.source == Source::Software {
        return Ok(HostClock::software());
    }
    let correlator = interface.correlator(CorrelatorOptions::default())?;
    Ok(HostClock::hardware(Arc::new(correlator)))
}

impl CaptureBlock<'_> {
    /// Returns the packets, in the order in which they came.
    #[inline]
    pub fn packets(&self) -> impl Iterator<Item = CapturedPacket<'_>> {
        let (clock, is_confirmed) = (self.clock, self.is_confirmed);
        self.inner.packets().map(move |inner| CapturedPacket {
            inner,
            clock,
            is_confirmed,
        })
    }

    /// Returns how many packets there are.
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
    /// Returns what was captured of it, at most as much as the snap length. A VLAN tag is not part of it: [`vlan`](Self::vlan) has it.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        self.inner.data()
    }

    /// Returns how many bytes it had on the wire, without a VLAN tag.
    #[inline]
    pub fn length(&self) -> u32 {
        self.inner.length()
    }

    /// Returns the VLAN tag that the packet had, behind the tag's type (0x8100 or 0x88a8).
    #[inline]
    pub fn vlan(&self) -> Option<(u16, VlanTag)> {
        self.inner.vlan()
    }

    /// Returns which way it went. On loopback, each packet is captured twice: sent, and received.
    #[inline]
    pub fn direction(&self) -> CapturedDirection {
        self.inner.direction()
    }

    /// Returns its timestamp: the NIC's, or else the kernel's. Neither: the kernel's was made around a step of the real-time
    /// clock.
    #[inline]
    pub fn timestamps(&self) -> Timestamps {
        self.inner.timestamps()
    }

    /// Returns the kernel's timestamp as it stands in the ring: what the real-time clock showed, unchecked. `None` if the NIC made the
    /// timestamp.
    #[inline]
    pub fn kernel_time(&self) -> Option<UtcTime> {
        self.inner.time().filter(|_| !self.inner.is_hardware())
    }

    /// Returns whose clock timestamped it.
    #[inline]
    pub fn clock(&self) -> TimestampSource {
        if self.inner.is_hardware() {
            TimestampSource::Hardware
        } else {
            TimestampSource::Software
        }
    }

    /// Returns when it was captured, in UTC as the system's real-time clock shows it, with an error bound and the generation of
    /// the clock that made the timestamp.
    ///
    /// A timestamp of the kernel is one of the real-time clock; its bound is one tick, 1 ns, and its generation counts that
    /// clock's steps. A timestamp of the NIC is converted as by [`Correlator::to_utc`](crate::Correlator::to_utc), with a
    /// cross timestamp that was taken after the packet. How far the real-time clock is from UTC is not part of either: [`utc_error_bound`](crate::clock::utc_error_bound).
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
    /// Returns which uninterrupted run of the real-time clock [`utc`](Self::utc) is of: the number of steps that were noticed before it,
    /// since the capture began. The difference of two times in UTC is a time that passed only if both are of one run.
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
