//! Worlds in which somebody steps or slews the clocks at any time: every number that a measurement states is held
//! against what really happened.
//!
//! `WORLDS` sets how many worlds are tried (by default a few), `WORLDS_FROM` the number of the first.

use crate::pair::{bound, pass};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::mpsc::channel;
use std::time::Duration;
use wirestamp::latency::{LatencyOptions, LatencyRun, PacketLatency};
use wirestamp::sim::{Datagram, Truth};
use wirestamp::{
    CaptureOptions, HardwareRequest, MonotonicTime, Simulation, Source, Span, TimestampSource,
    UtcTime,
};

/// Worlds of each kind where nothing else is asked for.
const FEW: u64 = 40;

/// Numbers by chance (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// 1 µs to 10 s, every order of magnitude as likely, of either sign.
    fn step(&mut self) -> i64 {
        let magnitude = 10_i64.pow(self.below(7) as u32 + 3);
        let step = magnitude + self.below(9 * magnitude as u64) as i64;
        if self.below(2) == 0 { step } else { -step }
    }
}

/// A scenario, and when the real-time clock is stepped in it after the start, by how much.
struct Changed {
    toml: String,
    utc: Option<(i64, i64)>,
}

/// A change of the clocks within `length` of `begins`, and sometimes a step of the real-time clock beside it.
fn scenario(chance: &mut Chance, presets: &[&str], begins: Span, length: Span) -> Changed {
    let mut toml = format!("preset = \"{}\"\n", chance.one_of(presets));
    let mut event = |chance: &mut Chance, action: &str| {
        let at = begins.saturating_nanoseconds()
            + chance.below(length.saturating_nanoseconds() as u64) as i64;
        write!(toml, "\n[[event]]\nat = \"{at}ns\"\n{action}\n").expect("a string");
        at
    };
    let nic = chance.one_of(&["sim0", "sim1"]);
    let (kind, step) = (chance.below(4), chance.step());
    let ppb = step.rem_euclid(1_000_000) - 500_000;
    let action = match kind {
        0 | 1 => format!("action = \"step_hardware\"\nnic = \"{nic}\"\nticks = {step}"),
        2 => format!("action = \"adjust_hardware\"\nnic = \"{nic}\"\nppb = {ppb}"),
        _ => format!("action = \"slew_system\"\nppb = {ppb}"),
    };
    event(chance, &action);
    // another clock: its steps come when they like
    let utc = (chance.below(2) == 0).then(|| {
        let step = chance.step();
        let action = format!("action = \"step_utc\"\nby = \"{step}ns\"");
        (event(chance, &action), step)
    });
    Changed { toml, utc }
}

fn worlds() -> std::ops::Range<u64> {
    let number = |name: &str, usual| {
        let given = std::env::var(name).ok();
        given.map_or(usual, |value| value.parse().expect("a number"))
    };
    let first = number("WORLDS_FROM", 1);
    first..first + number("WORLDS", FEW)
}

/// What all worlds of a kind had.
#[derive(Debug, Default)]
struct Found {
    values: u64,
    lost: u64,
    outside: u64,
    /// The first of these.
    examples: Vec<String>,
}

impl Found {
    /// A number that is stated with an error bound, and what it really was.
    fn hold(&mut self, stated: Span, bound: Span, real: Span, world: impl Fn() -> String) {
        self.values += 1;
        let off = (stated - real).abs();
        if off <= bound {
            return;
        }
        self.outside += 1;
        if self.examples.len() < 5 {
            let world = world();
            self.examples.push(format!(
                "{stated} ± {bound}, really {real}, off by {off}; {world}"
            ));
        }
    }

    /// Says what a campaign found.
    fn report(self, what: &str) {
        let worlds = worlds();
        if worlds.end - worlds.start > FEW {
            writeln!(std::io::stdout(), "{what}: worlds {worlds:?}, {self:?}").expect("written");
        }
        assert_eq!(self.outside, 0, "{what}: {self:#?}");
        assert!(self.values > self.lost, "{what}: {self:?}");
    }
}

#[test]
fn latency_states_no_bound_that_a_value_breaks() {
    let mut found = Found::default();
    worlds().for_each(|world| latency(world, &mut found));
    found.report("latency");
}

fn latency(world: u64, found: &mut Found) {
    const PRESETS: [&str; 7] = [
        "i225",
        "igb",
        "igc",
        "ideal",
        "noisy-cross",
        "slow-cross",
        "poor-oscillator",
    ];
    let mut chance = Chance(world);
    let [begins, length] = [300, 2_000].map(Span::from_milliseconds);
    let Changed { toml, .. } = scenario(&mut chance, &PRESETS, begins, length);
    let simulation = Simulation::from_toml(&toml, world).expect("a scenario");
    let interface = simulation.interface("sim0").expect("a NIC");
    let source = match chance.below(5) {
        0 => TimestampSource::Software,
        _ => TimestampSource::Hardware,
    };
    let options = LatencyOptions {
        count: 400,
        rate: Some(200),
        source,
        ..LatencyOptions::default()
    };
    let mut run = LatencyRun::on(&interface, options).expect("ready");
    let (sender, packets) = channel();
    run.send_packets_to(sender);
    let report = run.run(|_| {}).expect("measured");
    found.lost += report.lost.conversions;
    for packet in packets {
        check(&simulation.world().truth(), source, &packet, found, || {
            format!("world {world}:\n{toml}\n{packet:?}")
        });
        let bounds = [packet.send_path, packet.receive_path]
            .into_iter()
            .flatten();
        assert!(
            bounds.map(|path| path.error_bound).max() <= report.max_bound,
            "world {world}"
        );
    }
}

/// Holds the times of one packet against the truth.
fn check(
    truth: &Truth,
    source: TimestampSource,
    packet: &PacketLatency,
    found: &mut Found,
    world: impl Fn() -> String,
) {
    let just_sent =
        |datagram: &Datagram| (datagram.sent_at - packet.sent).abs() < Span::from_microseconds(5);
    let datagram = (0..truth.datagrams())
        .rev()
        .filter_map(|sequence| truth.datagram(sequence))
        .find(just_sent)
        .expect("it was sent");
    let (transmitted, received) = match source {
        TimestampSource::Hardware => (datagram.transmit_hardware_at, datagram.receive_hardware_at),
        TimestampSource::Software => (
            Some(datagram.transmit_software_at),
            datagram.receive_software_at,
        ),
    };
    let real = transmitted.map(|at| at - packet.sent);
    if let (Some(path), Some(real)) = (packet.send_path, real) {
        found.hold(path.time, path.error_bound, real, &world);
    }
    let real = transmitted.zip(received).map(|(from, to)| to - from);
    if let (Some(path), Some(real)) = (packet.wire, real) {
        found.hold(path.time, path.error_bound, real, &world);
    }
}

#[test]
fn captures_state_no_bound_that_a_time_breaks() {
    let mut found = Found::default();
    worlds().for_each(|world| capture(world, &mut found));
    found.report("capture");
}

/// Packets from `sim0`, captured where they arrive.
fn capture(world: u64, found: &mut Found) {
    let mut chance = Chance(world);
    let [begins, length] = [300, 1_500].map(Span::from_milliseconds);
    let presets = ["i225", "igc", "ideal", "noisy-cross", "slow-cross"];
    let Changed { toml, utc } = scenario(&mut chance, &presets, begins, length);
    let simulation = Simulation::from_toml(&toml, world).expect("a scenario");
    let (world_truth, start) = (simulation.world().truth(), simulation.world().truth().now());
    let ahead = world_truth.utc().nanoseconds() - start.nanoseconds();
    let real_utc = |at: MonotonicTime| {
        let step = utc.filter(|(when, _)| (at - start).nanoseconds() >= i128::from(*when));
        UtcTime::from_nanoseconds(at.nanoseconds() + ahead + step.map_or(0, |(_, by)| by))
    };
    let [near, far] = ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
    let source = chance.one_of(&[
        Source::Software,
        Source::HardwareElseSoftware,
        Source::HardwareElseSoftware,
    ]);
    let _on = far.enable_hardware(HardwareRequest::AllPackets);
    let hold = Duration::from_millis(chance.one_of(&[1, 10, 100]));
    let options = CaptureOptions::new().source(source).hold(hold);
    let mut capture = far.capture(&options).expect("opens");
    let (from, to) = (bound(&near), bound(&far).local_address().expect("bound"));
    let mut sent = Vec::new();
    let packets = 2_000 / 7;
    while sent.len() < packets {
        let number = sent.len() as u64;
        from.send_to(&number.to_be_bytes(), to, None).expect("sent");
        sent.push(world_truth.datagrams() - 1);
        pass(simulation.world(), Duration::from_millis(7));
        let wait = if sent.len() < packets { 0 } else { 300 };
        while let Some(block) = capture
            .next_block(Duration::from_millis(wait))
            .expect("there")
        {
            for packet in block.packets() {
                let number = packet
                    .data()
                    .last_chunk()
                    .map(|number| u64::from_be_bytes(*number));
                let sent = number.and_then(|number| sent.get(number as usize).copied());
                let datagram = sent.and_then(|sent| world_truth.datagram(sent));
                let datagram = datagram.expect("one of ours");
                let Ok(time) = packet.utc() else {
                    found.lost += 1;
                    continue;
                };
                let at = match packet.clock() {
                    TimestampSource::Hardware => datagram.receive_hardware_at,
                    TimestampSource::Software => datagram.receive_software_at,
                };
                let real = real_utc(at.expect("it came"));
                let zero = UtcTime::from_nanoseconds(0);
                found.hold(time.at - zero, time.bound, real - zero, || {
                    format!(
                        "world {world}, {:?}, hold {hold:?}:\n{toml}\n{packet:?}",
                        packet.clock()
                    )
                });
            }
        }
    }
}
