//! `latency --peer`, `reflect` and the monitor's sessions: each value of each packet.

use super::MS;
use super::course::{Utc, between};
use super::packet::{Kept, Said, Times};
use std::time::Duration;
use wirestamp::sim::Datagram;
use wirestamp::{Simulation, Span};
use wirestamp_measure::{
    ClockBound, Engine, Measurements, Place, Reflector, Relation, Segment, Stamp, Timestamper,
};
use wirestamp_probe::tlv::Method;
use wirestamp_test_worlds::{Chance, Change, Clocks, Found, worlds};

const PORT: u16 = 862;
const COUNT: u64 = 400;
const INTERVAL: Duration = Duration::from_millis(5);
const TIMEOUT: Duration = Duration::from_millis(200);
/// All packets, and the readings of the clock that make their times final.
const LENGTH: Span = Span::from_seconds(9);

/// Both ends are on one host: any bound of its clock is right. The widest leave causality alone.
const BOUNDS: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_micros(1),
    Duration::from_micros(100),
    Duration::from_millis(11),
];
/// The cable takes no less than 110 ns.
const LEAST_DELAYS: [Duration; 2] = [Duration::ZERO, Duration::from_nanos(110)];

/// A session between both NICs, and who timestamps its packets.
struct World {
    simulation: Simulation,
    utc: Utc,
    /// This host's end and the reflector's.
    by: [Timestamper; 2],
    /// How far the clocks of both are from UTC at most, as is said; `None`: they are known to be one.
    bounds: Option<[Duration; 2]>,
    least_delay: Duration,
    told: String,
}

impl World {
    fn of(number: u64, clocks: &Clocks<'_>) -> Self {
        let mut chance = Chance::of(number);
        let changed = clocks.scenario(&mut chance);
        let either = [Timestamper::Hardware, Timestamper::Software];
        let [own, other] = [0, 1].map(|_| chance.one_of(&either));
        // what another host's NIC did, nobody can know here
        let other = match changed.toml.contains("\"sim1\"") {
            true => Timestamper::Software,
            false => other,
        };
        let simulation = Simulation::from_toml(&changed.toml, number).expect("a scenario");
        let bounds = (chance.below(3) > 0).then(|| [0, 1].map(|_| chance.one_of(&BOUNDS)));
        let least_delay = chance.one_of(&LEAST_DELAYS);
        Self {
            utc: Utc::of(&simulation, changed.utc),
            simulation,
            by: [own, other],
            bounds,
            least_delay,
            told: format!(
                "world {number}, {own:?}, {other:?}, {bounds:?}, {least_delay:?}:\n{}",
                changed.toml
            ),
        }
    }

    fn measure(&self) -> (Engine, Kept) {
        let far = self.simulation.interface("sim1").expect("it has one");
        let mut reflector = Reflector::default();
        reflector.listen = vec![(far.description().addresses[0].address, PORT).into()];
        reflector.interface = Some("sim1".to_owned());
        let mut stamp = Stamp::with(reflector.listen[0].to_string());
        stamp.interface = Some("sim0".to_owned());
        (stamp.count, stamp.interval) = (Some(COUNT), INTERVAL);
        (stamp.timeout, stamp.clocks) = (TIMEOUT, Relation::Same);
        stamp.least_delay = self.least_delay;
        if let Some([own, other]) = self.bounds {
            (stamp.clocks, stamp.clock_bound) = (Relation::Utc, Some(own));
            reflector.clock_bound = ClockBound::At(other);
        }
        [stamp.source, reflector.source] = self.by;
        let wanted = Measurements::default().reflector(reflector).stamp(stamp);
        let place = Place::Simulation(self.simulation.clone());
        let mut engine = Engine::new(wanted, place).expect("it starts");
        let mut kept = Kept::default();
        let end = engine.now() + LENGTH;
        engine.run_until(end, &mut kept).expect("it runs");
        (engine, kept)
    }

    fn hold_all(&self, all: &[Said], found: &mut Found) {
        let possible = Said::possible(self.by[0], self.by[1]);
        let [requests, replies] = between(&self.simulation.world().truth(), PORT);
        for said in all.iter().filter(|said| said.is_answered) {
            let request = &requests[said.number as usize];
            if let Some(reply) = said.reply(request, &replies, &possible) {
                self.hold(said, (request, reply), &possible, found);
            }
        }
    }

    fn hold(
        &self,
        said: &Said,
        (request, reply): (&Datagram, &Datagram),
        possible: &[[Method; 4]],
        found: &mut Found,
    ) {
        for (segment, known) in &said.values {
            let reals = possible.iter();
            let reals = reals
                .filter_map(|by| Times::of(request, reply, *by).real(*segment, &self.utc))
                // without the reply's departure, with what the reply says itself: too great, never too small
                .map(|real| match segment {
                    Segment::BackwardDifference if !said.is_followed_up() => real.max(known.value),
                    _ => real,
                });
            let Some(real) = reals.min_by_key(|real| (known.value - *real).abs()) else {
                continue;
            };
            found.hold(known.value, known.bound, real, || {
                format!("{segment:?} of {}, {}", said.number, self.told)
            });
        }
    }
}

fn stamp(world: u64, clocks: &Clocks<'_>, found: &mut Found) {
    let world = World::of(world, clocks);
    let (engine, mut kept) = world.measure();
    let report = engine.into_reports(&mut kept).remove(0);
    let answered = kept.0.iter().filter(|said| said.is_answered);
    match report {
        // withdrawn as a whole
        Err(error) => {
            let is_known = error.to_string().contains("changed meanwhile");
            let is_possible = clocks.when.0 < LENGTH.saturating_nanoseconds();
            found.check(is_known && is_possible, || {
                format!("{error}; {}", world.told)
            });
            found.lost += answered.map(|said| said.values.len() as u64).sum::<u64>();
        }
        Ok(report) => {
            let told = || format!("unconfirmed; {}", world.told);
            found.check(!report.unconfirmed, told);
            let contradictions = report.session.contradictions;
            found.check(contradictions == 0, || {
                format!("{contradictions} contradictions; {}", world.told)
            });
            world.hold_all(&kept.0, found);
        }
    }
}

/// NICs whose clocks are changed while packets are sent.
const fn changed(changes: &'static [Change]) -> Clocks<'static> {
    Clocks {
        presets: &["i225", "igc", "ideal", "noisy-cross"],
        when: (300 * MS, 2_500 * MS),
        changes,
        steps_utc: true,
    }
}

fn held(clocks: &Clocks<'_>, what: &str) -> u64 {
    let mut found = Found::default();
    worlds().for_each(|world| stamp(world, clocks, &mut found));
    let lost = found.lost;
    found.report(what);
    lost
}

#[test]
fn stamp_states_no_bound_that_a_value_breaks() {
    let changes = &[Change::Step, Change::Step, Change::Adjust];
    assert!(held(&changed(changes), "STAMP") > 0);
}

#[test]
fn stamp_states_no_bound_that_a_value_breaks_across_failovers() {
    assert!(held(&changed(&[Change::Failover]), "STAMP, failovers") > 0);
}

/// However wide the readings of a clock are and however it runs: nothing is withdrawn where nobody changed it.
#[test]
fn stamp_withdraws_nothing_where_no_clock_is_changed() {
    let presets = &[
        "i225",
        "igc",
        "ideal",
        "noisy-cross",
        "slow-cross",
        "poor-oscillator",
        "equal-brackets",
        "tx-late",
    ];
    let clocks = Clocks {
        presets,
        // after the last packet
        when: (60_000 * MS, 1),
        steps_utc: false,
        ..changed(&[Change::Step])
    };
    assert_eq!(held(&clocks, "STAMP, nothing changed"), 0);
}
