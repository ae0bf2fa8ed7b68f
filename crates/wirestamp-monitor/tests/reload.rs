//! A reload reads keys and tokens again: sessions and reflectors with another key begin anew, everything else runs on.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use wirestamp::{Simulation, Span};
use wirestamp_monitor::snapshot::Snapshot;
use wirestamp_monitor::{Configuration, Monitor, Place};

const KEYS: [&str; 2] = [
    "00112233445566778899aabbccddeeff",
    "ffeeddccbbaa99887766554433221100",
];

/// A signed session and an open one to reflectors of the simulated host.
fn configuration(simulation: &Simulation, folder: &Path) -> Configuration {
    let interface = simulation.interface("sim1").expect("it has one");
    let peer = interface.description().addresses[0].address;
    let folder = folder.display();
    let text = format!(
        "[http]\nenabled = false\n[reflector]\nlisten = [\"{peer}:862\"]\nkey_file = '{folder}/reflector'
         [[stamp]]\nname = \"signed\"\npeer = \"{peer}\"\ninterface = \"sim0\"\ntimeout = \"500ms\"\nkey_file = '{folder}/stamp'
         [[stamp]]\nname = \"open\"\npeer = \"{peer}\"\ninterface = \"sim0\"\ntimeout = \"500ms\""
    );
    Configuration::from_toml(&text).expect("it is right")
}

fn run(monitor: &mut Monitor) -> Snapshot {
    let until = monitor.now() + Span::from_seconds(10);
    monitor.run_until(until).expect("it runs");
    monitor.snapshot()
}

/// Packets sent and answered in a session.
fn counts(snapshot: &Snapshot, name: &str) -> (u64, u64) {
    let peer = snapshot.peers.iter().find(|peer| peer.name == name);
    peer.map(|peer| (peer.sent, peer.answered))
        .expect("it is there")
}

/// Off and on again within a second: what wrote before still has the folders.
#[test]
fn what_is_kept_on_disk_loses_nothing_when_it_is_switched_off_and_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display();
    let recording = match cfg!(feature = "parquet") {
        true => format!("[recording]\ndirectory = '{place}/recording'\n"),
        false => String::new(),
    };
    let off = "host = 'db7'\n[http]\nenabled = false\n";
    let on = format!("{off}[history]\ndirectory = '{place}/history'\n{recording}");
    let [off, on] = [off, &on].map(|text| Configuration::from_toml(text).expect("it is right"));
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let mut monitor = Monitor::new(on.clone(), Place::Simulation(simulation)).expect("it starts");
    run(&mut monitor);
    monitor.reload(off).expect("it is right");
    monitor.reload(on).expect("it is right");
    let begun = Instant::now();
    let snapshot = loop {
        let snapshot = run(&mut monitor);
        let history = snapshot.history.as_ref().expect("it is kept");
        let recording = snapshot.recording.as_ref();
        let is_written = recording.is_none_or(|recording| recording.state == "recording");
        if history.state == "recording" && is_written {
            break snapshot;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{snapshot:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(snapshot.history.expect("it is kept").lost, 0);
    if let Some(recording) = snapshot.recording {
        assert!(
            recording.lost.values().all(|lost| *lost == 0),
            "{recording:?}"
        );
    }
}

#[test]
fn a_new_key_is_used_after_a_reload_and_not_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, key: &str| fs::write(folder.path().join(name), key).expect("written");
    write("stamp", KEYS[0]);
    write("reflector", KEYS[0]);
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let configuration = configuration(&simulation, folder.path());
    let mut monitor =
        Monitor::new(configuration.clone(), Place::Simulation(simulation)).expect("it starts");
    let (sent, answered) = counts(&run(&mut monitor), "signed");
    assert!(
        answered > 50 && answered + 10 > sent,
        "{answered} of {sent}"
    );

    // the files change, and nothing happens; a reload with the same files changes nothing either
    write("stamp", KEYS[1]);
    let snapshot = run(&mut monitor);
    assert!(counts(&snapshot, "signed").1 > answered + 50);
    write("stamp", KEYS[0]);
    monitor.reload(configuration.clone()).expect("it is right");
    let before = counts(&run(&mut monitor), "signed");
    assert!(before.0 > 250, "its counts went on: {before:?}");

    // another key at one end: nothing is answered
    write("stamp", KEYS[1]);
    let open = counts(&monitor.snapshot(), "open").0;
    monitor.reload(configuration.clone()).expect("it is right");
    let snapshot = run(&mut monitor);
    let (sent, answered) = counts(&snapshot, "signed");
    assert!(
        (50..150).contains(&sent) && answered == 0,
        "{answered} of {sent}"
    );
    assert!(counts(&snapshot, "open").0 > open + 50, "it runs on");
    let last = snapshot.events.iter().rfind(|event| event.kind == "reload");
    let said = &last.expect("an event").message;
    assert!(said.contains("1 start, 1 ended"), "{said}");

    // at both: everything
    write("reflector", KEYS[1]);
    monitor.reload(configuration).expect("it is right");
    let (_, answered) = counts(&run(&mut monitor), "signed");
    assert!(answered > 50, "{answered}");
}
