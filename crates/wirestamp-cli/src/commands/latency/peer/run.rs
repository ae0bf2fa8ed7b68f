//! `latency --peer`: a STAMP session of the engine, run until all its packets are judged, and its report.

use super::drawn::{exported, offsets};
use super::kept::Kept;
use super::measurement::{Measurement, Mtu};
use super::silence::{Path, check_answered};
use super::{key, source};
use crate::arguments::{self, LimitedPath, Relation, STAMP_PORT as PORT};
use crate::commands::latency::files::Files;
use crate::commands::latency::interval_ns;
use crate::commands::limits;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::{self, Session};
use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::clock::utc_error_bound;
use wirestamp::{Error, ErrorKind, Interface, Span};
use wirestamp_measure::{
    self as measure, Engine, Family, Measurements, Place, Sample, Sink, Stamp, StampReport,
    Timestamper,
};
use wirestamp_probe::session::Clocks;

pub(super) const OPERATION: &str = "measure latency";
/// Packets a second, if nothing else is said.
const RATE: u32 = 1_000;
/// How soon a signal is noticed while replies are awaited.
const NAP: Span = Span::from_milliseconds(50);

#[cfg(all(test, feature = "schema"))]
pub(in crate::commands) fn schema() -> Document {
    Document::of::<Measurement>(
        "latency-peer",
        "Output of `wirestamp latency --peer HOST --json`",
    )
    .row::<super::packets::Row>()
}

pub(in crate::commands) fn run(
    arguments: &arguments::Latency,
    host: &str,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let place = session.place_named(arguments.interface.as_deref())?;
    let named = arguments.interface.as_deref().map(Interface::find);
    let interface = match place.is_simulated() {
        true => Some(session.interface(arguments.interface.as_deref())?),
        false => named.transpose()?,
    };
    if arguments.is_endless() && place.is_simulated() {
        return Err(session::endless(OPERATION, host).into());
    }
    let peer = place.host(host, PORT, arguments.ipv6.then_some(Family::Ipv6))?;
    check_in_flight(arguments, peer)?;
    let (asked, clocks) = asked(arguments, peer, interface.as_ref(), &place)?;
    let authenticated = key(asked.key_file.as_deref())?.is_some();
    let count = count(arguments);
    let mut pictures = Files::create(arguments)?;
    let mut kept = Kept::new(arguments, host, count, output)?;
    session.listen_to_interrupts();
    let measured = measure(&asked, &place, &mut kept, || session.is_interrupted());
    let (files, (measured, took)) = (kept.finish()?, measured?);
    let report = &measured.session;
    let is_silent =
        report.losses.answered == 0 && report.unusable.is_none() && !session.is_interrupted();
    let known = Path {
        unreachable: measured.unreachable.as_ref(),
        diverted: measured.diverted.as_deref(),
        mtu: measured.path,
        smaller: match measured.unreachable.is_none() && is_silent && arguments.size > 0 {
            true => answered(&asked, &place)?,
            false => None,
        },
    };
    check_answered(report, peer, authenticated, &known)?;
    let files = files.finish().and(pictures.export(&exported(report), took));
    let mut measurement = Measurement::of(peer, report, clocks);
    measurement.interface = interface.map(|interface| interface.name().to_owned());
    measurement.authenticated = authenticated;
    measurement.source = measured.source.name();
    measurement.stamps = measured.stamps;
    measurement.size_bytes = measured.path.packet;
    measurement.path_mtu = Mtu::of(&measured.path);
    measurement.interval_ns = interval_ns(arguments.interval);
    measurement.rate_pps = match arguments.interval {
        Some(_) => None,
        None => Some(arguments.rate.unwrap_or(RATE)),
    };
    measurement.timeout_ns = Span::from(asked.timeout).saturating_nanoseconds();
    measurement.refused_by_system = measured.refused;
    measurement.interrupted = session.is_interrupted() && measured.sent < count;
    measurement.unconfirmed = measured.unconfirmed;
    let has_histograms = arguments.histogram.is_some();
    measurement.histogram_offset_ns = has_histograms.then(|| offsets(report));
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
    files?; // after the report: that is not lost
    pictures.draw(&measurement.drawn(report))?;
    let is_lossy = report.losses.lost() > 0 && arguments.limits.max_loss.is_none();
    Ok(limits::exit(&measurement.limits, is_lossy))
}

/// How many packets are sent.
fn count(arguments: &arguments::Latency) -> u64 {
    arguments.count_at(Some(apart(arguments)))
}

/// From one packet to the next.
fn apart(arguments: &arguments::Latency) -> Duration {
    let usual = Duration::from_secs(1) / RATE;
    arguments.apart().unwrap_or(usual)
}

/// Runs a session until it is over, or interrupted; returns also how long it took by the clock of its host.
fn measure(
    asked: &Stamp,
    place: &Place,
    sink: &mut dyn Sink,
    is_interrupted: impl Fn() -> bool,
) -> Result<(StampReport, Duration), Error> {
    let all = Measurements::default().stamp(asked.clone());
    let mut engine = Engine::new(all.answered(), place.clone())?;
    let begun = engine.now();
    loop {
        // before anything is sent whose answer nobody would wait for
        if is_interrupted() {
            break;
        }
        let next = engine.serve(&engine.moment(), sink);
        if engine.is_over() {
            break;
        }
        engine.wait(next.min(engine.now() + NAP))?;
    }
    let took = (engine.now() - begun).to_duration();
    let report = engine.into_reports(sink).remove(0)?;
    Ok((report, took))
}

/// Bytes of the smallest packets there are, if one of a few was answered.
fn answered(asked: &Stamp, place: &Place) -> Result<Option<usize>, Error> {
    let mut small = asked.clone();
    small.size = 0;
    small.timeout = asked.timeout.min(Duration::from_secs(1));
    small.interval = Duration::from_millis(20);
    small.source = Timestamper::Software;
    small.count = Some(3);
    let (measured, _) = measure(&small, place, &mut |_: &Sample<'_>| {}, || false)?;
    Ok((measured.session.losses.answered > 0).then_some(measured.path.packet))
}

/// The session as the engine runs it, and how the clocks are related at its beginning.
fn asked(
    arguments: &arguments::Latency,
    peer: SocketAddr,
    interface: Option<&Interface>,
    place: &Place,
) -> Result<(Stamp, Clocks), Error> {
    let stamp = &arguments.stamp;
    let (clocks, relation) = relation(stamp, place)?;
    let mut asked = Stamp::with(peer.to_string());
    asked.interface = interface.map(|interface| interface.name().to_owned());
    asked.interval = apart(arguments);
    asked.timeout = arguments.timeout;
    asked.key_file.clone_from(&stamp.key_file);
    asked.clocks = relation;
    asked.clock_bound = stamp.clock_bound;
    // more than that no packet has
    asked.size = arguments.size.try_into().unwrap_or(u16::MAX);
    (asked.dscp, asked.ecn) = (stamp.dscp, stamp.ecn);
    asked.source = source(arguments.source, interface)?;
    asked.format = super::format(stamp.format);
    asked.tai_offset = stamp.tai_offset;
    asked.least_delay = stamp.least_delay;
    asked.count = Some(count(arguments));
    Ok((asked, clocks))
}

/// A peer that is silent would have them all remembered until their time is over.
fn check_in_flight(arguments: &arguments::Latency, peer: SocketAddr) -> Result<(), Error> {
    let rate = arguments.rate.unwrap_or(RATE);
    let needed = match arguments.interval {
        Some(interval) => arguments.timeout.as_nanos().div_ceil(interval.as_nanos()) + 1,
        None => (arguments.timeout.as_nanos() * u128::from(rate)).div_ceil(1_000_000_000) + 1,
    };
    let needed = needed.min(count(arguments).into());
    if needed <= u128::from(arguments.max_in_flight) {
        return Ok(());
    }
    let pace = match arguments.interval {
        Some(interval) => format!("one every {}", Span::from(interval)),
        None => format!("{rate} per second"),
    };
    let cause = format!(
        "up to {needed} packets can be in flight ({pace}, timeout {}), and the limit is {}",
        Span::from(arguments.timeout),
        arguments.max_in_flight,
    );
    Err(invalid(&peer.to_string(), cause).with_remedy(
        "lower the rate or the timeout, or raise the limit of packets in flight (--max-in-flight)",
    ))
}

fn relation(stamp: &arguments::Stamp, place: &Place) -> Result<(Clocks, measure::Relation), Error> {
    let kernel = || utc_error_bound().filter(|_| !place.is_simulated());
    let own = stamp.clock_bound.map(Span::from).or_else(kernel);
    Ok(match (stamp.clocks, own) {
        // both ends of a simulation have one clock
        (Relation::Auto, None) if place.is_simulated() => (Clocks::Same, measure::Relation::Same),
        (Relation::Same, _) => (Clocks::Same, measure::Relation::Same),
        (Relation::Auto | Relation::Utc, Some(bound)) => {
            (Clocks::Synchronized(bound), measure::Relation::Utc)
        }
        (Relation::Utc, None) => {
            let cause = "the kernel does not say that this host's clock is synchronised";
            return Err(invalid("the system clock", cause.to_owned())
                .with_remedy("say how far it may be off with --clock-bound, or synchronise it"));
        }
        (Relation::Auto | Relation::Unrelated, _) => {
            (Clocks::Unrelated, measure::Relation::Unrelated)
        }
    })
}

fn invalid(target: &str, cause: String) -> Error {
    Error::new(ErrorKind::InvalidInput, OPERATION, target, cause)
}
