//! What a monitor records, against the truth of a simulation and what happens to disks and processes.
#![cfg(not(windows))]

mod clocks;
mod disks;
mod probes;
mod remote;
mod rows;
#[path = "../endurance/servers.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod servers;
mod timestamps;

use std::path::{Path, PathBuf};
use wirestamp::Simulation;
use wirestamp_monitor::{Configuration, Monitor, Place};

/// Where WIRESTAMP_TEST_RECORDINGS says that files of some tests stay, for `scripts/fleet`.
fn kept(name: &str) -> Option<PathBuf> {
    std::env::var_os("WIRESTAMP_TEST_RECORDINGS").map(|folder| Path::new(&folder).join(name))
}

/// A monitor of host `a` that records there, with these lines in its table and this after it.
fn monitor(simulation: &Simulation, folder: &Path, lines: &str, after: &str) -> Monitor {
    let configuration = configuration("a", folder, lines, after);
    let place = Place::Simulation(simulation.clone());
    Monitor::new(configuration, place).expect("it starts")
}

fn configuration(host: &str, folder: &Path, lines: &str, after: &str) -> Configuration {
    let folder = folder.display();
    let text = format!(
        "host = \"{host}\"\n[http]\nenabled = false\n[recording]\ndirectory = '{folder}'\n{lines}\n{after}"
    );
    Configuration::from_toml(&text).expect("it is right")
}
