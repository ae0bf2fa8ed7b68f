//! Event files: parsing, errors, and the time at which timestamps are converted.

use crate::pair::{Pair, pass, simulation};
use proptest::prelude::*;
use std::time::Duration;
use wirestamp::clock::CrossMethod;
use wirestamp::correlator::Assumptions;
use wirestamp::events::{Event, Header, Reader, Replay, Row, Summary, Writer};
use wirestamp::time::Frequency;
use wirestamp::{
    ConversionError, CrossTimestamp, ErrorKind, HardwareRequest, HardwareTicks, MonotonicTime,
    Source, Timestamping, TransmitOutcome,
};

const HEADER: &str = "#wirestamp-events 1 system_hz=1000000000 hardware_hz=125000000\n";

fn events(text: &str) -> wirestamp::Result<Vec<Event>> {
    Reader::new("x", text.as_bytes())?.collect()
}

fn replayed(text: &str, replay: impl Fn(Header) -> Replay) -> (Vec<Row>, Summary) {
    let reader = Reader::new("x", text.as_bytes()).expect("a header");
    let (mut replay, mut rows) = (replay(reader.header()), Vec::new());
    for event in reader {
        replay.take(event.expect("understood"), &mut rows);
    }
    let summary = replay.finish(&mut rows);
    (rows, summary)
}

fn cross(before: i64, hardware: u64, after: i64, method: CrossMethod) -> Event {
    let at = MonotonicTime::from_nanoseconds;
    let reading = CrossTimestamp::new(at(before), HardwareTicks::new(hardware), at(after), method);
    Event::Cross(reading.expect("valid"))
}

#[test]
fn every_form_of_line_is_understood() {
    let text = "\u{feff}\n# a remark\n#wirestamp-events 1 hardware_hz=0 system_hz=10000000 colour=blue (nominal)\r\n\
        cross,10,7,13\r\n\n cross , -5 , 18446744073709551615 , -5 , precise \n# another\ncross,1,2,3,extended\n\
        cross,1,2,3,basic\ncross,1,2,1,driver\ncross,1,0,1\ntimestamp,0\ntimestamp, 9 \nnotify";
    let reader = Reader::new("x", text.as_bytes()).expect("a header");
    assert_eq!(
        reader.header(),
        Header {
            system: Frequency::from_hertz(10_000_000).expect("not zero"),
            hardware: None
        }
    );
    let found: Vec<Event> = reader.collect::<Result<_, _>>().expect("understood");
    let Event::Invalid(_) = found[5] else {
        panic!("a reading with a zero is none: {:?}", found[5])
    };
    let expected = [
        cross(1_000, 7, 1_300, CrossMethod::Driver),
        cross(-500, u64::MAX, -500, CrossMethod::Precise),
        cross(100, 2, 300, CrossMethod::Extended),
        cross(100, 2, 300, CrossMethod::Basic),
        cross(100, 2, 100, CrossMethod::Driver),
        found[5],
        Event::Timestamp(HardwareTicks::new(0)),
        Event::Timestamp(HardwareTicks::new(9)),
        Event::Notify,
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_what_was_expected() {
    let after_header = |line: &str| format!("{HEADER}\ntimestamp,1\n{line}\ntimestamp,2\n");
    for (line, expected) in [
        (
            "timestamp",
            "expected timestamp,HARDWARE, found 'timestamp'",
        ),
        (
            "timestamp,",
            "expected HARDWARE to be a whole number of ticks (64 bits, not negative), found nothing",
        ),
        ("timestamp,-1", "not negative), found '-1'"),
        ("timestamp,1.5", "found '1.5'"),
        (
            "timestamp,18446744073709551616",
            "found '18446744073709551616'",
        ),
        (
            "cross,1,2",
            "expected cross,SYSTEM1,HARDWARE,SYSTEM2[,METHOD], found 'cross,1,2'",
        ),
        (
            "cross,1,2,3,best",
            "expected METHOD to be precise, extended, basic or driver, found 'best'",
        ),
        ("cross,1,2,3,basic,4", "expected cross,SYSTEM1"),
        (
            "cross,x,2,3",
            "expected SYSTEM1 to be a whole number of ticks (64 bits, signed), found 'x'",
        ),
        (
            "cross,9,2,8",
            "expected SYSTEM2 not to lie before SYSTEM1, found 8 after 9",
        ),
        ("notify,now", "notify or replaced, found 'notify,now'"),
        (
            "hello",
            "expected cross,SYSTEM1,HARDWARE,SYSTEM2[,METHOD], timestamp,HARDWARE, notify or replaced, found 'hello'",
        ),
        ("#wirestamp-events 1 system_hz=1", "a second header"),
    ] {
        let error = events(&after_header(line)).expect_err(line);
        assert_eq!(
            (error.kind(), error.target()),
            (ErrorKind::InvalidInput, "line 4 of x"),
            "{line}"
        );
        assert!(error.cause().contains(expected), "{line}: {error}");
    }
    for (text, expected) in [
        ("", "expected #wirestamp-events 1 system_hz=NUMBER"),
        ("timestamp,1\n", "before any event, found 'timestamp,1'"),
        (
            "#wirestamp-events 2 system_hz=1\n",
            "expected version 1 of the format, found '2'",
        ),
        ("#wirestamp-events\n", "expected #wirestamp-events 1"),
        (
            "#wirestamp-events 1 hardware_hz=5\n",
            "expected system_hz=NUMBER",
        ),
        (
            "#wirestamp-events 1 system_hz=0\n",
            "expected system_hz above 0",
        ),
        (
            "#wirestamp-events 1 system_hz=fast\n",
            "expected system_hz to be a number of ticks per second, found 'fast'",
        ),
    ] {
        let error = Reader::new("x", text.as_bytes()).expect_err(text);
        assert_eq!(
            (error.kind(), error.target()),
            (ErrorKind::InvalidInput, "line 1 of x")
        );
        assert!(error.cause().contains(expected), "{text}: {error}");
    }
    let no_text = [HEADER.as_bytes(), b"timestamp,\xff1\n"].concat();
    let error = Reader::new("x", no_text.as_slice())
        .expect("a header")
        .next()
        .expect("a line")
        .expect_err("no text");
    assert_eq!(
        (error.target(), error.cause()),
        ("line 2 of x", "it is no text in UTF-8")
    );
    let slow =
        "#wirestamp-events 1 system_hz=1000\ncross,9223372036854775807,1,9223372036854775807\n";
    assert!(
        events(slow)
            .expect_err("too late")
            .cause()
            .contains("within ±292 years")
    );
}

/// A clock of 1 GHz that shows the system clock's time.
#[test]
fn a_line_that_is_too_long_is_refused_by_its_number_and_the_next_one_is_read() {
    let line = |length: usize| format!("timestamp,{}7", "0".repeat(length - 11));
    let text = format!(
        "{HEADER}{}\n{}\ntimestamp,9\n{}",
        line(65_536),
        line(65_537),
        line(65_536)
    );
    let read: Vec<_> = Reader::new("x", text.as_bytes())
        .expect("a header")
        .collect();
    let timestamp = |ticks| Ok(Event::Timestamp(HardwareTicks::new(ticks)));
    assert_eq!(
        (&read[0], &read[2], &read[3], read.len()),
        (&timestamp(7), &timestamp(9), &timestamp(7), 4)
    );
    let wrong = read[1].as_ref().expect_err("too long");
    assert_eq!(wrong.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        wrong.to_string(),
        "line 3 of x: cannot read events: the line is longer than 65536 bytes"
    );

    let endless = Reader::new("x", std::io::BufReader::new(std::io::repeat(b'#')));
    assert!(endless.is_err_and(|error| {
        error
            .to_string()
            .contains("line 1 of x: cannot read events: the line is longer")
    }));
}

fn reading_at(at: i64) -> String {
    format!("cross,{},{},{},extended\n", at - 500, at, at + 499)
}

const SECOND: i64 = 1_000_000_000;
const GIGAHERTZ: &str = "#wirestamp-events 1 system_hz=1000000000 hardware_hz=1000000000\n";

#[test]
fn a_replay_has_the_assumptions_that_its_recording_had() {
    let assumptions = Assumptions {
        unseen_change: 4e-6,
        ..Assumptions::USUAL
    };
    let read = |second: i64| {
        let (at, ticks) = (second * SECOND, second * SECOND);
        format!("cross,{},{ticks},{},extended\n", at - 500, at + 499)
    };
    let text: String = (1..20).map(read).collect();
    let text = format!("{GIGAHERTZ}{text}timestamp,{}\n", 19 * SECOND);
    let bound = |text: &str, assumptions: Assumptions| {
        let begin = |header| Replay::online(header).with_assumptions(&assumptions);
        let (rows, _) = replayed(text, begin);
        rows[0].answer.expect("converts").bound_picoseconds
    };
    let usual = bound(&text, Assumptions::USUAL);
    let more = bound(&text, assumptions) - usual;
    // a bracket and the time are off by an eighth of 4 ppm for 1 s each
    assert!((500_000..=1_100_000).contains(&more), "{usual} {more}");
}

#[test]
fn a_timestamp_knows_what_stands_before_it_and_later_one_batch_more() {
    // slower by 100 ppm than the nominal frequency, which only the second batch shows
    let slow = |at: i64| {
        format!(
            "cross,{},{},{},extended\n",
            at - 500,
            at - at / 10_000,
            at + 499
        )
    };
    let batch = |second: i64| {
        (0..5)
            .map(|n| slow(second * SECOND + n * 2_000))
            .collect::<String>()
    };
    let made = SECOND + SECOND / 2;
    let text = format!(
        "{GIGAHERTZ}{}timestamp,{}\n{}{}",
        batch(1),
        made - made / 10_000,
        batch(2),
        batch(3)
    );
    let (online, _) = replayed(&text, Replay::online);
    let (later, summary) = replayed(&text, Replay::later);
    let [online, later] = [online[0], later[0]].map(|row| row.answer.expect("converts"));
    let error = |at: MonotonicTime| (at.nanoseconds() - made).abs();
    assert!(
        error(online.at) > 40_000 && online.bound_picoseconds > 500_000_000,
        "{online:?}"
    );
    assert!(
        error(later.at) < 100 && later.bound_picoseconds < 3_000_000,
        "{later:?}"
    );
    assert_eq!(
        (summary.batches, summary.readings, summary.timestamps),
        (3, 15, 1)
    );
    // the third batch came too late to be used
    let without = format!(
        "{GIGAHERTZ}{}timestamp,{}\n{}",
        batch(1),
        made - made / 10_000,
        batch(2)
    );
    assert_eq!(replayed(&without, Replay::later).0[0].answer, Ok(later));
    // and if no batch follows, all cross timestamps so far are used
    let alone = format!(
        "{GIGAHERTZ}{}timestamp,{}\n",
        batch(1),
        made - made / 10_000
    );
    assert_eq!(replayed(&alone, Replay::later).0[0].answer, Ok(online));
}

#[test]
fn timestamps_before_the_rate_is_known_wait_for_it() {
    let text = format!(
        "#wirestamp-events 1 system_hz=1000000000 hardware_hz=0\ntimestamp,500000000\n{}timestamp,1500000000\n{}timestamp,2500000000\n",
        reading_at(SECOND),
        reading_at(2 * SECOND)
    );
    let (rows, summary) = replayed(&text, Replay::online);
    assert_eq!(
        rows.iter().map(|row| row.answer.err()).collect::<Vec<_>>(),
        [
            Some(ConversionError::NotReady),
            Some(ConversionError::NotReady),
            None
        ]
    );
    assert_eq!(
        rows.iter()
            .map(|row| row.generation.map(|generation| generation.0))
            .collect::<Vec<_>>(),
        [None, Some(0), Some(0)]
    );
    assert_eq!(
        summary.errors.by_reason().collect::<Vec<_>>(),
        [(ConversionError::NotReady, 2)]
    );
    let (rows, _) = replayed(&text, Replay::later);
    let middle = rows[1].answer.expect("by then it is known");
    assert!(
        // two cross timestamps do not determine the counter's tick, which may be 10 µs
        (middle.at.nanoseconds() - 3 * SECOND / 2).abs() < 2
            && middle.bound_picoseconds < 10_600_000,
        "{middle:?}"
    );
    assert_eq!(
        rows[0].answer,
        Err(ConversionError::NotReady),
        "one batch later it is not known yet"
    );
}

#[test]
fn a_notification_opens_a_generation_and_its_timestamps_are_refused_until_a_reading() {
    let readings: String = (1..=5).map(|second| reading_at(second * SECOND)).collect();
    let text = format!(
        "{GIGAHERTZ}{readings}timestamp,5100000000\nnotify\ntimestamp,5200000000\n{}timestamp,6100000000\n",
        reading_at(6 * SECOND)
    );
    let (rows, summary) = replayed(&text, Replay::online);
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row.answer.map(|_| ()),
                row.generation.map(|generation| generation.0),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (Ok(()), Some(0)),
            (Err(ConversionError::OutsideGenerations), Some(0)),
            (Ok(()), Some(1))
        ]
    );
    let causes: Vec<_> = summary
        .generations
        .iter()
        .map(|generation| {
            (
                generation.generation.0,
                generation.cause.name(),
                generation.readings,
            )
        })
        .collect();
    assert_eq!(causes, [(0, "start", 5), (1, "notification", 1)]);
    assert!(summary.generations[1].frequency.is_some() && summary.prior.is_some());
}

/// A bond fails over to a clock with another start: no timestamp is converted across the failover.
#[test]
fn another_clock_is_a_generation_of_its_own_in_a_recording() {
    let readings = |seconds: std::ops::RangeInclusive<i64>| -> String {
        seconds.map(|second| reading_at(second * SECOND)).collect()
    };
    let text = format!(
        "{GIGAHERTZ}{}replaced\ntimestamp,5200000000\n{}timestamp,9100000000\n",
        readings(1..=5),
        readings(6..=9)
    );
    let (rows, summary) = replayed(&text, Replay::online);
    assert_eq!(rows[0].answer, Err(ConversionError::OutsideGenerations));
    assert!(rows[1].answer.is_ok(), "{:?}", rows[1].answer);
    let causes = summary
        .generations
        .iter()
        .map(|generation| generation.cause.name());
    assert_eq!(causes.collect::<Vec<_>>(), ["start", "clock_replaced"]);
}

/// The clock is set ahead by 10 ms between the fifth cross timestamp and a timestamp.
#[test]
fn three_batches_after_a_timestamp_confirm_it_or_take_it_back() {
    const STEP: i64 = 10_000_000;
    let before: String = (1..=5).map(|second| reading_at(second * SECOND)).collect();
    let after = |seconds: std::ops::RangeInclusive<i64>| -> String {
        let reading = |second: i64| {
            let at = second * SECOND;
            format!("cross,{},{},{},extended\n", at - 500, at + STEP, at + 499)
        };
        seconds.map(reading).collect()
    };
    let text = format!(
        "{GIGAHERTZ}{before}timestamp,{}\n{}timestamp,{}\n{}timestamp,{}\n",
        5 * SECOND + SECOND / 2 + STEP,
        after(6..=8),
        8 * SECOND + SECOND / 2 + STEP,
        after(9..=11),
        11 * SECOND + SECOND / 2 + STEP,
    );
    let off = |row: &Row, made: i64| {
        let estimate = row.answer.expect("converted");
        let off = (estimate.total_picoseconds() - i128::from(made) * 1_000).abs();
        (off > i128::from(estimate.bound_picoseconds)).then_some(off)
    };
    let (rows, _) = replayed(&text, Replay::online);
    let former = rows[0].generation;
    let made = 5 * SECOND + SECOND / 2;
    assert!(
        off(&rows[0], made).is_some(),
        "nobody knows it yet: {rows:?}"
    );
    for (was_converted, replay) in [
        (true, Replay::online as fn(Header) -> Replay),
        (false, Replay::later),
    ] {
        let (rows, summary) = {
            let reader = Reader::new("x", text.as_bytes()).expect("a header");
            let (mut replay, mut rows) = (replay(reader.header()).confirmed(), Vec::new());
            for event in reader {
                replay.take(event.expect("understood"), &mut rows);
            }
            let summary = replay.finish(&mut rows);
            (rows, summary)
        };
        assert_eq!(rows[0].answer, Err(ConversionError::OutsideGenerations));
        if was_converted {
            assert_eq!(
                rows[0].generation, former,
                "the generation that it was converted with"
            );
        }
        assert_eq!(off(&rows[1], 8 * SECOND + SECOND / 2), None);
        assert_eq!(rows[2].answer, Err(ConversionError::Unconfirmed));
        assert_eq!((summary.converted, summary.errors.total()), (1, 2));
        let withdrawn: Vec<_> = summary.withdrawn.by_reason().collect();
        assert!(
            withdrawn.contains(&(ConversionError::Unconfirmed, 1)),
            "{withdrawn:?}"
        );
    }
}

proptest! {
    /// Written events are read back unchanged, including ticks that are not whole nanoseconds.
    #[test]
    fn writing_and_reading_are_inverse(
        system in prop_oneof![Just(1_000_000_000u64), Just(10_000_000), Just(3_579_545), Just(2_400_000_000), 1_000u64..5_000_000_000],
        hardware in prop::option::of(1u64..10_000_000_000),
        readings in prop::collection::vec((1i64..1_000_000_000_000, 0i64..100_000, 1u64.., 0usize..4), 1..20),
    ) {
        let header = Header {
            system: Frequency::from_hertz(system).expect("not zero"),
            hardware: hardware.and_then(Frequency::from_hertz),
        };
        let methods = ["precise", "extended", "basic", "driver"];
        let mut text = format!("#wirestamp-events 1 system_hz={system} hardware_hz={}\n", hardware.unwrap_or(0));
        for (before, width, ticks, method) in &readings {
            text += &format!("cross,{before},{ticks},{},{}\ntimestamp,{ticks}\nnotify\nreplaced\n", before + width, methods[*method]);
        }
        let reader = Reader::new("x", text.as_bytes()).expect("a header");
        prop_assert_eq!(reader.header(), header);
        let mut written = Vec::new();
        let mut writer = Writer::new(&mut written, header).expect("written");
        let read: Vec<Event> = reader.collect::<Result<_, _>>().expect("understood");
        for event in &read {
            match event {
                Event::Cross(reading) => writer.cross(reading),
                Event::Timestamp(ticks) => writer.timestamp(*ticks),
                Event::Notify => writer.notify(),
                Event::Replaced => writer.replaced(),
                Event::Invalid(_) => writer.comment("none\nat all"),
            }.expect("written");
        }
        let written = String::from_utf8(written).expect("text");
        // the same ticks where one lasts a nanosecond or more; the same times always
        prop_assert!(system > 1_000_000_000 || !written.contains("none") && written == text || written.contains("none"));
        let again: Vec<Event> = events(&written).expect("understood");
        let kept = read.iter().filter(|event| !matches!(event, Event::Invalid(_)));
        prop_assert!(kept.eq(again.iter()));
    }
}

/// A recording like that of `record`, on a NIC with known true times.
#[test]
fn a_recording_converts_to_within_its_bounds_of_the_truth() {
    for preset in [
        "i225",
        "igb",
        "poor-oscillator",
        "windows-modern",
        "windows-no-frequency",
        "noisy-cross",
    ] {
        let simulation = simulation(preset);
        let nic = simulation.interface("sim0").expect("a NIC");
        let hardware = nic
            .enable_hardware(HardwareRequest::AllPackets)
            .or_else(|_| nic.enable_hardware(HardwareRequest::Ptp));
        let _hardware = hardware.ok();
        let clock = nic.hardware_clock().expect("it has a clock");
        let pair = Pair::over_the_cable(&simulation);
        pair.sender
            .configure(Timestamping::OFF.transmit(64).source(Source::Hardware))
            .expect("granted");
        let nominal = nic.supported().expect("known").nominal_frequency;
        let windows = preset.starts_with("windows");
        let system = if windows {
            Frequency::from_hertz(10_000_000).expect("not zero")
        } else {
            Frequency::GIGAHERTZ
        };
        let mut text = Vec::new();
        let mut writer = Writer::new(
            &mut text,
            Header {
                system,
                hardware: nominal,
            },
        )
        .expect("written");
        let mut ids = Vec::new();
        for number in 0..240u32 {
            if number % 4 == 0 {
                // a clock that is sometimes busy
                for reading in clock.cross_timestamps(5).unwrap_or_default() {
                    writer.cross(&reading).expect("written");
                }
            }
            pass(simulation.world(), Duration::from_millis(250));
            pair.send(number);
            if let TransmitOutcome::Timestamped(timestamps) = pair.wait_for(number) {
                writer
                    .timestamp(timestamps.hardware.expect("a hardware timestamp").ticks)
                    .expect("written");
                ids.push(number);
            }
        }
        for _ in 0..3 {
            pass(simulation.world(), Duration::from_millis(250));
            for reading in clock.cross_timestamps(5).unwrap_or_default() {
                writer.cross(&reading).expect("written");
            }
        }
        let text = String::from_utf8(text).expect("text");
        for (later, replay) in [
            (false, Replay::online as fn(Header) -> Replay),
            (true, Replay::later),
            (true, |header| Replay::online(header).confirmed()),
        ] {
            let (rows, summary) = replayed(&text, replay);
            assert_eq!(
                (rows.len(), summary.generations.len()),
                (ids.len(), 1),
                "{preset}"
            );
            assert!(
                summary.errors.total() <= 4,
                "{preset}: {:?}",
                summary.errors
            );
            for (row, id) in rows.iter().zip(&ids) {
                let Ok(estimate) = row.answer else { continue };
                let truth = simulation
                    .world()
                    .truth()
                    .datagram_with_id(wirestamp::TransmitId(*id))
                    .expect("sent");
                let truth =
                    i128::from(truth.transmit_hardware_at.expect("it left").nanoseconds()) * 1_000;
                let error = (estimate.total_picoseconds() - truth).abs();
                // the true time is in whole nanoseconds
                assert!(
                    error <= i128::from(estimate.bound_picoseconds) + 1_000,
                    "{preset} {later} {id}: {error} ps {estimate:?}"
                );
            }
        }
    }
}

/// The same bits on every system: the output of the first one is stored. To update it:
/// `WIRESTAMP_EVENTS=overwrite cargo test -p wirestamp --test facade events`.
#[test]
fn the_same_events_give_the_same_digits_everywhere() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/events");
    let overwrite = std::env::var_os("WIRESTAMP_EVENTS").is_some_and(|value| value == "overwrite");
    let names = [
        "steps",
        "resets",
        "performance-counter",
        "kilohertz",
        "equal-brackets",
        "unknown-frequency",
        "wrap",
    ];
    for name in names {
        let text = std::fs::read_to_string(directory.join(format!("{name}.csv")))
            .expect("a file of events");
        for (kind, replay) in [
            ("online", Replay::online as fn(Header) -> Replay),
            ("later", Replay::later),
        ] {
            let (rows, summary) = replayed(&text, replay);
            assert!(summary.converted > 20, "{name}: {summary:?}");
            let mut told = format!("{}\n", Row::COLUMNS);
            rows.iter().for_each(|row| told += &format!("{row}\n"));
            let rate = summary
                .generations
                .last()
                .and_then(|generation| generation.frequency)
                .expect("known");
            told += &format!(
                "# {:x} {:x}\n",
                rate.hertz.to_bits(),
                rate.error_bound_parts_per_billion.to_bits()
            );
            let path = directory.join(format!("{name}.{kind}"));
            if overwrite {
                std::fs::write(&path, &told).expect("written");
            }
            let expected = std::fs::read_to_string(&path).expect("what it gave before");
            // a checkout may have changed line endings
            assert!(expected.lines().eq(told.lines()), "{name} {kind}\n{told}");
        }
    }
}

proptest! {
    /// For any file content, each line is an event or an error, each timestamp gives a row, and
    /// nothing panics.
    #[test]
    fn any_file_is_read_and_any_events_are_replayed(
        system in prop::sample::select(&["1000000000", "10000000", "1", "18446744073709551615", "0", "x"][..]),
        hardware in prop::sample::select(&["0", "1", "125000000", "18446744073709551615"][..]),
        lines in prop::collection::vec(
            prop_oneof![
                (any::<i64>(), any::<u64>(), 0u32..60, 0usize..6).prop_map(|(before, ticks, shift, method)| {
                    let after = before.saturating_add(i64::from(shift) * 100);
                    let method = ["", ",precise", ",extended", ",basic", ",driver", ",none"][method];
                    format!("cross,{},{},{}{method}", before >> shift, ticks >> shift, after >> shift)
                }),
                (0i64..100_000_000, 0u64..9).prop_map(|(at, width)| format!("cross,{at},{at},{}", at + width as i64)),
                any::<u64>().prop_map(|ticks| format!("timestamp,{ticks}")),
                (0u64..100_000_000).prop_map(|ticks| format!("timestamp,{ticks}")),
                Just("notify".to_owned()),
                "[a-z0-9,#.-]{0,12}",
            ],
            0..60,
        ),
    ) {
        let text = format!("#wirestamp-events 1 system_hz={system} hardware_hz={hardware}\n{}", lines.join("\n"));
        let Ok(reader) = Reader::new("x", text.as_bytes()) else { return Ok(()) };
        let header = reader.header();
        let understood: Vec<Event> = reader.filter_map(Result::ok).collect();
        for mut replay in [Replay::online(header), Replay::later(header)] {
            let mut rows = Vec::new();
            understood.iter().for_each(|event| replay.take(*event, &mut rows));
            let summary = replay.finish(&mut rows);
            prop_assert_eq!(rows.len() as u64, summary.timestamps);
            prop_assert_eq!(summary.converted + summary.errors.total(), summary.timestamps);
            prop_assert!(rows.iter().all(|row| row.to_string().matches(',').count() == 4));
        }
    }
}
