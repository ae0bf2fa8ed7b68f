//! Hardware timestamping that is switched on while it is needed, and put back as it was found when
//! nobody needs it any more. The switch itself is the backend's.

mod datagrams;
mod holders;
mod request;
mod switch;

pub(crate) use holders::Holders;
pub use request::HardwareRequest;

use crate::interface::Interface;
use holders::{Joined, Leaving};
use wirestamp_core::backend::Backend as _;
use wirestamp_core::configuration::HardwareConfiguration;
use wirestamp_core::{Error, Result};

/// A guard that keeps hardware timestamping of an interface switched on.
///
/// Of a bond or a VLAN it is that of the NIC behind it now, which is restored whichever NIC is behind it then. After a
/// failover take another guard for the NIC that has become active.
///
/// Any number of guards can be held on one interface, in this process and, on Linux as root, in others:
/// the last one that is dropped restores the configuration that was found before the first, unless
/// somebody else has changed it meanwhile. A guard whose request needs more than is in force widens
/// it for all; it stays so until the last one is dropped. A process that is killed holds nothing any
/// more; if it was the last, the configuration stays as it is.
#[derive(Debug)]
#[must_use = "dropping the guard restores the previous configuration at once"]
pub struct HardwareGuard {
    /// The device that was changed.
    interface: Interface,
    joined: Joined,
    armed: bool,
}

impl HardwareGuard {
    pub(crate) fn enable(interface: &Interface, request: HardwareRequest) -> Result<Self> {
        let host = interface.host();
        let device = host.path(interface.description())?.pop();
        let device = device.unwrap_or_else(|| interface.description().clone());
        let nic = Interface::new(host, device);
        let joined =
            Holders::join(&nic, request).map_err(|error| placed(error, &nic, interface))?;
        Ok(Self {
            interface: nic,
            joined,
            armed: true,
        })
    }

    /// Returns what the driver really granted: it may timestamp more than was asked for.
    pub fn granted(&self) -> HardwareConfiguration {
        self.joined.granted
    }

    /// Returns what was in force before the first guard; `None` if the driver could not tell. Off is restored then.
    pub fn previous(&self) -> Option<HardwareConfiguration> {
        self.joined.previous
    }

    /// Leaves hardware timestamping as it is now, also when other guards are dropped.
    pub fn keep(mut self) {
        self.armed = false;
        // nothing is restored, so nothing can fail that matters
        let _ = Holders::leave(&self.interface, self.joined.key, Leaving::Keep);
    }

    /// Restores the previous configuration, if this is the last guard, and says whether that worked.
    ///
    /// # Errors
    /// `Busy` if somebody else has changed the configuration: it is left alone. Otherwise as
    /// [`Interface::enable_hardware`].
    pub fn restore(mut self) -> Result<()> {
        self.armed = false;
        Holders::leave(&self.interface, self.joined.key, Leaving::Restore)
    }
}

/// Says below what a NIC is that was not named: the one of a VLAN, or a bond's active member.
fn placed(error: Error, nic: &Interface, named: &Interface) -> Error {
    if nic.index() == named.index() {
        return error;
    }
    let remedy = format!(
        "{} is the NIC below {}: {}",
        nic.name(),
        named.name(),
        error.remedy()
    );
    error.with_remedy(remedy.trim_end_matches(": ").to_owned())
}

impl Drop for HardwareGuard {
    fn drop(&mut self) {
        if self.armed {
            // nobody is left to be told; `restore` tells
            let _ = Holders::leave(&self.interface, self.joined.key, Leaving::Restore);
        }
    }
}
