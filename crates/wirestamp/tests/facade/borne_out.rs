//! Provisional times in simulations in which clocks are stepped, adjusted or replaced: confirmed
//! times are right, and all are confirmed if no clock is changed.

use crate::pair::{bound, pass};
use std::sync::Arc;
use std::time::Duration;
use wirestamp::sim::Truth;
use wirestamp::{
    CorrelatorOptions, HardwareRequest, HostClock, HostTime, MonotonicTime, Simulation, Source,
    Span, TimestampPolicy, Timestamping, Timestamps, TransmitOutcome,
};
use wirestamp_test_worlds::{Chance, Change, Clocks, Found, worlds};

const MS: i64 = 1_000_000;
/// Hidden steps are smaller: twice the widest bracket of these clocks.
const HIDDEN: Span = Span::from_microseconds(80);
/// The number of packets, one each 7 ms, before the cross timestamps that confirm their times.
const PACKETS: usize = 400;
const AFTER: usize = 3_000;

/// A provisional time, and the true time of the packet.
struct Used(HostTime, MonotonicTime);

fn world(number: u64, clocks: &Clocks<'_>, found: &mut Found) {
    let mut chance = Chance::of(number);
    let toml = clocks.scenario(&mut chance).toml;
    let simulation = Simulation::from_toml(&toml, number).expect("a scenario");
    let truth = simulation.world().truth();
    let [near, far] = ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
    let _on = near.enable_hardware(HardwareRequest::AllPackets);
    let period = Duration::from_millis(chance.one_of(&[100, 1_000]));
    let options = CorrelatorOptions {
        period,
        ..CorrelatorOptions::default()
    };
    let correlator = near.correlator(options).expect("readings");
    correlator
        .wait_until_ready(Duration::from_secs(5))
        .expect("it is read");
    let clock = HostClock::hardware(Arc::new(correlator));
    let (from, to) = (bound(&near), bound(&far).local_address().expect("bound"));
    let wanted = Timestamping::new().transmit(64).source(Source::Hardware);
    from.configure(wanted).expect("it timestamps");
    let mut waiting = Vec::new();
    for packet in 0..PACKETS + AFTER {
        if packet < PACKETS {
            let sent = from.send_to_timestamped(b"when?", to, Duration::from_millis(100));
            match placed(&clock, sent.ok(), &truth) {
                Some(used) => waiting.push(used),
                None => found.lost += 1,
            }
        }
        pass(simulation.world(), Duration::from_millis(7));
        waiting.retain(|used| judged(&clock, used, found, || format!("world {number}:\n{toml}")));
    }
    found.check(waiting.is_empty(), || {
        format!("{} never final; world {number}:\n{toml}", waiting.len())
    });
}

fn placed(clock: &HostClock, sent: Option<TransmitOutcome>, truth: &Truth) -> Option<Used> {
    let Some(TransmitOutcome::Timestamped(timestamps)) = sent else {
        return None;
    };
    let time = clock
        .place(&timestamps, TimestampPolicy::OnlyHardware)
        .ok()?;
    let datagram = truth.datagram(truth.datagrams() - 1)?;
    Some(Used(time, datagram.transmit_hardware_at?))
}

/// Whether the time is still provisional.
fn judged(clock: &HostClock, used: &Used, found: &mut Found, world: impl Fn() -> String) -> bool {
    let Used(time, real) = used;
    match clock.bears_out(time) {
        None => return true,
        Some(false) => found.lost += 1,
        Some(true) => {
            let off = |time: &HostTime| time.monotonic.at.value - *real;
            let holds = |time: &HostTime| off(time).abs() <= time.monotonic.at.bound;
            // a step that brackets hide is not visible in final times either
            let bound = match holds(time) || again(clock, time).is_some_and(|time| holds(&time)) {
                true => time.monotonic.at.bound,
                false => HIDDEN,
            };
            found.hold(off(time), bound, Span::ZERO, world);
        }
    }
    false
}

/// The number of values, how many of them were lost, and the current result.
fn again(clock: &HostClock, time: &HostTime) -> Option<HostTime> {
    let timestamps = Timestamps::new(None, time.hardware_timestamp().copied());
    let again = clock.place(&timestamps, TimestampPolicy::OnlyHardware);
    again.ok()
}

/// The number of values, and how many of them were lost.
fn tried(clocks: &Clocks<'_>, what: &str) -> [u64; 2] {
    let mut found = Found::default();
    worlds().for_each(|number| world(number, clocks, &mut found));
    let all = [found.values, found.lost];
    found.report(what);
    all
}

/// If brackets have an unknown width, a slew is detected late.
const CLEAR: &[&str] = &[
    "i225",
    "igc",
    "ideal",
    "noisy-cross",
    "slow-cross",
    "poor-oscillator",
];

#[test]
fn a_time_that_is_borne_out_is_right() {
    let clocks = Clocks {
        presets: CLEAR,
        when: (300 * MS, 2_500 * MS),
        changes: &[Change::Step, Change::Step, Change::Adjust, Change::Slew],
        steps_utc: true,
    };
    assert!(tried(&clocks, "borne out")[1] > 0);
}

#[test]
fn a_time_that_is_borne_out_is_right_across_failovers() {
    let clocks = Clocks {
        presets: CLEAR,
        when: (300 * MS, 2_500 * MS),
        changes: &[Change::Failover],
        steps_utc: true,
    };
    assert!(tried(&clocks, "borne out, failovers")[1] > 0);
}

/// For brackets of any width and clocks of any frequency. If some cross timestamps are far too
/// late, times of the first tenth of a second may turn out to be doubtful.
#[test]
fn where_nobody_changes_a_clock_every_time_is_borne_out() {
    let presets = [CLEAR, &["equal-brackets"]].concat();
    let clocks = Clocks {
        presets: &presets,
        // after the last packet
        when: (60_000 * MS, 1),
        changes: &[Change::Step],
        steps_utc: false,
    };
    let [values, lost] = tried(&clocks, "borne out, nothing changed");
    assert!(lost * 100_000 <= values, "{lost} of {values}");
}
