//! After the path becomes longer, the base frequency of a steered clock still follows the
//! oscillator.

use crate::steered::{Scene, play};
use wirestamp::Span;
use wirestamp::sim::NicName;

/// The samples are compared with the truth a moment later, when the clock may have been moved.
const SLACK: i64 = 3_000;
const MICROSECOND: i64 = 1_000;
/// The bounds of a frequency cover the last five minutes.
const FORGOTTEN: i64 = 330;

/// The additional delays of the paths from the timeTransmitter and to it.
type Routes = (i64, i64);

fn change_routes(scene: &Scene<'_>, routes: Routes) {
    let world = scene.cable.world();
    world.set_extra_delay(NicName::Sim0, Span::from_nanoseconds(routes.0.into()));
    world.set_extra_delay(NicName::Sim1, Span::from_nanoseconds(routes.1.into()));
}

/// The timeTransmitter's frequency rises by 2 ppm in total, at 20 ppb per second, less than
/// `wander_ppb` allows.
fn warm_up(scene: &mut Scene<'_>) {
    for second in 1..=100 {
        let world = scene.cable.world();
        world.change_hardware_rate(NicName::Sim0, 20 * second);
        scene.pass(1, SLACK);
    }
}

/// The base frequency in force after the timeTransmitter is lost, in ppm.
fn base_without_reference(scene: &mut Scene<'_>) -> f64 {
    scene.transmitter = None;
    scene.pass(5, SLACK); // a correction lasts four seconds at most
    scene.clock.borrow().ppm
}

/// A clock that is 5 ppm fast has been synchronized for some minutes; then the path changes, and
/// the oscillator of the timeTransmitter warms up.
fn follows(happens: impl FnOnce(&mut Scene<'_>)) {
    play(
        5_000,
        |_| {},
        |scene| {
            scene.pass(200, SLACK);
            happens(scene);
            scene.pass(FORGOTTEN, SLACK);
            warm_up(scene);
            scene.pass(80, SLACK);
            let ppm = base_without_reference(scene);
            assert!((ppm + 3.0).abs() < 0.1, "{ppm} ppm is in force");
        },
    );
}

#[test]
fn longer_ways_keep_no_base_frequency() {
    for longer in [30, 300, 3_000].map(|by| by * MICROSECOND) {
        for routes in [(longer, longer), (longer, 0), (0, longer)] {
            follows(|scene| change_routes(scene, routes));
        }
    }
}

#[test]
fn ways_that_become_longer_and_shorter_keep_no_base_frequency() {
    follows(|scene| {
        change_routes(scene, (3_000 * MICROSECOND, 3_000 * MICROSECOND));
        scene.pass(FORGOTTEN, SLACK);
        change_routes(scene, (0, 0));
        scene.pass(FORGOTTEN, SLACK);
        change_routes(scene, (3_000 * MICROSECOND, 3_000 * MICROSECOND));
    });
}

#[test]
fn ways_that_become_longer_in_an_outage_keep_no_base_frequency() {
    follows(|scene| {
        let world = scene.cable.world();
        world.set_link(false);
        scene.pass(60, SLACK);
        change_routes(scene, (3_000 * MICROSECOND, 3_000 * MICROSECOND));
        scene.cable.world().set_link(true);
    });
}
