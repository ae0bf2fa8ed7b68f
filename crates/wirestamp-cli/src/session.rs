//! What the global options mean: which simulation there is, which interface a command
//! means, how time passes, and whether the reader has had enough. Runs no command.

use crate::arguments::Global;
use crate::failure::{Failure, told};
use crate::signals;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind, Interface, Simulation, Span, file};
use wirestamp_measure::Place;

/// How soon a signal is noticed while nothing happens.
const NAP: Duration = Duration::from_millis(20);

/// What a command runs in.
#[derive(Debug)]
pub(crate) struct Session {
    /// Whether simulated interfaces stand in for those of this system.
    simulated: bool,
    /// Whether somebody chose a simulation at all, by option or environment.
    has_simulation: bool,
    seed: u64,
}

impl Session {
    pub(crate) fn start(global: &Global) -> Result<Self, Failure> {
        if let Some(chosen) = &global.sim {
            simulation(chosen, global.seed)?.set_default()?;
            return Ok(Self {
                simulated: true,
                has_simulation: true,
                seed: global.seed,
            });
        }
        // a wrong one is told by the library to those who ask for a simulated interface
        let chosen = Simulation::of_environment(global.seed);
        let has_simulation = !matches!(chosen, Ok(None));
        match chosen {
            Ok(Some(simulation)) => simulation.set_default()?,
            Ok(None) => {
                let default = wirestamp::sim::Scenario::DEFAULT;
                Simulation::preset(default, global.seed)?.set_default()?;
            }
            Err(_) => {}
        }
        Ok(Self {
            simulated: false,
            has_simulation,
            seed: global.seed,
        })
    }

    /// What decides everything that is random in a simulation.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The interface of this name, or the one that stands for none.
    pub(crate) fn interface(&self, name: Option<&str>) -> Result<Interface, Error> {
        match name {
            Some(name) => Interface::find(name),
            None if self.simulated => Simulation::default_of_process()?.interface("sim0"),
            None => Interface::loopback(),
        }
    }

    /// The interface of this name, or all those that a command means by none.
    pub(crate) fn interfaces(&self, name: Option<&str>) -> Result<Vec<Interface>, Error> {
        if name.is_some() {
            return Ok(vec![self.interface(name)?]);
        }
        let mut found = Interface::list()?;
        found.retain(|interface| interface.description().simulated == self.simulated);
        Ok(found)
    }

    /// Whether a command without an interface means the simulated ones.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// Whether simulated interfaces are listed: not on a host where nobody asked for one.
    pub(crate) fn has_simulation(&self) -> bool {
        self.has_simulation
    }

    /// From now on SIGINT (Ctrl-C), SIGTERM and SIGHUP end the run with its summary; a second one
    /// ends the program once clocks and NICs are restored, a third one at once.
    pub(crate) fn listen_to_interrupts(&self) {
        signals::listen();
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        signals::is_stopping()
    }

    /// Where an interface is measured.
    pub(crate) fn place(&self, interface: &Interface) -> Result<Place, Error> {
        self.place_of(interface.description().simulated)
    }

    /// Where it is measured: the interface that is named says it, and where none is named whether a simulation is meant.
    pub(crate) fn place_named(&self, interface: Option<&str>) -> Result<Place, Error> {
        match interface {
            Some(name) => self.place(&Interface::find(name)?),
            None => self.place_of(self.simulated),
        }
    }

    fn place_of(&self, simulated: bool) -> Result<Place, Error> {
        Ok(match simulated {
            true => Place::Simulation(Simulation::default_of_process()?),
            false => Place::System,
        })
    }

    /// Lets time pass, on this system or in the simulation.
    pub(crate) fn pass(&self, time: Duration, simulated: bool) -> Result<(), Error> {
        if simulated {
            Simulation::default_of_process()?
                .world()
                .advance(Span::from(time));
            return Ok(());
        }
        let until = Instant::now().checked_add(time);
        while !self.is_interrupted() {
            let left = until.map_or(NAP, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(NAP));
        }
        Ok(())
    }
}

/// Why a run without an end is refused in a simulation.
pub(crate) fn endless(operation: &'static str, target: &str) -> Error {
    let cause = "virtual time has no end of its own";
    Error::new(ErrorKind::InvalidInput, operation, target.to_owned(), cause)
        .with_remedy("say how long with --for")
}

/// The longest file with a scenario that is read.
const LONGEST: u64 = 1 << 20;

/// A preset, or what a file describes.
fn simulation(chosen: &str, seed: u64) -> Result<Simulation, Error> {
    if Simulation::presets()
        .iter()
        .any(|(name, _)| *name == chosen)
    {
        return Simulation::preset(chosen, seed);
    }
    let text = file::read_text(Path::new(chosen), LONGEST).map_err(|error| {
        told(
            ErrorKind::InvalidInput,
            "read the simulation",
            chosen,
            &error,
        )
        .with_remedy("name a TOML file, or a preset: see wirestamp presets")
    })?;
    Simulation::from_toml(&text, seed).map_err(|error| {
        let cause = format!("{}: {}", error.target(), error.cause());
        Error::new(error.kind(), error.operation().to_owned(), chosen, cause)
            .with_remedy(error.remedy().to_owned())
    })
}
