//! Adapters and sockets of this machine and, if there is one, of the simulation. Each of the two is a system of
//! [`wirestamp::choice`]. Windows' structures are in `winsock` and `iphlp`.

pub(crate) mod activity;
pub(crate) mod crossing;
pub(crate) mod machine;
pub mod simulated;
pub(crate) mod wire;

#[cfg(not(target_os = "linux"))]
pub(crate) mod elsewhere;
#[cfg(target_os = "linux")]
pub(crate) mod linux;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere as native;
#[cfg(target_os = "linux")]
pub(crate) use linux as native;
use simulated::Simulation;
use wirestamp::choice::System;
use wirestamp_core::backend::Backend;
use wirestamp_core::capability::{Capabilities, SoftwareCapabilities};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::{Error, ErrorKind, Result};

/// A network adapter as it was when it was looked up.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    pub(crate) description: InterfaceDescription,
    /// `None`: it is this machine's.
    pub(crate) simulation: Option<&'static Simulation>,
}

impl Adapter {
    /// The system that it is an interface of, after all that has happened there until now.
    pub(crate) fn system(&self) -> &'static System {
        self.simulation
            .map_or_else(machine::system, Simulation::system)
    }

    /// What it could timestamp.
    pub(crate) fn supported(&self) -> Result<Capabilities> {
        self.system().supported(&self.description)
    }

    /// What it timestamps now: in hardware or in software, as on Windows. Linux could do both at
    /// once; but nothing in the interface would say which clock a timestamp is of.
    pub(crate) fn active(&self) -> Result<Capabilities> {
        let active = self.system().active(&self.description)?;
        let software = if active.hardware.any() {
            SoftwareCapabilities::default()
        } else {
            active.software
        };
        Ok(Capabilities { software, ..active })
    }

    /// The LUID: index and type of the interface, where the system gives none.
    pub(crate) fn luid(&self) -> u64 {
        let made_up =
            u64::from(self.description.index.get()) << 24 | u64::from(self.interface_type()) << 48;
        self.description.luid.unwrap_or(made_up)
    }

    /// `IfType`.
    pub(crate) fn interface_type(&self) -> u32 {
        use crate::abi::adapters::{TYPE_ETHERNET, TYPE_LOOPBACK};
        if self.description.loopback {
            TYPE_LOOPBACK
        } else {
            TYPE_ETHERNET
        }
    }
}

/// All adapters: this machine's, then the simulated ones.
pub(crate) fn all() -> Result<Vec<Adapter>> {
    let simulation = simulated::chosen()?;
    let real = |description| Adapter {
        description,
        simulation: None,
    };
    let listed = machine::used().map_or(Ok(Vec::new()), System::interfaces)?;
    let mut adapters: Vec<_> = listed.into_iter().map(real).collect();
    if let Some(simulation) = simulation {
        for mut description in simulation.system().interfaces()? {
            description.name = simulated::listed_name(description.name);
            adapters.push(Adapter {
                description,
                simulation: Some(simulation),
            });
        }
    }
    Ok(adapters)
}

/// The first adapter for which `wanted` holds.
pub(crate) fn find(wanted: impl Fn(&Adapter) -> bool) -> Result<Adapter> {
    all()?.into_iter().find(wanted).ok_or_else(|| {
        Error::new(
            ErrorKind::NoSuchDevice,
            "find an adapter",
            "this machine",
            "there is none like this",
        )
    })
}
