//! Runs every behaviour on every rig, each as a named test; prints what was skipped and why.
//!
//! `cargo test -p wirestamp-conformance -- linux-veth::06` runs one row on one rig.
//! `WIRESTAMP_CONFORMANCE_TABLE=path` writes the table as Markdown. `WIRESTAMP_NO_SKIP=1` fails a
//! behaviour that the machine lacks something for; what a rig cannot show by its nature is skipped as
//! ever. With `WIRESTAMP_ENGINE=ring` nothing runs (exit code 77) unless sockets really get rings.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{env, fs, thread};
use wirestamp::socket::IoUringState;
use wirestamp::{Interface, Timestamping};
use wirestamp_conformance::rig::{Model, Rig, RigKind, hold_as_asked, release};
use wirestamp_conformance::{Behaviour, Stop, Table, Verdict, all, notes};

const TABLE: &str = "WIRESTAMP_CONFORMANCE_TABLE";
/// Nothing hangs: what takes longer has failed.
const LIMIT: Duration = Duration::from_secs(60);
/// Set where nothing may be missing: CI's machines.
const NO_SKIP: &str = "WIRESTAMP_NO_SKIP";
/// The engine of sockets that choose none.
const ENGINE: &str = "WIRESTAMP_ENGINE";
/// The exit code of a step that was skipped.
const SKIPPED_STEP: u8 = 77;
/// Names the one behaviour that a process of the model shows.
const ALONE: &str = "WIRESTAMP_CONFORMANCE_ALONE";

fn main() -> ExitCode {
    if let Ok(title) = env::var(ALONE) {
        return alone(&title);
    }
    if let Some(code) = hold_as_asked() {
        return code;
    }
    let arguments = Arguments::from_args();
    if let Err(reason) = engine_in_force() {
        let _ = writeln!(io::stdout(), "skipped: test-rings: {reason}");
        return ExitCode::from(SKIPPED_STEP);
    }
    let table = Arc::new(Mutex::new(Table::default()));
    let mut trials = Vec::new();
    for kind in RigKind::present() {
        for behaviour in all() {
            if matches!(kind, RigKind::Adopted(_)) && !behaviour.differs_when_adopted() {
                continue;
            }
            let table = Arc::clone(&table);
            let name = format!("{}::{}", kind.name(), behaviour.title());
            trials.push(Trial::ignorable_test(name, move || {
                judge(behaviour, kind, &table)
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    release();
    if !arguments.list
        && let Err(error) = report(&table.lock().unwrap_or_else(PoisonError::into_inner))
    {
        let _ = writeln!(io::stderr(), "the table could not be written: {error}");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// Whether sockets run on the engine that the environment names: the calls that stand in for it
/// elsewhere would pass the same behaviours and show nothing of it.
fn engine_in_force() -> Result<(), String> {
    if !env::var(ENGINE).is_ok_and(|engine| engine.starts_with("ring")) {
        return Ok(());
    }
    let granted = || {
        let socket = Interface::loopback()?.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        socket.configure(Timestamping::OFF.receive().transmit(8))
    };
    let granted = granted().map_err(|error| error.to_string())?;
    match (granted.receive_ring, granted.transmit_ring) {
        (IoUringState::InForce, IoUringState::InForce) => Ok(()),
        (IoUringState::Refused(refusal), _) | (_, IoUringState::Refused(refusal)) => {
            Err(refusal.to_string())
        }
        states => Err(format!("sockets have no rings: {states:?}")),
    }
}

fn report(table: &Table) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(table.plain().as_bytes())?;
    for note in notes() {
        writeln!(out, "{note}")?;
    }
    match env::var_os(TABLE) {
        Some(path) => fs::write(path, table.markdown()),
        None => Ok(()),
    }
}

fn judge(behaviour: Behaviour, kind: RigKind, table: &Mutex<Table>) -> Result<Completion, Failed> {
    let outcome = match kind {
        RigKind::WindowsModel => run_in_a_process(&behaviour),
        _ => run_in_time(behaviour, kind),
    };
    let outcome = match outcome {
        Err(Stop::Lacking(reason)) if env::var_os(NO_SKIP).is_some() => Err(Stop::Failed(format!(
            "skipped, but nothing may be missing here: {reason}"
        ))),
        Err(Stop::Lacking(reason)) => Err(Stop::Skipped(reason)),
        other => other,
    };
    let (verdict, completion) = match outcome {
        Ok(()) => (Verdict::Passed, Ok(Completion::Completed)),
        Err(Stop::Skipped(reason)) => (
            Verdict::Skipped(reason.clone()),
            Ok(Completion::ignored_with(reason)),
        ),
        Err(Stop::Failed(cause) | Stop::Lacking(cause)) => {
            (Verdict::Failed, Err(Failed::from(cause)))
        }
    };
    table.lock().unwrap_or_else(PoisonError::into_inner).note(
        behaviour.row,
        kind,
        &behaviour.title(),
        verdict,
    );
    completion
}

/// Runs on a thread of its own: a rig may take its thread into another network namespace, and
/// a behaviour that hangs must not hang the rest.
fn run_in_time(behaviour: Behaviour, kind: RigKind) -> Result<(), Stop> {
    let (sender, receiver) = mpsc::channel();
    let run = move || {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            Rig::build(kind, &behaviour).and_then(|rig| (behaviour.run)(&rig))
        }));
        let _ = sender.send(ran.unwrap_or_else(|panic| Err(Stop::Failed(said(&*panic)))));
    };
    let thread = thread::Builder::new().name(behaviour.title()).spawn(run);
    thread.map_err(|error| Stop::Failed(format!("no thread: {error}")))?;
    match receiver.recv_timeout(LIMIT) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => {
            Err(Stop::Failed(format!("did not end within {LIMIT:?}")))
        }
        Err(RecvTimeoutError::Disconnected) => {
            Err(Stop::Failed(String::from("ended without an outcome")))
        }
    }
}

/// Shows one behaviour on the model, and tells how it ended in the last line.
fn alone(title: &str) -> ExitCode {
    let outcome = match all()
        .into_iter()
        .find(|behaviour| behaviour.title() == title)
    {
        Some(behaviour) => run_in_time(behaviour, RigKind::WindowsModel),
        None => Err(Stop::Failed(format!("there is no behaviour {title}"))),
    };
    let (line, code) = match outcome {
        Ok(()) => (String::from(PASSED), ExitCode::SUCCESS),
        Err(Stop::Skipped(reason)) => (format!("{SKIPPED}{reason}"), ExitCode::SUCCESS),
        Err(Stop::Lacking(reason)) => (format!("{LACKING}{reason}"), ExitCode::SUCCESS),
        Err(Stop::Failed(cause)) => (format!("failed: {cause}"), ExitCode::FAILURE),
    };
    match writeln!(io::stdout(), "\n{line}") {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

const PASSED: &str = "passed";
const SKIPPED: &str = "skipped: ";
const LACKING: &str = "lacking: ";

fn run_in_a_process(behaviour: &Behaviour) -> Result<(), Stop> {
    Model::is_available()?;
    for need in behaviour.all_needs() {
        need.check(RigKind::WindowsModel).map_err(Stop::Skipped)?;
    }
    let failed = |error: io::Error| Stop::Failed(format!("no process of its own: {error}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    let program = env::current_exe().map_err(failed)?;
    let mut process = Model::process(&program, behaviour, folder.path()).map_err(failed)?;
    let mut output = process
        .env(ALONE, behaviour.title())
        .output()
        .map_err(failed)?;
    if output.stdout.is_empty() {
        // It has not begun: Wine's loader was seen to abort on a busy machine.
        output = process.output().map_err(failed)?;
    }
    let told = String::from_utf8_lossy(&output.stdout);
    let last = told.lines().next_back().unwrap_or_default();
    if last == PASSED && output.status.success() {
        Ok(())
    } else if let Some(reason) = last.strip_prefix(SKIPPED) {
        Err(Stop::Skipped(reason.to_owned()))
    } else if let Some(reason) = last.strip_prefix(LACKING) {
        Err(Stop::Lacking(reason.to_owned()))
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(Stop::Failed(format!("{last}\n{}\n{errors}", output.status)))
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
