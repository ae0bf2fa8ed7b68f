//! What can be configured, with its defaults, profiles and limits. Acts on nothing.

use crate::trust::{Trust, clock_identity};
use serde::{Deserialize, Serialize};
use wirestamp::{Error, ErrorKind, Interface, Result};

const OPERATION: &str = "read the PTP configuration";

/// A PTP clock: one port makes it an ordinary clock, several a boundary clock.
///
/// Every field may be left out of a TOML file; an unknown one is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "PtpOptions"))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Configuration {
    /// Names of the interfaces, each a port; interfaces on the command line replace them. A monitor ignores them: its port is at the `interface` of its table.
    pub interfaces: Vec<String>,
    /// Whether the clock may become a timeTransmitter.
    pub role: Role,
    /// What carries the messages.
    pub transport: Transport,
    /// The transports of single interfaces, such as `eth1=ethernet`. The others have `transport`.
    pub transports: Vec<String>,
    /// `domainNumber`.
    pub domain: u8,
    /// `priority1`: lower wins.
    pub priority1: u8,
    /// `priority2`: lower wins, after the clock's quality.
    pub priority2: u8,
    /// `clockClass` that is announced as grandmaster, by which other clocks choose. This clock's own choice always
    /// assumes class 248.
    pub clock_class: u8,
    /// `clockAccuracy` that is announced as grandmaster; 254: unknown.
    pub clock_accuracy: u8,
    /// The mechanism that measures the path delay: to the timeTransmitter, or to the neighbour.
    pub delay_mechanism: DelayMechanism,
    /// Time between two Announces in seconds, as a power of two.
    #[cfg_attr(feature = "schema", schemars(range(min = -7, max = 6)))]
    pub log_announce_interval: i8,
    /// Time between two Syncs in seconds, as a power of two.
    #[cfg_attr(feature = "schema", schemars(range(min = -7, max = 6)))]
    pub log_sync_interval: i8,
    /// Mean time between delay requests in seconds, as a power of two; a timeTransmitter can ask for fewer.
    #[cfg_attr(feature = "schema", schemars(range(min = -7, max = 6)))]
    pub log_delay_interval: i8,
    /// The announce receipt timeout: number of announce intervals without a message.
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 10)))]
    pub announce_timeout: u8,
    /// The source of the timestamps; `auto`: the NIC if its PTP verdict says so and its clock can be read, else the
    /// system.
    pub source: Source,
    /// Switch the NIC's hardware timestamping on while this runs (all programs see it).
    pub enable_hardware: bool,
    /// The timescale that is announced as grandmaster: PTP time (TAI), or an arbitrary one.
    pub timescale: Timescale,
    /// TAI minus UTC in seconds. It is announced, and used if a timeTransmitter announces none.
    pub utc_offset: i16,
    /// Announce the offset as valid (`currentUtcOffsetValid`).
    pub utc_valid: bool,
    /// Announce `timeTraceable`.
    pub time_traceable: bool,
    /// Announce `frequencyTraceable`.
    pub frequency_traceable: bool,
    /// The number of routers that multicast passes (TTL); peer messages pass none.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub hops: u8,
    /// Minor version in messages: 0 (IEEE 1588-2008) or 1 (2019).
    #[cfg_attr(feature = "schema", schemars(range(max = 1)))]
    pub minor_version: u8,
    /// How much longer the delay from the timeTransmitter is than the mean of both directions, in nanoseconds.
    pub delay_asymmetry_ns: i64,
    /// The least delay of any packet, in nanoseconds. A larger value narrows the error bound; a cable takes about 5 ns
    /// a metre.
    pub least_delay_ns: u32,
    /// The largest error of the other side's timestamps, in nanoseconds.
    pub transmitter_resolution_ns: u32,
    /// The largest frequency offset between the two clocks, in parts per million. Error bounds depend on it.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub max_drift_ppm: u32,
    /// The largest change of the frequency offset in a second, in parts per billion. Error bounds depend on it; a
    /// timeTransmitter that is corrected quickly needs more.
    #[cfg_attr(feature = "schema", schemars(range(max = 1000000)))]
    pub wander_ppb: u32,
    /// The clock to steer. A monitor steers none.
    pub clock: Clock,
    /// Limits of steering. A monitor steers no clock.
    pub steering: Steering,
    /// `clockIdentity`, 16 hexadecimal digits. Default: made from the interface.
    #[cfg_attr(feature = "schema", schemars(example = &"001122.fffe.334455"))]
    pub identity: Option<String>,
    /// The timeTransmitters that a clock accepts.
    pub trust: Trust,
}

/// The roles that a clock may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum Role {
    /// Never: it only receives.
    #[default]
    TimeReceiver,
    /// If no better timeTransmitter is there.
    TimeTransmitter,
}

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum Transport {
    /// IPv4: 224.0.1.129 and 224.0.0.107.
    #[default]
    Udp4,
    /// IPv6: ff0e::181 and ff02::6b.
    Udp6,
    /// Ethernet frames (IEEE 802.3): 01-1B-19-00-00-00 and 01-80-C2-00-00-0E. Linux only.
    Ethernet,
}

/// The mechanism that measures the path delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum DelayMechanism {
    /// To the timeTransmitter.
    #[default]
    E2e,
    /// To the neighbour.
    P2p,
}

/// The source of the timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum Source {
    /// The NIC's if its PTP verdict says so and its clock can be read, else the system's.
    #[default]
    Auto,
    /// The system clock's.
    Software,
    /// The NIC's.
    Hardware,
}

/// The timescale of a grandmaster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum Timescale {
    /// PTP time with the NIC's timestamps; with the system's, which are UTC, arbitrary.
    #[default]
    Auto,
    /// PTP time: timestamps of the system clock are converted with `utc_offset`.
    Ptp,
    /// As the timestamps are.
    Arbitrary,
}

/// The clock that is steered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum Clock {
    /// None: nothing is changed.
    #[default]
    Measure,
    /// The NIC's.
    Nic,
    /// The system's.
    System,
}

/// When and how far a clock is moved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Steering {
    /// At the start, an offset beyond this is stepped, in nanoseconds.
    pub first_step_ns: u64,
    /// Later, an offset beyond this is stepped, in nanoseconds; 0: never.
    pub step_ns: u64,
    /// The largest frequency change of a correction, in parts per million. Default: 500, or the clock's own limit if
    /// that is less.
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = 100000), example = 500)
    )]
    pub slew_limit_ppm: Option<u32>,
    /// At the start, an offset beyond this is not followed, in nanoseconds; 0: no limit.
    pub max_first_step_ns: u64,
    /// Later, an offset beyond this is not followed, in nanoseconds; 0: no limit.
    pub max_step_ns: u64,
    /// When such an offset ends steering, continue to measure instead of ending the program.
    pub keep_measuring: bool,
}

impl Default for Steering {
    fn default() -> Self {
        Self {
            first_step_ns: 20_000,
            step_ns: 0,
            slew_limit_ppm: None,
            max_first_step_ns: 1_000_000_000_000,
            max_step_ns: 1_000_000_000,
            keep_measuring: false,
        }
    }
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            role: Role::default(),
            transport: Transport::default(),
            transports: Vec::new(),
            domain: 0,
            priority1: 128,
            priority2: 128,
            clock_class: 248,
            clock_accuracy: 0xfe,
            delay_mechanism: DelayMechanism::default(),
            log_announce_interval: 1,
            log_sync_interval: 0,
            log_delay_interval: 0,
            announce_timeout: 3,
            source: Source::default(),
            enable_hardware: false,
            timescale: Timescale::default(),
            utc_offset: 37,
            utc_valid: false,
            time_traceable: false,
            frequency_traceable: false,
            hops: 1,
            minor_version: 0,
            delay_asymmetry_ns: 0,
            least_delay_ns: 0,
            transmitter_resolution_ns: 20,
            max_drift_ppm: 200,
            wander_ppb: 30,
            clock: Clock::default(),
            steering: Steering::default(),
            identity: None,
            trust: Trust::default(),
        }
    }
}

/// What a profile changes, by name.
type Change = fn(&mut Configuration);

/// Names, one-line descriptions and changes of the profiles.
const PROFILES: [(&str, &str, Change); 2] = [
    ("default", "IEEE 1588 default profile", |_| {}),
    (
        "w32time",
        "what the Windows Time service demands: PTP timescale and valid UTC offset announced",
        |chosen| {
            chosen.timescale = Timescale::Ptp;
            chosen.utc_valid = true;
        },
    ),
];

impl Configuration {
    /// The defaults of a profile: `default`, or `w32time`.
    ///
    /// # Errors
    /// `InvalidInput` for another name.
    pub fn profile(name: &str) -> Result<Self> {
        let mut configuration = Self::default();
        configuration.apply_profile(name)?;
        Ok(configuration)
    }

    /// Makes the changes of a profile.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name.
    pub fn apply_profile(&mut self, name: &str) -> Result<()> {
        let Some((_, _, change)) = PROFILES.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<_> = PROFILES.iter().map(|(name, ..)| *name).collect();
            return Err(Error::new(
                ErrorKind::InvalidInput,
                OPERATION,
                format!("profile {name}"),
                "there is none",
            )
            .with_remedy(format!("choose one of: {}", known.join(", "))));
        };
        change(self);
        Ok(())
    }

    /// Names and one-line descriptions of the profiles.
    pub fn profiles() -> impl Iterator<Item = (&'static str, &'static str)> {
        PROFILES
            .iter()
            .map(|(name, description, _)| (*name, *description))
    }

    /// Reads a TOML document.
    ///
    /// # Errors
    /// `InvalidInput`, with line and field.
    pub fn from_toml(text: &str) -> Result<Self> {
        let read: Self = toml::from_str(text).map_err(|error| {
            Error::new(
                ErrorKind::InvalidInput,
                OPERATION,
                "TOML",
                error.to_string().trim().to_owned(),
            )
        })?;
        read.check()?;
        Ok(read)
    }

    /// Checks that every value is within what PTP and this program allow.
    ///
    /// # Errors
    /// `InvalidInput`, naming the first field that is not.
    pub fn check(&self) -> Result<()> {
        let intervals = [
            ("log_announce_interval", self.log_announce_interval),
            ("log_sync_interval", self.log_sync_interval),
            ("log_delay_interval", self.log_delay_interval),
        ];
        for (field, value) in intervals {
            if !(-7..=6).contains(&value) {
                return Err(refused(
                    field,
                    value,
                    "-7 (128 a second) to 6 (every 64 seconds)",
                ));
            }
        }
        if !(2..=10).contains(&self.announce_timeout) {
            return Err(refused(
                "announce_timeout",
                self.announce_timeout,
                "2 to 10",
            ));
        }
        if self.minor_version > 1 {
            return Err(refused("minor_version", self.minor_version, "0 or 1"));
        }
        if self.hops == 0 {
            return Err(refused("hops", self.hops, "1 to 255"));
        }
        if !(1..=1_000).contains(&self.max_drift_ppm) {
            return Err(refused("max_drift_ppm", self.max_drift_ppm, "1 to 1,000"));
        }
        if self.wander_ppb > 1_000_000 {
            return Err(refused("wander_ppb", self.wander_ppb, "up to 1,000,000"));
        }
        if let Some(limit) = self
            .steering
            .slew_limit_ppm
            .filter(|limit| !(1..=100_000).contains(limit))
        {
            return Err(refused(
                "steering.slew_limit_ppm",
                limit,
                "1 to 100,000, and no more than the clock takes",
            ));
        }
        let (step, most) = (self.steering.step_ns, self.steering.max_step_ns);
        if most > 0 && step > most {
            let cause = format!(
                "offsets beyond {step} ns would be stepped, and those beyond {most} ns are not followed"
            );
            return Err(Error::new(
                ErrorKind::InvalidInput,
                OPERATION,
                "steering.step_ns",
                cause,
            )
            .with_remedy("choose a larger steering.max_step_ns"));
        }
        if self.clock == Clock::System && self.source == Source::Hardware {
            let cause = "clock = \"system\" steers by the system clock's own timestamps";
            return Err(
                Error::new(ErrorKind::InvalidInput, OPERATION, "clock", cause)
                    .with_remedy("choose source = \"software\", or clock = \"nic\""),
            );
        }
        let transports = self.transports.iter();
        transports
            .map(|text| transport_of_one(text))
            .try_for_each(|read| read.map(drop))?;
        if self.has_ethernet_port() {
            self.check_without_addresses()?;
        }
        self.trust.check(self.domain)?;
        if !self.trust.compare_domains.is_empty() && self.delay_mechanism == DelayMechanism::P2p {
            let cause =
                "peer to peer, no message bounds the offset to a clock that is not the neighbour";
            return Err(Error::new(
                ErrorKind::InvalidInput,
                OPERATION,
                "trust.compare_domains",
                cause,
            )
            .with_remedy("choose delay_mechanism = \"e2e\""));
        }
        self.clock_identity().map(drop)
    }

    /// Sets the transport of all interfaces (`ethernet`) or of one (`eth1=ethernet`).
    ///
    /// # Errors
    /// `InvalidInput` for an unknown transport.
    pub fn choose_transport(&mut self, text: &str) -> Result<()> {
        match Transport::named(text) {
            Some(transport) => self.transport = transport,
            None => {
                transport_of_one(text)?;
                self.transports.push(text.to_owned());
            }
        }
        Ok(())
    }

    /// Returns the transport of the port on this interface.
    pub fn transport_of(&self, interface: &str) -> Transport {
        let own = self.own_transports().filter(|(name, _)| *name == interface);
        own.last()
            .map_or(self.transport, |(_, transport)| transport)
    }

    fn own_transports(&self) -> impl Iterator<Item = (&str, Transport)> {
        let each = self.transports.iter();
        each.filter_map(|text| transport_of_one(text).ok())
    }

    /// Whether some port is over Ethernet, whatever the interfaces are.
    fn has_ethernet_port(&self) -> bool {
        let mut own = self.own_transports().peekable();
        match own.peek() {
            None => self.transport == Transport::Ethernet,
            Some(_) => own.any(|(name, _)| self.transport_of(name) == Transport::Ethernet),
        }
    }

    /// Refuses what needs the senders' IP addresses.
    fn check_without_addresses(&self) -> Result<()> {
        if self.trust.addresses.is_empty() {
            return Ok(());
        }
        let (field, cause) = ("trust.addresses", "an Ethernet frame has no IP address");
        Err(Error::new(ErrorKind::InvalidInput, OPERATION, field, cause)
            .with_remedy("name clock identities: trust.timetransmitters"))
    }

    /// Checks that each interface with a transport of its own is among the ports, and that each port has what it
    /// trusts.
    pub(crate) fn check_transports(&self, interfaces: &[Interface]) -> Result<()> {
        let is_port = |name: &str| interfaces.iter().any(|port| port.name() == name);
        let is_ethernet = |port: &Interface| self.transport_of(port.name()) == Transport::Ethernet;
        if interfaces.iter().any(is_ethernet) {
            self.check_without_addresses()?;
        }
        match self.own_transports().find(|(name, _)| !is_port(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let cause = format!("the clock has no port on {name}");
                Err(
                    Error::new(ErrorKind::InvalidInput, OPERATION, "transports", cause)
                        .with_remedy("name the interface as the system names it"),
                )
            }
        }
    }

    /// Whether several sources are compared with each other.
    pub(crate) fn compares(&self) -> bool {
        self.trust.compares() && self.delay_mechanism == DelayMechanism::E2e
    }

    /// The configured clock identity.
    pub(crate) fn clock_identity(&self) -> Result<Option<[u8; 8]>> {
        let Some(text) = &self.identity else {
            return Ok(None);
        };
        clock_identity(text)
            .map(Some)
            .ok_or_else(|| refused("identity", text, "16 hexadecimal digits"))
    }
}

impl Transport {
    fn named(name: &str) -> Option<Self> {
        match name {
            "udp4" => Some(Self::Udp4),
            "udp6" => Some(Self::Udp6),
            "ethernet" => Some(Self::Ethernet),
            _ => None,
        }
    }
}

/// Reads an interface's name and its transport.
fn transport_of_one(text: &str) -> Result<(&str, Transport)> {
    let read = text.rsplit_once('=').and_then(|(interface, name)| {
        let transport = Transport::named(name)?;
        Some((interface, transport))
    });
    read.ok_or_else(|| {
        let cause = format!("{text} is no transport");
        Error::new(ErrorKind::InvalidInput, OPERATION, "transports", cause)
            .with_remedy("write udp4, udp6 or ethernet, for one interface eth1=ethernet")
    })
}

fn refused(field: &'static str, value: impl std::fmt::Display, allowed: &str) -> Error {
    Error::new(
        ErrorKind::InvalidInput,
        OPERATION,
        field,
        format!("{value} is out of range"),
    )
    .with_remedy(format!("allowed: {allowed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_only_what_differs_and_nothing_unknown() {
        let read = Configuration::from_toml(
            "domain = 24\ndelay_mechanism = \"p2p\"\n[steering]\nstep_ns = 5",
        )
        .expect("valid");
        assert_eq!(
            (read.domain, read.delay_mechanism, read.steering.step_ns),
            (24, DelayMechanism::P2p, 5)
        );
        assert_eq!(read.priority1, 128);
        let wrong = Configuration::from_toml("domian = 24").expect_err("unknown");
        assert!(wrong.to_string().contains("domian"), "{wrong}");
        let wrong = Configuration::from_toml("log_sync_interval = 9").expect_err("out of range");
        let said = wrong.to_string();
        assert!(
            said.starts_with("log_sync_interval: ") && said.contains("9 is out of range"),
            "{said}"
        );
    }

    #[test]
    fn an_interface_may_have_a_transport_of_its_own() {
        let read =
            Configuration::from_toml("transport = \"udp6\"\ntransports = [\"eth1=ethernet\"]");
        let mut read = read.expect("valid");
        assert_eq!(read.transport_of("eth0"), Transport::Udp6);
        assert_eq!(read.transport_of("eth1"), Transport::Ethernet);
        let refused = read.check_transports(&[]).expect_err("no such port");
        assert!(refused.to_string().contains("no port on eth1"), "{refused}");
        for (text, all, one) in [
            ("udp4", Transport::Udp4, Transport::Ethernet),
            ("eth1=udp6", Transport::Udp4, Transport::Udp6),
        ] {
            read.choose_transport(text).expect("known");
            let chosen = (read.transport_of("eth0"), read.transport_of("eth1"));
            assert_eq!(chosen, (all, one), "{text}");
        }
        for text in ["eth1", "eth1=udp5", ""] {
            let refused = read.choose_transport(text).expect_err("unknown");
            assert!(refused.remedy().contains("eth1=ethernet"), "{refused}");
            read.transports = vec![text.to_owned()];
            assert_eq!(read.check(), Err(refused));
        }
        let pinned = "transports = [\"eth1=ethernet\"]\n[trust]\naddresses = [\"192.0.2.1\"]";
        let refused = Configuration::from_toml(pinned).expect_err("no address");
        assert!(refused.to_string().contains("no IP address"), "{refused}");
    }

    #[test]
    fn addresses_are_refused_where_a_port_is_over_ethernet() {
        let read = |transports: &str| {
            let trust = "[trust]\naddresses = [\"192.0.2.1\"]";
            Configuration::from_toml(&format!("{transports}\n{trust}"))
        };
        let ethernet = "transport = \"ethernet\"";
        read(ethernet).expect_err("all ports");
        let last = "transports = [\"eth0=ethernet\", \"eth0=udp4\"]";
        read(last).expect("over UDP in the end");
        // each port has a transport of its own, or there is one more
        let chosen = read(&format!("{ethernet}\ntransports = [\"sim0=udp4\"]"));
        let chosen = chosen.expect("perhaps no port over Ethernet");
        let simulation = wirestamp::Simulation::from_toml("preset = \"ideal\"", 7);
        let simulation = simulation.expect("a scenario");
        let ends = ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
        chosen.check_transports(&ends[..1]).expect("over UDP");
        let refused = chosen.check_transports(&ends).expect_err("sim1 has none");
        assert!(refused.to_string().contains("no IP address"), "{refused}");
    }

    #[test]
    fn every_configuration_survives_a_file() {
        let mut configuration = Configuration::profile("w32time").expect("known");
        assert!(configuration.utc_valid && configuration.timescale == Timescale::Ptp);
        configuration.identity = Some("0011.22ff.fe33.4455".into());
        configuration.transports.push("eth1=ethernet".to_owned());
        let text = toml::to_string(&configuration).expect("writes");
        assert_eq!(Configuration::from_toml(&text), Ok(configuration.clone()));
        assert_eq!(
            configuration.clock_identity(),
            Ok(Some([0, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55]))
        );
        let unknown = Configuration::profile("w32").expect_err("unknown");
        assert!(unknown.remedy().contains("default, w32time"), "{unknown}");
    }
}
