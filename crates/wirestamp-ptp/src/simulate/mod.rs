//! Simulated PTP networks: this crate's clocks on simulated NICs in virtual time, with their
//! samples compared with the true clocks.
//!
//! Each cable is a simulation of its own with a NIC at each end; all advance through the same
//! virtual time in small steps. The true times are read from the simulated counters.

pub mod campaign;
mod held;
mod network;
mod outcome;
mod scenarios;
#[cfg(test)]
mod worlds;

pub use outcome::{Outcome, Point};
pub use scenarios::{Limits, Scenario};

use network::Network;
use wirestamp::Result;

impl Scenario {
    /// Returns all scenarios.
    pub fn all() -> &'static [Self] {
        &scenarios::ALL
    }

    /// Finds a scenario by name.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name; the message lists the scenarios.
    pub fn find(name: &str) -> Result<&'static Self> {
        scenarios::find(name)
    }

    /// Runs the scenario. The same seed gives the same outcome to the bit.
    ///
    /// # Errors
    /// The errors of starting its clocks.
    pub fn run(&self, seed: u64) -> Result<Outcome> {
        let network = Network::build(self, seed)?;
        network.run(self, seed)
    }
}
