//! The options of STAMP sessions and the reflector.

use super::defaults::{tai_offset, tenth, two_seconds};
use super::references::Timestamper;
use crate::address::address;
use crate::times::{duration, some_duration};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use wirestamp_probe::TimestampFormat;

/// A STAMP session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("if" = {"required": ["clocks"], "properties": {"clocks": {"const": "utc"}}}, "then" = {"required": ["clock_bound"]})))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Stamp {
    /// Its name in metrics and snapshots. Default: the peer.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(example = &"db8"))]
    pub name: Option<String>,
    /// The peer's own name in its recordings: its `host`. Default: `name`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(example = &"db8"))]
    pub peer_name: Option<String>,
    /// The reflector: name or address, and port (862 if none is given).
    #[cfg_attr(feature = "schema", schemars(example = &"192.0.2.8"))]
    pub peer: String,
    /// The interface that packets leave by. Default: the system chooses.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(example = &"eth0"))]
    pub interface: Option<String>,
    /// Time between two packets; at least 1 ms.
    #[serde(default = "tenth", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::times::Text"))]
    pub interval: Duration,
    /// A reply that takes longer is lost; 1 ms to 60 s.
    #[serde(default = "two_seconds", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::times::Text"))]
    pub timeout: Duration,
    /// Authenticate with the key in this file: hexadecimal digits.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(example = &"/etc/wirestamp/stamp.key"))]
    pub key_file: Option<PathBuf>,
    /// The relation of both ends' clocks: the `same` clock, both follow `utc`, or `unrelated`. With `unrelated` there
    /// are no one-way delays.
    #[serde(default)]
    pub clocks: Relation,
    /// The largest error of this host's clock against UTC while the monitor runs. Required with `clocks = "utc"`.
    #[serde(default, with = "some_duration")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::times::Text>", example = &"50us"))]
    pub clock_bound: Option<Duration>,
    /// The smallest size of a packet in octets.
    #[serde(default)]
    pub size: u16,
    /// DSCP of the packets.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(max = 63)))]
    pub dscp: u8,
    /// ECN field of the packets.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(max = 3)))]
    pub ecn: u8,
    /// The source of timestamps: `software` (the kernel), `hardware` (the NIC of `interface`; hardware timestamping is
    /// switched on while this runs, which needs CAP_NET_ADMIN unless it is on already) or `auto` (the NIC if it
    /// timestamps every packet now, else the kernel).
    #[serde(default)]
    pub source: Timestamper,
    /// The format of the timestamps that are sent.
    #[serde(skip)]
    pub format: TimestampFormat,
    /// TAI − UTC in seconds, for timestamps in PTP format.
    #[serde(skip, default = "tai_offset")]
    pub tai_offset: i32,
    /// The smallest possible delay in each direction.
    #[serde(default, with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::times::Text"))]
    pub least_delay: Duration,
    /// How many packets are sent, none of them in fragments; then the session is closed, and reports. If both clocks follow UTC and nothing says how exactly,
    /// the kernel is asked. Default: for ever, and what fails is tried again.
    #[serde(skip)]
    pub count: Option<u64>,
}

impl Stamp {
    /// Returns a session with a reflector: name or address, and port (862 if none is given).
    pub fn with(peer: impl Into<String>) -> Self {
        Self {
            name: None,
            peer_name: None,
            peer: peer.into(),
            interface: None,
            interval: tenth(),
            timeout: two_seconds(),
            key_file: None,
            clocks: Relation::default(),
            clock_bound: None,
            size: 0,
            dscp: 0,
            ecn: 0,
            source: Timestamper::default(),
            format: TimestampFormat::default(),
            tai_offset: tai_offset(),
            least_delay: Duration::ZERO,
            count: None,
        }
    }

    /// Returns what it is called.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.peer)
    }

    /// Returns what its peer is called in recordings.
    pub fn peer_name(&self) -> &str {
        self.peer_name.as_deref().unwrap_or(self.name())
    }
}

/// How the clocks of two hosts are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum Relation {
    /// Nobody knows: no delays of one direction.
    #[default]
    Unrelated,
    /// They are one clock: both ends are on this host.
    Same,
    /// Both follow UTC.
    Utc,
}

impl Relation {
    /// Returns its name in configuration and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unrelated => "unrelated",
            Self::Same => "same",
            Self::Utc => "utc",
        }
    }
}

/// The STAMP reflector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Reflector {
    /// Addresses to answer on, `ADDRESS:PORT` (port 862 if there is none, or 0; a
    /// link-local one with its interface: `fe80::1%eth0`). Default: those that systemd passes, else all that
    /// this host has now or later.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [["192.0.2.7:862"]])))]
    #[serde(deserialize_with = "addresses")]
    pub listen: Vec<SocketAddr>,
    /// Answer packets of this interface alone; without `listen`, on the addresses that it has when the reflector starts.
    #[cfg_attr(feature = "schema", schemars(example = &"eth0"))]
    pub interface: Option<String>,
    /// Answer only packets that are signed with the key in this file: hexadecimal digits.
    #[cfg_attr(feature = "schema", schemars(example = &"/etc/wirestamp/stamp.key"))]
    pub key_file: Option<PathBuf>,
    /// Replies a second to one source.
    pub rate: u32,
    /// The largest number of sessions.
    pub sessions: u32,
    /// The source of timestamps: `software` (the kernel), `hardware` (the NIC of `interface`; hardware timestamping is
    /// switched on while this runs, which needs CAP_NET_ADMIN unless it is on already) or `auto` (the NIC if it
    /// timestamps every packet now, else the kernel).
    pub source: Timestamper,
    /// Use the request's sequence number in the reply: losses have no direction, and transmit timestamps are not
    /// reported.
    pub stateless: bool,
    /// Send replies with the DSCP that the request asks for.
    pub grant_dscp: bool,
    /// Answer requests that are shorter than replies (TWAMP Light): replies are up to three times as long.
    pub answer_short: bool,
    /// How far this host's clock is from UTC at most.
    #[serde(skip)]
    pub clock_bound: ClockBound,
    /// The format of the timestamps that are sent.
    #[serde(skip)]
    pub format: TimestampFormat,
    /// TAI − UTC in seconds, for timestamps in PTP format.
    #[serde(skip)]
    pub tai_offset: i32,
    /// The port of addresses that have none. Default: 862.
    #[serde(skip)]
    pub port: u16,
    /// Whether it is all that its program does: it ends when it fails, and all sockets that systemd passes are for it.
    #[serde(skip)]
    pub alone: bool,
}

fn addresses<'de, D: Deserializer<'de>>(read: D) -> Result<Vec<SocketAddr>, D::Error> {
    let texts = Vec::<String>::deserialize(read)?;
    let each = texts.iter().map(|text| address(text, 0));
    each.map(|address| address.map_err(D::Error::custom))
        .collect()
}

/// How far this host's clock is from UTC at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockBound {
    /// As the kernel says, if it does.
    #[default]
    Kernel,
    /// Nobody knows.
    Unknown,
    /// By so much.
    At(Duration),
}

impl Default for Reflector {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            interface: None,
            key_file: None,
            rate: 10_000,
            sessions: 4_096,
            source: Timestamper::default(),
            stateless: false,
            grant_dscp: false,
            answer_short: false,
            clock_bound: ClockBound::default(),
            format: TimestampFormat::default(),
            tai_offset: tai_offset(),
            port: 862,
            alone: false,
        }
    }
}
