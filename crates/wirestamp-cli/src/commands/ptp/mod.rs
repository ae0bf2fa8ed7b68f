//! `ptp`: runs a PTP clock of `wirestamp-ptp` and prints its reports.

mod campaign;
mod line;
mod live;
mod peers;
mod plot;
mod simulate;
mod status;
mod summary;

use crate::arguments::{Ptp, PtpAction};
use crate::exit::Exit;
use crate::failure::{Failure, told};
use crate::output::Output;
use crate::output::quantity::{rounded_up, signed};
use crate::sandbox::{Needs, Sandbox};
use crate::session::{self, Session};
use crate::signals::Unrestored;
use line::Line;
use live::Live;
use peers::Peers;
use serde::Serialize;
use std::io;
use std::time::Duration;
use summary::Tally;
use wirestamp::{Error, ErrorKind, Interface, MonotonicTime, Span, file};
use wirestamp_ptp::{
    Agreement, Clock, Configuration, Engine, Node, RefusedOffset, Role, Sample, Source,
    SourceStatus, Status, StatusServer, Warning, identity_of,
};

/// A line that says why the clock could not be moved.
#[derive(Serialize)]
struct NotMoved {
    steering_error: String,
}

/// A line for each change of what the configured sources are to each other.
#[derive(Serialize)]
struct Compared<'a> {
    agreement: &'static str,
    sources: &'a [SourceStatus],
}

/// A line for each part of the sandbox that this system lacks.
#[derive(Serialize)]
struct Unconfined<'a> {
    sandbox_warning: &'a str,
}

/// A line that says what its user may not want.
#[derive(Serialize)]
struct Warned<'a> {
    warning: &'static str,
    interface: &'a str,
    message: String,
}

/// A line that says which offset is not followed.
#[derive(Serialize)]
struct NotFollowed {
    refused_offset_ns: i64,
    limit_ns: u64,
}

/// How often the table is written.
const STEP: Span = Span::from_seconds(1);

pub(super) fn run(
    arguments: &Ptp,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if let Some(PtpAction::Status { interface }) = &arguments.action {
        return status::run(interface.as_deref(), output);
    }
    output.use_lines();
    if let Some(scenario) = &arguments.simulate {
        if scenario == campaign::NAME {
            return campaign::run(arguments.runs, arguments.only, session.seed(), output);
        }
        return simulate::run(scenario, arguments.plot.as_deref(), session.seed(), output);
    }
    let configuration = configuration(arguments)?;
    let interfaces = interfaces(&configuration, session)?;
    let simulated = interfaces[0].description().simulated;
    if simulated && arguments.duration.is_none() {
        return Err(session::endless("run a PTP clock", interfaces[0].name()).into());
    }
    let sandboxed = !simulated && !arguments.no_sandbox;
    let sandbox = sandboxed
        .then(|| confine(&configuration, &interfaces, output))
        .transpose()?;
    session.listen_to_interrupts();
    if !simulated {
        output.write_behind(); // a clock is served whether or not anybody reads
    }
    // dropped after the node, which restores clock and NIC
    let _unrestored = Unrestored::new();
    let (role, keep_measuring) = (configuration.role, configuration.steering.keep_measuring);
    let mut peers = Peers::of(&configuration, &interfaces, session)?;
    let engine = Engine::new(configuration, identity_of(&interfaces[0]))?;
    let mut node = if simulated {
        Node::start_seeded(&engine, &interfaces, session.seed())?
    } else {
        Node::start(&engine, &interfaces)?
    };
    node.steer()?;
    // nobody can ask a simulated clock, and a real one is no worse if nobody can
    let server = (!simulated)
        .then(|| StatusServer::open(interfaces[0].name()).ok())
        .flatten();
    if let Some(missing) = sandbox.as_ref().and_then(Sandbox::close) {
        warn(output, &missing)?;
    }
    let tally = serve(
        &mut node,
        &mut peers,
        server.as_ref(),
        arguments.duration,
        keep_measuring,
        session,
        output,
    )?;
    let refused = node.refused_offset().filter(|_| !keep_measuring);
    let ended = node.end_steering();
    let exit = finish(&tally, &node, role, output)?;
    ended?;
    refused.map_or(Ok(exit), |refused| {
        Err(Failure::OffLimit(off_limit(refused)))
    })
}

/// The error for an offset beyond the limit, with its remedy.
fn off_limit(refused: RefusedOffset) -> Error {
    let shown = |nanoseconds: i128| Span::from_nanoseconds(nanoseconds).to_string();
    let (offset, limit) = (
        shown(refused.offset_ns.into()),
        shown(refused.limit_ns.into()),
    );
    let (what, remedy) = if refused.is_first {
        (
            "at the start",
            "--allow-any-first-step, if the timeTransmitter is right",
        )
    } else {
        (
            "after the first step",
            "see whether the timeTransmitter is right; --max-step sets the limit",
        )
    };
    let cause = format!("its offset is {offset}, and {what} no more than {limit} is followed");
    Error::new(
        ErrorKind::InvalidInput,
        "steer the clock",
        "the steered clock",
        cause,
    )
    .with_remedy(remedy)
}

/// The longest configuration that is read.
const LONGEST_CONFIGURATION: u64 = 1 << 20;

fn configuration(arguments: &Ptp) -> Result<Configuration, Error> {
    let mut configuration = match &arguments.config {
        None => Configuration::default(),
        Some(path) => {
            let shown = path.display().to_string();
            let text = file::read_text(path, LONGEST_CONFIGURATION).map_err(|error| {
                told(
                    ErrorKind::InvalidInput,
                    "read the PTP configuration",
                    &shown,
                    &error,
                )
            })?;
            Configuration::from_toml(&text).map_err(|error| {
                Error::new(
                    error.kind(),
                    error.operation().to_owned(),
                    shown,
                    format!("{}: {}", error.target(), error.cause()),
                )
                .with_remedy(error.remedy().to_owned())
            })?
        }
    };
    if let Some(profile) = &arguments.profile {
        configuration.apply_profile(profile)?;
    }
    arguments.change(&mut configuration);
    Ok(configuration)
}

fn interfaces(configuration: &Configuration, session: &Session) -> Result<Vec<Interface>, Error> {
    if configuration.interfaces.is_empty() {
        if session.is_simulated() {
            return Ok(vec![session.interface(None)?]);
        }
        let error = Error::new(
            ErrorKind::InvalidInput,
            "run a PTP clock",
            "no interface",
            "none was named",
        );
        return Err(error.with_remedy("name one: see wirestamp interfaces"));
    }
    configuration
        .interfaces
        .iter()
        .map(|name| Interface::find(name))
        .collect()
}

fn serve(
    node: &mut Node<'_>,
    peers: &mut Peers,
    server: Option<&StatusServer>,
    duration: Option<Duration>,
    keep_measuring: bool,
    session: &Session,
    output: &mut Output,
) -> Result<Tally, Failure> {
    let begun = node.now();
    let end = duration.map_or(MonotonicTime::MAX, |time| begun + Span::from(time));
    let (mut tally, mut live) = (Tally::default(), Live::default());
    let mut step = begun + STEP;
    let (mut known, mut refused, mut beyond) = (Vec::new(), None, false);
    let mut warned = Vec::new();
    tell(node.warnings(), &mut warned, output)?;
    let mut agreement = node.agreement();
    while node.now() < end && !session.is_interrupted() {
        peers.run(node, end.min(step))?;
        let not_followed = node.refused_offset();
        if let (Some(found), false) = (not_followed, beyond) {
            output.line(&NotFollowed {
                refused_offset_ns: found.offset_ns,
                limit_ns: found.limit_ns,
            })?;
            output.now(|page| page.line(&off_limit(found).to_string()))?;
        }
        beyond = not_followed.is_some();
        if not_followed.is_some_and(|found| found.is_final) && !keep_measuring {
            break;
        }
        if let Some(server) = server {
            server.answer(|| node.status());
        }
        show(node.samples(), &mut tally, &mut live, output)?;
        if refused.as_ref() != node.steering_error() {
            refused = node.steering_error().cloned();
            if let Some(error) = &refused {
                output.line(&NotMoved {
                    steering_error: error.to_string(),
                })?;
                output.now(|page| page.line(&format!("the clock was not moved: {error}")))?;
            }
        }
        let status = node.status();
        if agreement != status.agreement {
            agreement = status.agreement;
            output.line(&Compared {
                agreement: agreement.name(),
                sources: &status.sources,
            })?;
            output.now(|page| page.line(&compared(&status)))?;
        }
        let seen: Vec<_> = status
            .ports
            .iter()
            .map(|port| (port.state, status.time_transmitter))
            .collect();
        for (place, port) in status.ports.iter().enumerate() {
            if known.get(place) != seen.get(place) {
                output.sample(&Line::of_port(&status, port))?;
            }
        }
        known = seen;
        if node.now() >= step {
            tell(node.warnings(), &mut warned, output)?;
            live.write(&status, node.now() - begun, output)?;
            step = step + STEP;
        }
    }
    tally.ran_for(node.now() - begun);
    show(node.finish(), &mut tally, &mut live, output)?;
    Ok(tally)
}

/// Says each warning once, and again if it comes back.
fn tell(now: Vec<Warning>, known: &mut Vec<Warning>, output: &mut Output) -> io::Result<()> {
    for warning in now.iter().filter(|warning| !known.contains(warning)) {
        output.line(&Warned {
            warning: warning.name(),
            interface: warning.interface(),
            message: warning.to_string(),
        })?;
        output.now(|page| page.line(&format!("warning: {warning}")))?;
    }
    *known = now;
    Ok(())
}

fn show(
    samples: Vec<Sample>,
    tally: &mut Tally,
    live: &mut Live,
    output: &mut Output,
) -> io::Result<()> {
    for sample in samples {
        output.sample(&Line::of_sample(&sample))?;
        tally.add(&sample);
        live.note(sample);
    }
    Ok(())
}

/// Gives up what the run does not need. What needs privilege is asked before: whose the ports are, and
/// who else steers the clock.
fn confine(
    configuration: &Configuration,
    interfaces: &[Interface],
    output: &mut Output,
) -> Result<Sandbox, Failure> {
    wirestamp_ptp::check_free(configuration, interfaces)?;
    let hardware = configuration.source != Source::Software && configuration.clock != Clock::System;
    let (sandbox, missing) = Sandbox::enter(Needs {
        sets_system_clock: configuration.clock == Clock::System,
        sets_hardware_clock: configuration.clock == Clock::Nic,
        reads_hardware_clock: hardware,
        switches_hardware: configuration.enable_hardware,
        uses_rings: std::env::var_os("WIRESTAMP_ENGINE").is_some_and(|engine| engine == "ring"),
        folders: StatusServer::folder().into_iter().collect(),
        ..Needs::default()
    });
    for missing in &missing {
        warn(output, missing)?;
    }
    Ok(sandbox)
}

/// Says what of the sandbox is missing.
fn warn(output: &mut Output, missing: &str) -> io::Result<()> {
    output.line(&Unconfined {
        sandbox_warning: missing,
    })?;
    output.now(|page| page.line(&format!("sandbox: {missing}")))
}

/// Says in a sentence whether the configured sources agree.
fn compared(status: &Status) -> String {
    let sources: Vec<_> = status
        .sources
        .iter()
        .map(|source| {
            let (offset, bound) = (source.offset_ns, source.error_bound_ns);
            let (offset, bound) = (signed(offset, bound), rounded_up(bound));
            format!(
                "{} in domain {}: {offset} ±{bound}",
                source.identity, source.domain
            )
        })
        .collect();
    let said = match status.agreement {
        Agreement::Disagree => "the timeTransmitters disagree, none is followed",
        Agreement::Agree => "the timeTransmitters agree",
        Agreement::Alone => "only one of the configured timeTransmitters is heard",
        Agreement::Waiting => "waiting for the other timeTransmitters",
        _ => "only one timeTransmitter is configured",
    };
    format!("{said} ({})", sources.join("; "))
}

fn finish(
    tally: &Tally,
    node: &Node<'_>,
    role: Role,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let summary = tally.summary(node.counts());
    summary.write(output)?;
    if let Some(error) = node.steering_error() {
        return Err(error.clone().into());
    }
    if node.agreement() == Agreement::Disagree {
        let cause = "the configured timeTransmitters disagree by more than their error bounds";
        let error = Error::new(
            ErrorKind::Unreachable,
            "follow a timeTransmitter",
            target(node),
            cause,
        );
        return Err(error
            .with_remedy(
                "find out which is wrong: wirestamp ptp status IFACE --json shows the offset of each",
            )
            .into());
    }
    if summary.samples == 0 && role == Role::TimeReceiver {
        let why = node.unmeasured();
        let (kind, operation) = (ErrorKind::Unreachable, "measure the offset");
        let error = Error::new(kind, operation, target(node), why.to_string());
        return Err(error.with_remedy(why.remedy()).into());
    }
    Ok(if summary.lost_in_all > 0 {
        Exit::Lossy
    } else {
        Exit::Success
    })
}

fn target(node: &Node<'_>) -> String {
    node.status().ports[0].interface.clone()
}
