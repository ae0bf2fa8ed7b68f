//! Simulated PTP networks: clocks of this crate on simulated NICs, in virtual time, and
//! their samples compared with the truth. Has no protocol of its own.
//!
//! Every cable is a simulation of its own with a NIC at each end; all of them pass the
//! same virtual time in small steps. The truth is read from the simulated counters.

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

    /// The one of this name.
    ///
    /// # Errors
    /// `InvalidInput`, naming those that there are.
    pub fn find(name: &str) -> Result<&'static Self> {
        scenarios::find(name)
    }

    /// Runs it; the same seed gives the same outcome to the bit.
    ///
    /// # Errors
    /// Those of starting its clocks.
    pub fn run(&self, seed: u64) -> Result<Outcome> {
        let network = Network::build(self, seed)?;
        network.run(self, seed)
    }
}
