//! The monitor's NTP servers between samples that are far apart: the offset at any instant, while this host's clock is
//! slewed and stepped, the NIC's is changed, and the server's frequency does all that the contract allows.

use super::MS;
use super::course::{Free, Utc};
use super::ntp::{PORT, answer};
use std::time::Duration;
use wirestamp::{MonotonicTime, Simulation, Span, UdpSocket, UtcTime};
use wirestamp_measure::{Engine, Measurements, Ntp, Place, Sample, Timestamper};
use wirestamp_test_worlds::{Chance, Change, Clocks, Found, worlds};

/// How long a world lasts.
const ALL: Span = Span::from_seconds(150);

/// The server's clock: it drifts, its frequency wanders as fast as it may, and jumps once.
struct Server {
    socket: UdpSocket,
    start: UtcTime,
    free: Free,
    /// Parts of frequency, their change in a second, and when and by how much it jumps.
    drift: f64,
    wander: f64,
    jump: (f64, f64),
}

impl Server {
    fn of(simulation: &Simulation, free: Free, chance: &mut Chance) -> Self {
        let interface = simulation.interface("sim1").expect("it has one");
        let own = interface.description().addresses[0].address;
        let mut part = || chance.below(2_001) as f64 / 1_000.0 - 1.0;
        let (drift, wander) = (200e-6 * part(), 30e-9 * part().signum());
        let jump = (75.0 + 75.0 * part(), 500e-9 * part());
        Self {
            socket: interface.bind((own, PORT).into()).expect("bound"),
            start: simulation.world().truth().utc(),
            free,
            drift,
            wander,
            jump,
        }
    }

    fn at(&self, then: MonotonicTime) -> UtcTime {
        let free = self.free.at(then);
        let seconds = free as f64 / 1e9;
        let (jumps_at, jump) = self.jump;
        let gained = self.drift * seconds
            + self.wander * seconds * seconds / 2.0
            + jump * (seconds - jumps_at).max(0.0);
        self.start + Span::from_nanoseconds(free + (gained * 1e9).round() as i128)
    }
}

/// The findings, and the widths of the learnt bounds.
#[derive(Default)]
struct Widths {
    found: Found,
    narrow: u64,
}

fn drift(world: u64, clocks: &Clocks<'_>, widths: &mut Widths) {
    let mut chance = Chance::of(world);
    let changed = clocks.scenario(&mut chance);
    let by = chance.one_of(&[Timestamper::Hardware, Timestamper::Software]);
    let every = chance.one_of(&[4, 16, 16, 16, 64]);
    let simulation = Simulation::from_toml(&changed.toml, world).expect("a scenario");
    let utc = Utc::of(&simulation, changed.utc);
    let free = Free::of(&simulation, changed.slewed);
    let server = Server::of(&simulation, free, &mut chance);
    let told = || format!("world {world}, {by:?}, every {every} s:\n{}", changed.toml);
    let address = server.socket.local_address().expect("bound");
    let mut ntp = Ntp::of(address.to_string());
    (ntp.interval, ntp.source) = (Duration::from_secs(every), by);
    let place = Place::Simulation(simulation.clone());
    let mut engine = Engine::new(Measurements::default().ntp(ntp), place).expect("it starts");
    let (end, mut look_at) = (engine.now() + ALL, engine.now());
    while engine.now() < end {
        let next = engine.serve(&engine.moment(), &mut |_: &Sample<'_>| {});
        let until = next.min(look_at).min(end);
        engine
            .wait_beside(until, &[&server.socket])
            .expect("it waits");
        answer(&server.socket, |then| server.at(then));
        if engine.now() < look_at {
            continue;
        }
        look_at = engine.now() + Span::from_milliseconds(50 + chance.below(4_000) as i64);
        let moment = engine.moment();
        let state = engine.state_at(&moment).ntp;
        let server_state = state.as_ref().and_then(|ntp| ntp.servers.first());
        let shown = server_state.and_then(|one| Some((one.offset_ns?, one.bound_ns?, one.age_ns?)));
        let Some((offset, bound, age)) = shown else {
            widths.found.lost += 1;
            continue;
        };
        widths.narrow += u64::from(bound < age / 2_000 / 5);
        let [offset, bound] = [offset, bound].map(|known| Span::from_nanoseconds(known.into()));
        let at = moment.reading.before;
        let real = utc.at(at) - server.at(at);
        widths.found.hold(offset, bound, real, told);
    }
}

fn held(changes: &[Change], what: &str) {
    let clocks = Clocks {
        presets: &["i225", "igc", "ideal", "noisy-cross"],
        when: (300 * MS, 140_000 * MS),
        changes,
        steps_utc: true,
    };
    let mut widths = Widths::default();
    worlds().for_each(|world| drift(world, &clocks, &mut widths));
    let Widths { found, narrow } = widths;
    let shown = found.values;
    found.report(what);
    assert!(narrow * 4 > shown, "{what}: {narrow} of {shown} are learnt");
}

#[test]
fn between_seldom_samples_the_monitor_is_right_whoever_slews_the_clock() {
    held(&[Change::Slew], "NTP between samples, slews");
}

#[test]
fn between_seldom_samples_the_monitor_is_right_whatever_the_nics_clock_does() {
    let changes = [Change::Step, Change::Adjust, Change::Failover];
    held(&changes, "NTP between samples, the NIC's clock");
}
