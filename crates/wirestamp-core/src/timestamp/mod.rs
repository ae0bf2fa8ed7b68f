//! Timestamps, the datagrams that they belong to, and the outcomes of transmit IDs.
//! Timestamps come from a backend; nothing here reads a socket.
//!
//! A transmit timestamp is an outcome, not an error. Every ID resolves exactly once: to the timestamps
//! or to the reason there are none. Asking for one has five answers ([`TransmitAnswer`]).

mod arrival;
mod by_value;
mod count_rules;
mod counter;
mod delay;
mod matcher;
mod outcome;
mod placement;
mod table;
mod tracker;

pub use arrival::{Arrival, IcmpError, Notice, ReceiveBuffer};
pub use by_value::{ClockWitness, clock_by_value};
pub use count_rules::{CountProbe, CountRules, SendFailure};
pub use counter::{CounterMap, CounterState};
pub use delay::TimestampDelay;
pub use matcher::{Matcher, Refused};
pub use outcome::{
    LateTimestamp, MissingReason, TransmitAnswer, TransmitCounters, TransmitOutcome, TransmitRecord,
};
pub use placement::{Clocks, KernelTime, Placement, RawTimestamps};
pub use tracker::{TransmitTracker, Turn};

use crate::capability::TimestampSource;
use crate::configuration::Source;
use crate::interface::InterfaceIndex;
use crate::time::{Bounded, HardwareTicks, MonotonicTime, UtcTime};
use core::fmt;

/// A transmit ID: the caller's 32-bit name for one sent datagram (`SO_TIMESTAMP_ID`, `SCM_TS_OPT_ID`).
///
/// Unique among the ids of a socket that are still awaited; using each value once in a
/// socket's life is best, because a timestamp can come late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct TransmitId(pub u32);

impl fmt::Display for TransmitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A timestamp made by kernel or driver on the system clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        try_from = "crate::serialized::OfSoftware",
        into = "crate::serialized::OfSoftware"
    )
)]
#[non_exhaustive]
pub struct SoftwareTimestamp {
    /// When, on the monotonic clock. The error bound is what placing the timestamp on that clock cost.
    pub at: Bounded<MonotonicTime>,
    /// The UTC the kernel gave. Populated on: Linux, and the simulator where it is one.
    pub utc: Option<UtcTime>,
    /// Whether the real-time clock was stepped between timestamp and reading; `at` is right
    /// nevertheless, `utc` is on the scale from before the step.
    pub clock_stepped: bool,
}

impl SoftwareTimestamp {
    /// Makes one of the monotonic clock alone.
    pub const fn new(at: Bounded<MonotonicTime>) -> Self {
        Self {
            at,
            utc: None,
            clock_stepped: false,
        }
    }

    /// Adds the UTC that the kernel gave.
    #[must_use]
    pub const fn with_utc(mut self, utc: UtcTime) -> Self {
        self.utc = Some(utc);
        self
    }
}

/// A timestamp made by a NIC on its own clock. Convert it with
/// [`Correlation`](crate::correlate::Correlation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        try_from = "crate::serialized::OfHardware",
        into = "crate::serialized::OfHardware"
    )
)]
pub struct HardwareTimestamp {
    /// The raw counter. Never zero: a zero from a driver means "no timestamp".
    pub ticks: HardwareTicks,
    /// Whose counter: the device that made the timestamp, which can be below the socket's interface. `None` where the system
    /// did not say and the socket is not bound to an interface; such a timestamp can't be converted.
    ///
    /// On Linux, a UDP socket on a bridge, bond, VRF or tunnel, or on no interface, has the kernel name the device of each
    /// packet: a bridge's port, or a bond's member. Of a frame that an Ethernet socket sends, and where the kernel may withhold
    /// packets (`net.core.tstamp_allow_data`), it does not: then a timestamp of a bond names the bond, and one of a bridge none.
    pub interface: Option<InterfaceIndex>,
    /// When the timestamp was fetched from the system: the latest it can have been made. Shows
    /// which run of the counter it belongs to.
    pub read_at: MonotonicTime,
}

/// The timestamps of one packet: none, either, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Timestamps {
    /// On the system clock.
    pub software: Option<SoftwareTimestamp>,
    /// On the NIC's clock.
    pub hardware: Option<HardwareTimestamp>,
}

/// The timestamp of a packet that counts: see [`Timestamps::selected`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectedTimestamp {
    /// The kernel's or driver's.
    Software(SoftwareTimestamp),
    /// The NIC's.
    Hardware(HardwareTimestamp),
}

impl SelectedTimestamp {
    /// Returns whose timestamp it is.
    pub const fn source(&self) -> TimestampSource {
        match self {
            Self::Software(_) => TimestampSource::Software,
            Self::Hardware(_) => TimestampSource::Hardware,
        }
    }
}

impl Timestamps {
    /// No timestamp at all.
    pub const NONE: Self = Self {
        software: None,
        hardware: None,
    };

    /// Makes them of what there is.
    pub const fn new(
        software: Option<SoftwareTimestamp>,
        hardware: Option<HardwareTimestamp>,
    ) -> Self {
        Self { software, hardware }
    }

    /// Returns whether there is no timestamp at all.
    pub const fn is_none(&self) -> bool {
        self.software.is_none() && self.hardware.is_none()
    }

    /// Returns whether there is a timestamp of `source`.
    pub const fn has(&self, source: TimestampSource) -> bool {
        match source {
            TimestampSource::Software => self.software.is_some(),
            TimestampSource::Hardware => self.hardware.is_some(),
        }
    }

    /// Returns the timestamp that counts where a socket was [configured](crate::configuration::Timestamping::source) for
    /// `source`: of [`HardwareElseSoftware`](Source::HardwareElseSoftware) and [`Both`](Source::Both) the NIC's where it
    /// made one.
    ///
    /// `HostClock::place` of the crate `wirestamp` converts it to this host's clocks.
    pub const fn selected(&self, source: Source) -> Option<SelectedTimestamp> {
        match (self.hardware, self.software) {
            (Some(hardware), _) if source.includes(TimestampSource::Hardware) => {
                Some(SelectedTimestamp::Hardware(hardware))
            }
            (_, Some(software)) if source.includes(TimestampSource::Software) => {
                Some(SelectedTimestamp::Software(software))
            }
            _ => None,
        }
    }

    /// Fills what is missing here from `other`; returns whether anything was.
    #[inline]
    pub fn merge(&mut self, other: Self) -> bool {
        let software = self.software.is_none() && other.software.is_some();
        let hardware = self.hardware.is_none() && other.hardware.is_some();
        if software {
            self.software = other.software;
        }
        if hardware {
            self.hardware = other.hardware;
        }
        software || hardware
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timestamp_that_counts_is_that_of_the_source() {
        let software = SoftwareTimestamp {
            at: Bounded::exact(MonotonicTime::from_nanoseconds(1)),
            utc: None,
            clock_stepped: false,
        };
        let hardware = HardwareTimestamp {
            ticks: HardwareTicks::new(2),
            interface: None,
            read_at: MonotonicTime::from_nanoseconds(3),
        };
        let timestamps = |software, hardware| Timestamps { software, hardware };
        let both = timestamps(Some(software), Some(hardware));
        let (kernels, nics) = (
            Some(SelectedTimestamp::Software(software)),
            Some(SelectedTimestamp::Hardware(hardware)),
        );
        for (source, of_both, of_software, of_hardware) in [
            (Source::Software, kernels, kernels, None),
            (Source::Hardware, nics, None, nics),
            (Source::HardwareElseSoftware, nics, kernels, nics),
            (Source::Both, nics, kernels, nics),
        ] {
            assert_eq!(both.selected(source), of_both, "{source:?}");
            let one = timestamps(Some(software), None).selected(source);
            assert_eq!(one, of_software, "{source:?}");
            let one = timestamps(None, Some(hardware)).selected(source);
            assert_eq!(one, of_hardware, "{source:?}");
            assert_eq!(Timestamps::NONE.selected(source), None);
        }
        assert_eq!(
            kernels.map(|one| one.source()),
            Some(TimestampSource::Software)
        );
        assert_eq!(
            nics.map(|one| one.source()),
            Some(TimestampSource::Hardware)
        );
    }
}
