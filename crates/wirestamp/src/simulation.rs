//! Simulations, and the default one, whose interfaces are listed after the real ones.

use crate::host::Host;
use crate::inner::Inner;
use crate::interface::Interface;
use crate::watch::{ChangeEvent, Watch};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use wirestamp_core::{Error, ErrorKind, Result};
use wirestamp_sim::{Scenario, World};
use wirestamp_sys::environment::variable;

/// The largest scenario file in bytes.
const LONGEST: u64 = 1 << 20;

/// The environment variable that names the default simulation: a preset, or a TOML file. A program that has more rights than
/// the user who started it (set-user-ID, file capabilities) does not read it.
pub const ENVIRONMENT: &str = "WIRESTAMP_SIM";

/// A simulated host with its NICs in virtual time, which passes only while the program waits.
///
/// Everything created from it ([`Interface`], [`UdpSocket`](crate::UdpSocket),
/// [`Correlator`](crate::Correlator), [`Watch`]) has the same type as on a real system. Two
/// simulations with the same scenario and seed are identical to the bit.
#[derive(Debug, Clone)]
pub struct Simulation {
    host: Arc<Host>,
    world: World,
}

static DEFAULT: Mutex<Option<Result<Simulation>>> = Mutex::new(None);

impl Simulation {
    /// The seed of the default simulation: it is the same in every run.
    #[doc(hidden)]
    pub const DEFAULT_SEED: u64 = 1;

    /// Starts a simulation from a preset; see [`presets`](Self::presets).
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name; the message suggests similar ones.
    pub fn preset(name: &str, seed: u64) -> Result<Self> {
        Ok(Self::start(&Scenario::preset(name)?, seed))
    }

    /// Starts a simulation from a scenario in TOML.
    ///
    /// # Errors
    /// `InvalidInput`, with the line and field.
    pub fn from_toml(text: &str, seed: u64) -> Result<Self> {
        Ok(Self::start(&Scenario::from_toml(text)?, seed))
    }

    /// Starts a simulation from a scenario.
    pub fn start(scenario: &Scenario, seed: u64) -> Self {
        let world = World::new(scenario, seed);
        let host = Host::new(Inner::Simulated(world.clone()));
        Self { host, world }
    }

    /// Returns the presets, each with its name and a one-line description.
    pub fn presets() -> &'static [(&'static str, &'static str)] {
        Scenario::presets()
    }

    /// Makes this the default simulation, instead of the one that `WIRESTAMP_SIM` selects:
    /// [`Interface::find`] and [`Interface::list`] then include its interfaces.
    ///
    /// # Errors
    /// `InvalidInput` if the default simulation is already in use. Call this before looking up
    /// interfaces.
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

    /// Returns the default simulation, whose interfaces [`Interface::find`] includes. Starts it at
    /// the first call.
    ///
    /// # Errors
    /// `InvalidInput` if `WIRESTAMP_SIM` is neither a preset nor the path of a valid scenario.
    pub fn default_of_process() -> Result<Self> {
        let mut default = DEFAULT.lock().unwrap_or_else(PoisonError::into_inner);
        default.get_or_insert_with(Self::from_environment).clone()
    }

    fn from_environment() -> Result<Self> {
        match Self::of_environment(Self::DEFAULT_SEED)? {
            Some(chosen) => Ok(chosen),
            None => Self::preset(Scenario::DEFAULT, Self::DEFAULT_SEED),
        }
    }

    /// Starts the simulation that `WIRESTAMP_SIM` selects; `None` if it is unset or empty, or if the program has more
    /// rights than its user.
    ///
    /// # Errors
    /// `InvalidInput` if it is neither a preset nor the path of a valid scenario.
    #[doc(hidden)]
    pub fn of_environment(seed: u64) -> Result<Option<Self>> {
        let Some(chosen) = variable(ENVIRONMENT).filter(|chosen| !chosen.is_empty()) else {
            return Ok(None);
        };
        let chosen = chosen
            .to_str()
            .ok_or_else(|| not_chosen("…", "its value is not UTF-8"))?;
        Self::from_preset_or_file(chosen, seed).map(Some)
    }

    fn from_preset_or_file(chosen: &str, seed: u64) -> Result<Self> {
        if Self::presets().iter().any(|(name, _)| *name == chosen) {
            return Self::preset(chosen, seed);
        }
        if !Path::new(chosen).exists() {
            return Err(not_chosen(
                chosen,
                "there is neither a preset nor a file of this name",
            ));
        }
        let text = wirestamp_sys::file::read_text(Path::new(chosen), LONGEST)
            .map_err(|error| not_chosen(chosen, error.to_string()).with_system(&error))?;
        Self::from_toml(&text, seed)
    }

    /// Lists the simulated interfaces.
    ///
    /// # Errors
    /// None; the signature is that of [`Interface::list`].
    pub fn interfaces(&self) -> Result<Vec<Interface>> {
        Interface::all_of(&self.host)
    }

    /// Finds a simulated interface by name.
    ///
    /// # Errors
    /// `NoSuchDevice`; the message suggests similar names.
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

    /// Returns the simulated world, with which tests inspect the true clocks, inject faults and
    /// advance time.
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
