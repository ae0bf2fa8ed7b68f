//! `latency --peer`: runs a STAMP session and reports it. Measures nothing itself.

use super::claim::Claim;
use super::measurement::{Measurement, Mtu};
use super::packets::{Packets, Rows};
use super::probes::Probes;
use super::silence::{Path, check_answered};
use super::{clock, format, key};
use crate::arguments::{self, LimitedPath, Relation};
use crate::commands::limits;
use crate::exit::Exit;
use crate::failure::{Failure, told};
use crate::output::Output;
use crate::session::Session;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind, Interface, Span, UdpSocket, utc_error_bound};
use wirestamp_probe::endpoint::{Clock, Probe, ProbeOptions};
use wirestamp_probe::session::{Clocks, Sample, SessionConfiguration};

pub(super) const OPERATION: &str = "measure latency";
/// Packets a second, if nothing else is said.
const RATE: u32 = 1_000;
/// How often the bar moves.
const STEPS: u64 = 200;

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
    let stream = arguments.stamp.packets.as_deref();
    let mut stream = stream.map(Packets::create).transpose()?;
    let mut probes = Probes::open(&arguments.stamp, host)?;
    session.listen_to_interrupts();
    let rate = arguments.rate.unwrap_or(RATE);
    let options = ProbeOptions {
        session: configuration,
        count: arguments.count,
        interval: Duration::from_secs(1) / rate,
    };
    let small = smaller(&options);
    let mut probe = Probe::new(socket, peer, clock, options)?;
    let progress = output.progress(arguments.count, "packets");
    let every = (arguments.count / STEPS).max(1);
    let mut rows = Rows::default();
    let mut each = |sample: &Sample| {
        if let Some(stream) = &mut stream {
            stream.add(sample);
        }
        if let Some(probes) = &mut probes {
            probes.add(sample);
        }
        rows.add(sample, output);
    };
    let said = arguments.stamp.clock_bound.map(Span::from);
    let mut claim = Claim::new(said, utc_error_bound, Instant::now());
    while !session.is_interrupted() && probe.step(&mut each)? {
        claim.look(Instant::now());
        probe.set_clock_bound(claim.bound);
        if probe.sent() % every == 0 {
            progress.set_position(probe.sent());
        }
    }
    progress.finish_and_clear();
    let (sent, refused) = (probe.sent(), probe.refused());
    let unreachable = probe.unreachable().cloned();
    let (report, path) = probe.finish(|| !session.is_interrupted(), &mut each)?;
    rows.finish(output)?;
    let mtu = || Mtu::of(&path, if peer.is_ipv4() { 28 } else { 48 });
    let is_silent = report.losses.answered == 0 && !session.is_interrupted();
    let smaller = match small {
        Some(small) if is_silent && unreachable.is_none() => {
            answered(interface.as_ref(), peer, small)?
        }
        _ => None,
    };
    let known = Path {
        unreachable: unreachable.as_ref(),
        mtu: mtu(),
        smaller,
    };
    check_answered(&report, peer, authenticated, &known)?;
    let packets = stream.map_or(Ok(()), Packets::finish);
    let recorded = probes.map_or(Ok(()), Probes::finish);
    let mut measurement = Measurement::of(peer, &report, clocks);
    measurement.interface = interface.map(|interface| interface.name().to_owned());
    measurement.authenticated = authenticated;
    measurement.size_bytes = path.packet;
    measurement.path_mtu = mtu();
    measurement.rate_pps = rate;
    measurement.timeout_ns = timeout.saturating_nanoseconds();
    measurement.refused_by_system = refused;
    measurement.interrupted = session.is_interrupted() && sent < arguments.count;
    measurement.limits = limits::judge(
        &arguments.limits,
        LimitedPath::RoundTrip,
        |path, figure| measurement.figure(path, figure),
        (report.losses.lost(), report.losses.sent),
    );
    output.report(&measurement)?;
    if output.has_rows() {
        limits::exceeded(&measurement.limits).try_for_each(|said| output.warn(&said))?;
    }
    packets.and(recorded)?; // after the report: that is not lost
    let is_lossy = report.losses.lost() > 0 && arguments.limits.max_loss.is_none();
    Ok(limits::exit(&measurement.limits, is_lossy))
}

/// The same with the smallest packets there are, a few of them.
fn smaller(options: &ProbeOptions) -> Option<ProbeOptions> {
    let is_padded = options.session.size > 0;
    is_padded.then(|| ProbeOptions {
        session: SessionConfiguration {
            size: 0,
            timeout: options.session.timeout.min(Span::from_seconds(1)),
            ..options.session.clone()
        },
        count: 3,
        interval: Duration::from_millis(20),
    })
}

/// Bytes of the packets if one was answered.
fn answered(
    interface: Option<&Interface>,
    peer: SocketAddr,
    options: ProbeOptions,
) -> Result<Option<usize>, Error> {
    let mut probe = Probe::new(socket(interface, peer)?, peer, Clock::software(), options)?;
    while probe.step(|_| {})? {}
    let (report, path) = probe.finish(|| true, |_| {})?;
    Ok((report.losses.answered > 0).then_some(path.packet))
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
        keeps_distributions: true,
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

fn invalid(target: &str, cause: String) -> Error {
    Error::new(ErrorKind::InvalidInput, OPERATION, target, cause)
}
