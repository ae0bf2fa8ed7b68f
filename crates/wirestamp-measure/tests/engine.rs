//! The loop itself.
#![cfg(not(windows))]

use std::net::UdpSocket;
use std::time::Duration;
use wirestamp::{Simulation, Span};
use wirestamp_measure::{Engine, EventKind, Measurements, Place, Sample, Sink};

/// How often the real-time clock was stepped.
#[derive(Default)]
struct Steps(usize);

impl Sink for Steps {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn event(&mut self, kind: EventKind, _: &str, _: String) {
        self.0 += usize::from(kind == EventKind::ClockStep);
    }
}

impl Steps {
    fn in_ten_seconds(engine: &mut Engine) -> usize {
        let mut steps = Self::default();
        let until = engine.now() + Span::from_seconds(10);
        engine.run_until(until, &mut steps).expect("it runs");
        steps.0
    }
}

/// The host decides how its clocks can run, not the system that this is compiled for.
#[test]
fn a_slew_of_windows_real_time_clock_is_no_step() {
    let simulation = Simulation::preset("windows-modern", 1).expect("a preset");
    let place = Place::Simulation(simulation.clone());
    let mut engine = Engine::new(Measurements::default(), place).expect("it starts");
    let world = simulation.world();
    world.slew_real_time_clock(900_000);
    assert_eq!(Steps::in_ten_seconds(&mut engine), 0);
    world.slew_real_time_clock(-900_000);
    assert_eq!(Steps::in_ten_seconds(&mut engine), 0);
    world.step_real_time_clock(Span::from_milliseconds(5));
    assert_eq!(Steps::in_ten_seconds(&mut engine), 1);
}

/// Anybody on this host may send to the socket that wakes it: measurements go on meanwhile.
#[test]
fn a_flood_of_wakes_does_not_hold_it_up() {
    const SENT: usize = 120;
    let mut engine = Engine::new(Measurements::default(), Place::System).expect("it starts");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let wakes = engine.clock().local_address().expect("bound");
    for _ in 0..SENT {
        socket.send_to(b"wake", wakes).expect("sent");
    }
    engine
        .wait(engine.now() + Span::from_seconds(1))
        .expect("it waits");
    engine.serve(&engine.moment(), &mut |_: &Sample<'_>| {});
    let mut wake = [0; 16];
    let receive = || engine.clock().receive(&mut wake, Duration::ZERO);
    let left = std::iter::repeat_with(receive)
        .take_while(|came| matches!(came, Ok(Some(_))))
        .count();
    assert!((1..SENT).contains(&left), "{left}");
}
