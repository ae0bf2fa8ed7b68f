//! `ntp`: asks NTP servers and reports how far this machine's clock is off: the engine's NTP measurements, run until
//! each server was asked often enough.

mod drawn;
mod row;
mod text;

use crate::arguments;
use crate::commands::each_second::EachSecond;
use crate::commands::limits::{self, Judged};
use crate::commands::offsets;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::quantity::{beside, signed};
use crate::output::{Output, json};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::{self, Session};
use drawn::Courses;
use indicatif::ProgressBar;
use row::Row;
use serde::Serialize;
use std::io;
use wirestamp::{Error, ErrorKind, Span};
use wirestamp_measure::goal::{AUTHENTICATE, FIND};
use wirestamp_measure::state::{NtpServerState, NtpState};
use wirestamp_measure::{Engine, Family, Measurements, Ntp, Outcome, Sample, Timestamper};

/// How soon a signal is noticed while responses are awaited.
const NAP: Span = Span::from_milliseconds(50);

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Measured {
    /// One object a server.
    servers: Vec<Row>,
    /// Whether the servers can be right together: single, all, majority, disagreement or none.
    agreement: String,
    /// This clock minus UTC, as the servers that agree claim; `None` without agreement.
    offset_ns: Option<i64>,
    /// Error bound of `offset_ns`, if the servers are right.
    error_bound_ns: Option<i64>,
    /// How many of the servers must be right for the bound to hold; `None`: there is no offset.
    right_servers: Option<u64>,
    /// Time of the offset, UTC by this clock; `None`: there is no offset.
    #[serde(serialize_with = "json::some_time")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Utc>"))]
    time: Option<i64>,
    /// Limits of the command line (`--max-offset`).
    limits: Vec<Judged>,
    /// Whether a signal ended the run early.
    interrupted: bool,
    /// Whether the run ended before readings of the NIC's clock had confirmed the last timestamps: a change of that clock
    /// in the last seconds would not show.
    unconfirmed: bool,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Measured>("ntp", "Output of `wirestamp ntp --json`").row::<Row>()
}

pub(super) fn run(
    arguments: &arguments::Ntp,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    session.listen_to_interrupts();
    if arguments.nts {
        wirestamp_measure::nts::check(arguments.nts_ca.as_deref())?;
    }
    let servers = arguments
        .hosts
        .iter()
        .map(|target| asked(target, arguments));
    let all = servers.fold(Measurements::default(), Measurements::ntp);
    let place = session.place_named(None)?;
    if arguments.is_endless() && place.is_simulated() {
        return Err(session::endless("measure the offset", "NTP servers").into());
    }
    drawn::check(arguments)?;
    let files = offsets::files([&arguments.plot, &arguments.html, &arguments.histogram])?;
    let mut engine = Engine::new(all.answered(), place)?;
    let mut courses = Courses::begin(!files.is_empty(), &engine);
    let mut each_second = arguments.is_endless().then(EachSecond::new);
    let progress = match each_second {
        Some(_) => ProgressBar::hidden(),
        None => output.progress(arguments.count().into(), "requests"),
    };
    while !engine.is_over() && !session.is_interrupted() {
        let next = engine.serve(&engine.moment(), &mut |sample: &Sample<'_>| {
            courses.add(sample);
        });
        if let Some(seconds) = each_second.as_mut().and_then(EachSecond::due) {
            write_second(&engine, arguments, seconds, output)?;
        }
        let asked = requests(&engine);
        progress.set_position(asked);
        if asked == 0 {
            engine.outcomes().iter().try_for_each(is_of_one_server)?;
        }
        engine.wait(next.min(engine.now() + NAP))?;
    }
    progress.finish_and_clear();
    let end = engine.now();
    let interrupted = session.is_interrupted() && !engine.is_over();
    let (measured, exit) = judge(&engine, arguments, interrupted);
    output.report(&measured)?;
    if output.has_rows() {
        limits::exceeded(&measured.limits).try_for_each(|said| output.warn(&said))?;
    }
    if let Some(shown) = courses.shown(&engine, &measured, end) {
        files.write(&shown)?;
    }
    Ok(exit)
}

/// Writes a row or a line for each server, as it is known now.
fn write_second(
    engine: &Engine,
    arguments: &arguments::Ntp,
    seconds: u32,
    output: &mut Output,
) -> io::Result<()> {
    if output.has_rows() {
        let (measured, _) = judge(engine, arguments, false);
        let mut servers = measured.servers.iter();
        return servers.try_for_each(|server| output.row(server));
    }
    let ntp = engine.ntp_at(&engine.moment()).unwrap_or_default();
    let outcomes = engine.outcomes();
    let is_shown = |name: &String| ntp.servers.iter().any(|server| &server.name == name);
    let failed = outcomes
        .iter()
        .filter_map(|one| Some((&one.task.name, one.error?)))
        .filter(|(name, _)| !is_shown(name));
    output.now(|page| {
        for server in &ntp.servers {
            page.line(&format!(
                "{seconds:>5} s  {}  {}",
                server.name,
                shown(server)
            ));
        }
        for (name, error) in failed {
            page.line(&format!("{seconds:>5} s  {name}  {}", error.cause()));
        }
    })
}

/// Its offset, or why there is none.
fn shown(server: &NtpServerState) -> String {
    let Some((offset, bound)) = server.offset_ns.zip(server.bound_ns) else {
        let reason = server.error.as_ref();
        return reason.unwrap_or(&server.status).clone();
    };
    let answers = format!("{} of {} answered", server.responses, server.requests);
    let (offset, bound) = (signed(offset, bound), beside(bound, offset, bound));
    format!("{offset} ±{bound}, {answers}")
}

/// A server as the engine asks it.
fn asked(target: &arguments::NtpTarget, arguments: &arguments::Ntp) -> Ntp {
    let mut ntp = Ntp::of(target.text());
    ntp.interval = arguments.interval;
    ntp.timeout = arguments.timeout;
    ntp.basic = arguments.basic;
    ntp.max_drift_ppm = arguments.max_drift;
    ntp.nts = arguments.nts;
    ntp.nts_ca.clone_from(&arguments.nts_ca);
    ntp.port = arguments.port;
    ntp.count = (!arguments.is_endless()).then(|| arguments.count());
    ntp.family = match (arguments.ipv4, arguments.ipv6) {
        (true, _) => Some(Family::Ipv4),
        (_, true) => Some(Family::Ipv6),
        _ => None,
    };
    ntp.source = match arguments.source {
        arguments::Source::Auto => Timestamper::Auto,
        arguments::Source::Software => Timestamper::Software,
        arguments::Source::Hardware => Timestamper::Hardware,
    };
    ntp
}

/// How often the server was asked that was asked most.
fn requests(engine: &Engine) -> u64 {
    let ntp = engine.ntp_at(&engine.moment());
    let servers = ntp.iter().flat_map(|ntp| &ntp.servers);
    servers.map(|server| server.requests).max().unwrap_or(0)
}

/// Compares the servers at one instant, that of the newest sample, and says how to end.
fn judge(engine: &Engine, arguments: &arguments::Ntp, interrupted: bool) -> (Measured, Exit) {
    let at = engine.newest();
    let together = at.and_then(|at| engine.ntp_at(&at)).unwrap_or_default();
    let outcomes = engine.outcomes();
    let mut compared = together.servers.iter();
    let mut rows = Vec::new();
    for (target, outcome) in arguments.hosts.iter().zip(&outcomes) {
        let state = outcome.state.ntp.as_ref();
        let server = state.and_then(|ntp| ntp.servers.first());
        let is_false = server.is_some() && compared.next().is_some_and(|one| one.falseticker);
        rows.push(Row::of(target.text(), server, outcome.error, is_false));
    }
    let NtpState {
        offset_ns,
        bound_ns,
        right_servers,
        ..
    } = together;
    // the greatest that it can be now: the last sample may be long ago
    let now = engine.ntp_at(&engine.moment()).unwrap_or_default();
    let most = now.offset_ns.zip(now.bound_ns);
    let most = most.map(|(offset, bound)| offset.saturating_abs().saturating_add(bound));
    let limit = |time| limits::judge_one("worst_case_offset_ns", time, most);
    let limits: Vec<_> = arguments.max_offset.map(limit).into_iter().collect();
    let exit = match offset_ns {
        None => Exit::Failed,
        Some(_) => limits::exit(&limits, rows.iter().any(Row::is_lossy)),
    };
    // a run without an end has shown final offsets alone
    let unconfirmed =
        interrupted && !arguments.is_endless() && rows.iter().any(Row::is_by_hardware);
    let measured = Measured {
        agreement: match together.agreement.is_empty() {
            true => "none".to_owned(),
            false => together.agreement,
        },
        servers: rows,
        offset_ns,
        error_bound_ns: bound_ns,
        right_servers,
        time: offset_ns.and(at).map(|at| at.utc().nanoseconds()),
        limits,
        interrupted,
        unconfirmed,
    };
    (measured, exit)
}

/// Before anything was asked, only a server that cannot be found or reached is left out; the rest is an error of this host. After that
/// it is that server's alone: the others keep their results.
fn is_of_one_server(outcome: &Outcome<'_>) -> Result<(), Error> {
    match outcome.error {
        None => Ok(()),
        Some(error) if error.kind() == ErrorKind::Unreachable => Ok(()),
        Some(error) if [FIND, AUTHENTICATE].contains(&error.operation()) => Ok(()),
        Some(error) => Err(error.clone()),
    }
}
