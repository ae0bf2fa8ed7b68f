//! PTP clocks: those that measure nothing, or not as their user may think, say so; that of a whole program ends and reports.

use wirestamp::{Simulation, Span};
use wirestamp_measure::state::PtpState;
use wirestamp_measure::{Engine, EventKind, Measurements, Place, Ptp, Sample, Sink, Subject};
use wirestamp_ptp::{Clock, Source};

/// Kinds and texts of what happened.
#[derive(Default)]
struct Events(Vec<(String, String)>);

impl Sink for Events {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn event(&mut self, kind: EventKind, _: &str, message: String) {
        self.0.push((kind.name().to_owned(), message));
    }
}

impl Events {
    fn of(&self, kind: &str) -> Vec<&str> {
        let of_kind = self.0.iter().filter(|(one, _)| *one == kind);
        of_kind.map(|(_, message)| message.as_str()).collect()
    }
}

/// Runs a clock for so many seconds.
fn run(preset: &str, ptp: Ptp, answered: bool, seconds: i64) -> (PtpState, Events) {
    let mut asked = Measurements::default().ptp(ptp);
    asked.answered = answered;
    let place = Place::Simulation(Simulation::preset(preset, 1).expect("a preset"));
    finished(Engine::new(asked, place).expect("it starts"), seconds)
}

/// What an `igb` whose scenario has this too says after so many seconds.
fn run_with(toml: &str, ptp: Ptp, answered: bool, seconds: i64) -> (PtpState, Events) {
    let simulation = Simulation::from_toml(&format!("preset = \"igb\"\n{toml}"), 1);
    let mut asked = Measurements::default().ptp(ptp);
    asked.answered = answered;
    let place = Place::Simulation(simulation.expect("a scenario"));
    finished(Engine::new(asked, place).expect("it starts"), seconds)
}

fn finished(mut engine: Engine, seconds: i64) -> (PtpState, Events) {
    let until = engine.now() + Span::from_seconds(seconds);
    let mut events = Events::default();
    engine.run_until(until, &mut events).expect("it runs");
    (engine.state().ptp.remove(0), events)
}

#[test]
fn a_clock_that_measures_nothing_says_why_once_it_had_time_to() {
    let ptp = || Ptp::at("sim0");
    let (early, events) = run("igc", ptp(), false, 25);
    assert_eq!(early.error, None, "it may come");
    assert!(events.of("ptp_silence").is_empty());

    let (silent, events) = run("igc", ptp(), false, 120);
    let why = "no timeTransmitter was heard";
    assert_eq!(silent.error.as_deref(), Some(why));
    assert_eq!(events.of("ptp_silence"), [why], "once");

    let (measured, events) = run("igc", ptp(), true, 120);
    assert!(
        measured.samples > 90 && measured.error.is_none(),
        "{measured:?}"
    );
    assert!(events.of("ptp_silence").is_empty(), "{:?}", events.0);
    let states = events.of("ptp_state");
    assert_eq!(states[0], "the PTP port is now listening", "at its start");
    let follows = "the PTP port is now timeReceiver, it follows ";
    let whom = measured.time_transmitter.expect("it follows one");
    assert_eq!(states[1..], [format!("{follows}{whom}")], "{states:?}");

    // the other end's NIC timestamps nothing that it sends
    let (mute, _) = run("rx-only", ptp(), true, 60);
    let error = mute.error.expect("it says why");
    assert!(error.contains("no Sync came"), "{error}");
}

/// Once a minute: the second Announce comes later than the usual patience.
/// Of each Sync one, and those of the delay requests.
#[test]
fn timestamps_are_counted_by_who_made_them() {
    for source in [Source::Software, Source::Hardware] {
        let mut ptp = Ptp::at("sim0");
        (ptp.options.source, ptp.options.enable_hardware) = (source, true);
        let (port, _) = run("i225", ptp, true, 120);
        assert!(port.stamps.keys().eq([&port.source]), "{port:?}");
        assert!(port.stamps[&port.source] > port.samples, "{port:?}");
        assert_eq!(port.source == "hardware", source == Source::Hardware);
    }
}

#[test]
fn a_timetransmitter_that_announces_itself_seldom_is_waited_for() {
    let mut ptp = Ptp::at("sim0");
    ptp.options.log_announce_interval = 6;
    let (early, _) = run("igc", ptp.clone(), false, 500);
    assert_eq!(early.error, None, "eight minutes and a half");
    let (late, _) = run("igc", ptp, false, 520);
    assert!(late.error.is_some(), "{late:?}");
}

#[test]
fn timestamps_of_the_system_instead_of_the_nic_are_warned_of_once() {
    let mut ptp = Ptp::at("sim0");
    ptp.options.enable_hardware = true;
    let (state, events) = run("software-only", ptp, true, 60);
    let said = |warning: &str| warning.contains("the system timestamps instead of the NIC");
    assert!(state.samples > 10, "{state:?}");
    assert!(
        matches!(&state.warnings[..], [warning] if said(warning)),
        "{state:?}"
    );
    let warnings = events.of("ptp_warning");
    assert!(
        matches!(warnings[..], [warning] if said(warning)),
        "{warnings:?}"
    );
}

/// Twice as far apart as the two may run.
#[test]
fn clocks_that_run_apart_too_fast_are_said_to_contradict() {
    let mut ptp = Ptp::at("sim0");
    ptp.options.enable_hardware = true;
    for (ppb, contradicts) in [(400_000, true), (100_000, false)] {
        let fast = format!("[sim0.clock]\nfrequency_error_ppb = {ppb}\n");
        let (state, events) = run_with(&fast, ptp.clone(), true, 120);
        let silence = events.of("ptp_silence");
        assert_eq!(state.samples == 0, contradicts, "{state:?}");
        assert_eq!(silence.len(), usize::from(contradicts), "{silence:?}");
        let said = "exchanges contradicted those before";
        let is_named = |text: &str| text.contains(said) && !text.contains("firewall");
        assert!(silence.iter().all(|text| is_named(text)), "{silence:?}");
        assert_eq!(
            state.error.is_some_and(|error| is_named(&error)),
            contradicts
        );
    }
}

/// Set to UTC 50,000,000 s after the start of the simulation's.
#[test]
fn a_grandmaster_whose_clock_shows_utc_is_warned_of_once() {
    let mut ptp = Ptp::at("sim0");
    ptp.options.enable_hardware = true;
    ptp.options.role = wirestamp_ptp::Role::TimeTransmitter;
    for (ticks, shows_utc) in [("50_000_000", true), ("50_000_037", false)] {
        let utc = format!(
            "[[event]]\nat = \"1ms\"\naction = \"step_hardware\"\nticks = {ticks}_000_000_000\n"
        );
        let (state, events) = run_with(&utc, ptp.clone(), false, 60);
        let said = "the NIC's clock shows UTC, and its time is announced as TAI";
        let count = |texts: &[&str]| texts.iter().filter(|text| text.contains(said)).count();
        let warnings: Vec<_> = state.warnings.iter().map(String::as_str).collect();
        let expected = usize::from(shows_utc);
        assert_eq!(count(&warnings), expected, "{state:?}");
        assert_eq!(count(&events.of("ptp_warning")), expected, "{ticks}");
        // it hears no timeTransmitter, and need not
        let late = (&state.error, state.stale_after_ns);
        assert_eq!(late, (&None, None), "{state:?}");
        assert!(events.of("ptp_silence").is_empty(), "{:?}", events.0);
    }
}

/// Samples of a clock.
#[derive(Default)]
struct Followed(Vec<wirestamp_ptp::Sample>);

impl Sink for Followed {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn followed(&mut self, subject: Subject<'_>, sample: &wirestamp_ptp::Sample) {
        assert_eq!(subject.name, sample.interface);
        self.0.push(sample.clone());
    }
}

fn alone(interfaces: &[&str]) -> wirestamp_ptp::Configuration {
    let mut options = wirestamp_ptp::Configuration::default();
    options.interfaces = interfaces.iter().map(|name| (*name).to_owned()).collect();
    options
}

fn engine(options: wirestamp_ptp::Configuration) -> Engine {
    let place = Place::Simulation(Simulation::preset("i225", 1).expect("a preset"));
    let asked = Measurements::default().ptp(Ptp::alone(options)).answered();
    Engine::new(asked, place).expect("it starts")
}

#[test]
fn the_clock_of_a_whole_program_ends_with_all_samples_confirmed_and_reports() {
    let mut options = alone(&["sim0"]);
    (options.source, options.enable_hardware) = (Source::Hardware, true);
    let mut engine = engine(options);
    let mut followed = Followed::default();
    let until = engine.now() + Span::from_seconds(60);
    engine.run_until(until, &mut followed).expect("it runs");
    let (confirmed, before) = (followed.0.len(), engine.state().ptp[0].samples);
    assert!(confirmed > 30 && before == confirmed as u64, "{confirmed}");
    assert!(!engine.is_over());
    let states = engine.ptp(|node| node.status().ports.len());
    assert_eq!(states, [1]);

    engine.finish();
    engine.serve(&engine.moment(), &mut followed);
    assert!(engine.is_over() && followed.0.len() > confirmed);
    // it is over, though other measurements may go on
    let all = followed.0.len();
    let until = engine.now() + Span::from_seconds(30);
    engine.run_until(until, &mut followed).expect("it runs");
    engine.finish();
    engine.serve(&engine.moment(), &mut followed);
    assert_eq!(followed.0.len(), all);
    let report = engine.into_ptp(&mut followed).remove(0).expect("it ran");
    assert!(report.ended.is_ok() && report.steering_error.is_none());
    let last = &followed.0.last().expect("some").counts;
    assert_eq!(
        (&report.counts.lost, &report.counts.ignored),
        (&last.lost, &last.ignored)
    );
    // some came behind the last Sync
    assert!(report.counts.stamps["hardware"] >= last.stamps["hardware"]);
}

#[test]
fn a_clock_that_cannot_be_steered_is_over_and_says_why() {
    let mut options = alone(&["sim0"]);
    options.clock = Clock::Nic;
    let mut engine = engine(options);
    engine.serve(&engine.moment(), &mut Followed::default());
    assert!(engine.is_over(), "it is not opened again");
    let mut reports = engine.into_ptp(&mut Followed::default());
    let error = reports.remove(0).expect_err("its time is virtual");
    assert!(error.to_string().contains("virtual"), "{error}");

    let mut engine = self::engine(alone(&[]));
    engine.serve(&engine.moment(), &mut Followed::default());
    let error = engine.outcomes()[0].error.cloned().expect("no port");
    assert!(error.to_string().contains("no port"), "{error}");
}

#[test]
fn a_boundary_clock_has_a_port_on_each_interface() {
    let mut engine = engine(alone(&["sim0", "sim1"]));
    let until = engine.now() + Span::from_seconds(3);
    while engine.now() < until {
        let next = engine.serve(&engine.moment(), &mut Followed::default());
        // whatever comes: an interface may be gone
        let nap = next - engine.now();
        assert!(nap <= Span::from_milliseconds(200), "{nap}");
        engine.wait(next).expect("it waits");
    }
    let names = engine.ptp(|node| {
        let ports = node.status().ports.into_iter();
        ports.map(|port| port.interface).collect::<Vec<_>>()
    });
    assert_eq!(names, [["sim0", "sim1"]]);
    assert_eq!(engine.state().ptp.len(), 2);
}

/// Measurements from before a step of the real-time clock say nothing about it now; how long ago they were taken is known all the same.
#[test]
fn the_real_time_clocks_offset_goes_with_its_step() {
    for source in [Source::Software, Source::Hardware] {
        let mut ptp = Ptp::at("sim0");
        ptp.options.source = source;
        ptp.options.enable_hardware = true;
        let simulation = Simulation::preset("igc", 1).expect("a preset");
        let mut asked = Measurements::default().ptp(ptp);
        asked.answered = true;
        let place = Place::Simulation(simulation.clone());
        let mut engine = Engine::new(asked, place).expect("it starts");
        let mut run = |milliseconds| {
            let until = engine.now() + Span::from_milliseconds(milliseconds);
            let mut events = Events::default();
            engine.run_until(until, &mut events).expect("it runs");
            engine.state().ptp.remove(0)
        };
        let before = run(60_000);
        let known = (before.system_offset_ns, before.system_bound_ns);
        assert!(known.0.is_some() && known.1.is_some(), "{before:?}");
        assert_eq!(before.stale_after_ns, Some(30_000_000_000));
        simulation
            .world()
            .step_real_time_clock(Span::from_seconds(5));
        let after = run(1);
        let gone = (after.system_offset_ns, after.system_bound_ns);
        assert_eq!(gone, (None, None), "{source:?}: {after:?}");
        let age = after.age_ns.expect("it is known");
        assert!(age >= before.age_ns.expect("measured"), "{after:?}");
        let again = run(20_000);
        assert!(again.system_offset_ns.is_some(), "{source:?}: {again:?}");
    }
}
