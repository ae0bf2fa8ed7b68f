//! Full disks, old files, and processes that are killed.

use crate::remote::{Remote, run, sessions};
use crate::rows::{self, files};
use crate::{configuration, monitor};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wirestamp::Simulation;
use wirestamp_monitor::{Monitor, Place};

/// Where the child records.
const FOLDER: &str = "WIRESTAMP_TEST_RECORDING";
/// A child that has not said what is awaited by then is given up.
const HANGS: Duration = Duration::from_secs(120);

/// Records until it is killed; says after each second what became of it.
#[test]
#[ignore = "the process that the other tests kill"]
fn recorder() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let mut remotes = [Remote::on(&simulation, 10_001, 7)];
    let after = sessions(&[("b", &remotes[0])]);
    let lines = "file_interval = \"1s\"\ninterval = \"1s\"";
    let mut monitor = monitor(&simulation, Path::new(&folder), lines, &after);
    loop {
        run(&mut monitor, 1, &mut remotes);
        let shown = monitor.snapshot();
        let (answered, lost) = (shown.peers[0].answered, shown.peers[0].lost);
        let told = shown
            .events
            .iter()
            .filter(|event| event.kind == "recording");
        let recording = shown.recording.expect("it records");
        let rows = recording.rows["probes"];
        let state = recording.state;
        let told = told.count();
        let mut said = std::io::stdout();
        writeln!(
            said,
            "\nstate {state} rows {rows} answered {answered} lost {lost} told {told}"
        )
        .expect("read");
        said.flush().expect("read");
    }
}

/// Runs the recorder by a command, to which what the test harness needs is added.
fn start(mut command: Command, folder: &Path) -> (Child, impl Iterator<Item = Vec<String>>) {
    let mut child = command
        .args(["--exact", "disks::recorder", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let begun = Instant::now();
    let lines = lines
        .map_while(Result::ok)
        .take_while(move |_| begun.elapsed() < HANGS);
    let said = lines.filter_map(|line| {
        let said = line.strip_prefix("state ")?;
        Some(said.split(' ').map(str::to_owned).collect())
    });
    (child, said)
}

fn own() -> PathBuf {
    std::env::current_exe().expect("this one")
}

#[test]
fn a_killed_monitor_leaves_complete_files_and_loses_only_rows_that_waited() {
    for kill in 0..5 {
        let folder = tempfile::tempdir().expect("made");
        let (mut child, said) = start(Command::new(own()), folder.path());
        let mut written = 0;
        for line in said {
            written = line[2].parse().expect("a number");
            if written > 10 {
                break;
            }
        }
        assert!(written > 10, "it ended");
        std::thread::sleep(Duration::from_millis(kill * 17 % 41));
        child.kill().expect("killed");
        child.wait().expect("it ended");
        // each file can be read whole, or is a draft
        let rows = rows::probes(folder.path());
        assert!(rows.len() >= written, "{} of {written}", rows.len());
        let starts: BTreeSet<_> = rows.iter().map(|row| row.start).collect();
        assert_eq!(starts.len(), rows.len(), "each window once");
        let (first, last) = (starts.first().unwrap(), starts.last().unwrap());
        assert_eq!(
            (last - first) / 1_000_000_000 + 1,
            rows.len() as i64,
            "no gaps"
        );
    }
}

/// On a disk of 400 kB, most of which becomes free after a while.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_no_measurement_and_recording_goes_on_when_there_is_room() {
    let may = Command::new("unshare")
        .args(["--mount", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !may && std::env::var_os("WIRESTAMP_NO_SKIP").is_none() {
        let why = "skipped: no mount namespace without privilege";
        writeln!(std::io::stderr(), "{why}").expect("open");
        return;
    }
    let folder = tempfile::tempdir().expect("made");
    let script = "mount -t tmpfs -o size=400k none \"$1\" && head -c 300000 /dev/zero >\"$1/ballast\" || exit 1\n(sleep 2; rm \"$1/ballast\") &\nfolder=$1; shift; WIRESTAMP_TEST_RECORDING=$folder exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(own());
    let (mut child, said) = start(command, folder.path());
    let (mut before, mut failed, mut after) = (0, 0, 0);
    let (mut rows, mut last) = (0, Vec::new());
    for line in said {
        let number = |place: usize| line[place].parse::<u64>().expect("a number");
        match line[0].as_str() {
            "starting" => {}
            "recording" if failed == 0 => before += 1,
            "failed" => failed += 1,
            // what waited is written as well
            "recording" if number(2) > rows => after += 1,
            _ => {}
        }
        if failed == 0 {
            rows = number(2);
        }
        last.clone_from(&line);
        if after == 3 {
            break;
        }
    }
    child.kill().expect("killed");
    child.wait().expect("it ended");
    assert!(
        before > 0 && failed > 0 && after == 3,
        "{before} {failed} {after} {last:?}"
    );
    // no packet was late for it, and both events were told
    assert_eq!((last[6].as_str(), last[8].as_str()), ("0", "2"), "{last:?}");
}

#[test]
fn the_oldest_files_are_removed_and_those_of_others_stay() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let mut remotes = [Remote::on(&simulation, 10_001, 7)];
    let after = sessions(&[("b", &remotes[0])]);
    let record = |host: &str, limit: u64, seconds: i64, remotes: &mut [Remote]| {
        let lines = format!("file_interval = \"5s\"\nlimit_bytes = {limit}");
        let configuration = configuration(host, folder.path(), &lines, &after);
        let place = Place::Simulation(simulation.clone());
        let mut monitor = Monitor::new(configuration, place).expect("it starts");
        run(&mut monitor, seconds, remotes);
        monitor.snapshot().recording.expect("it records")
    };
    // of another host
    record("z", 1 << 20, 60, &mut remotes);
    let others = files(folder.path());
    assert!(others.len() > 10, "{others:?}");
    let notes = folder.path().join("probes/notes.txt");
    std::fs::write(&notes, "mine").expect("written");
    let shown = record("a", 1 << 20, 3_600, &mut remotes);
    assert!(shown.removed > 100, "{shown:?}");
    let left = files(folder.path());
    assert!(
        others
            .iter()
            .chain([&notes])
            .all(|file| left.contains(file))
    );
    let is_own = |file: &&PathBuf| !others.contains(file) && **file != notes;
    let own: Vec<_> = left.iter().filter(is_own).collect();
    let bytes: u64 = own
        .iter()
        .map(|file| file.metadata().expect("there").len())
        .sum();
    assert!((500_000..=1 << 20).contains(&bytes), "{bytes}");
    // the newest are there
    let rows = rows::probes(folder.path());
    let last = rows
        .iter()
        .filter(|row| row.host == "a")
        .map(|row| row.start)
        .max();
    let now = simulation.world().truth().utc().nanoseconds();
    assert!(last > Some(now - 10_000_000_000), "{last:?}");
}

/// Names that would lead elsewhere, or that no file system takes.
#[test]
fn a_host_may_have_any_name() {
    let long = "h".repeat(5_000);
    for host in ["../../etc/passwd", "a/b", "rack 1 \u{202e}", &long] {
        let folder = tempfile::tempdir().expect("made");
        let simulation = Simulation::preset("igc", 1).expect("a preset");
        let mut remotes = [Remote::on(&simulation, 10_001, 7)];
        let after = sessions(&[("b", &remotes[0])]);
        let inner = folder.path().join("recordings");
        let configuration = configuration(host, &inner, "", &after);
        let place = Place::Simulation(simulation.clone());
        let mut monitor = Monitor::new(configuration, place).expect("it starts");
        run(&mut monitor, 10, &mut remotes);
        drop(monitor);
        let rows = rows::probes(&inner);
        assert!(
            rows.len() > 5 && rows.iter().all(|row| row.host == host),
            "{host}"
        );
        assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1);
    }
}
