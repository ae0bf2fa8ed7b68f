//! `latency --peer`: runs a STAMP session and reports it. Measures nothing itself.

use super::{clock, format, key};
use crate::arguments::{self, Relation};
use crate::exit::Exit;
use crate::failure::{Failure, told};
use crate::output::Output;
use crate::session::Session;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;
use wirestamp::latency::Summary;
use wirestamp::{Error, ErrorKind, Interface, Span, UdpSocket, utc_error_bound};
use wirestamp_probe::endpoint::{Probe, ProbeOptions};
use wirestamp_probe::session::{
    Clocks, DelayVariation, Delays, Losses, Rejected, SessionConfiguration, SessionReport,
};

const OPERATION: &str = "measure latency";
/// Packets a second, if nothing else is said.
const RATE: u32 = 1_000;
/// How often the bar moves.
const STEPS: u64 = 200;

#[derive(Serialize)]
pub(super) struct Measurement {
    pub(super) peer: SocketAddr,
    pub(super) interface: Option<String>,
    pub(super) authenticated: bool,
    pub(super) size_bytes: usize,
    pub(super) rate_pps: u32,
    pub(super) timeout_ns: i64,
    pub(super) packets: u64,
    pub(super) answered: u64,
    pub(super) lost: Lost,
    pub(super) duplicated: Directions,
    pub(super) reordered: Directions,
    pub(super) rejected: BTreeMap<&'static str, u64>,
    pub(super) refused_by_system: u64,
    /// "same", "utc" or "unrelated".
    pub(super) clocks: &'static str,
    /// Why there are no delays of one direction; `None`: there are.
    pub(super) unknown_offset: Option<&'static str>,
    pub(super) round_trip_ns: Figures,
    pub(super) path_delay_ns: Figures,
    pub(super) forward_ns: Figures,
    pub(super) backward_ns: Figures,
    pub(super) residence_ns: Figures,
    /// Until just before sending: where the reflector does not tell when its replies left.
    pub(super) residence_as_written_ns: Figures,
    pub(super) send_path_ns: Figures,
    pub(super) receive_path_ns: Figures,
    pub(super) round_trip_variation: Option<Variation>,
    pub(super) forward_variation: Option<Variation>,
    pub(super) backward_variation: Option<Variation>,
    /// The reflector's clock less ours.
    pub(super) offset_ns: Option<[i64; 2]>,
    pub(super) clock_steps: u64,
    pub(super) contradictions: u64,
    pub(super) missing_transmit_timestamps: u64,
    pub(super) missing_receive_timestamps: u64,
    pub(super) reflector: Reflector,
    pub(super) hops: Hops,
    pub(super) dscp_changed: Directions,
    pub(super) ecn_changed_forward: u64,
    pub(super) interrupted: bool,
}

#[derive(Serialize)]
pub(super) struct Lost {
    pub(super) packets: u64,
    pub(super) forward: Option<u64>,
    pub(super) backward: Option<u64>,
    pub(super) undecided: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct Directions {
    pub(super) forward: u64,
    pub(super) backward: u64,
}

#[derive(Serialize)]
pub(super) struct Hops {
    pub(super) forward: Option<u8>,
    pub(super) backward: Option<u8>,
}

/// What the reflector says of itself. None of it is verified.
#[derive(Serialize)]
pub(super) struct Reflector {
    pub(super) advertised_error_ns: Option<i64>,
    pub(super) synchronized: bool,
    pub(super) format: Option<&'static str>,
    pub(super) clock_source: Option<&'static str>,
    pub(super) receive_method: Option<&'static str>,
    pub(super) extensions: bool,
    pub(super) followed_up: u64,
    pub(super) followed_up_by_hardware: u64,
    pub(super) not_followed_up: u64,
    pub(super) sends_utc_in_ptp_format: bool,
}

#[derive(Serialize)]
pub(super) struct Variation {
    pub(super) jitter_ns: i64,
    pub(super) p50_ns: i64,
    pub(super) p99_ns: i64,
    pub(super) max_ns: i64,
}

/// Nothing measured: null, never 0.
#[derive(Serialize)]
pub(super) struct Figures {
    pub(super) count: u64,
    pub(super) min: Option<i64>,
    pub(super) p50: Option<i64>,
    pub(super) p90: Option<i64>,
    pub(super) p99: Option<i64>,
    pub(super) max: Option<i64>,
    pub(super) error_bound: Option<i64>,
}

pub(in crate::commands) fn run(
    arguments: &arguments::Latency,
    host: &str,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = arguments
        .interface
        .as_deref()
        .map(Interface::find)
        .transpose()?;
    let peer = resolve(host, arguments.ipv6)?;
    let socket = socket(interface.as_ref(), peer)?;
    let (clock, _hardware) = clock(arguments.source, interface.as_ref())?;
    let configuration = configuration(arguments)?;
    let (authenticated, clocks) = (configuration.key.is_some(), configuration.clocks);
    let timeout = configuration.timeout;
    session.listen_to_interrupts();
    let rate = arguments.rate.unwrap_or(RATE);
    let options = ProbeOptions {
        session: configuration,
        count: arguments.count,
        interval: Duration::from_secs(1) / rate,
    };
    let mut probe = Probe::new(socket, peer, clock, options)?;
    let progress = output.progress(arguments.count, "packets");
    let every = (arguments.count / STEPS).max(1);
    while !session.is_interrupted() && probe.step(|_| {})? {
        if probe.sent() % every == 0 {
            progress.set_position(probe.sent());
        }
    }
    progress.finish_and_clear();
    let (sent, refused) = (probe.sent(), probe.refused());
    let unreachable = probe.unreachable().cloned();
    let report = probe.finish(|| !session.is_interrupted(), |_| {})?;
    check_answered(&report, peer, authenticated, unreachable.as_ref())?;
    let mut measurement = Measurement::of(peer, &report, clocks);
    measurement.interface = interface.map(|interface| interface.name().to_owned());
    measurement.authenticated = authenticated;
    measurement.size_bytes = arguments
        .size
        .max(if authenticated { 172 + 20 } else { 104 });
    measurement.rate_pps = rate;
    measurement.timeout_ns = timeout.saturating_nanoseconds();
    measurement.refused_by_system = refused;
    measurement.interrupted = session.is_interrupted() && sent < arguments.count;
    output.report(&measurement)?;
    let lossy = report.losses.lost() > 0;
    Ok(if lossy { Exit::Lossy } else { Exit::Success })
}

fn configuration(arguments: &arguments::Latency) -> Result<SessionConfiguration, Error> {
    let stamp = &arguments.stamp;
    let own = stamp.clock_bound.map(Span::from).or_else(utc_error_bound);
    let clocks = match (stamp.clocks, own) {
        (Relation::Same, _) => Clocks::Same,
        (Relation::Auto | Relation::Utc, Some(bound)) => Clocks::Synchronized(bound),
        (Relation::Utc, None) => {
            let cause = "the kernel does not say that this host's clock is synchronised";
            return Err(invalid("the system clock", cause.to_owned())
                .with_remedy("say how far it may be off with --clock-bound, or synchronise it"));
        }
        (Relation::Auto | Relation::Unrelated, _) => Clocks::Unrelated,
    };
    Ok(SessionConfiguration {
        key: key(stamp.key_file.as_deref())?,
        ssid: ssid(),
        format: format(stamp.format),
        tai_offset: stamp.tai_offset,
        size: arguments.size,
        traffic_class: stamp.dscp << 2 | stamp.ecn,
        reply_dscp: stamp.dscp,
        timeout: arguments.timeout.into(),
        clocks,
        least_delay: stamp.least_delay.into(),
    })
}

/// Not 0, and another one in each run.
fn ssid() -> u16 {
    use std::hash::{BuildHasher, RandomState};
    (RandomState::new().hash_one(0) as u16).max(1)
}

fn resolve(host: &str, ipv6: bool) -> Result<SocketAddr, Error> {
    let (name, port) = arguments::Stamp::port_of(host);
    let found = (name, port)
        .to_socket_addrs()
        .map_err(|error| told(ErrorKind::InvalidInput, "find the peer", host, &error))?;
    let mut found: Vec<_> = found.filter(|address| !ipv6 || address.is_ipv6()).collect();
    if found.is_empty() {
        let cause = "it has no IPv6 address".to_owned();
        return Err(invalid(host, cause).with_remedy("leave --ipv6 out, or name another peer"));
    }
    Ok(found.remove(0))
}

fn socket(interface: Option<&Interface>, peer: SocketAddr) -> Result<UdpSocket, Error> {
    let any: SocketAddr = if peer.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    match interface {
        Some(interface) if interface.description().simulated => {
            let cause = "a simulated NIC reaches no other host".to_owned();
            Err(invalid(interface.name(), cause)
                .with_remedy("leave --peer out, or name an interface of this system"))
        }
        Some(interface) => interface.bind(any),
        None => UdpSocket::bind(any),
    }
}

/// Silence has reasons, and a wrong key is one of them.
fn check_answered(
    report: &SessionReport,
    peer: SocketAddr,
    authenticated: bool,
    unreachable: Option<&Error>,
) -> Result<(), Error> {
    if report.losses.answered > 0 {
        return Ok(());
    }
    let wrong = report.rejected_for(Rejected::WrongHmac);
    let failed =
        |cause: String| Error::new(ErrorKind::Unreachable, OPERATION, peer.to_string(), cause);
    if wrong > 0 {
        let cause = format!("{wrong} replies came, and none is signed with this key");
        return Err(failed(cause).with_remedy("give both ends the same key file"));
    }
    if report.rejected_for(Rejected::Truncated) > 0 && authenticated {
        let cause = "replies came without a signature: the reflector has no key".to_owned();
        return Err(
            failed(cause).with_remedy("give the reflector the key, or leave --key-file out")
        );
    }
    let cause = format!("none of {} packets was answered", report.losses.sent);
    if let Some(error) = unreachable {
        return Err(failed(format!("{cause}: {}", error.cause()))
            .with_remedy("start a STAMP reflector there (wirestamp reflect), or name its port"));
    }
    Err(failed(cause).with_remedy(if authenticated {
        "see that a STAMP reflector runs there with the same key (with another one it is silent), and no firewall drops UDP"
    } else {
        "see that a STAMP reflector runs there (wirestamp reflect) without a key (with one it is silent), and no firewall drops UDP"
    }))
}

fn invalid(target: &str, cause: String) -> Error {
    Error::new(ErrorKind::InvalidInput, OPERATION, target, cause)
}

impl Measurement {
    fn of(peer: SocketAddr, report: &SessionReport, clocks: Clocks) -> Self {
        let Losses { sent, answered, .. } = report.losses;
        let losses = &report.losses;
        let by = losses.by_direction;
        let rejected = Rejected::ALL
            .map(|reason| (reason.name(), report.rejected_for(reason)))
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        Self {
            peer,
            interface: None,
            authenticated: false,
            size_bytes: 0,
            rate_pps: 0,
            timeout_ns: 0,
            packets: sent,
            answered,
            lost: Lost {
                packets: losses.lost(),
                forward: by.map(|by| by.forward),
                backward: by.map(|by| by.backward),
                undecided: by.map(|by| by.undecided),
            },
            duplicated: Directions {
                forward: losses.duplicated_forward,
                backward: losses.duplicated_backward,
            },
            reordered: Directions {
                forward: losses.reordered_forward,
                backward: losses.reordered_backward,
            },
            rejected,
            refused_by_system: 0,
            clocks: match clocks {
                Clocks::Same => "same",
                Clocks::Synchronized(_) => "utc",
                Clocks::Unrelated => "unrelated",
            },
            unknown_offset: unknown_offset(report, clocks),
            round_trip_ns: Figures::of(&report.round_trip),
            path_delay_ns: Figures::of(&report.path_delay),
            forward_ns: Figures::of(&report.forward),
            backward_ns: Figures::of(&report.backward),
            residence_ns: Figures::of(&report.residence),
            residence_as_written_ns: Figures::of(&report.residence_as_written),
            send_path_ns: Figures::of(&report.send_path),
            receive_path_ns: Figures::of(&report.receive_path),
            round_trip_variation: report.round_trip_variation.as_ref().map(Variation::of),
            forward_variation: report.forward_variation.as_ref().map(Variation::of),
            backward_variation: report.backward_variation.as_ref().map(Variation::of),
            offset_ns: report
                .offset
                .map(|offset| [offset.low, offset.high].map(Span::saturating_nanoseconds)),
            clock_steps: report.clock_steps + report.stepped_in_flight,
            contradictions: report.contradictions,
            missing_transmit_timestamps: report.missing_transmit_timestamps,
            missing_receive_timestamps: report.missing_receive_timestamps,
            reflector: Reflector::of(report),
            hops: Hops {
                forward: report.forward_hops,
                backward: report.backward_hops,
            },
            dscp_changed: Directions {
                forward: report.forward_dscp_changed,
                backward: report.backward_dscp_changed,
            },
            ecn_changed_forward: report.forward_ecn_changed,
            interrupted: false,
        }
    }
}

fn unknown_offset(report: &SessionReport, clocks: Clocks) -> Option<&'static str> {
    match clocks {
        _ if report.forward.histogram().is_some() => None,
        _ if report.contradictions > 0 => {
            Some("delays would be negative: the clocks are not related as said")
        }
        Clocks::Synchronized(_) => {
            Some("the reflector does not say that its clock is synchronised")
        }
        Clocks::Unrelated => Some("nothing relates the two clocks"),
        Clocks::Same => Some("timestamps are missing"),
    }
}

impl Reflector {
    fn of(report: &SessionReport) -> Self {
        let information = report.information;
        Self {
            advertised_error_ns: report
                .largest_error_estimate
                .map(Span::saturating_nanoseconds),
            synchronized: report.synchronized > 0,
            format: report
                .reflector_format
                .map(wirestamp_probe::TimestampFormat::name),
            clock_source: information.and_then(|information| Some(information.source_in?.name())),
            receive_method: information.and_then(|information| Some(information.method_in?.name())),
            extensions: report.knows_extensions,
            followed_up: report.followed_up_hardware + report.followed_up_software,
            followed_up_by_hardware: report.followed_up_hardware,
            not_followed_up: report.not_followed_up,
            sends_utc_in_ptp_format: report.sends_utc_in_ptp_format,
        }
    }
}

impl Variation {
    fn of(variation: &DelayVariation) -> Self {
        Self {
            jitter_ns: variation.jitter.saturating_nanoseconds(),
            p50_ns: variation.median.saturating_nanoseconds(),
            p99_ns: variation.p99.saturating_nanoseconds(),
            max_ns: variation.largest.saturating_nanoseconds(),
        }
    }
}

impl Figures {
    fn of(delays: &Delays) -> Self {
        let summary = delays.histogram().and_then(Summary::of);
        let figure = |of: fn(&Summary) -> Span| {
            summary
                .as_ref()
                .map(|summary| of(summary).saturating_nanoseconds())
        };
        Self {
            count: summary.as_ref().map_or(0, |summary| summary.count),
            min: figure(|summary| summary.minimum),
            p50: figure(|summary| summary.p50),
            p90: figure(|summary| summary.p90),
            p99: figure(|summary| summary.p99),
            max: figure(|summary| summary.maximum),
            error_bound: delays.largest_bound().map(Span::saturating_nanoseconds),
        }
    }
}
