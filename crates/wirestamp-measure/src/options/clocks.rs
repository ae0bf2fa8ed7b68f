//! The options of this host's clocks and of paths within it.

use super::defaults::{TAI_OFFSET, one_second};
use super::references::Timestamper;
use crate::times::duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wirestamp::latency::LatencyOptions;

/// Correlation of NICs' clocks with the system's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Clocks {
    /// Interfaces whose clocks are read. Default: all that have a PTP hardware clock.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [["eth0"]])))]
    pub interfaces: Option<Vec<String>>,
    /// TAI minus UTC in seconds.
    pub tai_offset: i32,
}

impl Default for Clocks {
    fn default() -> Self {
        Self {
            interfaces: None,
            tai_offset: TAI_OFFSET,
        }
    }
}

/// Single readings of a NIC's clock, together with the system's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Readings {
    /// Whose clock.
    pub interface: String,
    /// From one reading to the next. Default: 100 ms.
    pub interval: Duration,
    /// How many, those that fail included; `None`: without an end.
    pub count: Option<u32>,
}

impl Readings {
    /// Returns the readings of an interface's clock.
    pub fn of(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            interval: Duration::from_millis(100),
            count: None,
        }
    }
}

/// A send and receive path of this host: packets from it to itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Path {
    /// The loopback interface, or a simulated one.
    #[cfg_attr(feature = "schema", schemars(example = &"lo"))]
    pub interface: String,
    /// Time between two packets; at least 10 ms.
    #[serde(default = "one_second", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::times::Text"))]
    pub interval: Duration,
    /// The source of timestamps: `software` (the kernel), `hardware` (the NIC; hardware timestamping is switched on
    /// while this runs, which needs CAP_NET_ADMIN unless it is on already) or `auto` (the NIC if it timestamps every
    /// packet now, else the kernel).
    #[serde(default)]
    pub source: Timestamper,
    /// Measured once, with these options, in batches that wait themselves: alone in an engine. Its report is
    /// [`Engine::into_latency`](crate::Engine::into_latency). `None`: a packet each interval, for ever.
    #[serde(skip)]
    pub once: Option<LatencyOptions>,
}

impl Path {
    /// Returns the path of an interface.
    pub fn of(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            interval: one_second(),
            source: Timestamper::default(),
            once: None,
        }
    }

    /// Returns the path of an interface that is measured once.
    ///
    /// ```
    /// use wirestamp::Simulation;
    /// use wirestamp::latency::LatencyOptions;
    /// use wirestamp_measure::{Engine, Measurements, Path, Place, Sample};
    ///
    /// # fn main() -> wirestamp::Result<()> {
    /// # let place = Place::Simulation(Simulation::preset("igc", 1)?);
    /// let path = Path::once("sim0", LatencyOptions { count: 100, ..LatencyOptions::default() });
    /// let mut engine = Engine::new(Measurements::default().path(path), place)?;
    /// let mut sink = |_: &Sample<'_>| {};
    /// while !engine.is_over() {
    ///     engine.serve(&engine.moment(), &mut sink);
    /// }
    /// let report = engine.into_latency(&mut sink).remove(0)?;
    /// assert_eq!((report.packets, report.wire.count()), (100, 100));
    /// # Ok(())
    /// # }
    /// ```
    pub fn once(interface: impl Into<String>, options: LatencyOptions) -> Self {
        Self {
            once: Some(options),
            ..Self::of(interface)
        }
    }
}
