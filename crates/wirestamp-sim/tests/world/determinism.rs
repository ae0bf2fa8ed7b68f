//! The same scenario and seed give the same bits: twice here, and on every system.

use crate::station::{Collected, Station, cross};
use wirestamp_core::backend::Backend;
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::time::{Span, UtcTime};
use wirestamp_core::timestamp::Timestamps;
use wirestamp_sim::{Scenario, World};

/// FNV-1a: enough to notice a difference.
struct Trace(u64);

impl Trace {
    fn note(&mut self, value: i64) {
        for byte in value.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn timestamps(&mut self, timestamps: Timestamps) {
        self.note(
            timestamps
                .software
                .map_or(-1, |timestamp| timestamp.at.value.nanoseconds()),
        );
        self.note(
            timestamps
                .software
                .and_then(|timestamp| timestamp.utc)
                .map_or(-1, UtcTime::nanoseconds),
        );
        self.note(
            timestamps
                .hardware
                .map_or(-1, |timestamp| timestamp.ticks.raw() as i64),
        );
    }

    fn collected(&mut self, collected: &Collected) {
        for (id, timestamps) in &collected.timestamped {
            self.note(id.0.into());
            self.timestamps(*timestamps);
        }
        for (id, reason) in &collected.lost {
            self.note(id.0.into());
            self.note(*reason as i64);
        }
        self.note(collected.notices.len() as i64);
        self.note(collected.overflows as i64);
    }
}

/// Six virtual seconds of traffic, readings, and whatever the scenario does meanwhile.
fn trace(preset: &str, seed: u64) -> u64 {
    let world = World::new(&Scenario::preset(preset).expect("a preset"), seed);
    let mut trace = Trace(0xcbf2_9ce4_8422_2325);
    let mut station = Station::of(world.clone());
    for interface in world.interfaces().expect("interfaces") {
        let granted = world.configure(&interface, crate::station::EVERYTHING);
        trace.note(granted.map_or(-1, |granted| i64::from(granted.transmit)));
    }
    let wanted = Timestamping::OFF
        .receive()
        .transmit(64)
        .source(Source::Both)
        .icmp_errors();
    trace.note(station.configure(wanted).is_ok().into());
    trace.note(station.configure_receiver(wanted).is_ok().into());
    for id in 0..600 {
        trace.note(station.send(id, &id.to_be_bytes()).is_ok().into());
        station
            .world
            .advance(Span::from_microseconds(if id % 10 < 5 {
                1
            } else {
                20_000
            }));
        if id % 7 == 0 {
            for reading in cross(&world, "sim0", 3).into_iter().flatten() {
                trace.note(reading.monotonic_before().nanoseconds());
                trace.note(reading.hardware().raw() as i64);
                trace.note(reading.monotonic_after().nanoseconds());
            }
            let collected = station.try_collect();
            trace.note(collected.map_or(-1, |count| count as i64));
            while let Some((received, payload)) =
                crate::station::receive_now(&station.receiver).expect("open")
            {
                trace.timestamps(received.timestamps);
                payload.iter().for_each(|byte| trace.note((*byte).into()));
            }
        }
        if id == 300 {
            station.world.advance(Span::from_milliseconds(1));
        }
    }
    trace.collected(&station.collected);
    trace.note(world.truth().now().nanoseconds());
    trace.0
}

fn trace_if_it_stays(preset: &str, seed: u64) -> u64 {
    // the one preset whose NIC goes away has a test of its own
    if preset == "vanishing" {
        0
    } else {
        trace(preset, seed)
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_in_every_preset() {
    for (preset, _) in Scenario::presets() {
        assert_eq!(
            trace_if_it_stays(preset, 1),
            trace_if_it_stays(preset, 1),
            "{preset}"
        );
    }
}

#[test]
fn another_seed_gives_other_bits() {
    assert_ne!(trace("i225", 1), trace("i225", 2));
    assert_eq!(
        trace("ideal", 1),
        trace("ideal", 2),
        "nothing is random there"
    );
}

/// Differs between systems only if something here is not deterministic. Changes with every
/// change of the model: then take the new values over, after looking why.
#[test]
fn every_system_gives_these_bits() {
    for (preset, golden) in [
        ("i225", 0x934a_6110_c4a8_10db),
        ("windows-modern", 0xa57c_00b4_5ecf_4e13),
        ("tx-late", 0xa8cb_e012_f8cd_0270),
        ("poor-oscillator", 0x0c3e_686b_773e_1ba8),
    ] {
        let found = trace(preset, 42);
        assert_eq!(found, golden, "{preset}: {found:#018x}");
    }
}
