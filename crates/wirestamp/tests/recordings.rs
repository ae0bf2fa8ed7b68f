//! Checks conversions on recordings of a real driver's clock: no cross timestamp, and no timestamp
//! between two of them, contradicts the prediction from earlier ones. `testdata/README.md`
//! describes the recordings.

use flate2::read::GzDecoder;
use std::fs::File;
use std::io::BufReader;
use wirestamp::correlator::GenerationCause;
use wirestamp::events::{Event, Reader, Replay, Row, Summary};
use wirestamp::{ConversionError, CrossTimestamp, HardwareTimestamp, MonotonicTime, Span};

/// The results of replaying a recording.
struct Seen {
    /// Cross timestamps that were predicted from earlier ones.
    predicted: usize,
    /// Those outside the prediction; each must have begun a generation.
    outside: usize,
    /// The error bounds of the predictions in nanoseconds, sorted.
    bounds: Vec<i128>,
    summary: Summary,
}

/// The possible time of a timestamp: between the cross timestamps around it.
struct Window {
    after: MonotonicTime,
    before: Option<MonotonicTime>,
}

fn replay(name: &str) -> Seen {
    let path = format!(
        "{}/../../testdata/{name}.csv.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let file = File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let reader = Reader::new(name, BufReader::new(GzDecoder::new(file))).expect("a header");
    let mut replay = Replay::online(reader.header());
    let (mut predicted, mut outside, mut bounds) = (0, 0, Vec::new());
    let (mut rows, mut windows): (Vec<Row>, Vec<Window>) = (Vec::new(), Vec::new());
    let mut last = MonotonicTime::MIN;
    for event in reader {
        let event = event.expect("an event");
        let before = replay.correlation().generation();
        let reading = if let Event::Cross(reading) = event {
            Some(reading)
        } else {
            None
        };
        let estimate = reading.map(|reading| predict(&replay, &reading));
        replay.take(event, &mut rows);
        let Some(reading) = reading else {
            windows.push(Window {
                after: last,
                before: None,
            });
            continue;
        };
        windows
            .iter_mut()
            .rev()
            .take_while(|window| window.before.is_none())
            .for_each(|window| {
                window.before = Some(reading.monotonic_before());
            });
        last = reading.monotonic_after();
        if let Some(Ok((least, most))) = estimate {
            predicted += 1;
            bounds.push((most - least).nanoseconds() / 2);
            if most < reading.monotonic_before() || least > reading.monotonic_after() {
                outside += 1;
                let opened = replay.correlation().generation() > before;
                assert!(
                    opened,
                    "{name}: {reading:?} lies outside {least:?} to {most:?}, and nobody noticed"
                );
            }
        }
    }
    check_timestamps(name, &rows, &windows);
    bounds.sort_unstable();
    Seen {
        predicted,
        outside,
        bounds,
        summary: replay.finish(&mut rows),
    }
}

/// The predicted interval of a cross timestamp.
fn predict(
    replay: &Replay,
    reading: &CrossTimestamp,
) -> Result<(MonotonicTime, MonotonicTime), ConversionError> {
    let correlation = replay.correlation();
    let timestamp = HardwareTimestamp {
        ticks: reading.hardware(),
        interface: Some(correlation.interface()),
        read_at: reading.monotonic_after(),
    };
    correlation.to_monotonic(&timestamp).map(|estimate| {
        (
            estimate.at.value - estimate.at.bound,
            estimate.at.value + estimate.at.bound,
        )
    })
}

/// Every converted timestamp is between the cross timestamps around it.
fn check_timestamps(name: &str, rows: &[Row], windows: &[Window]) {
    assert_eq!(rows.len(), windows.len());
    for (row, window) in rows.iter().zip(windows) {
        let Ok(estimate) = row.answer else { continue };
        let bound = Span::from_nanoseconds(i128::from(estimate.bound_picoseconds / 1_000 + 1));
        assert!(
            estimate.at + bound >= window.after,
            "{name}: {row:?} before {:?}",
            window.after
        );
        let late = window
            .before
            .is_some_and(|before| estimate.at - bound > before);
        assert!(!late, "{name}: {row:?} after {:?}", window.before);
    }
}

fn check_undisturbed(name: &str) {
    let Seen {
        predicted,
        outside,
        bounds,
        summary,
    } = replay(name);
    // a timestamp that the NIC's single register lost is not a timestamp
    assert_eq!(summary.converted, summary.timestamps, "{name}: {summary:?}");
    assert!(
        summary.readings >= 2_900 && summary.timestamps >= 500,
        "{name}: {summary:?}"
    );
    assert!(
        predicted as u64 > summary.readings - 20,
        "{name}: {predicted} predictions"
    );
    assert_eq!(
        (outside, summary.generations.len()),
        (0, 1),
        "{name}: {:?}",
        summary.generations
    );
    let median = bounds[bounds.len() / 2];
    assert!(median < 1_000, "{name}: a median bound of {median} ns");
}

#[test]
fn idle() {
    check_undisturbed("igb-vm-idle");
}

#[test]
fn under_processor_load() {
    check_undisturbed("igb-vm-cpu-load");
}

#[test]
fn under_network_load() {
    check_undisturbed("igb-vm-network-load");
}

/// Two steps, four new frequencies and one new time: each is detected by the first cross timestamp
/// after it.
fn check_adjusted(name: &str) {
    let Seen {
        predicted,
        outside,
        summary,
        ..
    } = replay(name);
    // a changed clock fails or is detected at once
    let noticed = summary.readings as usize - predicted + outside;
    assert!(
        predicted > 2_800 && noticed >= 8,
        "{name}: {outside} outside of {predicted}"
    );
    assert!(
        (8..=12).contains(&summary.generations.len()),
        "{name}: {:?}",
        summary.generations
    );
    assert!(
        summary.timestamps >= 500 && summary.errors.total() <= 10,
        "{name}: {summary:?}"
    );
    let is_backwards = |cause| cause == GenerationCause::CounterBackwards;
    assert!(
        summary
            .generations
            .iter()
            .any(|generation| is_backwards(generation.cause)),
        "{name}: {:?}",
        summary.generations
    );
    let rates: Vec<_> = summary
        .generations
        .iter()
        .filter_map(|generation| generation.frequency)
        .map(|rate| rate.hertz - 1e9)
        .collect();
    let slow = rates[0];
    for hertz in [20_000.0, -3_000.0, 400_000.0] {
        let found = rates.iter().any(|rate| (rate - slow - hertz).abs() < 200.0);
        assert!(found, "{name}: {hertz} is not among {rates:?}");
    }
}

#[test]
fn another_program_adjusts_the_clock() {
    check_adjusted("igb-vm-adjusted");
}

#[test]
fn another_program_adjusts_the_clock_under_processor_load() {
    check_adjusted("igb-vm-cpu-load-adjusted");
}

#[test]
fn another_program_adjusts_the_clock_under_network_load() {
    check_adjusted("igb-vm-network-load-adjusted");
}
