//! What can be configured, with its defaults and limits. Acts on nothing.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Result};

const OPERATION: &str = "read the monitor's configuration";
/// More sessions than this are refused: each costs a socket.
const MOST_PEERS: usize = 20_000;

/// What a monitor does. Every field may be left out of a TOML file; unknown ones are refused.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Configuration {
    /// Name of this host in what is served. Default: the system's name.
    pub host: Option<String>,
    /// What is served over HTTP.
    pub http: Http,
    /// Correlation of NICs' clocks with the system's.
    pub clocks: Clocks,
    /// Send and receive paths of this host.
    pub path: Vec<Path>,
    /// STAMP sessions.
    pub stamp: Vec<Stamp>,
    /// The STAMP reflector; without this table there is none.
    pub reflector: Option<Reflector>,
    /// NTP servers.
    pub ntp: Vec<Ntp>,
    /// PTP clocks that measure.
    pub ptp: Vec<Ptp>,
    /// What is kept on disk; without this table, nothing.
    pub history: Option<History>,
    /// The metrics.
    pub metrics: Metrics,
}

/// What is served over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Http {
    /// Whether anything is served.
    pub enabled: bool,
    /// Address and port. Default: 127.0.0.1:9862.
    pub listen: SocketAddr,
    /// Serve other addresses than loopback: without TLS, so that everybody on the way can read, the token too. A reverse proxy adds TLS.
    pub allow_plaintext: bool,
    /// A file with the token that requests must bear (`Authorization: Bearer TOKEN`).
    pub token_file: Option<PathBuf>,
    /// Connections at a time; more are closed at once. 1 to 1,000.
    pub connections: u16,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: SocketAddr::from(([127, 0, 0, 1], 9862)),
            allow_plaintext: false,
            token_file: None,
            connections: 64,
        }
    }
}

/// Correlation of NICs' clocks with the system's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Clocks {
    /// Whose clocks. Default: all interfaces that have one.
    pub interfaces: Option<Vec<String>>,
    /// TAI minus UTC in seconds.
    pub tai_offset: i32,
}

impl Default for Clocks {
    fn default() -> Self {
        Self {
            interfaces: None,
            tai_offset: 37,
        }
    }
}

/// A send and receive path of this host: packets from it to itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Path {
    /// The loopback interface, or a simulated one.
    pub interface: String,
    /// From one packet to the next; at least 10 ms. Default: 1 s.
    #[serde(default = "one_second", with = "duration")]
    pub interval: Duration,
}

/// A STAMP session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Stamp {
    /// Its name in what is served. Default: the peer.
    #[serde(default)]
    pub name: Option<String>,
    /// The reflector: name or address, and port (862 if none is given).
    pub peer: String,
    /// The interface that packets leave by.
    #[serde(default)]
    pub interface: Option<String>,
    /// From one packet to the next; at least 1 ms. Default: 100 ms.
    #[serde(default = "tenth", with = "duration")]
    pub interval: Duration,
    /// A reply that takes longer is lost. Default: 2 s.
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
}

impl Stamp {
    /// Returns what it is called.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.peer)
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
    /// Addresses to answer on (port 862 if it is 0). Default: those that systemd passes, else all of this host's.
    pub listen: Vec<SocketAddr>,
    /// Answer only packets that are signed with the key in this file.
    pub key_file: Option<PathBuf>,
    /// Replies a second to one source.
    pub rate: u32,
    /// How many sessions there may be.
    pub sessions: u32,
}

impl Default for Reflector {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            key_file: None,
            rate: 10_000,
            sessions: 4_096,
        }
    }
}

/// An NTP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Ntp {
    /// Name or address, and port (123 if none is given).
    pub server: String,
    /// From one request to the next; at least 1 s. Default: 16 s.
    #[serde(default = "sixteen_seconds", with = "duration")]
    pub interval: Duration,
    /// Ask in basic mode alone.
    #[serde(default)]
    pub basic: bool,
    /// How fast the two clocks may drift apart, in parts per million.
    #[serde(default = "five_hundred")]
    pub max_drift_ppm: u32,
}

/// A PTP clock that measures and steers nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Ptp {
    /// The interface of its port.
    pub interface: String,
    /// As in the file of `wirestamp ptp --config`.
    #[serde(default)]
    pub options: wirestamp_ptp::Configuration,
}

/// What is kept on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct History {
    /// A folder of its own.
    pub directory: PathBuf,
    /// Bytes on disk, at most; at least 1 MiB. Default: 256 MiB.
    #[serde(default = "quarter_gigabyte")]
    pub limit_bytes: u64,
}

/// The metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Metrics {
    /// Label sets of one metric, at most; those beyond are left out and counted.
    pub series_limit: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            series_limit: 2_000,
        }
    }
}

impl Configuration {
    /// Reads a TOML text, and checks it.
    ///
    /// # Errors
    /// `InvalidInput`, with line and field.
    pub fn from_toml(text: &str) -> Result<Self> {
        let read: Self = toml::from_str(text).map_err(|error| {
            let cause = error.to_string().trim_end().to_owned();
            invalid(
                "the file",
                cause,
                "see the guide's page \"monitor\" for the fields",
            )
        })?;
        read.check()?;
        Ok(read)
    }

    /// Checks what types do not say.
    ///
    /// # Errors
    /// `InvalidInput`, naming the field.
    pub fn check(&self) -> Result<()> {
        self.check_http()?;
        let mut names = BTreeSet::new();
        for stamp in &self.stamp {
            let field = format!("[[stamp]] {}", stamp.name());
            at_least(&field, "interval", stamp.interval, Duration::from_millis(1))?;
            at_least(&field, "timeout", stamp.timeout, Duration::from_millis(1))?;
            if stamp.clocks == Relation::Utc && stamp.clock_bound.is_none() {
                return Err(invalid(
                    field,
                    "clocks = \"utc\" needs clock_bound".into(),
                    "say how far this host's clock may be from UTC, or leave clocks out",
                ));
            }
            if stamp.dscp >= 64 {
                return Err(invalid(
                    field,
                    format!("dscp = {} is above 63", stamp.dscp),
                    "name one of 0 to 63",
                ));
            }
            if !names.insert(stamp.name()) {
                return Err(invalid(
                    field,
                    "there is another session of this name".into(),
                    "give each a name of its own",
                ));
            }
        }
        if self.stamp.len() > MOST_PEERS {
            let cause = format!(
                "there are {}, and at most {MOST_PEERS} can be",
                self.stamp.len()
            );
            return Err(invalid(
                "[[stamp]]",
                cause,
                "spread them over several monitors",
            ));
        }
        let mut servers = BTreeSet::new();
        for ntp in &self.ntp {
            let field = format!("[[ntp]] {}", ntp.server);
            at_least(&field, "interval", ntp.interval, Duration::from_secs(1))?;
            if !servers.insert(&ntp.server) {
                return Err(invalid(field, "it is named twice".into(), "name it once"));
            }
        }
        for path in &self.path {
            at_least(
                &format!("[[path]] {}", path.interface),
                "interval",
                path.interval,
                Duration::from_millis(10),
            )?;
        }
        for ptp in &self.ptp {
            ptp.options.check()?;
            if ptp.options.clock != wirestamp_ptp::Clock::Measure {
                let cause = "a monitor changes no clock".to_owned();
                return Err(invalid(
                    format!("[[ptp]] {}", ptp.interface),
                    cause,
                    "leave clock out, and steer with wirestamp ptp",
                ));
            }
        }
        match &self.history {
            Some(history) if history.limit_bytes < 1 << 20 => Err(invalid(
                "[history]",
                format!("limit_bytes = {} is below 1 MiB", history.limit_bytes),
                "allow at least 1048576",
            )),
            _ => Ok(()),
        }
    }

    fn check_http(&self) -> Result<()> {
        let http = &self.http;
        if http.enabled && !http.listen.ip().is_loopback() && !http.allow_plaintext {
            let cause = format!(
                "{} is no loopback address, and there is no TLS",
                http.listen
            );
            return Err(invalid(
                "[http] listen",
                cause,
                "name a loopback address and put a reverse proxy with TLS before it, or set allow_plaintext = true",
            ));
        }
        if !(1..=1_000).contains(&http.connections) {
            return Err(invalid(
                "[http] connections",
                format!("{} is not 1 to 1000", http.connections),
                "name a number in this range",
            ));
        }
        Ok(())
    }
}

fn at_least(target: &str, field: &str, value: Duration, least: Duration) -> Result<()> {
    if value >= least {
        return Ok(());
    }
    let shown = humantime::format_duration;
    Err(invalid(
        target,
        format!("{field} = {} is below {}", shown(value), shown(least)),
        "name a longer time",
    ))
}

fn invalid(target: impl Into<String>, cause: String, remedy: &'static str) -> Error {
    Error::new(ErrorKind::InvalidInput, OPERATION, target.into(), cause).with_remedy(remedy)
}

fn tenth() -> Duration {
    Duration::from_millis(100)
}
fn one_second() -> Duration {
    Duration::from_secs(1)
}
fn two_seconds() -> Duration {
    Duration::from_secs(2)
}
fn sixteen_seconds() -> Duration {
    Duration::from_secs(16)
}
fn five_hundred() -> u32 {
    500
}
fn quarter_gigabyte() -> u64 {
    256 << 20
}

/// Times as "100ms".
mod duration {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(*value))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map_err(serde::de::Error::custom)
    }
}

/// The same, if there is one.
mod some_duration {
    use super::{Deserializer, Duration, Serializer, duration};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => duration::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        duration::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Configuration::from_toml(text)
            .expect_err("it is wrong")
            .to_string()
    }

    #[test]
    fn an_empty_file_is_the_default_and_serves_loopback_alone() {
        let read = Configuration::from_toml("").expect("it is right");
        assert_eq!(read, Configuration::default());
        assert!(read.http.enabled && read.http.listen.ip().is_loopback());
        assert!(read.reflector.is_none() && read.ntp.is_empty());
    }

    #[test]
    fn what_is_written_reads_as_the_same() {
        let text = "[[stamp]]\npeer = \"192.0.2.1\"\ninterval = \"10ms\"\nclock_bound = \"1ms\"\nclocks = \"utc\"\n[[ntp]]\nserver = \"192.0.2.2\"\n[reflector]\n[[ptp]]\ninterface = \"eth0\"\n[history]\ndirectory = \"/var/lib/w\"\n";
        let read = Configuration::from_toml(text).expect("it is right");
        assert_eq!(read.stamp[0].interval, Duration::from_millis(10));
        let again = toml::to_string(&read).expect("it can be written");
        assert_eq!(Configuration::from_toml(&again).expect("it is right"), read);
    }

    #[test]
    fn wrong_ones_are_refused_with_field_and_remedy() {
        for (text, part) in [
            ("nonsense = 1", "unknown field"),
            ("[http]\nlisten = \"0.0.0.0:9862\"", "allow_plaintext"),
            (
                "[http]
tls_key = \"k\"",
                "unknown field",
            ),
            (
                "[[stamp]]
peer = \"a\"
clocks = \"utc\"",
                "clock_bound",
            ),
            ("[http]\nconnections = 0", "1 to 1000"),
            ("[[stamp]]\npeer = \"a\"\ninterval = \"1us\"", "below 1ms"),
            ("[[stamp]]\npeer = \"a\"\ninterval = \"soon\"", "line 3"),
            (
                "[[stamp]]\npeer = \"a\"\n[[stamp]]\npeer = \"a\"",
                "another session",
            ),
            ("[[stamp]]\npeer = \"a\"\ndscp = 64", "above 63"),
            ("[[ntp]]\nserver = \"a\"\ninterval = \"10ms\"", "below 1s"),
            (
                "[[ptp]]\ninterface = \"eth0\"\noptions.clock = \"nic\"",
                "changes no clock",
            ),
            ("[history]\ndirectory = \"d\"\nlimit_bytes = 5", "1048576"),
        ] {
            let said = refused(text);
            assert!(said.contains(part), "{text}: {said}");
        }
        assert!(
            Configuration::from_toml("[http]\nlisten = \"0.0.0.0:9862\"\nallow_plaintext = true")
                .is_ok()
        );
    }
}
