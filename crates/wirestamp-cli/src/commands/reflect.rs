//! `reflect`: the engine's reflector, run until it is ended; gives up privilege.

use super::latency::peer::format;
use crate::arguments::{self, Reflect, limited};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows, grouped, plural};
use crate::sandbox::{Needs, Sandbox};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::{self, Session};
use crate::signals::Unrestored;
use serde::Serialize;
use wirestamp::{Error, Span, TimestampSource};
use wirestamp_measure::state::{Reasons, ReflectorState};
use wirestamp_measure::{ClockBound, Engine, Measurements, Reflector, Sample, Timestamper};

/// How soon a signal is noticed while nothing happens.
const STEP: Span = Span::from_milliseconds(100);

/// A line when the sockets are open: from then on requests are answered.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Ready {
    /// Addresses and ports.
    listening: Vec<String>,
    /// Whether packets must be authenticated.
    authenticated: bool,
    /// Who timestamps packets, hardware or software; with hardware, the kernel where the NIC made no timestamp.
    source: String,
    /// What it runs with that its user may not want, in sentences.
    warnings: Vec<String>,
}

/// A line for each part of the sandbox that this system lacks.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Unconfined<'a> {
    /// In a sentence.
    sandbox_warning: &'a str,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Summary {
    /// Packets answered.
    replies: u64,
    /// Packets not answered, by reason.
    dropped: Reasons,
    /// Replies that the system did not send.
    not_sent: u64,
    /// Replies without a transmit timestamp, by reason.
    missing_transmit_reasons: Reasons,
    /// Timestamps of requests and replies, by who made them.
    stamps: Reasons,
    /// Sessions at the end.
    sessions: u64,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::lines(
        "reflect",
        "A line of the output of `wirestamp reflect --json`",
    )
    .line::<Ready>("Once it answers")
    .line::<Unconfined<'_>>("Parts of the sandbox that the kernel lacks")
    .line::<Summary>("The summary at the end")
}

pub(super) fn run(
    arguments: &Reflect,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    output.use_lines();
    let place = session.place_named(arguments.interface.as_deref())?;
    let simulated = place.is_simulated();
    if simulated && limited(arguments.duration).is_none() {
        return Err(session::endless("reflect", "the simulated reflector").into());
    }
    // a NIC is switched back before a second signal ends the program
    let _unrestored = Unrestored::new();
    let all = Measurements::default().reflector(wanted(arguments));
    let mut engine = Engine::new(all.answered(), place)?;
    let opened = open(&mut engine)?;
    let sandbox = (!simulated && !arguments.no_sandbox).then(|| confine(arguments, &opened));
    // its thread is confined, too, and is there before system calls are filtered
    session.listen_to_interrupts();
    if let Some((sandbox, missing)) = &sandbox {
        for missing in missing.iter().chain(sandbox.close().iter()) {
            output.line(&Unconfined {
                sandbox_warning: missing,
            })?;
            output.now(|page| page.line(&format!("sandbox: {missing}")))?;
        }
    }
    let ready = Ready {
        listening: opened.listening,
        authenticated: arguments.key_file.is_some(),
        source: opened.source,
        warnings: opened.warnings,
    };
    output.line(&ready)?;
    output.now(|page| ready.print(page))?;
    let end = limited(arguments.duration).map(|all| engine.now() + Span::from(all));
    let is_over = |now| end.is_some_and(|end| now >= end);
    while !session.is_interrupted() && !is_over(engine.now()) {
        turn(&mut engine)?;
    }
    let summary = Summary::of(state(&engine).unwrap_or_default());
    output.sample(&summary)?;
    output.now(|page| summary.print(page))?;
    Ok(Exit::Success)
}

/// What the engine is asked for.
fn wanted(arguments: &Reflect) -> Reflector {
    let mut wanted = Reflector::default();
    wanted.listen.clone_from(&arguments.listen);
    wanted.interface.clone_from(&arguments.interface);
    wanted.key_file.clone_from(&arguments.key_file);
    wanted.rate = arguments.rate;
    wanted.sessions = arguments.sessions;
    wanted.source = match arguments.source {
        arguments::Source::Auto => Timestamper::Auto,
        arguments::Source::Software => Timestamper::Software,
        arguments::Source::Hardware => Timestamper::Hardware,
    };
    wanted.stateless = arguments.stateless;
    wanted.grant_dscp = arguments.grant_dscp;
    wanted.answer_short = arguments.answer_short;
    wanted.clock_bound = match arguments.clock_bound {
        arguments::ClockBound::Kernel => ClockBound::Kernel,
        arguments::ClockBound::None => ClockBound::Unknown,
        arguments::ClockBound::At(bound) => ClockBound::At(bound),
    };
    wanted.format = format(arguments.format);
    wanted.tai_offset = arguments.tai_offset;
    wanted.port = arguments.port;
    wanted.alone = true;
    wanted
}

/// Serves and waits. An error of the reflector ends it.
fn turn(engine: &mut Engine) -> Result<(), Error> {
    let next = engine.serve(&engine.moment(), &mut |_: &Sample<'_>| {});
    if engine.is_over() {
        let failed = engine.outcomes().first().and_then(|one| one.error.cloned());
        return failed.map_or(Ok(()), Err);
    }
    engine.wait(next.min(engine.now() + STEP))
}

/// Waits until requests are answered: some seconds at most.
fn open(engine: &mut Engine) -> Result<ReflectorState, Error> {
    loop {
        turn(engine)?;
        let opened = state(engine).filter(|state| !state.listening.is_empty());
        if let Some(opened) = opened {
            return Ok(opened);
        }
    }
}

/// What the reflector knows. (All that the engine knows would include what the kernel says of its clock, which the sandbox may forbid to ask.)
fn state(engine: &Engine) -> Option<ReflectorState> {
    engine.outcomes().into_iter().next()?.state.reflector
}

/// Gives up what a reflector with open sockets does not need.
fn confine(arguments: &Reflect, opened: &ReflectorState) -> (Sandbox, Vec<String>) {
    let is_hardware = opened.source == TimestampSource::Hardware.name();
    Sandbox::enter(Needs {
        reads_clock_status: arguments.clock_bound == arguments::ClockBound::Kernel,
        has_its_ports: true,
        reads_hardware_clock: is_hardware,
        // the NIC is switched back at the end
        switches_hardware: is_hardware,
        ..Needs::default()
    })
}

impl Report for Ready {
    fn print(&self, page: &mut Page) {
        let mode = if self.authenticated {
            "authenticated"
        } else {
            "unauthenticated"
        };
        page.line(&format!(
            "answering {mode} STAMP packets on {} with {} timestamps",
            self.listening.join(", "),
            self.source,
        ));
        for warning in &self.warnings {
            page.line(&format!("warning: {warning}"));
        }
    }

    fn rows(&self, rows: &mut Rows) {
        rows.row(self);
    }
}

impl Summary {
    fn of(state: ReflectorState) -> Self {
        Self {
            replies: state.replies,
            dropped: state.dropped,
            not_sent: state.not_sent,
            missing_transmit_reasons: state.missing,
            stamps: state.stamps,
            sessions: state.sessions,
        }
    }
}

impl Report for Summary {
    fn print(&self, page: &mut Page) {
        let sessions = plural(self.sessions, "session");
        page.line(&format!(
            "{}, {sessions}",
            plural(self.replies, "packet") + " answered"
        ));
        // where the NIC was asked for, and made some of them
        if self.stamps.values().filter(|count| **count > 0).count() > 1 {
            let of = |(source, count): (&String, &u64)| format!("{} {source}", grouped(*count));
            let each: Vec<_> = self.stamps.iter().map(of).collect();
            page.field("timestamps", &each.join(", "));
        }
        for (reason, count) in &self.missing_transmit_reasons {
            let packets = plural(*count, "packet");
            page.field(
                "no timestamp",
                &format!("{packets} answered without a transmit timestamp: {reason}"),
            );
        }
        for (reason, count) in self.dropped.iter().filter(|(_, count)| **count > 0) {
            page.field(reason, &format!("{} dropped", plural(*count, "packet")));
        }
    }

    fn rows(&self, rows: &mut Rows) {
        rows.row(self);
    }
}
