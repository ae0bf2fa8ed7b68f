//! Runs every behaviour on every rig, each as a named test; prints what was skipped and why.
//!
//! `cargo test -p wirestamp-conformance -- linux-veth::06` runs one row on one rig.
//! `WIRESTAMP_CONFORMANCE_TABLE=path` writes the table as Markdown.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{env, fs, thread};
use wirestamp_conformance::rig::{Rig, RigKind, release};
use wirestamp_conformance::{Behaviour, Stop, Table, Verdict, all};

const TABLE: &str = "WIRESTAMP_CONFORMANCE_TABLE";
/// Nothing hangs: what takes longer has failed.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let table = Arc::new(Mutex::new(Table::default()));
    let mut trials = Vec::new();
    for kind in RigKind::present() {
        for behaviour in all() {
            let table = Arc::clone(&table);
            let name = format!("{}::{}", kind.name(), behaviour.title());
            trials.push(Trial::ignorable_test(name, move || judge(behaviour, kind, &table)));
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

fn report(table: &Table) -> io::Result<()> {
    io::stdout().write_all(table.plain().as_bytes())?;
    match env::var_os(TABLE) {
        Some(path) => fs::write(path, table.markdown()),
        None => Ok(()),
    }
}

fn judge(behaviour: Behaviour, kind: RigKind, table: &Mutex<Table>) -> Result<Completion, Failed> {
    let outcome = run_in_time(behaviour, kind);
    let (verdict, completion) = match outcome {
        Ok(()) => (Verdict::Passed, Ok(Completion::Completed)),
        Err(Stop::Skipped(reason)) => (Verdict::Skipped(reason.clone()), Ok(Completion::ignored_with(reason))),
        Err(Stop::Failed(cause)) => (Verdict::Failed, Err(Failed::from(cause))),
    };
    table.lock().unwrap_or_else(PoisonError::into_inner).note(behaviour.row, kind, &behaviour.title(), verdict);
    completion
}

/// Runs on a thread of its own: a rig may take its thread into another network namespace, and
/// a behaviour that hangs must not hang the rest.
fn run_in_time(behaviour: Behaviour, kind: RigKind) -> Result<(), Stop> {
    let (sender, receiver) = mpsc::channel();
    let run = move || {
        let ran = catch_unwind(AssertUnwindSafe(|| Rig::build(kind, &behaviour).and_then(|rig| (behaviour.run)(&rig))));
        let _ = sender.send(ran.unwrap_or_else(|panic| Err(Stop::Failed(said(&*panic)))));
    };
    let thread = thread::Builder::new().name(behaviour.title()).spawn(run);
    thread.map_err(|error| Stop::Failed(format!("no thread: {error}")))?;
    match receiver.recv_timeout(LIMIT) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => Err(Stop::Failed(format!("did not end within {LIMIT:?}"))),
        Err(RecvTimeoutError::Disconnected) => Err(Stop::Failed(String::from("ended without an outcome"))),
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
