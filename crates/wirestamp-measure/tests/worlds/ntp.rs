//! `ntp` and the monitor's servers: each offset, and what is known at the end.

use super::MS;
use super::course::{Utc, between};
use std::time::Duration;
use wirestamp::{Bounded, MonotonicTime, Simulation, Span, UdpSocket, UtcTime};
use wirestamp_measure::{
    Engine, Measurements, Ntp, Place, Sample, Segment, Timestamper, state::NtpServerState,
};
use wirestamp_test_worlds::{Chance, Change, Clocks, Found, worlds};

pub(crate) const PORT: u16 = 12_300;
/// The server's clock minus what this host's real-time clock would show if nobody stepped it.
const AHEAD: Span = Span::from_milliseconds(250);
/// Between two looks of the server.
const LOOK: Span = Span::from_microseconds(500);

/// How long a run without an end is looked at.
const ALL: Span = Span::from_seconds(8);

/// NTP's timestamp.
fn stamp(utc: UtcTime) -> [u8; 8] {
    let nanoseconds = utc.nanoseconds() as u64;
    let seconds = nanoseconds / 1_000_000_000 + 2_208_988_800;
    let fraction = (nanoseconds % 1_000_000_000) * (1 << 32) / 1_000_000_000;
    (seconds << 32 | fraction).to_be_bytes()
}

/// A server on the other NIC, whose own clock nobody steps.
struct Server {
    socket: UdpSocket,
    start: (MonotonicTime, UtcTime),
}

impl Server {
    fn of(simulation: &Simulation) -> Self {
        let interface = simulation.interface("sim1").expect("it has one");
        let own = interface.description().addresses[0].address;
        let truth = simulation.world().truth();
        Self {
            socket: interface.bind((own, PORT).into()).expect("bound"),
            start: (truth.now(), truth.utc() + AHEAD),
        }
    }

    fn at(&self, then: MonotonicTime) -> UtcTime {
        self.start.1 + (then - self.start.0)
    }

    fn answer(&self) {
        answer(&self.socket, |then| self.at(then));
    }
}

/// Answers the requests that wait, as a server of stratum 1 whose clock shows what `at` returns.
pub(crate) fn answer(socket: &UdpSocket, at: impl Fn(MonotonicTime) -> UtcTime) {
    let mut request = [0; 256];
    while let Ok(Some(came)) = socket.receive(&mut request, Duration::ZERO) {
        // version 4, mode 4, stratum 1, precision 2⁻²⁵ s, no root delay and dispersion
        let mut packet = vec![0x24, 1, 0, 0xe7, 0, 0, 0, 0, 0, 0, 0, 0];
        packet.extend(b"GPS\0");
        packet.extend([0; 8]);
        packet.extend(&request[40..48]);
        // after the request came and before the response leaves
        let now = stamp(at(socket.now()));
        packet.extend([now, now].concat());
        let to = came.source.expect("it has one");
        socket.send_to(&packet, to, None).expect("sent");
    }
}

/// Asks it now and then, and returns each offset with the instant at which it was known. `look` is called between.
fn measure(
    simulation: &Simulation,
    server: &Server,
    by: Timestamper,
    count: Option<u32>,
    mut look: impl FnMut(&Engine),
) -> (Vec<(MonotonicTime, Bounded<Span>)>, Engine) {
    let address = server.socket.local_address().expect("bound");
    let mut ntp = Ntp::of(address.to_string());
    (ntp.interval, ntp.count, ntp.source) = (Duration::from_secs(1), count, by);
    let place = Place::Simulation(simulation.clone());
    let mut engine = Engine::new(Measurements::default().ntp(ntp), place).expect("it starts");
    let mut samples = Vec::new();
    let begun = engine.now();
    let is_over = |engine: &Engine| match count {
        Some(_) => engine.is_over(),
        None => engine.now() - begun > ALL,
    };
    while !is_over(&engine) {
        assert!(
            engine.now() - begun < Span::from_seconds(60),
            "it never ends"
        );
        let mut keep = |sample: &Sample<'_>| {
            let offset = sample.value(Segment::Offset);
            samples.extend(offset.map(|offset| (sample.at, offset)));
        };
        let until = engine.now() + LOOK;
        engine.run_until(until, &mut keep).expect("it runs");
        server.answer();
        look(&engine);
    }
    (samples, engine)
}

fn ntp(world: u64, clocks: &Clocks<'_>, found: &mut Found) {
    let mut chance = Chance::of(world);
    let changed = clocks.scenario(&mut chance);
    let by = chance.one_of(&[
        Timestamper::Hardware,
        Timestamper::Hardware,
        Timestamper::Software,
    ]);
    let simulation = Simulation::from_toml(&changed.toml, world).expect("a scenario");
    let (utc, server) = (Utc::of(&simulation, changed.utc), Server::of(&simulation));
    let told = || format!("world {world}, {by:?}:\n{}", changed.toml);
    let (samples, engine) = measure(&simulation, &server, by, Some(6), |_| {});
    let [requests, _] = between(&simulation.world().truth(), PORT);
    let real = |then| utc.at(then) - server.at(then);
    let outcome = engine.outcomes().remove(0);
    if let Some(error) = outcome.error {
        // withdrawn as a whole
        let is_known = error.to_string().contains("changed meanwhile");
        found.check(is_known, || format!("{error}; {}", told()));
        found.lost += samples.len() as u64;
        return;
    }
    for (known_at, offset) in &samples {
        let asked = requests.partition_point(|request| request.sent_at < *known_at);
        let left = requests[asked - 1].transmit_software_at;
        // of an exchange in which the clock is stepped, either is true
        let either = [real(left), real(*known_at)];
        let nearest = either
            .into_iter()
            .min_by_key(|real| (offset.value - *real).abs());
        found.hold(offset.value, offset.bound, nearest.expect("two"), told);
    }
    let ntp = outcome.state.ntp.expect("it was asked");
    let NtpServerState {
        offset_ns,
        bound_ns,
        ..
    } = ntp.servers[0];
    if let Some((offset, bound)) = offset_ns.zip(bound_ns) {
        let [offset, bound] = [offset, bound].map(|known| Span::from_nanoseconds(known.into()));
        let newest = samples.last().expect("it has one").0;
        found.hold(offset, bound, real(newest), || {
            format!("in the end, {}", told())
        });
    }
}

/// What the monitor shows of the server at any instant.
fn shown(world: u64, clocks: &Clocks<'_>, found: &mut Found) {
    let mut chance = Chance::of(world);
    let changed = clocks.scenario(&mut chance);
    let by = chance.one_of(&[Timestamper::Hardware, Timestamper::Software]);
    let simulation = Simulation::from_toml(&changed.toml, world).expect("a scenario");
    let (utc, server) = (Utc::of(&simulation, changed.utc), Server::of(&simulation));
    let told = || format!("world {world}, {by:?}:\n{}", changed.toml);
    let look = |engine: &Engine| {
        if chance.below(200) != 0 {
            return;
        }
        let moment = engine.moment();
        let state = engine.state_at(&moment).ntp;
        let server_state = state.as_ref().and_then(|ntp| ntp.servers.first());
        let shown = server_state.and_then(|one| one.offset_ns.zip(one.bound_ns));
        let Some((offset, bound)) = shown else {
            found.lost += 1;
            return;
        };
        let [offset, bound] = [offset, bound].map(|known| Span::from_nanoseconds(known.into()));
        let at = moment.reading.before;
        found.hold(offset, bound, utc.at(at) - server.at(at), told);
    };
    measure(&simulation, &server, by, None, look);
}

const fn changed(changes: &'static [Change]) -> Clocks<'static> {
    Clocks {
        presets: &["i225", "igc", "ideal", "noisy-cross"],
        when: (300 * MS, 6_000 * MS),
        changes,
        steps_utc: true,
    }
}

fn held(clocks: &Clocks<'_>, what: &str) {
    let mut found = Found::default();
    worlds().for_each(|world| ntp(world, clocks, &mut found));
    found.report(what);
}

#[test]
fn ntp_states_no_bound_that_an_offset_breaks() {
    held(
        &changed(&[Change::Step, Change::Step, Change::Adjust]),
        "NTP",
    );
}

#[test]
fn ntp_states_no_bound_that_an_offset_breaks_across_failovers() {
    held(&changed(&[Change::Failover]), "NTP, failovers");
}

#[test]
fn what_the_monitor_shows_of_a_server_is_true_at_any_instant() {
    let clocks = changed(&[Change::Step, Change::Adjust, Change::Failover]);
    let mut found = Found::default();
    worlds().for_each(|world| shown(world, &clocks, &mut found));
    found.report("NTP, the monitor's servers");
}
