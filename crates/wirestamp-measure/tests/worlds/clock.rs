//! The monitor's clocks: what it says of a NIC's clock at any instant.

use super::MS;
use super::course::Utc;
use wirestamp::{Simulation, Span};
use wirestamp_measure::{Clocks as Asked, Engine, Measurements, Place, Sample};
use wirestamp_test_worlds::{Chance, Change, Clocks, Found, worlds};

/// How long it runs, and how far its looks are apart at most, in nanoseconds.
const ALL: Span = Span::from_seconds(8);
const APART: i64 = 300 * MS;

fn clock(world: u64, clocks: &Clocks<'_>, found: &mut Found) {
    let mut chance = Chance::of(world);
    let changed = clocks.scenario(&mut chance);
    let simulation = Simulation::from_toml(&changed.toml, world).expect("a scenario");
    let utc = Utc::of(&simulation, changed.utc);
    let mut asked = Asked::default();
    asked.interfaces = Some(vec!["sim0".to_owned()]);
    let all = Measurements::default().clocks(asked);
    let mut engine = Engine::new(all, Place::Simulation(simulation.clone())).expect("it starts");
    let told = || format!("world {world}:\n{}", changed.toml);
    let until = engine.now() + ALL;
    while engine.now() < until {
        let nap = MS as u64 + chance.below(APART as u64);
        let nap = Span::from_nanoseconds(nap.into());
        let next = engine.now() + nap;
        engine
            .run_until(next, &mut |_: &Sample<'_>| {})
            .expect("it runs");
        let moment = engine.moment();
        let state = engine.state_at(&moment);
        let shown = &state.clocks[0];
        assert_eq!(shown.name, "sim0");
        let Some((offset, bound)) = shown.utc_offset_ns.zip(shown.utc_bound_ns) else {
            found.lost += 1;
            continue;
        };
        let truth = simulation.world().truth();
        let interface = simulation.interface("sim0").expect("it is there").index();
        let real = |at| {
            let ticks = truth
                .hardware_ticks_at(interface, at)
                .expect("it was there");
            let real = i128::from(ticks.raw()) - i128::from(utc.at(at).nanoseconds());
            Span::from_nanoseconds(real)
        };
        let [offset, bound] = [offset, bound].map(|known| Span::from_nanoseconds(known.into()));
        // of a clock that is stepped meanwhile, either is true
        let either = [moment.reading.before, truth.now()].map(real);
        let nearest = either.into_iter().min_by_key(|real| (offset - *real).abs());
        found.hold(offset, bound, nearest.expect("two"), told);
    }
}

fn held(changes: &'static [Change], what: &str) {
    let clocks = Clocks {
        presets: &["i225", "igc", "igb", "noisy-cross"],
        when: (300 * MS, 7_000 * MS),
        changes,
        steps_utc: true,
    };
    let mut found = Found::default();
    worlds().for_each(|world| clock(world, &clocks, &mut found));
    found.report(what);
}

#[test]
fn a_clock_that_is_stepped_is_shown_as_it_is_or_not_at_all() {
    held(&[Change::Step], "the monitor's clock, steps");
}

#[test]
fn a_clock_that_is_exchanged_is_shown_as_it_is_or_not_at_all() {
    held(&[Change::Failover], "the monitor's clock, failovers");
}

#[test]
fn a_clock_that_is_adjusted_is_shown_as_it_is_or_not_at_all() {
    held(
        &[Change::Adjust, Change::Slew],
        "the monitor's clock, frequencies",
    );
}
