//! Hardware timestamps in UTC, each compared with the simulated real-time clock.

use crate::pair::{bound, pass};
use std::collections::VecDeque;
use std::time::Duration;
use wirestamp::{
    ConversionError, Correlator, CorrelatorOptions, HardwareTimestamp, Interface, Simulation, Span,
    UdpSocket, UtcTime,
};

const STEP: Duration = Duration::from_millis(97);
/// The number of timestamps that wait until they are converted again, after about three seconds.
const LATER: usize = 31;

struct Observed {
    simulation: Simulation,
    interface: Interface,
    correlator: Correlator,
    /// Returns the monotonic clock's time.
    socket: UdpSocket,
    waiting: VecDeque<(HardwareTimestamp, UtcTime)>,
    converted: u32,
    unknown: u32,
    widest: Span,
}

impl Observed {
    fn of(preset: &str) -> Self {
        let simulation = Simulation::preset(preset, 7).expect("a preset");
        let interface = simulation.interface("sim0").expect("a NIC");
        let correlator = interface
            .correlator(CorrelatorOptions::default())
            .expect("it has a clock");
        pass(simulation.world(), Duration::from_secs(2));
        Self {
            socket: bound(&interface),
            simulation,
            interface,
            correlator,
            waiting: VecDeque::new(),
            converted: 0,
            unknown: 0,
            widest: Span::ZERO,
        }
    }

    /// A timestamp made now, and UTC.
    fn timestamp(&self) -> (HardwareTimestamp, UtcTime) {
        let truth = self.simulation.world().truth();
        let (at, utc) = (truth.now(), truth.utc());
        let timestamp = HardwareTimestamp {
            ticks: truth
                .hardware_ticks_at(self.interface.index(), at)
                .expect("it has a clock"),
            interface: Some(self.interface.index()),
            read_at: self.socket.now(),
        };
        (timestamp, utc)
    }

    /// Converts, and compares the result with the truth.
    #[track_caller]
    fn check(&mut self, (timestamp, truth): &(HardwareTimestamp, UtcTime)) {
        match self.correlator.to_utc(timestamp) {
            Ok(utc) => {
                let off = utc.at.value - *truth;
                assert!(
                    off.abs() <= utc.at.bound,
                    "{utc:?}, not {truth:?}: off by {off}"
                );
                self.converted += 1;
                self.widest = self.widest.max(utc.at.bound);
            }
            Err(ConversionError::UtcUnknown) => self.unknown += 1,
            Err(why) => panic!("{why}"),
        }
    }

    /// Makes timestamps for this long, each converted at once and three seconds later.
    fn convert_for(&mut self, time: Duration) {
        for _ in 0..time.as_nanos() / STEP.as_nanos() {
            pass(self.simulation.world(), STEP);
            let made = self.timestamp();
            self.check(&made);
            self.waiting.push_back(made);
            if self.waiting.len() > LATER {
                let earlier = self.waiting.pop_front().expect("there is one");
                self.check(&earlier);
            }
        }
    }
}

#[test]
fn utc_is_within_its_bound_of_the_truth() {
    let mut observed = Observed::of("i225");
    observed.convert_for(Duration::from_secs(120));
    assert_eq!(observed.unknown, 0);
    assert!(observed.converted > 2_000, "{}", observed.converted);
    assert!(
        observed.widest < Span::from_microseconds(5),
        "{}",
        observed.widest
    );
}

#[test]
fn steps_of_the_real_time_clock_cost_the_timestamps_beside_them_and_no_others() {
    let mut observed = Observed::of("i225");
    for step in [
        Span::from_seconds(300),
        Span::from_milliseconds(-5),
        Span::from_microseconds(3),
        Span::from_seconds(-300),
        Span::from_nanoseconds(2),
    ] {
        observed.convert_for(Duration::from_secs(7));
        let before = observed.timestamp();
        observed.simulation.world().step_real_time_clock(step);
        let after = observed.timestamp();
        for made in [before, after] {
            observed.check(&made);
        }
    }
    observed.convert_for(Duration::from_secs(7));
    assert!(
        observed.unknown > 0,
        "nobody knows when between two readings a step came"
    );
    assert!(
        observed.unknown * 20 < observed.converted,
        "{} of {}",
        observed.unknown,
        observed.converted
    );
}

/// On Windows the real-time clock can run faster or slower than the performance counter by 0.1 %.
#[test]
fn slewing_is_in_the_bound() {
    let mut observed = Observed::of("windows-modern");
    for slew in [1_000_000, -1_000_000, 0, -400_000, 1_000_000] {
        observed.simulation.world().slew_real_time_clock(slew);
        observed.convert_for(Duration::from_secs(11));
        observed
            .simulation
            .world()
            .step_real_time_clock(Span::from_seconds(1));
    }
    assert!(
        observed.unknown * 10 < observed.converted,
        "{} of {}",
        observed.unknown,
        observed.converted
    );
    // at once, close to a reading
    observed.convert_for(Duration::from_secs(7));
    let made = observed.timestamp();
    let utc = observed.correlator.to_utc(&made.0).expect("known");
    assert!(utc.at.bound < Span::from_microseconds(20), "{utc:?}");
}
