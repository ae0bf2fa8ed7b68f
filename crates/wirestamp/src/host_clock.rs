//! Conversion of a packet's timestamps to this host's clocks: which timestamp is used, its time,
//! and whether that is final.

use crate::correlator::Correlator;
use std::sync::Arc;
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::correlate::{ClockGeneration, ConversionError, Estimate};
use wirestamp_core::time::{Bounded, Monotonic, RealTimeClock, Utc, UtcCrossTimestamp};
use wirestamp_core::timestamp::{HardwareTimestamp, SoftwareTimestamp, Timestamps};

/// Which of a packet's timestamps to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimestampPolicy {
    /// The NIC's only. A packet without one has no time.
    OnlyHardware,
    /// The NIC's, or the kernel's if the NIC made none or its timestamp cannot be converted.
    HardwareElseSoftware,
    /// The kernel's only. A packet without one has no time.
    OnlySoftware,
}

/// A converter of packet timestamps, from the NIC or the kernel, to this host's clocks.
///
/// The kernel's timestamps are on the monotonic clock already. The NIC's must be converted, and
/// another program may have stepped or adjusted the NIC's clock just before. The time that
/// [`place`](Self::place) returns is therefore *provisional* until the third batch of cross
/// timestamps after it shows that the clock still runs as before. Call [`place`](Self::place) again
/// once [`is_confirmed`](Self::is_confirmed) returns true, or at once after
/// [`confirm`](Self::confirm): the result is then *final*. If the clock was changed, it is another
/// time or an error.
///
/// ```
/// # #[cfg(feature = "sim")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use std::time::Duration;
/// use wirestamp::{
///     CorrelatorOptions, HardwareRequest, HostClock, Interface, Source, TimestampPolicy, Timestamping, TransmitOutcome,
/// };
///
/// let nic = Interface::find("sim0")?;
/// let _on = nic.enable_hardware(HardwareRequest::AllPackets)?;
/// let correlator = nic.correlator(CorrelatorOptions::default())?;
/// correlator.wait_until_ready(Duration::from_secs(1))?;
/// let clock = HostClock::hardware(Arc::new(correlator));
///
/// let socket = nic.bind((nic.description().addresses[0].address, 0).into())?;
/// socket.configure(Timestamping::new().transmit(64).source(Source::Hardware))?;
/// let to = (nic.description().addresses[0].address, 9);
/// if let TransmitOutcome::Timestamped(timestamps) =
///     socket.send_to_timestamped(b"when?", to, Duration::from_secs(1))?
/// {
///     clock.confirm(&timestamps)?;
///     let left = clock.place(&timestamps, TimestampPolicy::OnlyHardware)?;
///     assert!(left.is_final);
///     println!("left at {}", left.monotonic);
/// }
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "sim"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, Default)]
pub struct HostClock {
    correlator: Option<Arc<Correlator>>,
    /// The correlators of further NICs.
    others: Vec<Arc<Correlator>>,
}

/// The time at which a packet was timestamped, on this host's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostTime {
    /// The time on the monotonic clock, with its error bound and the generation of the clock that
    /// made the timestamp. The kernel's timestamps have generation 0.
    pub monotonic: Estimate<Monotonic>,
    /// Whether the NIC or the kernel made the timestamp.
    pub source: TimestampSource,
    /// Whether the time is final. If `false`, a change of the NIC's clock may still invalidate it.
    pub is_final: bool,
    /// The timestamp that it was converted from.
    made: Made,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Software(SoftwareTimestamp),
    Hardware(HardwareTimestamp),
}

impl HostClock {
    /// Creates a converter for the kernel's timestamps only.
    pub fn software() -> Self {
        Self::default()
    }

    /// Creates a converter for the timestamps of the correlator's NIC and of the kernel.
    pub fn hardware(correlator: Arc<Correlator>) -> Self {
        Self {
            correlator: Some(correlator),
            others: Vec::new(),
        }
    }

    /// Creates a converter for the timestamps of several NICs, each by the clock of the NIC that
    /// made it: for sockets on a bridge, or bound to no interface. [`correlator`](Self::correlator)
    /// returns the first correlator. Without any, the result is [`software`](Self::software).
    ///
    /// Linux reports the NIC of each packet (see [`HardwareTimestamp::interface`]). A timestamp of
    /// a NIC that is not among these fails with [`ConversionError::OtherClock`], one whose NIC is
    /// not reported with [`ConversionError::UnknownDevice`].
    pub fn hardware_of(correlators: impl IntoIterator<Item = Arc<Correlator>>) -> Self {
        let mut all = correlators.into_iter();
        Self {
            correlator: all.next(),
            others: all.collect(),
        }
    }

    /// Returns whether it converts a NIC's timestamps.
    pub fn has_hardware(&self) -> bool {
        self.correlator.is_some()
    }

    /// Returns the correlator that converts the NIC's timestamps.
    pub fn correlator(&self) -> Option<&Correlator> {
        self.correlator.as_deref()
    }

    /// Converts a packet's timestamp to the monotonic clock.
    ///
    /// # Errors
    /// [`ConversionError::NoTimestamp`] if the packet has none that the policy allows; for a NIC's
    /// timestamp also as [`Correlator::to_monotonic`].
    #[inline]
    pub fn place(
        &self,
        timestamps: &Timestamps,
        policy: TimestampPolicy,
    ) -> Result<HostTime, ConversionError> {
        let software = || {
            let timestamp = timestamps.software.as_ref();
            timestamp
                .map(HostTime::software)
                .ok_or(ConversionError::NoTimestamp)
        };
        match policy {
            TimestampPolicy::OnlyHardware => self.of_hardware(timestamps),
            TimestampPolicy::HardwareElseSoftware => self
                .of_hardware(timestamps)
                .or_else(|error| software().map_err(|_| error)),
            TimestampPolicy::OnlySoftware => software(),
        }
    }

    /// Returns whether [`place`](Self::place) gives a final time for these timestamps: the NIC made
    /// none of them, or three batches of cross timestamps began after they were read.
    #[inline]
    pub fn is_confirmed(&self, timestamps: &Timestamps) -> bool {
        let Some(hardware) = &timestamps.hardware else {
            return true;
        };
        self.of(hardware)
            .is_none_or(|correlator| correlator.has_confirmed(hardware.read_at))
    }

    /// Returns whether a provisional time from [`place`](Self::place) turned out to be right:
    /// `None` while that is unknown, `Some(false)` if the NIC's clock was changed around it, or may
    /// have been. With `Some(true)` its error bound holds, and it need not be converted again.
    pub fn bears_out(&self, time: &HostTime) -> Option<bool> {
        match &time.made {
            Made::Hardware(hardware) if !time.is_final => {
                let Some(correlator) = self.of(hardware) else {
                    return Some(true);
                };
                correlator
                    .has_confirmed(hardware.read_at)
                    .then(|| correlator.bears_out(hardware, &time.monotonic))
            }
            _ => Some(true),
        }
    }

    /// Makes the next [`place`](Self::place) of these timestamps final: takes the missing batches
    /// of cross timestamps, and waits between them for a quarter of the correlator's usual
    /// interval.
    ///
    /// # Errors
    /// `InvalidInput` for a timestamp that was read later than now; as
    /// [`Interface::hardware_clock`](crate::Interface::hardware_clock) if the NIC's clock cannot be
    /// read.
    pub fn confirm(&self, timestamps: &Timestamps) -> wirestamp_core::Result<()> {
        let Some(hardware) = &timestamps.hardware else {
            return Ok(());
        };
        self.of(hardware)
            .map_or(Ok(()), |correlator| correlator.confirm(hardware.read_at))
    }

    /// Converts a time that [`place`](Self::place) returned to UTC, as the system's real-time clock
    /// showed it then.
    ///
    /// A kernel timestamp that carries UTC (Linux) is returned with an error bound of zero: it is
    /// the time that the clock showed, even if the clock was stepped since. If it carries none
    /// (Windows), `both` is called to read the real-time and the monotonic clock, as
    /// [`Socket::utc_cross_timestamp`](crate::socket::Socket::utc_cross_timestamp) does; the error
    /// bound contains a slew of the real-time clock since the timestamp.
    ///
    /// # Errors
    /// [`ConversionError::UtcUnknown`] if the real-time clock was stepped around that time.
    pub fn utc(
        &self,
        time: &HostTime,
        both: impl FnOnce() -> UtcCrossTimestamp,
    ) -> Result<Estimate<Utc>, ConversionError> {
        match &time.made {
            Made::Software(software) => Ok(software_utc(software, both)),
            Made::Hardware(_) => self.hardware_utc(time),
        }
    }

    /// Converts a time that comes from a NIC's timestamp to UTC.
    pub(crate) fn hardware_utc(&self, time: &HostTime) -> Result<Estimate<Utc>, ConversionError> {
        let Made::Hardware(hardware) = &time.made else {
            return Err(ConversionError::NotReady);
        };
        let correlator = self.of(hardware).ok_or(ConversionError::NotReady)?;
        correlator.utc_of(&time.monotonic, hardware.read_at)
    }

    /// The correlator for a timestamp: of several, that of the NIC that made it.
    #[inline]
    fn of(&self, hardware: &HardwareTimestamp) -> Option<&Correlator> {
        let first = self.correlator()?;
        if self.others.is_empty() {
            return Some(first);
        }
        Some(self.among_several(first, hardware))
    }

    fn among_several<'a>(
        &'a self,
        first: &'a Correlator,
        hardware: &HardwareTimestamp,
    ) -> &'a Correlator {
        let is_of =
            |one: &&Correlator| one.to_monotonic(hardware) != Err(ConversionError::OtherClock);
        let mut others = self.others.iter().map(Arc::as_ref);
        let found = Some(first).filter(is_of).or_else(|| others.find(is_of));
        found.unwrap_or(first)
    }

    #[inline]
    fn of_hardware(&self, timestamps: &Timestamps) -> Result<HostTime, ConversionError> {
        let hardware = timestamps
            .hardware
            .as_ref()
            .ok_or(ConversionError::NoTimestamp)?;
        let correlator = self.of(hardware).ok_or(ConversionError::NotReady)?;
        // in this order, so that the conversion uses the cross timestamps that make it final
        let is_final = correlator.has_confirmed(hardware.read_at);
        Ok(HostTime {
            monotonic: correlator.to_monotonic(hardware)?,
            source: TimestampSource::Hardware,
            is_final,
            made: Made::Hardware(*hardware),
        })
    }
}

impl HostTime {
    fn software(timestamp: &SoftwareTimestamp) -> Self {
        Self {
            monotonic: Estimate {
                at: timestamp.at,
                generation: ClockGeneration(0),
            },
            source: TimestampSource::Software,
            is_final: true,
            made: Made::Software(*timestamp),
        }
    }

    /// Returns the kernel's timestamp, if the time comes from it.
    pub fn software_timestamp(&self) -> Option<&SoftwareTimestamp> {
        match &self.made {
            Made::Software(timestamp) => Some(timestamp),
            Made::Hardware(_) => None,
        }
    }

    /// Returns the NIC's timestamp, if the time comes from it.
    pub fn hardware_timestamp(&self) -> Option<&HardwareTimestamp> {
        match &self.made {
            Made::Software(_) => None,
            Made::Hardware(timestamp) => Some(timestamp),
        }
    }
}

fn software_utc(
    timestamp: &SoftwareTimestamp,
    both: impl FnOnce() -> UtcCrossTimestamp,
) -> Estimate<Utc> {
    let at = match timestamp.utc {
        Some(utc) => Bounded::exact(utc),
        // systems whose timestamps carry no UTC have Windows' clocks
        None => RealTimeClock::ANY.utc_at(timestamp.at, &both()),
    };
    Estimate {
        at,
        generation: ClockGeneration(0),
    }
}
