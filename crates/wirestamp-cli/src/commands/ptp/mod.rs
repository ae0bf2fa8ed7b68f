//! `ptp`: the engine, run as a PTP clock, and what it prints.

mod campaign;
mod line;
mod live;
mod off_limit;
mod plot;
mod reports;
mod run;
mod simulate;
mod status;
mod summary;

use crate::arguments::{Ptp, PtpAction, limited};
use crate::commands::limits;
use crate::commands::offsets::{self, Course, Files, Shown};
use crate::exit::Exit;
use crate::failure::{Failure, told};
#[cfg(all(test, feature = "schema"))]
use crate::output::Dropped;
use crate::output::html::Grid;
use crate::output::{Output, plural};
use crate::sandbox::{Needs, Sandbox};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::{self, Session};
use crate::signals::Unrestored;
use off_limit::off_limit;
use reports::Reports;
use run::Run;
use serde::Serialize;
use std::io;
use std::time::SystemTime;
use summary::Summary;
use wirestamp::{Error, ErrorKind, Interface, environment, file};
use wirestamp_measure::PtpReport;
use wirestamp_ptp::{Agreement, Clock, Configuration, Role, Source, StatusServer, Transport};

/// A line for each part of the sandbox that this system lacks.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Unconfined<'a> {
    /// The missing part, in a sentence.
    sandbox_warning: &'a str,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schemas() -> [Document; 2] {
    let lines = Document::lines("ptp", "A line of the output of `wirestamp ptp --json`")
        .line::<line::Line>("A Sync that gave a sample, or a change of state")
        .line::<summary::Wrapped<'_>>("The summary at the end")
        .line::<simulate::Line<'_>>("A simulated network (--simulate)")
        .line::<wirestamp_ptp::simulate::campaign::Run>("A run of --simulate campaign")
        .line::<campaign::Summary<'_>>("The summary of --simulate campaign")
        .line::<Unconfined<'_>>("The system lacks a part of the sandbox")
        .line::<reports::Warned<'_>>("A property of the system that its user may not want")
        .line::<reports::NotFollowed>("An offset is larger than may be followed")
        .line::<reports::NotMoved>("The clock could not be steered")
        .line::<reports::Compared<'_>>("The configured sources agree or disagree from now on")
        .line::<Dropped>("The output was not read for a while");
    [lines, status::schema()]
}

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
    let mut configuration = configuration(arguments)?;
    let interfaces = interfaces(&configuration, session)?;
    configuration.interfaces = interfaces.iter().map(|one| one.name().to_owned()).collect();
    let simulated = interfaces[0].description().simulated;
    if simulated && limited(arguments.duration).is_none() {
        return Err(session::endless("run a PTP clock", interfaces[0].name()).into());
    }
    let asked = [&arguments.plot, &arguments.html, &arguments.histogram];
    let files = offsets::files(asked)?.open()?;
    let sandboxed = !simulated && !arguments.no_sandbox;
    let sandbox = sandboxed
        .then(|| confine(&configuration, &interfaces, &files, output))
        .transpose()?;
    session.listen_to_interrupts();
    if !simulated {
        output.write_behind(); // a clock is served whether or not anybody reads
    }
    // dropped after the engine, which restores clock and NIC
    let _unrestored = Unrestored::new();
    let asked = configuration.clone();
    let is_steered = asked.clock != Clock::Measure;
    let begun = SystemTime::now();
    let mut reports = Reports::to(output, Course::of(is_steered));
    let mut run = Run::begin(configuration, &interfaces[0], session, &mut reports)?;
    if let Some(missing) = sandbox.as_ref().and_then(Sandbox::close) {
        warn(reports.output(), &missing)?;
    }
    run.serve(limited(arguments.duration), session, &mut reports)?;
    let report = run.end(&mut reports)?;
    let (tally, course) = reports.into_samples();
    let summary = tally.summary(report.counts.clone(), arguments.max_offset);
    summary.write(output)?;
    let ended = finish(&summary, report, &asked);
    let has_some = ended.is_ok() || summary.samples > 0;
    let drawn = has_some.then(|| {
        let clock = offsets::Clock {
            name: "the timeTransmitter".to_owned(),
            delay: "mean path delay",
            delay_is: "mean of both directions",
            course: &course,
        };
        let samples = plural(summary.samples, "sample");
        files.write(&Shown {
            command: "ptp",
            title: format!("PTP at {}: {samples}", asked.interfaces[0]),
            summary: OFFSETS,
            begun,
            took: tally.took(),
            tables: vec![Grid::of_values("The run", summary.values())],
            asked: 1,
            clocks: vec![clock],
        })
    });
    // its own error comes before one of drawing
    let exit = ended?;
    drawn.transpose()?;
    Ok(exit)
}

/// In a report.
const OFFSETS: &str = "Offsets are those of this clock from the timeTransmitter's: positive if this one is ahead. The truth lies within \
the band.";

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
    for transport in &arguments.transport {
        configuration.choose_transport(transport)?;
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

/// Gives up what the run does not need. What needs privilege is asked before: whose the ports are, and
/// who else steers the clock.
fn confine(
    configuration: &Configuration,
    interfaces: &[Interface],
    files: &Files<'_>,
    output: &mut Output,
) -> Result<Sandbox, Failure> {
    wirestamp_ptp::check_free(configuration, interfaces)?;
    let hardware = configuration.source != Source::Software && configuration.clock != Clock::System;
    let is_ethernet =
        |port: &Interface| configuration.transport_of(port.name()) == Transport::Ethernet;
    let (sandbox, missing) = Sandbox::enter(Needs {
        has_its_ports: interfaces.iter().all(is_ethernet),
        opens_ethernet: interfaces.iter().any(is_ethernet),
        sets_system_clock: configuration.clock == Clock::System,
        sets_hardware_clock: configuration.clock == Clock::Nic,
        reads_hardware_clock: hardware,
        switches_hardware: configuration.enable_hardware,
        uses_rings: environment::variable("WIRESTAMP_ENGINE")
            .is_some_and(|engine| engine == "ring"),
        writes_files: !files.is_empty(),
        renames_in: files.folders().collect(),
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

/// Returns the error that it ended with: one of steering before all others.
fn finish(summary: &Summary, report: PtpReport, asked: &Configuration) -> Result<Exit, Failure> {
    let interface = asked.interfaces[0].as_str();
    if let Some(error) = report.steering_error {
        return Err(error.into());
    }
    if report.agreement == Agreement::Disagree {
        let cause = "the configured timeTransmitters disagree by more than their error bounds";
        let operation = "follow a timeTransmitter";
        let error = Error::new(ErrorKind::Unreachable, operation, interface, cause);
        return Err(error
            .with_remedy(
                "find out which is wrong: wirestamp ptp status IFACE --json shows the offset of each",
            )
            .into());
    }
    if summary.samples == 0 && asked.role == Role::TimeReceiver {
        let why = report.unmeasured;
        let (kind, operation) = (ErrorKind::Unreachable, "measure the offset");
        let error = Error::new(kind, operation, interface, why.to_string());
        return Err(error.with_remedy(why.remedy()).into());
    }
    report.ended?;
    let refused = report
        .refused_offset
        .filter(|_| !asked.steering.keep_measuring);
    if let Some(refused) = refused {
        return Err(Failure::OffLimit(off_limit(refused)));
    }
    Ok(limits::exit(&summary.limits, summary.lost_in_all > 0))
}
