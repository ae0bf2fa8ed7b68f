//! Captures of simulated interfaces: time has no end of its own, and the simulation must send packets.

use crate::arguments::{self, limited};
use crate::session::endless;
use std::time::Duration;
use wirestamp::{Error, Interface, Simulation};

/// Without `--for`, a capture ends after so long without a packet, in virtual time: some of those that are wanted may never come.
pub(super) const LONGEST: Duration = Duration::from_secs(3_600);

/// Sees to it that there are packets; returns what is to be said of them.
pub(super) fn prepare(
    arguments: &arguments::Capture,
    interface: &Interface,
) -> Result<&'static str, Error> {
    if limited(arguments.duration).is_none() && arguments.count.is_none() {
        let error = endless("capture", interface.name());
        return Err(error.with_remedy("say how long with --for, or how many packets with --count"));
    }
    let simulation = Simulation::default_of_process()?;
    let world = simulation.world();
    if world.has_traffic() {
        return Ok("what the scenario's [[traffic]] sends");
    }
    world.start_traffic();
    Ok("sim1 asks sim0 something every 10 ms: [[traffic]] in a scenario says otherwise")
}
