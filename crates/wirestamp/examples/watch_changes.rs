//! Watches a NIC for changes: link, hardware clock, timestamping configuration, removal. After each
//! report it queries the current state, because a report only states what may have changed.
//!
//! `cargo run --all-features --example watch_changes` on a simulated NIC that loses its cable and is removed, or for a
//! minute on a real one: `… --example watch_changes -- eth0`

use std::env;
use std::io::{self, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use wirestamp::interface::ChangeKind;
use wirestamp::{Interface, Simulation};

const MINUTE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match env::args().nth(1) {
        Some(name) => watch(Interface::find(&name)?, MINUTE, || ()),
        None => {
            let simulation = Simulation::preset("i225", 1)?;
            let world = simulation.world().clone();
            // In a simulation the call that makes a change also reports it.
            watch(simulation.interface("sim0")?, Duration::ZERO, move || {
                world.set_link(false);
                world.set_link(true);
                world.remove_nic(wirestamp::sim::NicName::Sim0);
            })
        }
    }
}

fn watch(
    mut nic: Interface,
    time: Duration,
    cause_changes: impl FnOnce(),
) -> Result<(), Box<dyn std::error::Error>> {
    let (tell, changes) = mpsc::channel();
    // Watch first and query afterwards, so that no change is missed.
    let watch = nic.watch(move |change| {
        let _ = tell.send(change.kind); // the receiver may be gone at the end
    })?;
    report(&mut nic, None)?;
    cause_changes();
    let end = Instant::now() + time;
    while let Ok(kind) = changes.recv_timeout(end.saturating_duration_since(Instant::now())) {
        report(&mut nic, Some(kind))?;
    }
    Ok(watch.unregister()?)
}

fn report(nic: &mut Interface, change: Option<ChangeKind>) -> io::Result<()> {
    let because = change.map_or("at first", ChangeKind::name);
    let mut out = io::stdout();
    if let Err(error) = nic.refresh() {
        return writeln!(out, "{because}: {error}");
    }
    let state = nic.description().state.name();
    match nic.configuration() {
        Ok(configuration) => writeln!(
            out,
            "{because}: {} is {state}, timestamps transmit {}, receive {}",
            nic.name(),
            configuration.transmit,
            configuration.receive.name()
        ),
        Err(error) => writeln!(out, "{because}: {} is {state}; {error}", nic.name()),
    }
}
