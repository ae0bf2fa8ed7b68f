//! The backends that behaviours are shown on, and what each can and cannot show. Shows
//! no behaviour itself.

#[cfg(target_os = "linux")]
mod cable;
#[cfg(not(target_os = "linux"))]
mod cable_elsewhere;
#[cfg(not(target_os = "linux"))]
use cable_elsewhere as cable;
mod captures;
mod ends;
mod frames;
mod host;
mod model;
mod need;
#[cfg(target_os = "linux")]
mod network;
#[cfg(not(target_os = "linux"))]
mod network_elsewhere;
#[cfg(not(target_os = "linux"))]
use network_elsewhere as network;
mod origin;
mod other_program;
mod steering;
#[cfg(target_os = "linux")]
mod thread;
#[cfg(not(target_os = "linux"))]
mod thread_elsewhere;
#[cfg(not(target_os = "linux"))]
use thread_elsewhere as thread;

pub use cable::{Cable, release};
pub use model::Model;
pub use need::Need;
pub use network::Network;
pub use origin::Origin;
pub use other_program::hold_as_asked;

pub(crate) use captures::{Captures, Marked, Seen as SeenPacket};
pub(crate) use ends::{DELAYED, Family, PTP_EVENTS, Pair, SYNC};
pub(crate) use frames::Frames;
pub(crate) use host::{Course, Host};
#[cfg(target_os = "linux")]
pub(crate) use origin::sharing;
pub(crate) use other_program::OtherProgram;
pub(crate) use thread::{Seen, cpu_time, is_privileged, without_privilege};

use crate::{Behaviour, Outcome, Stop};
use cable::VirtualClocks;
use std::env::consts::OS;
use std::thread as threads;
use std::time::{Duration, Instant};
use wirestamp::interface::{ChangeEvent, HardwareConfiguration, InterfaceState};
use wirestamp::sim::NicName;
use wirestamp::{Interface, Simulation, Span, Watch};

/// The same seed always: a failure can be repeated.
const SEED: u64 = 1;

/// Which backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RigKind {
    /// The simulated NICs, on any machine.
    Simulator,
    /// This machine's loopback interface.
    LinuxLoopback,
    /// The same with sockets that somebody else made: the behaviours to which that makes a difference.
    Adopted(Origin),
    /// Two network namespaces joined by a veth pair.
    LinuxVeth,
    /// Two NICs with clocks that a cable joins, in a network namespace each.
    LinuxHardware,
    /// The Windows half on `wirestamp-win32`'s NICs, through substitute system DLLs.
    WindowsModel,
}

impl RigKind {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 9] = [
        Self::Simulator,
        Self::LinuxLoopback,
        Self::Adopted(Origin::Std),
        Self::Adopted(Origin::Socket2),
        Self::Adopted(Origin::Tokio),
        Self::Adopted(Origin::Descriptor),
        Self::LinuxVeth,
        Self::LinuxHardware,
        Self::WindowsModel,
    ];

    /// Those to run here: what this system can have, and hardware only where somebody has named some.
    pub fn present() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| match kind {
            Self::Simulator => true,
            Self::LinuxLoopback | Self::Adopted(_) | Self::LinuxVeth => OS != "windows",
            Self::LinuxHardware => cable::is_named(),
            Self::WindowsModel => OS == "windows",
        })
    }

    /// What tests on it are called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::LinuxLoopback => "linux-loopback",
            Self::Adopted(origin) => origin.rig(),
            Self::LinuxVeth => "linux-veth",
            Self::LinuxHardware => "linux-hardware",
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
    /// The same with adopted sockets.
    Adopted(Interface, Origin),
    /// From one namespace to the other; the behaviour's thread is in the near one.
    Veth(Network),
    /// From one NIC to the other; likewise.
    Cable(Cable),
    /// From one NIC of the model to the other.
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
                network::is_linux().map_err(Stop::Lacking)?;
                Ok(Self::Loopback(Interface::loopback()?))
            }
            RigKind::Adopted(origin) => {
                network::is_linux().map_err(Stop::Lacking)?;
                Ok(Self::Adopted(Interface::loopback()?, origin))
            }
            RigKind::LinuxVeth => {
                network::is_available().map_err(Stop::Lacking)?;
                let veth = Network::veth()?;
                veth.enter_near()?;
                let rig = Self::Veth(veth);
                // the kernel lets packets pass a moment after both ends are switched on
                if rig.until(|| rig.is_up()) {
                    Ok(rig)
                } else {
                    Err(Stop::lacking("the veth pair does not come up"))
                }
            }
            RigKind::LinuxHardware => {
                network::is_available().map_err(Stop::Lacking)?;
                let cable = Cable::take()?;
                cable.network().enter_near()?;
                let rig = Self::Cable(cable);
                rig.near()?.disable_hardware()?;
                rig.at_far(|| -> Outcome { Ok(rig.far()?.disable_hardware()?) })?;
                Ok(rig)
            }
            RigKind::WindowsModel => Ok(Self::Model(Model::build()?)),
        }
    }

    /// Which one it is.
    pub(crate) fn kind(&self) -> RigKind {
        match self {
            Self::Simulator(_) => RigKind::Simulator,
            Self::Loopback(_) => RigKind::LinuxLoopback,
            Self::Adopted(_, origin) => RigKind::Adopted(*origin),
            Self::Veth(_) => RigKind::LinuxVeth,
            Self::Cable(_) => RigKind::LinuxHardware,
            Self::Model(_) => RigKind::WindowsModel,
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
            Self::Loopback(interface) | Self::Adopted(interface, _) => interface.clone(),
            Self::Veth(_) | Self::Cable(_) => Interface::find(self.unchanged().near_name())?,
            Self::Model(_) => Interface::find(model::NEAR)?,
        })
    }

    /// To be asked only [`at_far`](Self::at_far).
    pub(crate) fn far(&self) -> Outcome<Interface> {
        Ok(match self {
            Self::Simulator(simulation) => simulation.interface("sim1")?,
            Self::Loopback(interface) | Self::Adopted(interface, _) => interface.clone(),
            Self::Veth(_) | Self::Cable(_) => Interface::find(self.unchanged().far_name())?,
            Self::Model(_) => Interface::find(model::FAR)?,
        })
    }

    /// Does something where the far end's interface is.
    pub(crate) fn at_far<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Veth(_) | Self::Cable(_) => self.unchanged().at_far(act),
            Self::Simulator(_) | Self::Loopback(_) | Self::Adopted(..) | Self::Model(_) => act(),
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

    pub(crate) fn watch(
        &self,
        callback: impl FnMut(&ChangeEvent) + Send + 'static,
    ) -> wirestamp::Result<Watch> {
        match self {
            Self::Simulator(simulation) => simulation.watch(callback),
            _ => Watch::register(callback),
        }
    }

    pub(crate) fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulator(_))
    }

    /// The simulated host, from outside. For behaviours that need [`Need::Simulation`].
    pub(crate) fn host(&self) -> Host<'_> {
        self.simulated_host()
            .expect("the behaviour says that it needs a simulation")
    }

    /// The simulated host, where there is one.
    pub(crate) fn simulated_host(&self) -> Option<Host<'_>> {
        match self {
            Self::Simulator(simulation) => Some(Host::Here(simulation.world())),
            Self::Model(model) => Some(Host::Behind(&model.steering)),
            Self::Loopback(_) | Self::Adopted(..) | Self::Veth(_) | Self::Cable(_) => None,
        }
    }

    /// The namespaces, to be changed. For behaviours that need [`Need::OwnNetwork`].
    pub(crate) fn network(&self) -> &Network {
        match self {
            Self::Cable(cable) => cable.changed(),
            _ => self.unchanged(),
        }
    }

    fn unchanged(&self) -> &Network {
        match self {
            Self::Veth(network) => network,
            Self::Cable(cable) => cable.network(),
            _ => panic!("the behaviour does not say that it needs a network of its own"),
        }
    }

    /// The NICs themselves, where there are some.
    pub(crate) fn cable(&self) -> Option<&Cable> {
        if let Self::Cable(cable) = self {
            Some(cable)
        } else {
            None
        }
    }

    /// Whether the near end notices that the far one is switched off.
    pub(crate) fn can_lose_carrier(&self) -> bool {
        match self {
            Self::Cable(_) => cable::has("carrier"),
            Self::Loopback(_) | Self::Adopted(..) => false,
            Self::Simulator(_) | Self::Veth(_) | Self::Model(_) => true,
        }
    }

    /// Whether a datagram that asks for a hardware timestamp while these are switched off may get none
    /// at all: this driver reserves its one register, and nothing fills it.
    pub(crate) fn swallows_timestamps(&self) -> bool {
        matches!(self, Self::Cable(_)) && cable::driver() == "e1000e"
    }

    /// Takes the near interface away. Needs [`Need::Changes`].
    pub(crate) fn remove_near(&self) -> Outcome {
        match self {
            Self::Simulator(_) | Self::Model(_) => self.host().remove_nic(NicName::Sim0),
            Self::Cable(cable) => cable.unbind_near()?,
            _ => self.network().near("link del %")?,
        }
        Ok(())
    }

    /// Brings it back, under another number.
    pub(crate) fn add_near(&self) -> Outcome {
        match self {
            Self::Simulator(_) | Self::Model(_) => self.host().add_nic(NicName::Sim0),
            Self::Cable(cable) => cable.bind_near()?,
            _ => {
                self.network()
                    .near("link add between0 type veth peer name between1")?;
                self.network()
                    .near("link add % type veth peer name other0")?;
            }
        }
        Ok(())
    }

    /// What another program does to the near NIC's clock: `phc_ctl` of linuxptp.
    pub(crate) fn step_near_clock(&self, nanoseconds: i64) -> Outcome {
        match self {
            Self::Simulator(_) | Self::Model(_) => {
                self.host().step_hardware_clock(NicName::Sim0, nanoseconds);
            }
            _ => network::step_clock(self.near_clock()?, nanoseconds).map_err(Stop::Lacking)?,
        }
        Ok(())
    }

    /// Likewise, to its rate.
    pub(crate) fn set_near_clock_rate(&self, parts_per_billion: i32) -> Outcome {
        match self {
            Self::Simulator(simulation) => {
                simulation
                    .world()
                    .change_hardware_rate(NicName::Sim0, parts_per_billion);
            }
            _ => network::set_clock_rate(self.near_clock()?, parts_per_billion)
                .map_err(Stop::Lacking)?,
        }
        Ok(())
    }

    /// Puts so many virtual clocks beside the near NIC's own, until what is returned is dropped.
    /// Needs [`Need::VirtualClocks`].
    pub(crate) fn virtual_clocks(&self, count: u32) -> Outcome<Option<VirtualClocks>> {
        match self {
            Self::Simulator(simulation) => {
                simulation.world().set_virtual_clocks(NicName::Sim0, count);
                Ok(None)
            }
            _ => {
                let cable = self
                    .cable()
                    .expect("the behaviour says that it needs virtual clocks");
                Ok(Some(cable.virtual_clocks(self.near_clock()?, count)?))
            }
        }
    }

    /// The number of the near NIC's clock.
    pub(crate) fn near_clock(&self) -> Outcome<u32> {
        self.near()?
            .description()
            .hardware_clock
            .ok_or_else(|| Stop::lacking("there is no clock"))
    }

    /// What another program does to the real-time clock. Needs [`Need::SteppableClock`].
    pub(crate) fn step_real_time_clock(&self, by: Span) -> Outcome {
        match self {
            Self::Simulator(_) | Self::Model(_) => self.host().step_real_time_clock(by),
            _ => network::step_real_time_clock(by)?,
        }
        Ok(())
    }

    /// What another program does to the near NIC's switch.
    pub(crate) fn reconfigure_by_another(&self, configuration: HardwareConfiguration) -> Outcome {
        match self {
            Self::Simulator(_) | Self::Model(_) => self
                .host()
                .reconfigure_by_another(NicName::Sim0, configuration),
            _ => network::reconfigure(self.near()?.name(), configuration)?,
        }
        Ok(())
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, time: Duration) {
        match self {
            Self::Simulator(simulation) => simulation.world().advance(Span::from(time)),
            _ => threads::sleep(time),
        }
    }

    /// Lets time pass until `holds`, at most ten seconds (behind Wine, thirty); returns whether it does.
    pub(crate) fn until(&self, mut holds: impl FnMut() -> bool) -> bool {
        const STEP: Duration = Duration::from_millis(2);
        let patience = Duration::from_secs(if let Self::Model(_) = self { 30 } else { 10 });
        let started = Instant::now();
        let mut steps = 0;
        while !holds() {
            let simulated_too_long = self.is_simulated() && steps > 5_000;
            if simulated_too_long || started.elapsed() > patience {
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
            Self::Simulator(_) | Self::Model(_) => self.host().set_link(up),
            Self::Loopback(_) | Self::Adopted(..) => {
                panic!("the behaviour does not say that it needs a link")
            }
            Self::Veth(_) | Self::Cable(_) => self.network().set_far_up(up)?, // the near end hears of it a moment later
        }
        Ok(())
    }
}
