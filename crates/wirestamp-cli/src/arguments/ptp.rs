//! What `ptp` takes on the command line, and how it changes a configuration.

use clap::{Args, Subcommand, ValueEnum};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use wirestamp_ptp::{Clock, Configuration, DelayMechanism, Role, Source, Timescale, Transport};

/// The groups of options in the help.
const SIMULATION: &str = "Simulation";
const MESSAGES: &str = "Messages";
const TRANSMIT: &str = "As timeTransmitter";
const TIMESTAMPS: &str = "Timestamps";
const STEER: &str = "Steering";
const TRUST: &str = "Whom to believe";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Ptp {
    #[command(subcommand)]
    pub(crate) action: Option<Action>,
    /// Interfaces: one makes an ordinary clock, several a boundary clock
    #[arg(value_name = "IFACE")]
    pub(crate) interfaces: Vec<String>,
    /// Simulate a PTP network instead, and compare with the true offsets
    ///
    /// `all` runs every scenario, `campaign` many seeded runs of a steered clock.
    #[arg(long, help_heading = SIMULATION, value_name = "SCENARIO", conflicts_with = "interfaces")]
    pub(crate) simulate: Option<String>,
    /// Number of runs of the campaign
    #[arg(long, help_heading = SIMULATION, hide_short_help = true,
        value_name = "N",
        requires = "simulate",
        conflicts_with = "interfaces",
        default_value_t = 5_000
    )]
    pub(crate) runs: u32,
    /// Run only this run of the campaign, and show what happens in it
    #[arg(long, help_heading = SIMULATION, hide_short_help = true,
        value_name = "RUN",
        requires = "simulate",
        conflicts_with = "interfaces"
    )]
    pub(crate) only: Option<u32>,
    /// How long to run [default: until Ctrl-C, as with `ever`]
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = super::time::length)]
    pub(crate) duration: Option<Duration>,
    /// Configuration (TOML); options override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Draw offsets and their error bounds over time into an SVG file
    ///
    /// With --simulate: true errors and stated error bounds.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Write a report for a browser, with plots that can be zoomed
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    pub(crate) html: Option<PathBuf>,
    /// Write the distributions of offset and mean path delay for HdrHistogram's tools and `latency compare`
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FILE",
        conflicts_with = "simulate"
    )]
    pub(crate) histogram: Option<PathBuf>,
    /// Largest offset, error bound included: exit code 8 if the newest is larger
    #[arg(long, value_name = "TIME", conflicts_with = "simulate", value_parser = super::time::with_unit)]
    pub(crate) max_offset: Option<Duration>,
    /// Profile: default, or w32time (PTP timescale, valid UTC offset)
    #[arg(long, help_heading = TRANSMIT, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Act as timeTransmitter if there is no better one
    #[arg(long, help_heading = TRANSMIT)]
    pub(crate) transmit: bool,
    /// Use IPv6 instead of IPv4: --transport udp6
    #[arg(long, help_heading = MESSAGES, hide_short_help = true, conflicts_with = "transport")]
    pub(crate) ipv6: bool,
    /// What carries the messages: udp4, udp6 or ethernet [default: udp4]
    ///
    /// `eth1=ethernet` is for the interface eth1 alone. Can be repeated. Over Ethernet (ptp4l's option -2) it needs
    /// Linux, and root or CAP_NET_RAW.
    #[arg(long, help_heading = MESSAGES, value_name = "TRANSPORT")]
    pub(crate) transport: Vec<String>,
    /// Measure the delay to the neighbour (peer-to-peer), not end-to-end
    #[arg(long, help_heading = MESSAGES)]
    pub(crate) p2p: bool,
    /// Domain number
    #[arg(long, help_heading = MESSAGES, value_name = "N")]
    pub(crate) domain: Option<u8>,
    /// priority1 of this clock: lower wins
    #[arg(long, help_heading = TRANSMIT, hide_short_help = true, value_name = "N")]
    pub(crate) priority1: Option<u8>,
    /// priority2 of this clock: lower wins, compared after the clock's quality
    #[arg(long, help_heading = TRANSMIT, hide_short_help = true, value_name = "N")]
    pub(crate) priority2: Option<u8>,
    /// Announce interval: a power of two of a second
    #[arg(long, help_heading = MESSAGES, hide_short_help = true, value_name = "TIME", value_parser = power_of_two)]
    pub(crate) announce: Option<i8>,
    /// Sync interval: a power of two of a second
    #[arg(long, help_heading = MESSAGES, hide_short_help = true, value_name = "TIME", value_parser = power_of_two)]
    pub(crate) sync: Option<i8>,
    /// Mean interval between delay requests: a power of two of a second
    #[arg(long, help_heading = MESSAGES, hide_short_help = true, value_name = "TIME", value_parser = power_of_two)]
    pub(crate) delay: Option<i8>,
    /// Announce receipt timeout: number of Announce intervals without a message
    #[arg(long, help_heading = MESSAGES, hide_short_help = true, value_name = "N")]
    pub(crate) announce_timeout: Option<u8>,
    /// TAI - UTC in seconds: announced, and used if a timeTransmitter announces none
    #[arg(long, help_heading = TRANSMIT, hide_short_help = true, value_name = "SECONDS")]
    pub(crate) utc_offset: Option<i16>,
    /// Announce that offset as valid
    #[arg(long, help_heading = TRANSMIT, hide_short_help = true)]
    pub(crate) utc_valid: bool,
    /// Announce the time as traceable to a primary reference
    #[arg(long, help_heading = TRANSMIT, hide_short_help = true)]
    pub(crate) time_traceable: bool,
    /// Announce the frequency as traceable to a primary reference
    #[arg(long, help_heading = TRANSMIT, hide_short_help = true)]
    pub(crate) frequency_traceable: bool,
    /// Which time to transmit as grandmaster
    #[arg(long, help_heading = TRANSMIT, hide_short_help = true, value_enum, value_name = "TIMESCALE")]
    pub(crate) timescale: Option<AnnouncedTimescale>,
    /// Which timestamps to use
    #[arg(long, help_heading = TIMESTAMPS, value_enum, value_name = "SOURCE")]
    pub(crate) source: Option<super::Source>,
    /// Switch hardware timestamping on meanwhile (needs CAP_NET_ADMIN)
    #[arg(long, help_heading = TIMESTAMPS)]
    pub(crate) enable_hardware: bool,
    /// Steer this clock
    ///
    /// Without it, a clock is changed only if `clock` in --config names one.
    #[arg(long, help_heading = STEER, value_enum, value_name = "CLOCK")]
    pub(crate) steer: Option<Steered>,
    /// At the start, step the steered clock if it is off by more [default: 20us]
    #[arg(long, help_heading = STEER, hide_short_help = true, value_name = "TIME", value_parser = super::time::with_unit)]
    pub(crate) first_step: Option<Duration>,
    /// Later, step the steered clock if it is off by more; 0: never [default: 0]
    #[arg(long, help_heading = STEER, hide_short_help = true, value_name = "TIME", value_parser = super::time::with_unit)]
    pub(crate) step: Option<Duration>,
    /// Largest correction of its frequency, in ppm, beside the learnt frequency [default: 500, or the
    /// clock's limit]
    #[arg(long, help_heading = STEER, hide_short_help = true, value_name = "PPM")]
    pub(crate) slew_limit: Option<u32>,
    /// Do not follow a larger offset, and exit if it lasts for a minute; 0: follow any [default: 1s]
    #[arg(long, help_heading = STEER, hide_short_help = true, value_name = "TIME", value_parser = super::time::with_unit)]
    pub(crate) max_step: Option<Duration>,
    /// At the start, step the clock by any amount, not only by up to 1000 s
    #[arg(long, help_heading = STEER, hide_short_help = true)]
    pub(crate) allow_any_first_step: bool,
    /// Where an offset beyond the limit would end the program, stop steering and keep measuring
    #[arg(long, help_heading = STEER, hide_short_help = true)]
    pub(crate) keep_measuring: bool,
    /// Smallest possible delay of the path: cable takes about 5 ns per metre
    #[arg(long, help_heading = MESSAGES, hide_short_help = true, value_name = "TIME", value_parser = super::time::with_unit)]
    pub(crate) least_delay: Option<Duration>,
    /// Follow only this timeTransmitter: a clock or port identity
    ///
    /// Can be repeated; two or more are compared.
    #[arg(long, help_heading = TRUST, value_name = "IDENTITY")]
    pub(crate) pin: Vec<String>,
    /// With --p2p: a neighbour, such as a transparent clock, that may answer delay requests; can be repeated
    #[arg(long, help_heading = TRUST, hide_short_help = true, value_name = "IDENTITY")]
    pub(crate) pin_neighbour: Vec<String>,
    /// Follow only timeTransmitters with this source address; can be repeated
    #[arg(long, help_heading = TRUST, hide_short_help = true, value_name = "ADDRESS")]
    pub(crate) pin_address: Vec<IpAddr>,
    /// Also compare with this domain; while they disagree, none is followed; can be repeated
    #[arg(long, help_heading = TRUST, hide_short_help = true, value_name = "N")]
    pub(crate) compare_domain: Vec<u8>,
    /// Allowed difference of sources beyond their error bounds [default: 1us]
    #[arg(long, help_heading = TRUST, hide_short_help = true, value_name = "TIME", value_parser = super::time::with_unit)]
    pub(crate) tolerance: Option<Duration>,
    /// Do not drop capabilities and access to files and system calls (Linux; for debugging)
    #[arg(long, hide_short_help = true)]
    pub(crate) no_sandbox: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Ask a running `wirestamp ptp` of this user
    Status {
        /// The first interface of the one to ask, if several run
        #[arg(value_name = "IFACE")]
        interface: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnnouncedTimescale {
    /// PTP timescale with hardware timestamps, arbitrary timescale with software timestamps
    Auto,
    /// PTP timescale
    Ptp,
    /// Arbitrary timescale: the time of the timestamps
    Arbitrary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Steered {
    /// The NIC's clock
    Nic,
    /// The system clock
    System,
}

impl Ptp {
    /// Makes the changes that the options ask for.
    pub(crate) fn change(&self, configuration: &mut Configuration) {
        fn set<T>(field: &mut T, option: Option<T>) {
            if let Some(value) = option {
                *field = value;
            }
        }
        if !self.interfaces.is_empty() {
            configuration.interfaces.clone_from(&self.interfaces);
        }
        set(
            &mut configuration.role,
            self.transmit.then_some(Role::TimeTransmitter),
        );
        set(
            &mut configuration.transport,
            self.ipv6.then_some(Transport::Udp6),
        );
        set(
            &mut configuration.delay_mechanism,
            self.p2p.then_some(DelayMechanism::P2p),
        );
        set(&mut configuration.domain, self.domain);
        set(&mut configuration.priority1, self.priority1);
        set(&mut configuration.priority2, self.priority2);
        set(&mut configuration.log_announce_interval, self.announce);
        set(&mut configuration.log_sync_interval, self.sync);
        set(&mut configuration.log_delay_interval, self.delay);
        set(&mut configuration.announce_timeout, self.announce_timeout);
        set(&mut configuration.utc_offset, self.utc_offset);
        set(&mut configuration.utc_valid, self.utc_valid.then_some(true));
        set(
            &mut configuration.time_traceable,
            self.time_traceable.then_some(true),
        );
        set(
            &mut configuration.frequency_traceable,
            self.frequency_traceable.then_some(true),
        );
        set(
            &mut configuration.timescale,
            self.timescale.map(|timescale| match timescale {
                AnnouncedTimescale::Auto => Timescale::Auto,
                AnnouncedTimescale::Ptp => Timescale::Ptp,
                AnnouncedTimescale::Arbitrary => Timescale::Arbitrary,
            }),
        );
        set(
            &mut configuration.enable_hardware,
            self.enable_hardware.then_some(true),
        );
        set(
            &mut configuration.source,
            self.source.map(|source| match source {
                super::Source::Auto => Source::Auto,
                super::Source::Software => Source::Software,
                super::Source::Hardware => Source::Hardware,
            }),
        );
        set(
            &mut configuration.clock,
            self.steer.map(|steered| match steered {
                Steered::Nic => Clock::Nic,
                Steered::System => Clock::System,
            }),
        );
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        set(
            &mut configuration.steering.first_step_ns,
            self.first_step.map(nanoseconds),
        );
        set(
            &mut configuration.steering.step_ns,
            self.step.map(nanoseconds),
        );
        set(
            &mut configuration.steering.slew_limit_ppm,
            self.slew_limit.map(Some),
        );
        set(
            &mut configuration.steering.max_step_ns,
            self.max_step.map(nanoseconds),
        );
        set(
            &mut configuration.steering.max_first_step_ns,
            self.allow_any_first_step.then_some(0),
        );
        set(
            &mut configuration.steering.keep_measuring,
            self.keep_measuring.then_some(true),
        );
        let least = self
            .least_delay
            .map(|least| u32::try_from(least.as_nanos()).unwrap_or(u32::MAX));
        set(&mut configuration.least_delay_ns, least);
        let trust = &mut configuration.trust;
        trust.timetransmitters.extend_from_slice(&self.pin);
        trust.neighbours.extend_from_slice(&self.pin_neighbour);
        trust.addresses.extend_from_slice(&self.pin_address);
        trust
            .compare_domains
            .extend_from_slice(&self.compare_domain);
        let tolerance = self
            .tolerance
            .map(|time| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX));
        set(&mut trust.tolerance_ns, tolerance);
    }
}

/// `125ms` as -3.
fn power_of_two(text: &str) -> Result<i8, String> {
    let time = super::time::duration(text)?;
    let power =
        (-7..=6).find(|power: &i8| Duration::from_secs_f64(2f64.powi((*power).into())) == time);
    power.ok_or_else(|| {
        "not a power of two of a second: write 125ms, 250ms, 500ms, 1s, 2s, 4s, …".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::power_of_two;

    #[test]
    fn intervals_are_powers_of_two() {
        assert_eq!(power_of_two("125ms"), Ok(-3));
        assert_eq!(power_of_two("1s"), Ok(0));
        assert_eq!(power_of_two("64s"), Ok(6));
        assert!(power_of_two("100ms").is_err_and(|message| message.contains("power of two")));
        assert!(power_of_two("fast").is_err());
    }
}
