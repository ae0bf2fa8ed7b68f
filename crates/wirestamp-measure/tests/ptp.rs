//! PTP clocks that measure nothing, or not as their user may think: the engine says so.

use wirestamp::{Simulation, Span};
use wirestamp_measure::state::PtpState;
use wirestamp_measure::{Engine, Measurements, Place, Ptp, Sample, Sink};

/// Kinds and texts of what happened.
#[derive(Default)]
struct Events(Vec<(String, String)>);

impl Sink for Events {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn event(&mut self, kind: &str, _: &str, message: String) {
        self.0.push((kind.to_owned(), message));
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
    let mut engine = Engine::new(asked, place).expect("it starts");
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

    // the other end's NIC timestamps nothing that it sends
    let (mute, _) = run("rx-only", ptp(), true, 60);
    let error = mute.error.expect("it says why");
    assert!(error.contains("no Sync came"), "{error}");
}

/// Once a minute: the second Announce comes later than the usual patience.
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
