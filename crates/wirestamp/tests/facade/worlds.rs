//! The correlator with its default options under difficult conditions, each conversion compared
//! with the truth: delayed cross timestamps, uneven ticks, imperfect latches, slewed system clocks,
//! and other programs that adjust the NIC's clock.

use crate::pair::pass;
use std::collections::VecDeque;
use std::time::Duration;
use wirestamp::correlator::GenerationCause;
use wirestamp::sim::NicName;
use wirestamp::{
    Correlator, CorrelatorOptions, HardwareTimestamp, Interface, MonotonicTime, Simulation,
};

/// How long a timestamp waits until it is converted again, some batches later.
const LATER: Duration = Duration::from_secs(16);
const STEP: Duration = Duration::from_millis(97);

struct Observed {
    simulation: Simulation,
    interface: Interface,
    correlator: Correlator,
    waiting: VecDeque<(HardwareTimestamp, MonotonicTime)>,
    tally: Tally,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    converted: u32,
    refused: u32,
    /// The number outside the error bound, converted at once.
    wrong_at_once: u32,
    /// The number outside the error bound, converted some batches later.
    wrong_later: u32,
}

impl Observed {
    fn of(preset: &str, toml: &str) -> Self {
        Self::with(preset, toml, CorrelatorOptions::default())
    }

    fn with(preset: &str, toml: &str, options: CorrelatorOptions) -> Self {
        let simulation = Simulation::from_toml(&format!("preset = \"{preset}\"\n{toml}"), 7)
            .expect("a scenario");
        let interface = simulation.interface("sim0").expect("a NIC");
        let correlator = interface.correlator(options).expect("it has a clock");
        let mut observed = Self {
            simulation,
            interface,
            correlator,
            waiting: VecDeque::new(),
            tally: Tally::default(),
        };
        pass(observed.simulation.world(), Duration::from_secs(2));
        observed.tally = Tally::default();
        observed
    }

    /// Advances time and converts timestamps, at once and later.
    fn convert_for(&mut self, time: Duration) {
        let end = self.simulation.world().truth().now() + time.into();
        while self.simulation.world().truth().now() < end {
            pass(self.simulation.world(), STEP);
            let truth = self.simulation.world().truth();
            let at = truth.now();
            let ticks = truth
                .hardware_ticks_at(self.interface.index(), at)
                .expect("it has a clock");
            let timestamp = HardwareTimestamp {
                ticks,
                interface: Some(self.interface.index()),
                read_at: at,
            };
            match self.is_right(&timestamp, at) {
                None => self.tally.refused += 1,
                Some(right) => {
                    self.tally.converted += 1;
                    self.tally.wrong_at_once += u32::from(!right);
                }
            }
            self.waiting.push_back((timestamp, at));
            while self
                .waiting
                .front()
                .is_some_and(|(_, made)| at - *made > LATER.into())
            {
                let (timestamp, made) = self.waiting.pop_front().expect("there is one");
                self.tally.wrong_later += u32::from(self.is_right(&timestamp, made) == Some(false));
            }
        }
    }

    fn is_right(&self, timestamp: &HardwareTimestamp, truth: MonotonicTime) -> Option<bool> {
        let estimate = self.correlator.to_monotonic(timestamp).ok()?;
        Some(estimate.at.contains(truth))
    }
}

/// Cross timestamps far apart and close together, wide and narrow.
const PRESETS: [&str; 3] = ["ideal", "i225", "slow-cross"];

fn hour(preset: &str, toml: &str) -> (Tally, Observed) {
    let mut observed = Observed::of(preset, toml);
    observed.convert_for(Duration::from_secs(3_600));
    (observed.tally, observed)
}

fn assert_all_right(tally: Tally) {
    assert!(tally.converted > 30_000, "{tally:?}");
    assert_eq!(
        (tally.wrong_at_once, tally.wrong_later),
        (0, 0),
        "{tally:?}"
    );
}

#[test]
fn readings_that_are_held_up_for_seconds_cost_no_conversions() {
    let (tally, _) = hour("i225", "[nic.cross]\nheld_up = 0.05\nheld_up_by = \"10s\"");
    assert_eq!(
        (tally.wrong_at_once, tally.wrong_later),
        (0, 0),
        "{tally:?}"
    );
    assert!(tally.refused * 1_000 <= tally.converted, "{tally:?}");
}

#[test]
fn a_counter_with_uneven_ticks_and_an_imperfect_latch_stays_within_its_bound_and_generation() {
    let uneven = "[nic.clock]\nrenewal_hertz = 156_250_000\nwander_ppb = 3.0\n";
    for cross in [
        "",
        "[nic.cross]\nmethod = \"precise\"\nlatch_error = \"50ns\"",
    ] {
        let (tally, observed) = hour("i225", &format!("{uneven}{cross}"));
        assert_all_right(tally);
        let status = observed.correlator.status();
        assert_eq!(
            (tally.refused, status.cause),
            (0, Some(GenerationCause::Start)),
            "{cross}: {status:?}"
        );
    }
}

#[test]
fn the_tick_of_the_system_clock_is_part_of_the_bound() {
    for tick in ["279ns", "10us"] {
        let (tally, _) = hour("i225", &format!("[host]\ntick = \"{tick}\""));
        assert_all_right(tally);
    }
}

/// There is no guarantee until cross timestamps show a change: timestamps in the `unknown` period
/// after one are converted later only.
fn after_changes(
    preset: &str,
    change: impl Fn(&Observed, u32),
    changes: u32,
    unknown: Duration,
) -> Observed {
    let mut observed = Observed::of(preset, "");
    for number in 0..changes {
        observed.convert_for(Duration::from_secs(41));
        change(&observed, number);
        let wrong = observed.tally.wrong_at_once;
        observed.convert_for(unknown);
        observed.tally.wrong_at_once = wrong;
    }
    observed.convert_for(Duration::from_secs(60));
    observed
}

#[test]
fn a_system_clock_that_adjtime_slews_is_followed() {
    let slew = |observed: &Observed, number: u32| {
        let ppb = if number % 2 == 0 { 500_000 } else { 0 };
        observed.simulation.world().slew_system_clock(ppb);
    };
    for preset in PRESETS {
        let tally = after_changes(preset, slew, 40, Duration::from_secs(16)).tally;
        assert_eq!(
            (tally.wrong_at_once, tally.wrong_later),
            (0, 0),
            "{preset}: {tally:?}"
        );
        assert!(tally.refused * 20 < tally.converted, "{preset}: {tally:?}");
    }
}

#[test]
fn a_system_clock_that_chronyd_slews_at_its_fastest_is_followed() {
    let slew = |observed: &Observed, number: u32| {
        let ppb = [83_333_000, 0, -83_333_000, 0][number as usize % 4];
        observed.simulation.world().slew_system_clock(ppb);
    };
    for preset in PRESETS {
        let tally = after_changes(preset, slew, 20, Duration::from_secs(16)).tally;
        assert_eq!(
            (tally.wrong_at_once, tally.wrong_later),
            (0, 0),
            "{preset}: {tally:?}"
        );
        assert!(tally.refused * 20 < tally.converted, "{preset}: {tally:?}");
    }
}

#[test]
fn beside_ptp4l_and_phc2sys_that_have_settled_every_bound_holds() {
    for (kind, preset) in ["ptp4l", "phc2sys"]
        .into_iter()
        .flat_map(|kind| PRESETS.map(|preset| (kind, preset)))
    {
        let world = format!(
            "[nic.clock]\nwander_ppb = 0.5\n[nic.program]\nkind = \"{kind}\"\nnoise = \"10ns\""
        );
        let mut observed = Observed::of(preset, &world);
        observed.convert_for(Duration::from_secs(60));
        observed.tally = Tally::default();
        observed.waiting.clear();
        observed.convert_for(Duration::from_secs(3_600));
        assert_all_right(observed.tally);
    }
}

/// Eight Syncs a second over a path with queues: ptp4l changes the frequency with each, by up to 1.3
/// ppm either way. Brackets, lopsided brackets, and a latch.
const NOISY_PATH: &str = "[nic.clock]\nwander_ppb = 0.5
[nic.program]\nkind = \"ptp4l\"\nnoise = \"1us\"\ninterval = \"125ms\"\nproportional = 0.164\nintegral = 0.0163\n";
const CROSS: [&str; 3] = [
    "",
    "[nic.cross]\nforward = { base = \"1us\", jitter = \"20ns\" }\nback = { base = \"100ns\", jitter = \"20ns\" }",
    "[nic.cross]\nmethod = \"precise\"\nlatch_error = \"30ns\"",
];

/// Returns the tally and the number of generations that began.
fn beside_a_noisy_path(cross: &str, options: CorrelatorOptions) -> (Tally, u32) {
    let mut observed = Observed::with("i225", &format!("{NOISY_PATH}{cross}"), options);
    observed.convert_for(Duration::from_secs(60));
    observed.tally = Tally::default();
    observed.waiting.clear();
    let generation = |observed: &Observed| observed.correlator.generation().expect("known").0;
    let before = generation(&observed);
    observed.convert_for(Duration::from_secs(1_800));
    (observed.tally, generation(&observed) - before)
}

/// No reading shows all of these changes in time; allowed for, they break no bound, and end no
/// generation.
#[test]
fn beside_ptp4l_on_a_noisy_path_bounds_hold_that_allow_for_what_it_does() {
    let mut allowing = CorrelatorOptions::default();
    allowing.assumptions.unseen_change = 4e-6;
    let mut wrong = 0;
    for cross in CROSS {
        let (usual, _) = beside_a_noisy_path(cross, CorrelatorOptions::default());
        wrong += usual.wrong_at_once;
        let (tally, generations) = beside_a_noisy_path(cross, allowing);
        assert!(tally.converted > 15_000, "{tally:?}");
        let wrong = (tally.wrong_at_once, tally.wrong_later);
        let found = (wrong, tally.refused, generations);
        assert_eq!(found, ((0, 0), 0, 0), "{cross}: {tally:?}");
    }
    assert!(wrong > 0, "the world is harmless");
}

#[test]
fn after_phc_ctl_has_stepped_or_adjusted_the_clock_bounds_hold_again() {
    let act = |observed: &Observed, number: u32| {
        let device = observed.simulation.world().clock_device(NicName::Sim0);
        let steered = match number % 3 {
            0 => device.step(wirestamp::Span::from_milliseconds(
                i64::from(number) * 7 - 90,
            )),
            1 => device.adjust_frequency(400_000.0),
            _ => device.adjust_frequency(0.0),
        };
        steered.expect("taken");
    };
    for preset in PRESETS {
        let tally = after_changes(preset, act, 40, Duration::from_secs(16)).tally;
        assert_eq!(
            (tally.wrong_at_once, tally.wrong_later),
            (0, 0),
            "{preset}: {tally:?}"
        );
    }
}
