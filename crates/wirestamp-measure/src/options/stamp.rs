//! STAMP sessions and the reflector.

use super::defaults::{tai_offset, tenth, two_seconds};
use super::references::Timestamper;
use crate::times::{duration, some_duration};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use wirestamp_probe::TimestampFormat;

/// A STAMP session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Stamp {
    /// Its name in what is served. Default: the peer.
    #[serde(default)]
    pub name: Option<String>,
    /// What the peer calls itself in its own recordings: its `host`. Default: `name`.
    #[serde(default)]
    pub peer_name: Option<String>,
    /// The reflector: name or address, and port (862 if none is given).
    pub peer: String,
    /// The interface that packets leave by.
    #[serde(default)]
    pub interface: Option<String>,
    /// From one packet to the next; at least 1 ms. Default: 100 ms.
    #[serde(default = "tenth", with = "duration")]
    pub interval: Duration,
    /// A reply that takes longer is lost; 1 ms to 60 s. Default: 2 s.
    #[serde(default = "two_seconds", with = "duration")]
    pub timeout: Duration,
    /// Authenticate with the key in this file.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// How the clocks of both ends are related. Default: nobody knows.
    #[serde(default)]
    pub clocks: Relation,
    /// How far this host's clock is from UTC at most, for as long as the monitor runs: needed if both follow UTC.
    #[serde(default, with = "some_duration")]
    pub clock_bound: Option<Duration>,
    /// Octets of each packet, at least.
    #[serde(default)]
    pub size: u16,
    /// DSCP of the packets.
    #[serde(default)]
    pub dscp: u8,
    /// ECN field of the packets.
    #[serde(default)]
    pub ecn: u8,
    /// Who timestamps the packets; only an interface that is named has a NIC. Default: the kernel.
    #[serde(default)]
    pub source: Timestamper,
    /// The format of the timestamps that are sent.
    #[serde(skip)]
    pub format: TimestampFormat,
    /// TAI − UTC in seconds, for timestamps in PTP format.
    #[serde(skip, default = "tai_offset")]
    pub tai_offset: i32,
    /// A delay that no packet can be faster than, in each direction. Default: 0.
    #[serde(default, with = "duration")]
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
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Reflector {
    /// Addresses to answer on (port 862 if it is 0). Default: those that systemd passes, else all that this host ever has.
    pub listen: Vec<SocketAddr>,
    /// Answer packets of this interface alone; without `listen`, on the addresses that it has when the reflector starts.
    pub interface: Option<String>,
    /// Answer only packets that are signed with the key in this file.
    pub key_file: Option<PathBuf>,
    /// Replies a second to one source.
    pub rate: u32,
    /// How many sessions there may be.
    pub sessions: u32,
    /// Who timestamps the packets; a NIC only those of its interface. Default: the kernel.
    pub source: Timestamper,
    /// Give replies their requests' numbers: losses are not attributed to a direction.
    pub stateless: bool,
    /// Give replies the DSCP that the request asks for.
    pub grant_dscp: bool,
    /// Answer requests that are shorter than replies (TWAMP Light).
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
