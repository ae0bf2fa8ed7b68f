//! Owns the backends that behaviours are shown on, and what each can and cannot show. Shows
//! no behaviour itself.

mod ends;
mod model;
mod need;
#[cfg(target_os = "linux")]
mod thread;
#[cfg(not(target_os = "linux"))]
#[path = "thread_elsewhere.rs"]
mod thread;
#[cfg(target_os = "linux")]
mod veth;
#[cfg(not(target_os = "linux"))]
#[path = "veth_elsewhere.rs"]
mod veth;

pub use model::Model;
pub use need::Need;
pub use veth::Veth;

pub(crate) use ends::{DELAYED, Family, Pair};
pub(crate) use thread::{cpu_time, is_privileged, without_privilege};

use crate::{Behaviour, Outcome, Stop};
use std::thread as threads;
use std::time::{Duration, Instant};
use wirestamp::sim::World;
use wirestamp::{ChangeEvent, Interface, InterfaceState, Simulation, Span, Watch};

/// The same seed always: a failure can be repeated.
const SEED: u64 = 1;

/// Which backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RigKind {
    /// The simulated adapters, on any machine.
    Simulator,
    /// This machine's loopback interface.
    LinuxLoopback,
    /// Two network namespaces joined by a veth pair.
    LinuxVeth,
    /// The Windows half on `wirestamp-win32`'s adapters, through substitute system DLLs.
    WindowsModel,
}

impl RigKind {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 4] = [Self::Simulator, Self::LinuxLoopback, Self::LinuxVeth, Self::WindowsModel];

    /// Whether a system of this name can have it; `std::env::consts::OS` names this one.
    pub fn is_of(self, system: &str) -> bool {
        match self {
            Self::Simulator => true,
            Self::LinuxLoopback | Self::LinuxVeth => system != "windows",
            Self::WindowsModel => system == "windows",
        }
    }

    /// What tests on it are called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::LinuxLoopback => "linux-loopback",
            Self::LinuxVeth => "linux-veth",
            Self::WindowsModel => "windows-model",
        }
    }
}

/// What the simulator simulates for a behaviour.
#[derive(Debug, Clone, Copy)]
pub enum Setup {
    /// One of its presets.
    Preset(&'static str),
    /// A scenario file.
    Toml(&'static str),
}

/// A backend, made anew for each behaviour. The *near* end sends and the *far* end receives.
#[derive(Debug)]
pub enum Rig {
    /// From `sim0` to `sim1`.
    Simulator(Simulation),
    /// From loopback to itself.
    Loopback(Interface),
    /// From one namespace to the other; the behaviour's thread is in the near one.
    Veth(Veth),
    /// From one adapter of the model to the other.
    Model(Model),
}

impl Rig {
    /// Makes the backend that `behaviour` needs.
    ///
    /// # Errors
    /// `Skipped` if this backend or this machine can't show the behaviour.
    pub fn build(kind: RigKind, behaviour: &Behaviour) -> Outcome<Self> {
        for need in behaviour.all_needs() {
            need.check(kind).map_err(Stop::Skipped)?;
        }
        match kind {
            RigKind::Simulator => Ok(Self::Simulator(match behaviour.setup {
                Setup::Preset(name) => Simulation::preset(name, SEED)?,
                Setup::Toml(text) => Simulation::from_toml(text, SEED)?,
            })),
            RigKind::LinuxLoopback => {
                veth::is_linux().map_err(Stop::Skipped)?;
                Ok(Self::Loopback(Interface::loopback()?))
            }
            RigKind::LinuxVeth => {
                veth::is_available().map_err(Stop::Skipped)?;
                let veth = Veth::build()?;
                veth.enter_near()?;
                let rig = Self::Veth(veth);
                // the kernel lets packets pass a moment after both ends are switched on
                if rig.until(|| rig.is_up()) { Ok(rig) } else { Err(Stop::skipped("the veth pair does not come up")) }
            }
            RigKind::WindowsModel => Ok(Self::Model(Model::build()?)),
        }
    }

    fn is_up(&self) -> bool {
        let up = |interface: Outcome<Interface>| {
            interface.is_ok_and(|interface| interface.description().state == InterfaceState::Up)
        };
        up(self.near()) && self.at_far(|| up(self.far()))
    }

    pub(crate) fn near(&self) -> Outcome<Interface> {
        Ok(match self {
            Self::Simulator(simulation) => simulation.interface("sim0")?,
            Self::Loopback(interface) => interface.clone(),
            Self::Veth(veth) => Interface::find(veth.near_name())?,
            Self::Model(model) => model.near.clone(),
        })
    }

    /// To be asked only [`at_far`](Self::at_far).
    pub(crate) fn far(&self) -> Outcome<Interface> {
        Ok(match self {
            Self::Simulator(simulation) => simulation.interface("sim1")?,
            Self::Loopback(interface) => interface.clone(),
            Self::Veth(veth) => Interface::find(veth.far_name())?,
            Self::Model(model) => model.far.clone(),
        })
    }

    /// Does something where the far end's interface is.
    pub(crate) fn at_far<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Veth(veth) => veth.at_far(act),
            Self::Simulator(_) | Self::Loopback(_) | Self::Model(_) => act(),
        }
    }

    pub(crate) fn list(&self) -> Outcome<Vec<Interface>> {
        Ok(match self {
            Self::Simulator(simulation) => simulation.interfaces()?,
            _ => Interface::list()?,
        })
    }

    pub(crate) fn find(&self, name: &str) -> wirestamp::Result<Interface> {
        match self {
            Self::Simulator(simulation) => simulation.interface(name),
            _ => Interface::find(name),
        }
    }

    pub(crate) fn watch(&self, callback: impl FnMut(&ChangeEvent) + Send + 'static) -> wirestamp::Result<Watch> {
        match self {
            Self::Simulator(simulation) => simulation.watch(callback),
            _ => Watch::register(callback),
        }
    }

    pub(crate) fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulator(_))
    }

    /// The simulated world. For behaviours that need [`Need::Simulation`].
    pub(crate) fn world(&self) -> &World {
        let Self::Simulator(simulation) = self else { panic!("the behaviour does not say that it needs a simulation") };
        simulation.world()
    }

    /// The namespaces. For behaviours that need [`Need::OwnNetwork`].
    pub(crate) fn veth(&self) -> &Veth {
        let Self::Veth(veth) = self else { panic!("the behaviour does not say that it needs a network of its own") };
        veth
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, time: Duration) {
        match self {
            Self::Simulator(simulation) => simulation.world().advance(Span::from(time)),
            _ => threads::sleep(time),
        }
    }

    /// Lets time pass until `holds`, at most ten seconds; returns whether it does.
    pub(crate) fn until(&self, mut holds: impl FnMut() -> bool) -> bool {
        const STEP: Duration = Duration::from_millis(2);
        let started = Instant::now();
        let mut steps = 0;
        while !holds() {
            let simulated_too_long = self.is_simulated() && steps > 5_000;
            if simulated_too_long || started.elapsed() > Duration::from_secs(10) {
                return false;
            }
            self.pass(STEP);
            steps += 1;
        }
        true
    }

    /// Takes the link down between the ends, or up again. Needs [`Need::Link`].
    pub(crate) fn set_link(&self, up: bool) -> Outcome {
        match self {
            Self::Simulator(simulation) => simulation.world().set_link(up),
            Self::Loopback(_) | Self::Model(_) => panic!("the behaviour does not say that it needs a link"),
            Self::Veth(veth) => veth.set_far_up(up)?, // the near end hears of it a moment later
        }
        Ok(())
    }
}
