//! The rows of `estimates` and `cross`: never a number that is not true of the clock, and a reason where there is none.

use crate::monitor;
use crate::remote::run_until;
use crate::rows::{self, Estimate};
use crate::servers::{NtpServer, node, transmitter};
use std::path::Path;
use wirestamp::sim::NicName;
use wirestamp::{MonotonicTime, Simulation, Span};
use wirestamp_monitor::Monitor;

const SECOND: i64 = 1_000_000_000;

fn run(monitor: &mut Monitor, seconds: i64) {
    let until = monitor.now() + Span::from_seconds(seconds);
    monitor.run_until(until).expect("it runs");
}

fn of<'a>(rows: &'a [Estimate], clock: &'a str) -> Vec<&'a Estimate> {
    rows.iter().filter(|row| row.clock == clock).collect()
}

/// UTC minus the monotonic clock, in a simulation whose real-time clock nobody sets.
fn utc_offset(simulation: &Simulation) -> i64 {
    let truth = simulation.world().truth();
    truth.utc().nanoseconds() - truth.now().nanoseconds()
}

#[test]
fn the_bounds_of_nics_clocks_contain_the_truth_and_resets_are_generations() {
    for preset in ["igc", "poor-oscillator", "clock-steps"] {
        let folder = tempfile::tempdir().expect("made");
        let simulation = Simulation::preset(preset, 3).expect("a preset");
        let mut monitor = monitor(&simulation, folder.path(), "interval = \"1s\"", "");
        run(&mut monitor, 120);
        drop(monitor);
        let utc = utc_offset(&simulation);
        let interface = simulation.interface("sim0").expect("it has one");
        let rows = rows::estimates(folder.path());
        let rows = of(&rows, "sim0");
        assert!(
            (118..=120).contains(&rows.len()),
            "{preset}: {}",
            rows.len()
        );
        let truth = simulation.world().truth();
        let (mut known, mut before) = (0, 0);
        for row in &rows {
            assert_eq!(row.from, row.until);
            let at = MonotonicTime::from_nanoseconds(row.from - utc);
            let Some(ticks) = truth.hardware_ticks_at(interface.index(), at) else {
                // clock-steps sets the real-time clock after three seconds
                before += 1;
                continue;
            };
            let ticks = ticks.raw().cast_signed();
            let Ok((offset, bound)) = row.offset else {
                continue;
            };
            let error = ticks.wrapping_sub(row.from) - offset;
            assert!(error.abs() <= bound + 2, "{preset}: {error} {row:?}");
            assert!(row.generation.is_some(), "{row:?}");
            known += usize::from(row.frequency_ppt.is_some());
        }
        assert!(known > 100 && before <= 3, "{preset}: {known} {before}");
        let mut generations: Vec<_> = rows.iter().filter_map(|row| row.generation).collect();
        generations.dedup();
        assert_eq!(
            generations.len() > 1,
            preset == "clock-steps",
            "{preset}: {generations:?}"
        );
        assert!(generations.is_sorted());
    }
}

#[test]
fn a_nic_that_is_gone_has_rows_without_numbers_and_their_reason() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let asked = "[clocks]\ninterfaces = [\"sim0\"]";
    let mut monitor = monitor(&simulation, folder.path(), "interval = \"1s\"", asked);
    run(&mut monitor, 20);
    simulation.world().remove_nic(NicName::Sim0);
    run(&mut monitor, 20);
    simulation.world().add_nic(NicName::Sim0);
    run(&mut monitor, 80);
    drop(monitor);
    let rows = rows::estimates(folder.path());
    let rows = of(&rows, "sim0");
    assert!((118..=120).contains(&rows.len()), "{}", rows.len());
    let gone: Vec<_> = rows.iter().filter(|row| row.offset.is_err()).collect();
    let least = rows.len() - 110;
    assert!(gone.len() >= least, "{}", gone.len());
    // while it was gone, and not before
    let begun = rows[0].from;
    for row in rows
        .iter()
        .filter(|row| (22 * SECOND..38 * SECOND).contains(&(row.from - begun)))
    {
        assert!(row.offset.is_err(), "{row:?}");
        assert_eq!((row.frequency_ppt, row.generation), (None, None), "{row:?}");
    }
    assert!(rows[10].offset.is_ok() && rows[rows.len() - 1].offset.is_ok());
}

/// The claim of a host without a time source.
#[test]
fn without_anybody_who_knows_there_is_no_claim() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let mut first = monitor(&simulation, &folder.path().join("none"), "", "");
    run(&mut first, 60);
    drop(first);
    let rows = rows::estimates(&folder.path().join("none"));
    let none = of(&rows, "utc");
    // the last one is of the time since the sixth
    assert_eq!(none.len(), 6, "{none:?}");
    for row in none {
        assert_eq!(row.offset, Err("not_synchronized".to_owned()));
    }
    let lines = "clock_bound = \"9us\"";
    let mut said = monitor(&simulation, &folder.path().join("said"), lines, "");
    run(&mut said, 60);
    drop(said);
    let rows = rows::estimates(&folder.path().join("said"));
    let said = of(&rows, "utc");
    assert_eq!(said.len(), 6);
    for pair in said.windows(2) {
        assert_eq!(pair[0].until, pair[1].from, "no time without a claim");
    }
    assert!(
        said.iter().all(|row| matches!(row.offset, Ok((0, 9_000)))),
        "{said:?}"
    );
}

/// A server 40 ms ahead, whom the host believes, and a PTP timeTransmitter on its own clock, which is silent in the second minute unless the clock is stepped.
fn told(folder: &Path, simulation: &Simulation, step: Option<Span>) -> Vec<Estimate> {
    let engine = transmitter();
    let mut transmitter = node(&engine, simulation);
    let mut server = NtpServer::on(simulation, 123, 0);
    server.lie = Span::from_milliseconds(40);
    let asked = format!(
        "[[ntp]]\nserver = \"{}\"\ninterval = \"4s\"\n[[ptp]]\ninterface = \"sim0\"\noptions = {{ source = \"software\", role = \"time_receiver\" }}",
        server.address()
    );
    let mut monitor = monitor(simulation, folder, "", &asked);
    for part in 0..2 {
        let until = monitor.now() + Span::from_seconds(60);
        run_until(&mut monitor, until, || {
            server.serve();
            if part > 0 && step.is_none() {
                return MonotonicTime::MAX;
            }
            transmitter.serve();
            transmitter.next_at()
        });
        if let (0, Some(by)) = (part, step) {
            simulation.world().step_real_time_clock(by);
        }
    }
    rows::estimates({
        drop(monitor);
        folder
    })
}

#[test]
fn the_claim_is_what_ntp_servers_say_and_contains_the_truth() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let rows = told(folder.path(), &simulation, None);
    let claims = of(&rows, "utc");
    assert!((12..=13).contains(&claims.len()), "{}", claims.len());
    // no server had answered yet
    assert_eq!(claims[0].offset, Err("not_synchronized".to_owned()));
    let last = claims.len() - 1;
    for (place, row) in claims.iter().enumerate().skip(1) {
        let (offset, bound) = row.offset.clone().expect("it is known");
        assert!((offset + 40_000_000).abs() <= bound, "{row:?}");
        // on condition that the one server is right
        assert_eq!(row.right_servers, Some(1), "{row:?}");
        // 500 ppm from one look to the next: in between nobody has read what adjusts the clock. At first the drift is not
        // known, and it is as much from one answer to the next
        let most = if place == 1 { 3_000_000 } else { 1_000_000 };
        assert!((500_000..most).contains(&bound), "{row:?}");
        let length = row.until - row.from;
        assert!(length < 10 * SECOND + SECOND / 10, "{row:?}");
        assert!(length >= 10 * SECOND || place == last, "{row:?}");
    }
    assert_eq!(claims[0].right_servers, None);
    let ptp = of(&rows, "ptp:sim0");
    assert!(ptp.iter().all(|row| row.right_servers.is_none()), "{ptp:?}");
    assert!((11..=12).contains(&ptp.len()), "{}", ptp.len());
    let known: Vec<_> = ptp
        .iter()
        .filter_map(|row| row.offset.as_ref().ok())
        .collect();
    assert!((3..=6).contains(&known.len()), "{ptp:?}");
    // it was silent in the second minute
    let last = &ptp[ptp.len() - 4..];
    assert!(
        last.iter()
            .all(|row| row.offset == Err("no_sample".to_owned())),
        "{ptp:?}"
    );
    // both ends read the same clock
    assert!(
        known.iter().all(|(offset, bound)| offset.abs() <= *bound),
        "{ptp:?}"
    );
}

#[test]
fn after_a_step_of_the_clock_there_is_no_claim_until_somebody_knows_again() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let by = Span::from_milliseconds(300);
    let rows = told(folder.path(), &simulation, Some(by));
    let claims = of(&rows, "utc");
    let unknown: Vec<_> = claims.iter().filter(|row| row.offset.is_err()).collect();
    assert!((2..=4).contains(&unknown.len()), "{claims:?}");
    let (before, after): (Vec<_>, Vec<_>) = claims
        .iter()
        .filter_map(|row| row.offset.as_ref().ok())
        .partition(|(offset, _)| *offset < 0);
    assert!(before.len() >= 4 && after.len() >= 3, "{claims:?}");
    // 40 ms behind the server, then 260 ms ahead of it
    assert!(
        before
            .iter()
            .all(|(offset, bound)| (offset + 40_000_000).abs() <= *bound)
    );
    assert!(
        after
            .iter()
            .all(|(offset, bound)| (offset - 260_000_000).abs() <= *bound)
    );
}

#[test]
fn cross_timestamps_enclose_when_the_clock_showed_them() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let mut monitor = monitor(&simulation, folder.path(), "tables = [\"cross\"]", "");
    run(&mut monitor, 100);
    drop(monitor);
    let rows = rows::cross(folder.path());
    assert!((18..=22).contains(&rows.len()), "{rows:?}");
    let truth = simulation.world().truth();
    for (interface, before, after, ticks) in rows {
        let interface = simulation.interface(&interface).expect("it is there");
        let shown = |at| {
            let at = MonotonicTime::from_nanoseconds(at);
            truth
                .hardware_ticks_at(interface.index(), at)
                .expect("remembered")
                .raw()
        };
        assert!(
            (shown(before)..=shown(after)).contains(&ticks),
            "{before} {after} {ticks}"
        );
    }
    assert!(rows::estimates(folder.path()).is_empty());
}
