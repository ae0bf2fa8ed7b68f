//! `latency`: a path of the engine, run until all its packets are judged, and its report.

use self::files::Files;
use super::{advised, limits};
use crate::arguments::{self, LimitedPath};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, plural};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::{self, Session};
use serde::{Serialize, Serializer};
use std::net::SocketAddr;
use std::time::Duration;
use watching::Watching;
use wirestamp::latency::{Histogram, LatencyOptions, LatencyReport, Losses, Summary};
use wirestamp::socket::AddressFamily;
use wirestamp::{Error, ErrorKind, Interface, MissingReason, Span, TimestampSource};
use wirestamp_measure::{Engine, Measurements, Path};

pub(super) mod compare;
mod drawn;
pub(super) mod export;
pub(super) mod files;
mod parts;
pub(super) mod peer;
pub(super) mod picture;
mod rows;
mod text;
mod watching;

const OPERATION: &str = "measure latency";

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Latency {
    /// Name of the interface.
    interface: String,
    /// Whether it is a simulated NIC.
    simulated: bool,
    /// Which clock timestamped: software (the system's) or hardware (the NIC's).
    source: &'static str,
    /// ipv4 or ipv6.
    family: &'static str,
    /// Payload of a packet.
    size_bytes: usize,
    /// Packets a second; null: as interval_ns says, or the next was sent when the last had arrived.
    rate_pps: Option<u32>,
    /// With --interval: from one packet to the next, instead of rate_pps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    interval_ns: Option<i64>,
    /// The echo service; null: none.
    peer: Option<SocketAddr>,
    /// A packet that takes longer is lost.
    timeout_ns: i64,
    /// How many packets may be in flight at once.
    max_in_flight: u32,
    /// How many packets were sent.
    packets: u64,
    /// Packets that were in flight when the run was interrupted; they are neither lost nor measured.
    unresolved: u64,
    /// Losses: packets, transmit timestamps and conversions.
    lost: Lost,
    /// Losses by reason: the sums are those of `lost`.
    lost_reasons: Reasons,
    /// From just before the send call to the transmit timestamp.
    send_path_ns: Figures,
    /// With --queue: from just before the send call to the entry into the queueing discipline.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Figures"))]
    to_queue_ns: Option<Figures>,
    /// With --queue: from the entry into the queueing discipline to the transmit timestamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Figures"))]
    from_queue_ns: Option<Figures>,
    /// From the transmit timestamp to the receive timestamp; not there with an echo service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Figures"))]
    wire_ns: Option<Figures>,
    /// With an echo service: from the transmit timestamp to the receive timestamp, there and back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Figures"))]
    round_trip_ns: Option<Figures>,
    /// From the receive timestamp to just after the receive call.
    receive_path_ns: Figures,
    /// The largest error bound of the conversion to the monotonic clock; null: nothing was converted.
    max_error_bound_ns: Option<i64>,
    /// How long kernel and correlators were waited for: until they were ready, or the longest wait.
    warm_up_ns: i64,
    /// Whether a signal ended the run early.
    interrupted: bool,
    /// Added to the values in the file of histograms; values far below the others have a histogram of their own, with
    /// another tag. Null: none was written.
    histogram_offset_ns: Option<Offsets>,
    /// Limits of the command line (--max-p99 and the like).
    limits: Vec<limits::Judged>,
    #[serde(skip)]
    pictures: [Histogram; 3],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Lost {
    /// Packets that did not arrive in time.
    packets: u64,
    /// Missing transmit timestamps.
    transmit_timestamps: u64,
    /// Missing receive timestamps.
    receive_timestamps: u64,
    /// Timestamps that could not be converted.
    conversions: u64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Reasons {
    /// Packets that did not arrive in time.
    #[cfg_attr(feature = "schema", schemars(schema_with = "reasons::of_packets"))]
    packets: Counts,
    /// Missing transmit timestamps.
    #[cfg_attr(feature = "schema", schemars(schema_with = "reasons::of_timestamps"))]
    transmit_timestamps: Counts,
    /// Timestamps that could not be converted.
    conversions: Option<&'static str>,
}

/// Nanoseconds that were added to the values of each path in the file of histograms, which holds no negative values. Values
/// far below the others have a histogram of their own, whose tag states what was added to them.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Offsets {
    /// Added to the values of the send path.
    send_path: u64,
    /// Added to the values of the wire.
    wire: u64,
    /// Added to the values of the receive path.
    receive_path: u64,
}

/// By reason, in the library's order.
struct Counts(Vec<(&'static str, u64)>);

/// Nothing measured: null, never 0.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Figures {
    /// How many packets have this value.
    count: u64,
    /// The smallest.
    min: Option<i64>,
    /// The median.
    p50: Option<i64>,
    /// 90 % are at most this.
    p90: Option<i64>,
    /// 99 % are at most this.
    p99: Option<i64>,
    /// 99.9 % are at most this.
    p99_9: Option<i64>,
    /// The largest.
    max: Option<i64>,
    /// The mean.
    mean: Option<i64>,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Latency>("latency", "Output of `wirestamp latency --json`").row::<rows::Packet>()
}

pub(super) fn run(
    arguments: &arguments::Latency,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if let Some(arguments::LatencyAction::Compare(arguments)) = &arguments.action {
        return compare::run(arguments, output);
    }
    if let Some(host) = &arguments.stamp.peer {
        return peer::run(arguments, host, session, output);
    }
    let interface = session.interface(arguments.interface.as_deref())?;
    let options = options(arguments, &interface)?;
    session.listen_to_interrupts();
    let mut files = Files::create(arguments)?;
    let is_endless = arguments.is_endless();
    if is_endless && interface.description().simulated {
        return Err(session::endless(OPERATION, interface.name()).into());
    }
    let (report, took) = measure(&interface, options, is_endless, session, output)?;
    let exported = files.export(&exported(&report), took);
    let may_lose = arguments.limits.max_loss.is_some();
    let is_lossy = if may_lose {
        let lost = &report.lost;
        lost.transmit_timestamps_in_all() + lost.receive_timestamps + lost.conversions > 0
    } else {
        !report.lost.is_none()
    };
    let interrupted =
        session.is_interrupted() && (report.packets < options.count || report.unresolved > 0);
    let offsets = arguments.histogram.is_some().then(|| Offsets::of(&report));
    let mut report = Latency {
        histogram_offset_ns: offsets,
        ..Latency::of(&interface, &options, report, interrupted)
    };
    let usual = if options.peer.is_some() {
        LimitedPath::RoundTrip
    } else {
        LimitedPath::Wire
    };
    report.limits = limits::judge(
        &arguments.limits,
        usual,
        |path, figure| report.figure(path, figure),
        (report.lost.packets, report.packets),
    );
    let exit = limits::exit(&report.limits, is_lossy);
    output.report(&report)?;
    if output.has_rows() {
        limits::exceeded(&report.limits).try_for_each(|said| output.warn(&said))?;
    }
    exported?; // after the report: that is not lost
    files.draw(&report.drawn())?;
    Ok(exit)
}

/// What the file of histograms has.
fn exported(report: &LatencyReport) -> [(&'static str, &Histogram); 3] {
    [
        ("send_path", &report.send_path),
        ("wire", &report.wire),
        ("receive_path", &report.receive_path),
    ]
}

/// Runs the path until it is over, or interrupted; returns also how long it took by the clock of the interface's host.
fn measure(
    interface: &Interface,
    options: LatencyOptions,
    is_endless: bool,
    session: &Session,
    output: &mut Output,
) -> Result<(LatencyReport, Duration), Failure> {
    let asked = Measurements::default().path(Path::once(interface.name(), options));
    let mut engine = Engine::new(asked, session.place(interface)?)?;
    let mut watching = Watching::new(&options, is_endless, output);
    let begun = engine.now();
    loop {
        // a batch, which waits itself
        engine.serve(&engine.moment(), &mut watching);
        watching.write(output)?;
        if engine.is_over() || session.is_interrupted() {
            break;
        }
    }
    let took = (engine.now() - begun).to_duration();
    let report = engine.into_latency(&mut watching).remove(0);
    watching.finish(output)?;
    let report = report.map_err(|error| advised(of_option(error), interface))?;
    Ok((report, took))
}

/// What a caller of the library would leave out is an option here.
fn of_option(error: Error) -> Error {
    if error.remedy().contains("Timestamping::queueing") {
        error.with_remedy("leave --queue out; Linux has it")
    } else {
        error
    }
}

/// What the arguments mean on this interface.
fn options(arguments: &arguments::Latency, interface: &Interface) -> Result<LatencyOptions, Error> {
    let description = interface.description();
    let invalid = |cause: String, remedy: &'static str| {
        Err(
            Error::new(ErrorKind::InvalidInput, OPERATION, interface.name(), cause)
                .with_remedy(remedy),
        )
    };
    if arguments.echo.is_none() && !description.loopback && !description.simulated {
        let cause = "the NIC does not loop back, and no other host is given".to_owned();
        return invalid(
            cause,
            "name a STAMP reflector with --peer HOST or a UDP echo service with --echo ADDRESS, or measure on the loopback interface",
        );
    }
    if let (true, Some(SocketAddr::V4(peer))) = (arguments.ipv6, arguments.echo) {
        return invalid(
            format!("the echo service {peer} is no IPv6 address"),
            "leave --ipv6 out, or name another one",
        );
    }
    let ipv6 = arguments.ipv6 || arguments.echo.is_some_and(|peer| peer.is_ipv6());
    Ok(LatencyOptions {
        count: arguments.count_at(arguments.apart()),
        duration: arguments.duration,
        size: arguments.size,
        rate: arguments.rate,
        interval: arguments.interval,
        family: if ipv6 {
            AddressFamily::Ipv6
        } else {
            AddressFamily::Ipv4
        },
        source: source(arguments.source, interface),
        peer: arguments.echo,
        timeout: arguments.timeout,
        max_in_flight: arguments.max_in_flight,
        queueing: arguments.queue,
    })
}

pub(super) fn interval_ns(interval: Option<Duration>) -> Option<i64> {
    interval.map(|interval| Span::from(interval).saturating_nanoseconds())
}

/// The pace of packets, in words.
pub(super) fn pace(rate: Option<u32>, interval_ns: Option<i64>) -> Option<String> {
    let each =
        |interval: i64| format!("a packet every {}", Span::from_nanoseconds(interval.into()));
    let rate = rate.map(|rate| format!("{} a second", plural(rate.into(), "packet")));
    rate.or(interval_ns.map(each))
}

pub(super) fn source(wanted: arguments::Source, interface: &Interface) -> TimestampSource {
    match wanted {
        arguments::Source::Software => TimestampSource::Software,
        arguments::Source::Hardware => TimestampSource::Hardware,
        arguments::Source::Auto => {
            let on = interface
                .active()
                .is_ok_and(|active| active.timestamps_every_datagram());
            if on {
                TimestampSource::Hardware
            } else {
                TimestampSource::Software
            }
        }
    }
}

impl Latency {
    fn of(
        interface: &Interface,
        options: &LatencyOptions,
        report: LatencyReport,
        interrupted: bool,
    ) -> Self {
        Self {
            interface: interface.name().to_owned(),
            simulated: interface.description().simulated,
            source: report.source.name(),
            family: if options.family == AddressFamily::Ipv4 {
                "ipv4"
            } else {
                "ipv6"
            },
            size_bytes: options.size,
            rate_pps: options.rate,
            interval_ns: interval_ns(options.interval),
            peer: options.peer,
            timeout_ns: Span::from(options.timeout).saturating_nanoseconds(),
            max_in_flight: options.max_in_flight,
            packets: report.packets,
            unresolved: report.unresolved,
            lost: Lost::of(&report.lost),
            lost_reasons: Reasons::of(&report.lost),
            send_path_ns: Figures::of(&report.send_path),
            to_queue_ns: options.queueing.then(|| Figures::of(&report.to_queue)),
            from_queue_ns: options.queueing.then(|| Figures::of(&report.from_queue)),
            wire_ns: options.peer.is_none().then(|| Figures::of(&report.wire)),
            round_trip_ns: options.peer.is_some().then(|| Figures::of(&report.wire)),
            receive_path_ns: Figures::of(&report.receive_path),
            max_error_bound_ns: report.max_bound.map(Span::saturating_nanoseconds),
            warm_up_ns: report.warm_up.saturating_nanoseconds(),
            interrupted,
            histogram_offset_ns: None,
            limits: Vec::new(),
            pictures: [report.send_path, report.wire, report.receive_path],
        }
    }
}

impl Latency {
    /// In nanoseconds; `None`: not measured.
    fn figure(&self, path: LimitedPath, figure: limits::Figure) -> Option<i64> {
        let figures = match path {
            LimitedPath::SendPath => Some(&self.send_path_ns),
            LimitedPath::Wire => self.wire_ns.as_ref(),
            LimitedPath::RoundTrip => self.round_trip_ns.as_ref(),
            LimitedPath::ReceivePath => Some(&self.receive_path_ns),
            LimitedPath::Forward | LimitedPath::Backward => None,
        }?;
        match figure {
            "p50" => figures.p50,
            "p90" => figures.p90,
            "p99" => figures.p99,
            _ => figures.p99_9,
        }
    }
}

impl Offsets {
    fn of(report: &LatencyReport) -> Self {
        let [send_path, wire, receive_path] =
            [&report.send_path, &report.wire, &report.receive_path].map(export::offset);
        Self {
            send_path,
            wire,
            receive_path,
        }
    }

    /// The tags of the histograms that are shifted.
    fn shifted(&self) -> Vec<String> {
        let paths = [
            ("send_path", self.send_path),
            ("wire", self.wire),
            ("receive_path", self.receive_path),
        ];
        paths
            .iter()
            .filter(|(_, offset)| *offset > 0)
            .map(|(path, offset)| export::tag(path, *offset))
            .collect()
    }
}

impl Lost {
    fn of(lost: &Losses) -> Self {
        Self {
            packets: lost.packets,
            transmit_timestamps: lost.transmit_timestamps_in_all(),
            receive_timestamps: lost.receive_timestamps,
            conversions: lost.conversions,
        }
    }
}

impl Reasons {
    fn of(lost: &Losses) -> Self {
        let packets = vec![
            ("late", lost.late),
            ("receive_buffer_full", lost.receive_buffer_full),
            ("never_arrived", lost.never_arrived()),
        ];
        let count = |reason: &MissingReason| (reason.name(), lost.transmit_timestamps_for(*reason));
        let counts = MissingReason::ALL.iter().map(count).collect();
        let conversions = lost.last_refusal.map(wirestamp::ConversionError::name);
        Self {
            packets: Counts(packets),
            transmit_timestamps: Counts(counts),
            conversions,
        }
    }
}

/// The names of the reasons, each with its count.
#[cfg(feature = "schema")]
mod reasons {
    use super::{Counts, Losses, Reasons};
    use schemars::{Schema, SchemaGenerator};

    fn described(counts: &Counts) -> Schema {
        crate::schema::each(counts.0.iter().map(|(reason, _)| *reason), "integer")
    }

    pub(super) fn of_packets(_: &mut SchemaGenerator) -> Schema {
        described(&Reasons::of(&Losses::default()).packets)
    }

    pub(super) fn of_timestamps(_: &mut SchemaGenerator) -> Schema {
        described(&Reasons::of(&Losses::default()).transmit_timestamps)
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

impl Figures {
    fn of(histogram: &Histogram) -> Self {
        let summary = Summary::of(histogram);
        let figure = |of: fn(&Summary) -> Span| {
            summary
                .as_ref()
                .map(|summary| of(summary).saturating_nanoseconds())
        };
        Self {
            count: histogram.count(),
            min: figure(|summary| summary.minimum),
            p50: figure(|summary| summary.p50),
            p90: figure(|summary| summary.p90),
            p99: figure(|summary| summary.p99),
            p99_9: figure(|summary| summary.p99_9),
            max: figure(|summary| summary.maximum),
            mean: figure(|summary| summary.mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_null_and_not_zero() {
        let figures = serde_json::to_value(Figures::of(&Histogram::new())).expect("serialises");
        for name in ["min", "p50", "p90", "p99", "p99_9", "max", "mean"] {
            assert!(figures[name].is_null(), "{name}");
        }
        assert_eq!(figures["count"], 0);
    }
}
