//! Simulations in which clocks are stepped, slewed or replaced at any time: every reported number
//! is compared with the truth.

use crate::pair::{bound, pass};
use std::sync::mpsc::channel;
use std::time::Duration;
use wirestamp::capture::CaptureOptions;
use wirestamp::latency::{LatencyOptions, LatencyRun, PacketLatency};
use wirestamp::sim::{Datagram, Truth};
use wirestamp::{
    HardwareRequest, MonotonicTime, Simulation, Source, Span, TimestampSource, UtcTime,
};
use wirestamp_test_worlds::{Chance, Change, Changed, Clocks, Found, worlds};

/// Changes by other programs, except failovers.
const BY_HAND: &[Change] = &[Change::Step, Change::Step, Change::Adjust, Change::Slew];
const FAILOVER: &[Change] = &[Change::Failover];

const MS: i64 = 1_000_000;

#[test]
fn latency_states_no_bound_that_a_value_breaks() {
    let mut found = Found::default();
    worlds().for_each(|world| latency(world, BY_HAND, &mut found));
    found.report("latency");
}

#[test]
fn latency_states_no_bound_that_a_value_breaks_across_failovers() {
    let mut found = Found::default();
    worlds().for_each(|world| latency(world, FAILOVER, &mut found));
    found.report("latency, failovers");
}

fn latency(world: u64, changes: &[Change], found: &mut Found) {
    const PRESETS: [&str; 7] = [
        "i225",
        "igb",
        "igc",
        "ideal",
        "noisy-cross",
        "slow-cross",
        "poor-oscillator",
    ];
    let mut chance = Chance::of(world);
    let clocks = Clocks {
        presets: &PRESETS,
        when: (300 * MS, 2_000 * MS),
        changes,
        steps_utc: true,
    };
    let Changed { toml, .. } = clocks.scenario(&mut chance);
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
            bounds.map(|path| path.bound).max() <= report.max_bound,
            "world {world}"
        );
    }
}

/// Compares the times of one packet with the truth.
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
        found.hold(path.value, path.bound, real, &world);
    }
    let real = transmitted.zip(received).map(|(from, to)| to - from);
    if let (Some(path), Some(real)) = (packet.wire, real) {
        found.hold(path.value, path.bound, real, &world);
    }
    // together they end just after the receive call, whatever the conversion of the timestamps
    if let (Some(send), Some(wire), Some(receive), Some(received)) =
        (packet.send_path, packet.wire, packet.receive_path, received)
    {
        let after = packet.sent + send.value + wire.value + receive.value;
        found.hold(receive.value, receive.bound, after - received, &world);
    }
}

#[test]
fn captures_state_no_bound_that_a_time_breaks() {
    let mut found = Found::default();
    worlds().for_each(|world| capture(world, BY_HAND, &mut found));
    found.report("capture");
}

#[test]
fn captures_state_no_bound_that_a_time_breaks_across_failovers() {
    let mut found = Found::default();
    worlds().for_each(|world| capture(world, FAILOVER, &mut found));
    found.report("capture, failovers");
}

/// Packets from `sim0`, captured where they arrive.
fn capture(world: u64, changes: &[Change], found: &mut Found) {
    let mut chance = Chance::of(world);
    let clocks = Clocks {
        presets: &["i225", "igc", "ideal", "noisy-cross", "slow-cross"],
        when: (300 * MS, 1_500 * MS),
        changes,
        steps_utc: true,
    };
    let Changed { toml, utc, .. } = clocks.scenario(&mut chance);
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
                found.hold(time.at.value - zero, time.at.bound, real - zero, || {
                    format!(
                        "world {world}, {:?}, hold {hold:?}:\n{toml}\n{packet:?}",
                        packet.clock()
                    )
                });
            }
        }
    }
}
