//! History on disk, against what happens to disks and processes.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use wirestamp::{Simulation, Span};
use wirestamp_monitor::history::{Journal, Record, read};
use wirestamp_monitor::{Configuration, Monitor, Place, Service};

/// Where the writer writes, and for how long it may.
const FOLDER: &str = "WIRESTAMP_TEST_HISTORY";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("wirestamp-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn record(sequence: u32) -> Record {
    Record::Stamp {
        time: "2026-11-23T03:12:00.000000000Z".into(),
        peer: "peer".into(),
        sequence,
        delays: vec![
            (
                "path".into(),
                i64::from(sequence.wrapping_mul(0x9E37_79B1) >> 8),
                67
            );
            5
        ],
    }
}

fn sequences(folder: &Path) -> Vec<u32> {
    let mut sequences = Vec::new();
    let each = |record| match record {
        Record::Stamp { sequence, .. } => sequences.push(sequence),
        other => panic!("{other:?}"),
    };
    read(folder, each).expect("it reads");
    sequences
}

#[test]
fn what_was_written_reads_back_and_a_cut_or_changed_end_costs_no_more() {
    let folder = folder("cut");
    let mut journal = Journal::open(&folder, 1 << 20).expect("it opens");
    for sequence in 0..10 {
        journal.append(&record(sequence));
        journal.sync().expect("written");
    }
    assert_eq!(sequences(&folder), (0..10).collect::<Vec<_>>());
    drop(journal);
    let path = folder.join("00000001.journal");
    let whole = std::fs::read(&path).expect("it is there");
    // each sync is a block: where they begin
    let mut begins = vec![0];
    while let Some(length) = whole[begins[begins.len() - 1]..].first_chunk() {
        begins.push(begins[begins.len() - 1] + 8 + u32::from_le_bytes(*length) as usize);
    }
    assert_eq!((begins.len(), begins[10]), (11, whole.len()));
    for (damaged, left) in [
        (whole[..whole.len() - 1].to_vec(), 9),
        (whole[..begins[5] + 3].to_vec(), 5),
        ([&whole[..begins[7]], &[0xff; 20][..]].concat(), 7),
        (
            [
                &whole[..begins[4] + 20],
                &[!whole[begins[4] + 20]],
                &whole[begins[4] + 21..],
            ]
            .concat(),
            9,
        ),
    ] {
        std::fs::write(&path, &damaged).expect("written");
        assert_eq!(sequences(&folder).len(), left);
        // opened again: what is incomplete is cut, what is damaged stays, and writing goes on behind it
        let mut journal = Journal::open(&folder, 1 << 20).expect("it opens");
        journal.append(&record(99));
        journal.sync().expect("written");
        drop(journal);
        let read = sequences(&folder);
        assert_eq!((read.len(), read.last()), (left + 1, Some(&99)));
        let kept = std::fs::read(&path).expect("it is there");
        let is_cut = left == 5 || damaged.len() + 1 == whole.len();
        assert!(damaged.starts_with(&kept) && (kept != damaged) == is_cut);
        std::fs::read_dir(&folder)
            .expect("it is there")
            .flatten()
            .for_each(|entry| std::fs::remove_file(entry.path()).expect("removed"));
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_second_writer_is_refused_and_harms_nothing() {
    let folder = folder("second");
    let mut journal = Journal::open(&folder, 1 << 20).expect("it opens");
    journal.append(&record(0));
    journal.sync().expect("written");
    let refused = Journal::open(&folder, 1 << 20).expect_err("it is taken");
    assert_eq!(refused.kind(), std::io::ErrorKind::ResourceBusy);
    let text = format!(
        "[http]\nenabled = false\n[history]\ndirectory = '{}'\n",
        folder.display()
    );
    let configuration = Configuration::from_toml(&text).expect("it is right");
    let place = || Place::Simulation(Simulation::preset("igc", 1).expect("a preset"));
    let refused = Service::start(configuration.clone(), place()).expect_err("it is taken");
    assert_eq!(refused.kind(), wirestamp::ErrorKind::Busy, "{refused}");
    journal.append(&record(1));
    journal.sync().expect("written");
    assert_eq!(sequences(&folder), [0, 1]);
    drop(journal);
    drop(Service::start(configuration, place()).expect("it is free"));
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// Records in a file without a name can be read by nobody.
#[cfg(unix)]
#[test]
fn a_folder_that_vanishes_is_an_error_and_is_made_again() {
    let folder = folder("vanishes");
    let mut journal = Journal::open(&folder, 1 << 20).expect("it opens");
    journal.append(&record(0));
    journal.sync().expect("written");
    std::fs::remove_dir_all(&folder).expect("removed");
    journal.append(&record(1));
    let gone = journal.sync().expect_err("it is gone");
    assert_eq!(gone.kind(), std::io::ErrorKind::NotFound);
    drop(journal);
    let mut journal = Journal::open(&folder, 1 << 20).expect("it opens");
    journal.append(&record(2));
    journal.sync().expect("written");
    assert_eq!(sequences(&folder), [2]);
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn the_ring_keeps_its_limit_and_the_newest() {
    let folder = folder("ring");
    let limit = 1 << 20;
    let mut journal = Journal::open(&folder, limit).expect("it opens");
    for sequence in 0..100_000 {
        journal.append(&record(sequence));
        if sequence % 100 == 99 {
            journal.sync().expect("written");
        }
    }
    let on_disk: u64 = std::fs::read_dir(&folder)
        .expect("it is there")
        .flatten()
        .map(|entry| entry.metadata().expect("it is there").len()) // the lock's file is empty
        .sum();
    assert!(
        on_disk <= limit && on_disk == journal.bytes() && on_disk > limit / 2,
        "{on_disk}"
    );
    assert!(journal.removed() > 0);
    let kept = sequences(&folder);
    assert_eq!(kept.last(), Some(&99_999));
    assert!(
        kept.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "no gaps"
    );
    drop(journal); // Windows removes no folder with an open file
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// 16 sessions at 10 Hz with all seven delays, synced each second, as a monitor with the limit of the default configuration keeps them.
#[test]
fn the_default_limit_keeps_a_night_of_sixteen_sessions() {
    const NAMES: [&str; 7] = [
        "round_trip",
        "path",
        "forward",
        "backward",
        "residence",
        "send_path",
        "receive_path",
    ];
    let folder = folder("night");
    let limit = 256_u64 << 20;
    let mut journal = Journal::open(&folder, limit).expect("it opens");
    // a generator of its own: delays of 4 to 70 µs that change by tens of microseconds from packet to packet, bounds of 40 to 550 ns
    let mut state = 1_u64;
    let mut random = |range: i64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).cast_signed() % range
    };
    let seconds = 60_u32;
    for packet in 0..seconds * 10 {
        for peer in 0..16 {
            let (second, fraction) = (packet / 10, packet % 10 * 100_000_000 + peer * 1_000_000);
            let fraction = i64::from(fraction) + random(900_000);
            journal.append(&Record::Stamp {
                time: format!("2026-11-23T03:12:{second:02}.{fraction:09}Z"),
                peer: format!("rack7-host{peer}"),
                sequence: packet,
                delays: NAMES
                    .iter()
                    .map(|name| ((*name).into(), 4_000 + random(66_000), 40 + random(510)))
                    .collect(),
            });
        }
        if packet % 10 == 9 {
            journal.sync().expect("written");
        }
    }
    let each_hour = journal.bytes() * 3_600 / u64::from(seconds);
    let hours = limit / each_hour;
    say(&format!(
        "{} bytes a record, {:.3} hours per MiB, {hours} hours in {} MiB",
        journal.bytes() / u64::from(seconds * 160),
        f64::from(1 << 20) / each_hour as f64,
        limit >> 20
    ));
    assert!(hours >= 10, "{hours}");
    assert_eq!(sequences(&folder).len(), seconds as usize * 160);
    drop(journal); // Windows removes no folder with an open file
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// Shown with --nocapture.
fn say(text: &str) {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "{text}").expect("open");
}

/// Writes and syncs until it is killed; says each sequence number once it is on disk.
#[test]
#[ignore = "the process that the other tests kill"]
fn writer() {
    use std::io::Write as _;
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let mut journal = Journal::open(Path::new(&folder), 1 << 20).expect("it opens");
    let mut said = std::io::stdout();
    for sequence in 0.. {
        journal.append(&record(sequence));
        if sequence % 7 == 6 {
            match journal.sync() {
                Ok(()) => writeln!(said, "\nsynced {sequence}").expect("read"),
                Err(error) => writeln!(said, "\nfailed {:?}", error.kind()).expect("read"),
            }
            said.flush().expect("read");
        }
    }
}

/// Runs the writer by a command, to which what the test harness needs is added.
fn start(mut command: Command, folder: &Path) -> Child {
    command
        .args(["--exact", "writer", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// `kill -9` at random times: nothing that was said to be on disk is missing. WIRESTAMP_KILLS: how often.
#[test]
fn a_killed_writer_has_lost_nothing_that_it_had_synced() {
    let kills = std::env::var("WIRESTAMP_KILLS").ok();
    let kills: u64 = kills.and_then(|kills| kills.parse().ok()).unwrap_or(10);
    let folder = folder("kill");
    for kill in 0..kills {
        let _ = std::fs::remove_dir_all(&folder);
        let mut child = start(
            Command::new(std::env::current_exe().expect("this one")),
            &folder,
        );
        let mut from = BufReader::new(child.stdout.take().expect("piped"));
        let mut said = String::new();
        while !said.lines().any(|line| line.starts_with("synced ")) {
            assert!(
                from.read_line(&mut said).expect("read") > 0,
                "it ended: {said}"
            );
        }
        std::thread::sleep(Duration::from_millis(kill * 7_919 % 97));
        child.kill().expect("killed");
        from.read_to_string(&mut said).expect("read");
        child.wait().expect("it ended");
        // the last line may be cut
        let lines: Vec<_> = said
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .collect();
        let last = lines
            .iter()
            .filter_map(|line| line.trim().strip_prefix("synced ")?.parse::<u32>().ok())
            .next_back();
        drop(Journal::open(&folder, 1 << 20).expect("it opens"));
        let kept = sequences(&folder);
        assert!(
            last.is_some() && kept.last() >= last.as_ref(),
            "kill {kill}: {last:?} was synced, {:?} is kept",
            kept.last()
        );
        assert!(
            kept.windows(2).all(|pair| pair[1] == pair[0] + 1),
            "kill {kill}: gaps"
        );
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// That it was not written before its folder was opened is no news.
#[test]
fn a_start_is_no_event_of_the_history() {
    let folder = folder("start");
    let text = format!(
        "[http]\nenabled = false\n[history]\ndirectory = '{}'\n",
        folder.display()
    );
    let configuration = Configuration::from_toml(&text).expect("it is right");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let service = Service::start(configuration, Place::Simulation(simulation)).expect("it starts");
    let begun = std::time::Instant::now();
    let snapshot = loop {
        let snapshot = service.handle().wait_snapshot().expect("it runs");
        let history = snapshot.history.as_ref().expect("it is kept");
        // it is looked at once a second
        if history.state == "recording" && snapshot.uptime_ns > 5_000_000_000 {
            break snapshot;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{history:?}");
        std::thread::sleep(Duration::from_millis(100));
    };
    let told = snapshot
        .events
        .iter()
        .filter(|event| event.kind == "history");
    assert_eq!(told.count(), 0, "{:?}", snapshot.events);
    drop(service);
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// On a disk of 600 kB, half of which becomes free after a while.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_writing_goes_on_when_there_is_room() {
    let may = Command::new("unshare")
        .args(["--mount", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !may && std::env::var_os("WIRESTAMP_NO_SKIP").is_none() {
        use std::io::Write as _;
        writeln!(
            std::io::stderr(),
            "skipped: no mount namespace without privilege"
        )
        .expect("open");
        return;
    }
    let folder = folder("full");
    std::fs::create_dir_all(&folder).expect("made");
    let script = "mount -t tmpfs -o size=600k none \"$1\" && head -c 300000 /dev/zero >\"$1/ballast\" || exit 1\n(sleep 1; rm \"$1/ballast\") &\nfolder=$1; shift; WIRESTAMP_TEST_HISTORY=$folder exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(&folder)
        .arg(std::env::current_exe().expect("this one"));
    let mut child = start(command, &folder);
    let mut from = BufReader::new(child.stdout.take().expect("piped"));
    let (mut before, mut full, mut after) = (0, 0, 0);
    while after < 10 {
        let mut line = String::new();
        assert!(
            from.read_line(&mut line).expect("read") > 0,
            "it ended: {before} {full} {after}"
        );
        match line.trim() {
            "failed StorageFull" => full += 1,
            line if line.starts_with("failed") => panic!("{line}"),
            line if line.starts_with("synced") && full == 0 => before += 1,
            line if line.starts_with("synced") => after += 1,
            _ => {}
        }
    }
    child.kill().expect("killed");
    child.wait().expect("it ended");
    assert!(before > 0 && full > 0);
    let _ = std::fs::remove_dir_all(&folder);
}

/// The history has the offset and bound that the page, the metrics and the command show at that time, also between two
/// samples.
#[test]
fn a_servers_offset_is_kept_with_the_bound_that_is_shown() {
    let folder = folder("shown");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let server = simulation.interface("sim1").expect("it has one");
    let server = server.description().addresses[0].address;
    let text = format!(
        "[http]\nenabled = false\n[history]\ndirectory = '{}'\n[[ntp]]\nserver = \"{server}\"\n",
        folder.display()
    );
    let mut configuration = Configuration::from_toml(&text).expect("it is right");
    configuration.answered = true;
    let place = Place::Simulation(simulation);
    let mut monitor = Monitor::new(configuration, place).expect("it starts");
    let mut shown = Vec::new();
    for _ in 0..240 {
        let next = monitor.now() + Span::from_milliseconds(500);
        monitor.run_until(next).expect("it runs");
        let snapshot = monitor.snapshot();
        let known = &snapshot.ntp.expect("asked").servers[0];
        let (offset, bound) = (known.offset_ns, known.bound_ns);
        shown.push((snapshot.time, offset.zip(bound)));
    }
    drop(monitor);
    let (mut kept, mut others) = (Vec::new(), 0);
    let each = |record| match record {
        Record::Ntp {
            time,
            offset_ns,
            bound_ns,
            ..
        } => kept.push((time, (offset_ns, bound_ns))),
        _ => others += 1,
    };
    read(&folder, each).expect("it reads");
    assert!((110..=121).contains(&kept.len()), "{} rows", kept.len());
    assert!(others >= kept.len(), "the real-time clock as well");
    let widest = kept.iter().map(|(_, (_, bound))| *bound).max();
    assert!(
        widest > kept.iter().map(|(_, (_, bound))| *bound).min(),
        "it grows"
    );
    let mut between = 0;
    for (time, (_, bound)) in &kept {
        // RFC 3339 of one day
        let after = shown.partition_point(|(at, _)| at < time);
        let Some(((_, Some(before)), (_, Some(after)))) = after
            .checked_sub(1)
            .map(|place| (&shown[place], &shown[after.min(shown.len() - 1)]))
        else {
            continue;
        };
        // a sample between makes it narrow
        if before.1 <= after.1 {
            between += 1;
            assert!(
                (before.1..=after.1).contains(bound),
                "{time}: {bound}, {before:?} {after:?}"
            );
        }
    }
    assert!(between > 90, "{between}");
    std::fs::remove_dir_all(&folder).expect("removed");
}
