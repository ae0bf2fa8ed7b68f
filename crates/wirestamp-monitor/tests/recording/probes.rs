//! The rows of `probes`: those that the packets made, and what they say of clocks.

use crate::remote::{Remote, run, sessions};
use crate::rows::{self, Probe, files};
use crate::{configuration, kept, monitor};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use wirestamp::sim::Ends;
use wirestamp::{MonotonicTime, Simulation, Span};
use wirestamp_monitor::{Monitor, Place};

const SECOND: i64 = 1_000_000_000;
/// Timestamps in packets are rounded to the nanosecond.
const ROUNDING: i64 = 2;

/// Differences forward and backward of the packets that left in one window, and how many did.
#[derive(Default)]
struct Made {
    forward: Vec<i64>,
    backward: Vec<i64>,
    count: i64,
}

/// What the packets between the monitor and a host made, as the simulation knows it: by window.
fn made(simulation: &Simulation, host: SocketAddr, ahead: i64) -> BTreeMap<i64, Made> {
    let truth = simulation.world().truth();
    let offset = truth.utc().nanoseconds() - truth.now().nanoseconds();
    let (mut windows, mut open) = (BTreeMap::<i64, Made>::new(), None);
    for number in 0..truth.datagrams() {
        let datagram = truth.datagram(number).expect("it is remembered");
        let Ends::Internet {
            source,
            destination,
        } = datagram.ends
        else {
            continue;
        };
        let left = datagram.transmit_software_at.nanoseconds();
        let delay = datagram
            .receive_software_at
            .map(|at| at.nanoseconds() - left);
        if destination == host {
            let start = (left + offset) - (left + offset).rem_euclid(SECOND);
            let window = windows.entry(start).or_default();
            window.count += 1;
            window.forward.extend(delay.map(|delay| delay + ahead));
            open = Some(start);
        } else if source == host {
            // of the request before it
            let window = open.and_then(|start| windows.get_mut(&start));
            let window = window.expect("an answer follows a request");
            window.backward.extend(delay.map(|delay| delay - ahead));
        }
    }
    windows
}

fn is_near(found: Option<(i64, i64)>, values: &mut [i64]) -> bool {
    values.sort_unstable();
    let expected = values.first().zip(values.get((values.len() - 1) / 2));
    let near = |one: i64, other: i64| (one - other).abs() <= ROUNDING;
    match (found, expected) {
        (None, None) => true,
        (Some((least, middle)), Some((first, median))) => {
            near(least, *first) && near(middle, *median)
        }
        _ => false,
    }
}

/// No peer has two rows of a window.
fn once(rows: &[Probe]) {
    let known: BTreeSet<_> = rows.iter().map(|row| (&row.peer, row.start)).collect();
    assert_eq!(known.len(), rows.len());
}

#[test]
fn each_window_is_what_its_packets_made_and_encloses_the_true_offset() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let ahead = [("b", 3_000), ("c", -250_000_000), ("d", 5 * SECOND)];
    let mut remotes: Vec<_> = (1..)
        .zip(ahead)
        .map(|(port, (_, ahead))| Remote::on(&simulation, 10_000 + port, ahead))
        .collect();
    let named: Vec<_> = ahead.iter().map(|(name, _)| *name).zip(&remotes).collect();
    let mut monitor = monitor(&simulation, folder.path(), "", &sessions(&named));
    run(&mut monitor, 60, &mut remotes);
    assert!(files(folder.path()).is_empty(), "the interval is not over");
    drop(monitor);
    let rows = rows::probes(folder.path());
    once(&rows);
    for ((name, ahead), remote) in ahead.into_iter().zip(&remotes) {
        let mut made = made(&simulation, remote.address(), ahead);
        let own: Vec<_> = rows.iter().filter(|row| row.peer == name).collect();
        // those that are judged by then
        assert!((56..=60).contains(&own.len()), "{}", own.len());
        for row in own {
            let of = made.get_mut(&row.start).expect("packets left then");
            assert_eq!((row.host.as_str(), row.length), ("a", SECOND));
            assert_eq!(row.count, of.count, "{row:?}");
            assert!(
                is_near(row.forward, &mut of.forward),
                "{row:?} {:?}",
                of.forward
            );
            assert!(
                is_near(row.backward, &mut of.backward),
                "{row:?} {:?}",
                of.backward
            );
            // no packet arrives before it left
            let (forward, backward) = (
                row.forward.expect("answered").0,
                row.backward.expect("answered").0,
            );
            assert!(-backward <= ahead && ahead <= forward, "{row:?}");
            assert!(forward + backward < 200_000, "{row:?}");
        }
    }
}

#[test]
fn a_window_without_answers_has_its_packets_and_no_differences() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let mut remotes = [Remote::on(&simulation, 10_001, 0)];
    let after = sessions(&[("b", &remotes[0])]);
    let mut monitor = monitor(&simulation, folder.path(), "", &after);
    run(&mut monitor, 10, &mut remotes);
    // it has nobody who answers
    run(&mut monitor, 10, &mut []);
    run(&mut monitor, 10, &mut remotes);
    drop(monitor);
    let rows = rows::probes(folder.path());
    once(&rows);
    let silent: Vec<_> = rows.iter().filter(|row| row.forward.is_none()).collect();
    assert!((7..=10).contains(&silent.len()), "{silent:?}");
    for row in silent {
        assert_eq!(row.backward, None, "{row:?}");
        assert!((9..=11).contains(&row.count), "{row:?}");
    }
    assert!(rows.iter().filter(|row| row.forward.is_some()).count() >= 15);
}

#[test]
fn a_reload_goes_on_in_another_folder_and_sessions_run_on() {
    let folder = tempfile::tempdir().expect("made");
    let places = ["one", "two"].map(|name| folder.path().join(name));
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let mut remotes = [Remote::on(&simulation, 10_001, 7)];
    let after = sessions(&[("b", &remotes[0])]);
    let mut monitor = monitor(&simulation, &places[0], "", &after);
    run(&mut monitor, 25, &mut remotes);
    let sent = monitor.snapshot().peers[0].sent;
    let other = configuration("a", &places[1], "interval = \"5s\"", &after);
    monitor.reload(other.clone()).expect("it is right");
    run(&mut monitor, 20, &mut remotes);
    monitor.reload(other).expect("it is right");
    run(&mut monitor, 20, &mut remotes);
    let shown = monitor.snapshot();
    assert!(shown.peers[0].sent >= sent + 398, "{:?}", shown.peers);
    // what the first folder is to have is there before the end, as soon as a thread has written it
    let there = || {
        let mut claims = rows::estimates(&places[0]);
        claims.retain(|row| row.clock == "utc");
        let claimed = claims.last().map_or(0, |last| last.until - claims[0].from);
        (rows::probes(&places[0]), claims, claimed)
    };
    let patience = Instant::now() + Duration::from_secs(20);
    let (before, claims, claimed) = loop {
        let all = there();
        if all.0.len() >= 21 && all.2 >= 23 * SECOND || Instant::now() > patience {
            break all;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!((21..=25).contains(&before.len()), "{}", before.len());
    // and its claim lasts until it ended, though the interval was not over
    assert!((23 * SECOND..26 * SECOND).contains(&claimed), "{claims:?}");
    let none = configuration("a", &places[1], "tables = [\"cross\"]", &after);
    monitor.reload(none).expect("it is right");
    run(&mut monitor, 20, &mut remotes);
    drop(monitor);
    let after = rows::probes(&places[1]);
    // the same configuration goes on; another one that records none ends it
    assert!((36..=40).contains(&after.len()), "{}", after.len());
    assert_eq!(rows::probes(&places[0]), before);
    let all = [before, after].concat();
    once(&all);
    let starts: BTreeSet<_> = all.iter().map(|row| row.start).collect();
    let (first, last) = (starts.first().unwrap(), starts.last().unwrap());
    assert_eq!((last - first) / SECOND + 1, starts.len() as i64, "no gaps");
}

/// A session that begins anew within a window makes no second row of it. What the old one knows of a window is of the last one, as packets are judged after
/// 100 ms: after 2 s it would be of an earlier window, of which the new one sends nothing.
#[test]
fn sessions_that_begin_anew_have_each_window_once() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let mut remotes = [Remote::on(&simulation, 10_001, 7)];
    let with = |size: u16| {
        let after = format!(
            "{}size = {size}\ntimeout = \"100ms\"\n",
            sessions(&[("b", &remotes[0])])
        );
        configuration("a", folder.path(), "", &after)
    };
    let place = Place::Simulation(simulation.clone());
    let configurations = [with(100), with(200)];
    let mut monitor = Monitor::new(configurations[0].clone(), place).expect("it starts");
    for turn in 1..20 {
        let until = monitor.now() + Span::from_milliseconds(3_300);
        crate::remote::run_until(&mut monitor, until, || {
            remotes.iter_mut().for_each(Remote::serve);
            MonotonicTime::MAX
        });
        let next = configurations[turn % 2].clone();
        monitor.reload(next).expect("it is right");
    }
    drop(monitor);
    let rows = rows::probes(folder.path());
    assert!(rows.len() > 15, "{rows:?}");
    once(&rows);
}

/// Three hosts, each with a monitor that probes the other two. `wirestamp-fleet clocks` is asked about the files, too, if they are [`kept`].
#[test]
fn what_three_hosts_record_fits_together() {
    const AHEAD: [(&str, i64); 3] = [("a", 0), ("b", 40_000), ("c", -3_000_000)];
    let made = tempfile::tempdir().expect("made");
    let folder = &kept("clocks").unwrap_or_else(|| made.path().to_owned());
    for (number, (host, own)) in (1..).zip(AHEAD) {
        let simulation = Simulation::preset("igc", number).expect("a preset");
        let by = Span::from_nanoseconds(own.into());
        simulation.world().step_real_time_clock(by);
        let others = AHEAD.into_iter().filter(|(name, _)| *name != host);
        let (names, mut remotes): (Vec<_>, Vec<_>) = (10_001..)
            .zip(others)
            .map(|(port, (name, ahead))| (name, Remote::on(&simulation, port, ahead - own)))
            .unzip();
        let named: Vec<_> = names.into_iter().zip(&remotes).collect();
        // c is wrong
        let lines = "clock_bound = \"50us\"";
        let configuration = configuration(host, folder, lines, &sessions(&named));
        let place = Place::Simulation(simulation);
        let mut monitor = Monitor::new(configuration, place).expect("it starts");
        run(&mut monitor, 30, &mut remotes);
    }
    let rows = rows::probes(folder);
    let offset: BTreeMap<_, _> = AHEAD.into();
    let mut windows = BTreeMap::<i64, usize>::new();
    for row in &rows {
        let ahead = offset[row.peer.as_str()] - offset[row.host.as_str()];
        let (forward, backward) = (
            row.forward.expect("answered").0,
            row.backward.expect("answered").0,
        );
        assert!(-backward <= ahead && ahead <= forward, "{row:?}");
        *windows.entry(row.start).or_default() += 1;
    }
    // each window has both directions of the three pairs
    let whole = windows.values().filter(|count| **count == 6).count();
    assert!(whole >= 24, "{windows:?}");
}
