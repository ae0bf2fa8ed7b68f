//! The fields of a scenario file, their defaults and their names. Checks no field against another.
//!
//! Defaults: a Linux machine with two good NICs, with the delays measured on loopback
//! (send to timestamp 0.7 µs, timestamp to timestamp 0.12 µs, timestamp to application 1.2 µs).

use super::action::Event;
use super::length::{Delay, Positive, Probability};
use super::nic::Nic;
use super::traffic::Traffic;
use serde::Deserialize;

/// Whose rules and error numbers the host follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Platform {
    /// Timestamps of both clocks, an error queue, kernel masks.
    #[default]
    Linux,
    /// One timestamp a packet, asked for id by id; configured by driver properties.
    Windows,
}

/// A whole file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Document {
    /// On which preset it stands; read before the rest.
    #[serde(rename = "preset")]
    pub(crate) _preset: Option<String>,
    #[serde(rename = "description")]
    pub(crate) _description: Option<String>,
    pub(crate) platform: Platform,
    /// Whether both NICs are ports of a bridge.
    pub(crate) bridge: bool,
    pub(crate) host: Host,
    /// Both NICs.
    pub(crate) nic: Nic,
    /// Where `sim0` differs; already merged with `nic` when it is used.
    pub(crate) sim0: Option<Nic>,
    /// Where `sim1` differs.
    pub(crate) sim1: Option<Nic>,
    pub(crate) link: Link,
    pub(crate) cost: Cost,
    pub(crate) event: Vec<Event>,
    /// The traffic of other programs.
    pub(crate) traffic: Vec<Traffic>,
}

/// The machine and its system.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Host {
    /// Resolution of both system clocks.
    pub(crate) tick: Positive,
    /// Time since boot when the simulation starts.
    pub(crate) start: Positive,
    /// UTC when the simulation starts, since 1970.
    pub(crate) utc_start_s: u32,
    /// From the first reading of the monotonic clock to that of the real-time clock, where a socket places the
    /// kernel's timestamps, and from there to the second. Neither: the distance is known exactly.
    pub(crate) utc_forward: Delay,
    pub(crate) utc_back: Delay,
    /// How long reading an exact offset takes: so long before its end it was begun.
    pub(crate) utc_held: Positive,
    /// Whether NICs may be configured, clocks opened and low ports bound.
    pub(crate) privileged: bool,
    /// From this port on, no privilege is needed.
    pub(crate) unprivileged_port_start: u16,
    /// Whether sockets can timestamp at all.
    pub(crate) timestamping: bool,
    /// Whether the caller's ids are carried; otherwise the kernel counts.
    pub(crate) carried_ids: bool,
    /// Whether the kernel counts timestamped sends that fail before there is a packet, as Linux
    /// did before 6.9.
    pub(crate) old_count: bool,
    /// How long after the first enabling received packets go without timestamp.
    pub(crate) cold_start: Positive,
    /// Whether configuring a socket waits for that.
    pub(crate) waits_out_cold_start: bool,
    /// Bytes that a socket may hold, waiting timestamps and received datagrams together.
    pub(crate) receive_buffer: u32,
    /// The same where a socket asks for more, to hold the timestamps it shall buffer.
    pub(crate) receive_buffer_limit: u32,
    /// Whether a full queue of timestamps is reported.
    pub(crate) report_overflow: bool,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            tick: Positive::from_nanoseconds(1),
            start: Positive::from_seconds(1_000),
            utc_start_s: 1_750_000_000,
            utc_forward: Delay::constant(0),
            utc_back: Delay::constant(0),
            utc_held: Positive::from_nanoseconds(0),
            privileged: true,
            unprivileged_port_start: 1_024,
            timestamping: true,
            carried_ids: true,
            old_count: false,
            cold_start: Positive::from_nanoseconds(5_000_000),
            waits_out_cold_start: true,
            receive_buffer: 212_992,
            receive_buffer_limit: 1 << 26,
            report_overflow: true,
        }
    }
}

/// The cable between the NICs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Link {
    /// From timestamp point to timestamp point.
    pub(crate) delay: Delay,
    /// Added in the direction from `sim1` to `sim0`.
    pub(crate) asymmetry: Positive,
    pub(crate) lost: Probability,
    pub(crate) duplicated: Probability,
    /// Whether a missing neighbour is reported after three seconds.
    pub(crate) report_unreachable: bool,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            delay: Delay::jittery(115, 5),
            asymmetry: Positive::from_nanoseconds(0),
            lost: Probability::default(),
            duplicated: Probability::default(),
            report_unreachable: true,
        }
    }
}

/// The time that calls cost the caller.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cost {
    /// Reading a clock.
    pub(crate) now: Positive,
    /// Sending a datagram, after its software timestamp.
    pub(crate) send: Positive,
    /// Receiving a datagram, or finding none.
    pub(crate) receive: Positive,
    /// Collecting a timestamp, or finding none.
    pub(crate) collect: Positive,
    /// Any other question to the system.
    pub(crate) query: Positive,
}

impl Default for Cost {
    fn default() -> Self {
        Self {
            now: Positive::from_nanoseconds(20),
            send: Positive::from_nanoseconds(150),
            receive: Positive::from_nanoseconds(170),
            collect: Positive::from_nanoseconds(120),
            query: Positive::from_nanoseconds(1_000),
        }
    }
}
