//! Simulations and which of them is the default, the one whose interfaces are found
//! beside the real ones. What a simulation does is `wirestamp-sim`'s affair.

use crate::host::Host;
use crate::inner::Inner;
use crate::interface::Interface;
use crate::watch::{ChangeEvent, Watch};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use wirestamp_core::{Error, ErrorKind, Result};
use wirestamp_sim::{Scenario, World};

/// The longest file with a scenario that is read.
const LONGEST: u64 = 1 << 20;

/// The environment variable that names the default simulation: a preset, or a TOML file.
pub const ENVIRONMENT: &str = "WIRESTAMP_SIM";
/// The default simulation is the same in every run.
const DEFAULT_SEED: u64 = 1;

/// A simulated host with its NICs, in virtual time: time passes when somebody waits.
///
/// Everything made from it ([`Interface`], [`UdpSocket`](crate::UdpSocket),
/// [`Correlator`](crate::Correlator), [`Watch`]) has the same types as the real thing.
/// Two simulations of the same scenario and seed behave the same to the bit.
#[derive(Debug, Clone)]
pub struct Simulation {
    host: Arc<Host>,
    world: World,
}

static DEFAULT: Mutex<Option<Result<Simulation>>> = Mutex::new(None);

impl Simulation {
    /// Starts a simulation of one of the presets ([`presets`](Self::presets)).
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name; the message names the nearest.
    pub fn preset(name: &str, seed: u64) -> Result<Self> {
        Ok(Self::start(&Scenario::preset(name)?, seed))
    }

    /// Starts the simulation that a TOML text describes.
    ///
    /// # Errors
    /// `InvalidInput`, with line and field.
    pub fn from_toml(text: &str, seed: u64) -> Result<Self> {
        Ok(Self::start(&Scenario::from_toml(text)?, seed))
    }

    /// Starts the simulation of a scenario.
    pub fn start(scenario: &Scenario, seed: u64) -> Self {
        let world = World::new(scenario, seed);
        let host = Host::new(Inner::Simulated(world.clone()));
        Self { host, world }
    }

    /// Lists the presets, each with its name and a description of one line.
    pub fn presets() -> &'static [(&'static str, &'static str)] {
        Scenario::presets()
    }

    /// Makes `self` the simulation whose interfaces [`Interface::find`] and
    /// [`Interface::list`] show beside the real ones, instead of the one that
    /// `WIRESTAMP_SIM` names.
    ///
    /// # Errors
    /// `InvalidInput` if the default was used already: it can't change under those who use it.
    pub fn set_default(self) -> Result<()> {
        let mut default = DEFAULT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Ok(_)) = *default {
            let cause = "the default simulation is in use already";
            let error = Error::new(
                ErrorKind::InvalidInput,
                "choose the default simulation",
                "this process",
                cause,
            );
            return Err(error.with_remedy("choose it before anything looks for interfaces"));
        }
        *default = Some(Ok(self));
        Ok(())
    }

    /// Returns the simulation whose interfaces [`Interface::find`] knows, started at first use.
    ///
    /// # Errors
    /// `InvalidInput` if `WIRESTAMP_SIM` names neither a preset nor a readable scenario.
    pub fn default_of_process() -> Result<Self> {
        let mut default = DEFAULT.lock().unwrap_or_else(PoisonError::into_inner);
        default.get_or_insert_with(Self::from_environment).clone()
    }

    fn from_environment() -> Result<Self> {
        match Self::of_environment()? {
            Some(chosen) => Ok(chosen),
            None => Self::preset(Scenario::DEFAULT, DEFAULT_SEED),
        }
    }

    /// Starts the simulation that `WIRESTAMP_SIM` names; `None` if it is unset or empty.
    ///
    /// # Errors
    /// `InvalidInput` if it names neither a preset nor a readable scenario.
    #[doc(hidden)]
    pub fn of_environment() -> Result<Option<Self>> {
        match std::env::var(ENVIRONMENT) {
            Ok(empty) if empty.is_empty() => Ok(None),
            Ok(chosen) => Self::from_preset_or_file(&chosen).map(Some),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => {
                Err(not_chosen("…", "its value is not UTF-8"))
            }
        }
    }

    fn from_preset_or_file(chosen: &str) -> Result<Self> {
        if Self::presets().iter().any(|(name, _)| *name == chosen) {
            return Self::preset(chosen, DEFAULT_SEED);
        }
        if !Path::new(chosen).exists() {
            return Err(not_chosen(
                chosen,
                "there is neither a preset nor a file of this name",
            ));
        }
        let text = wirestamp_sys::file::read_text(Path::new(chosen), LONGEST)
            .map_err(|error| not_chosen(chosen, error.to_string()).with_system(&error))?;
        Self::from_toml(&text, DEFAULT_SEED)
    }

    /// Lists the simulated interfaces.
    ///
    /// # Errors
    /// None in practice; the signature is that of [`Interface::list`].
    pub fn interfaces(&self) -> Result<Vec<Interface>> {
        Interface::all_of(&self.host)
    }

    /// Finds a simulated interface by name.
    ///
    /// # Errors
    /// `NoSuchDevice`; the message offers the nearest names.
    pub fn interface(&self, name: &str) -> Result<Interface> {
        Interface::named_of(&self.host, name)
    }

    /// Calls `callback` on every change in the simulation: see [`Watch`].
    ///
    /// # Errors
    /// As [`Watch::register`].
    pub fn watch(&self, callback: impl FnMut(&ChangeEvent) + Send + 'static) -> Result<Watch> {
        Watch::on(&self.host, callback)
    }

    /// Returns the simulated world, for tests: its truth, its faults, its time.
    pub fn world(&self) -> &World {
        &self.world
    }
}

fn not_chosen(chosen: &str, cause: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    let names: Vec<_> = Simulation::presets()
        .iter()
        .map(|(name, _)| *name)
        .collect();
    let target = format!("{ENVIRONMENT}={chosen}");
    Error::new(
        ErrorKind::InvalidInput,
        "choose the default simulation",
        target,
        cause,
    )
    .with_remedy(format!("name a TOML file or one of: {}", names.join(", ")))
}
