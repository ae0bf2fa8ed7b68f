//! The rig of the Windows half on our own model of Windows: its two NICs, and how a
//! process is started that has them. Which faults they have is fixed when a process starts, so
//! each behaviour has a process of its own; what happens to them later is steered.

use super::steering::{self, Steering};
use super::{Need, Setup};
use crate::{Behaviour, Outcome, Stop};
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};
use wirestamp::Interface;

/// Set by `scripts/windows/model` where the substitute DLLs are in place.
const IN_PLACE: &str = "WIRESTAMP_CONFORMANCE_MODEL";
/// Names the model's NICs, and whether they timestamp in hardware: see `wirestamp-win32`.
const NICS: &str = "WIRESTAMP_SIM";
const HARDWARE: &str = "WIRESTAMP_WIN32_SIM_HARDWARE";
/// What the model's NICs are called; as real ones, of more than ASCII.
const NAMES: &str = "WIRESTAMP_WIN32_SIM_NAMES";
pub(super) const NEAR: &str = "Überspannung № 1";
pub(super) const FAR: &str = "イーサネット 2";
/// Whether a packet that was not timestamped has no timestamp, or a zero: both are seen.
const UNSTAMPED: &str = "WIRESTAMP_WIN32_UNSTAMPED";

/// The model's two NICs, as this system lists them, and the way to steer them.
#[derive(Debug)]
pub struct Model {
    pub(super) steering: Steering,
}

impl Model {
    /// Whether it can be had in this process's children.
    ///
    /// # Errors
    /// `Skipped` if not.
    pub fn is_available() -> Outcome {
        match env::var_os(IN_PLACE) {
            Some(_) => Ok(()),
            None => Err(Stop::lacking(
                "the model's DLLs are not in place: see scripts/windows/model",
            )),
        }
    }

    pub(super) fn build() -> Outcome<Self> {
        for name in [NEAR, FAR] {
            if Interface::find(name)?.description().simulated {
                return Err(Stop::Failed(format!("{name} is not listed by the system")));
            }
        }
        Ok(Self {
            steering: Steering::connect()?,
        })
    }

    /// A process of `program` with the NICs that `behaviour` needs. A scenario is kept in
    /// `folder` for it.
    ///
    /// # Errors
    /// If the scenario can't be written.
    pub fn process(program: &Path, behaviour: &Behaviour, folder: &Path) -> io::Result<Command> {
        let mut command = Command::new(program);
        let hardware = behaviour
            .all_needs()
            .any(|need| matches!(need, Need::HardwareClock | Need::DelayedTimestamps));
        command.env(HARDWARE, if hardware { "on" } else { "off" });
        command.env(NAMES, format!("{NEAR};{FAR}"));
        command.env(steering::VARIABLE, folder.join("steering"));
        match behaviour.setup {
            Setup::Preset(name @ "tx-zero") => command.env(NICS, name).env(UNSTAMPED, "zero"),
            Setup::Preset(name) => command.env(NICS, name),
            Setup::Toml(text) => {
                let file = folder.join(format!("{}.toml", behaviour.title()));
                fs::write(&file, text)?;
                command.env(NICS, file)
            }
        };
        Ok(command)
    }
}
