//! `doctor`: chooses the checks and reports their results. The checks are in `system` and `nic`, the commands that
//! would change something in `remedy`.

mod check;
mod driver;
mod facts;
mod nic;
#[cfg(windows)]
mod registry;
#[cfg(not(windows))]
mod registry_elsewhere;
#[cfg(not(windows))]
use registry_elsewhere as registry;
mod remedy;
mod system;
#[cfg(target_os = "linux")]
mod xdp;

use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::Session;
use check::{Check, Commands, Status};
use serde::Serialize;
use wirestamp::{Interface, Simulation};

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Diagnosis {
    /// Whether it is a simulated NIC.
    simulated: bool,
    /// Whose commands help: linux or windows (this host's, or the simulated one's), or the name of this host's system.
    system: &'static str,
    /// Names of the interfaces that were checked.
    interfaces: Vec<String>,
    /// One object a check.
    checks: Vec<Check>,
    /// How many of each status.
    summary: Summary,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Summary {
    /// Checks of what works.
    ok: usize,
    /// Checks of what works less well than it could.
    warn: usize,
    /// Checks of what should work and does not.
    fail: usize,
    /// Checks that were not made.
    skip: usize,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Diagnosis>("doctor", "Output of `wirestamp doctor --json`").row::<Check>()
}

pub(super) fn run(
    arguments: &arguments::Doctor,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interfaces = session.interfaces(arguments.interface.as_deref())?;
    let simulated = interfaces.first().map_or(session.is_simulated(), |first| {
        first.description().simulated
    });
    let mut checks = Vec::new();
    if simulated {
        system::simulated(
            &Simulation::default_of_process()?.interface("sim0")?,
            &mut checks,
        );
    } else {
        system::native(&mut checks);
    }
    for interface in &interfaces {
        nic::check(interface, arguments.probe, &mut checks);
    }
    let summary = Summary::of(&checks);
    let exit = if summary.fail > 0 {
        Exit::Failed
    } else {
        Exit::Success
    };
    // only Windows has these identifiers
    let has_luid = |interface: &Interface| interface.description().luid.is_some();
    let system = match (simulated, interfaces.iter().any(has_luid)) {
        (true, true) => "windows",
        (true, false) => "linux",
        (false, _) => std::env::consts::OS,
    };
    let interfaces = interfaces
        .iter()
        .map(Interface::name)
        .map(ToOwned::to_owned)
        .collect();
    output.report(&Diagnosis {
        simulated,
        system,
        interfaces,
        checks,
        summary,
    })?;
    Ok(exit)
}

impl Summary {
    fn of(checks: &[Check]) -> Self {
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        Self {
            ok: count(Status::Ok),
            warn: count(Status::Warn),
            fail: count(Status::Fail),
            skip: count(Status::Skip),
        }
    }
}

impl Report for Diagnosis {
    fn print(&self, page: &mut Page) {
        let (mut previous, mut commands) = (None, &Commands::default());
        for check in &self.checks {
            if previous != Some(&check.interface) {
                if previous.is_some() {
                    page.gap();
                }
                let system = if self.simulated {
                    "the simulated system"
                } else {
                    "this system"
                };
                page.heading(check.interface.as_deref().unwrap_or(system));
                previous = Some(&check.interface);
            }
            check.print(page, commands, self.system);
            if !check.commands.is_empty() {
                commands = &check.commands;
            }
        }
        page.gap();
        let Summary {
            ok,
            warn,
            fail,
            skip,
        } = self.summary;
        page.line(&format!(
            "{ok} ok, {warn} to look at, {fail} failed, {skip} skipped"
        ));
    }

    fn rows(&self, rows: &mut Rows) {
        self.checks.iter().for_each(|check| rows.row(check));
    }
}
