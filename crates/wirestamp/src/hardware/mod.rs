//! Guards that switch hardware timestamping on while it is needed and restore the previous
//! configuration afterwards.

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
/// On a bond or a VLAN, the guard switches the NIC that currently serves it, and later restores
/// that NIC, even if another one is active by then. After a failover take another guard for the new
/// NIC.
///
/// Any number of guards can be held on one interface, in this process and, on Linux as root, in
/// others: when the last one is dropped, it restores the configuration from before the first,
/// unless another program has changed it in the meantime. A guard that needs more than the current
/// configuration extends it, and it stays extended until the last guard is dropped. A process that
/// is killed holds no guards; if it had the last one, the configuration stays as it is.
#[derive(Debug)]
#[must_use = "dropping the guard restores the previous configuration at once"]
pub struct HardwareGuard {
    /// The NIC that was switched.
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

    /// Returns the configuration that the driver granted, which may timestamp more than requested.
    pub fn granted(&self) -> HardwareConfiguration {
        self.joined.granted
    }

    /// Returns the configuration before the first guard; `None` if the driver could not report it.
    /// Then the last guard switches timestamping off.
    pub fn previous(&self) -> Option<HardwareConfiguration> {
        self.joined.previous
    }

    /// Keeps hardware timestamping as it is now, also after other guards are dropped.
    pub fn keep(mut self) {
        self.armed = false;
        // nothing is restored, so no error matters
        let _ = Holders::leave(&self.interface, self.joined.key, Leaving::Keep);
    }

    /// Drops the guard and, if it is the last one, restores the previous configuration. Unlike a
    /// plain drop, it returns the error if that fails.
    ///
    /// # Errors
    /// `Busy` if another program has changed the configuration, which is then left as it is.
    /// Otherwise as [`Interface::enable_hardware`].
    pub fn restore(mut self) -> Result<()> {
        self.armed = false;
        Holders::leave(&self.interface, self.joined.key, Leaving::Restore)
    }
}

/// Adds to an error which interface the NIC serves, if the caller named that one: a VLAN or a bond.
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
            // a drop cannot report errors; `restore` does
            let _ = Holders::leave(&self.interface, self.joined.key, Leaving::Restore);
        }
    }
}
