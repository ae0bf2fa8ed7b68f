//! The simulation that the environment names, and its pace: it runs in real time, so that
//! its timestamps and the performance counter are one scale.
//!
//! The simulated clock follows the real one. A simulated operation that cost more than it really
//! took is waited for, so that no timestamp lies after the call that made it. What happens in the
//! simulation by itself happens when somebody looks.

use crate::adapter::machine::now;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use wirestamp::choice::System;
use wirestamp::sim::World;
use wirestamp_core::backend::Backend;
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::{Error, Result};
use wirestamp_sys::environment::variable;

/// `off`: hardware timestamping is not switched on at the start.
const HARDWARE: &str = "WIRESTAMP_WIN32_SIM_HARDWARE";
/// What the adapters are called in the list: two names with `;` between. Else as in the simulation.
const NAMES: &str = "WIRESTAMP_WIN32_SIM_NAMES";
/// Both clocks tick every 100 ns: their distance is a multiple of it.
const TICK: i64 = 100;
/// A simulated clock that is ahead by less is waited for awake: a sleep takes longer.
const SHORT_LEAD: Span = Span::from_microseconds(200);

static CHOSEN: OnceLock<Result<Option<Simulation>>> = OnceLock::new();

/// A simulated host that runs in real time.
#[derive(Debug)]
pub struct Simulation {
    /// The same as `world`, as a system.
    system: System,
    world: World,
    /// Performance counter minus simulated clock.
    offset: Span,
    /// Counts what sockets did; who waits looks again.
    activity: Mutex<u64>,
    active: Condvar,
}

/// The simulation that the environment names; `None` if it names none.
///
/// # Errors
/// `InvalidInput` if it is neither a preset nor a readable scenario.
pub fn chosen() -> Result<Option<&'static Simulation>> {
    let chosen = CHOSEN.get_or_init(|| {
        let started = from_environment();
        if let Err(error) = &started {
            tell(error);
        }
        started
    });
    chosen.as_ref().map(Option::as_ref).map_err(Clone::clone)
}

/// The simulation, if somebody used it already.
pub(crate) fn running() -> Option<&'static Simulation> {
    CHOSEN.get()?.as_ref().ok()?.as_ref()
}

/// What the adapters list calls `sim0` and `sim1`.
pub(crate) fn listed_name(name: String) -> String {
    let names = variable(NAMES).unwrap_or_default();
    let place = usize::from(name == "sim1");
    names
        .to_str()
        .unwrap_or_default()
        .split(';')
        .nth(place)
        .filter(|chosen| !chosen.is_empty())
        .map_or(name, str::to_owned)
}

/// The C interface has numbers only; the reason goes where a person sees it, once.
#[allow(
    clippy::print_stderr,
    reason = "a number can't say which line of the scenario is wrong"
)]
fn tell(error: &Error) {
    eprintln!("wirestamp-win32: {error}");
}

fn from_environment() -> Result<Option<Simulation>> {
    let Some(chosen) = wirestamp::Simulation::of_environment(wirestamp::Simulation::DEFAULT_SEED)?
    else {
        return Ok(None);
    };
    let simulation = Simulation::start(chosen.world());
    if variable(HARDWARE).is_none_or(|value| value != "off") {
        simulation.switch_hardware_on();
    }
    Ok(Some(simulation))
}

impl Simulation {
    fn start(world: &World) -> Self {
        let distance = (now() - world.truth().now()).saturating_nanoseconds();
        let offset = Span::from_nanoseconds((distance - distance.rem_euclid(TICK)).into());
        Self {
            system: System::Simulated(world.clone()),
            world: world.clone(),
            offset,
            activity: Mutex::new(0),
            active: Condvar::new(),
        }
    }

    /// As an administrator does it before the program starts. Windows presets come switched.
    fn switch_hardware_on(&self) {
        for adapter in self.world.interfaces().unwrap_or_default() {
            let filters = [
                ReceiveFilter::All,
                ReceiveFilter::PtpV2,
                ReceiveFilter::PtpV2Udp,
                ReceiveFilter::None,
            ];
            let wanted = filters.map(|receive| HardwareConfiguration {
                transmit: true,
                receive,
            });
            // An adapter that refuses all has no hardware timestamps, or is switched elsewhere.
            let _granted = wanted
                .into_iter()
                .find(|wanted| self.world.configure(&adapter, *wanted).is_ok());
        }
    }

    /// What the simulated clock shows, as an instant of the performance counter.
    pub fn shown(&self) -> MonotonicTime {
        self.to_counter(self.world.truth().now())
    }

    /// An instant of the simulated clock as one of the performance counter.
    pub fn to_counter(&self, at: MonotonicTime) -> MonotonicTime {
        at + self.offset
    }

    /// The simulated system, after all that has happened in it until now.
    pub(crate) fn system(&self) -> &System {
        self.caught_up();
        &self.system
    }

    /// The world, after all that has happened in it until now.
    pub fn caught_up(&self) -> &World {
        self.world.advance_to(now() - self.offset);
        &self.world
    }

    /// Waits until the real clock is where the simulated one is now.
    pub(crate) fn wait_for_real_time(&self) {
        let shown = self.shown();
        let lead = shown - now();
        if lead > SHORT_LEAD {
            std::thread::sleep(lead.to_duration());
        }
        while now() < shown {
            std::hint::spin_loop(); // microseconds; who yields on a busy machine is away for milliseconds
        }
    }

    /// When something next happens by itself, on the performance counter.
    pub(crate) fn next_event(&self) -> Option<MonotonicTime> {
        self.world.next_event().map(|at| self.to_counter(at))
    }

    /// How often a socket did something so far.
    pub fn activity(&self) -> u64 {
        *self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A socket did something: who waits looks again.
    pub fn announce(&self) {
        *self.activity.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.active.notify_all();
    }

    /// Waits until a socket did something after `seen`, until something happens by itself, or
    /// until `until`.
    pub(crate) fn wait_for_activity(&self, seen: u64, until: MonotonicTime) {
        let until = self.next_event().map_or(until, |next| next.min(until));
        let left = until - now();
        let timeout = if until == MonotonicTime::MAX {
            Duration::from_secs(3_600)
        } else {
            left.to_duration()
        };
        let activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        if *activity == seen && !timeout.is_zero() {
            drop(
                self.active
                    .wait_timeout(activity, timeout)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
    }

    /// Whether an address is in a simulated network.
    pub fn owns(address: std::net::IpAddr) -> bool {
        match address.to_canonical() {
            std::net::IpAddr::V4(address) => address.octets()[..3] == [192, 0, 2],
            std::net::IpAddr::V6(address) => address.segments()[..4] == [0x2001, 0xdb8, 0, 0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::sim::Scenario;

    fn start(scenario: &Scenario) -> Simulation {
        Simulation::start(&World::new(scenario, 1))
    }

    #[test]
    fn the_simulated_clock_follows_the_real_one_to_the_tick() {
        let simulation = start(&Scenario::preset("ideal").expect("a preset"));
        let before = now();
        simulation.caught_up();
        let shown = simulation.shown();
        assert!(
            shown >= before - Span::from_nanoseconds(TICK.into()),
            "{before:?} {shown:?}"
        );
        assert!(shown <= now() + Span::from_microseconds(10));
        assert_eq!(simulation.offset.nanoseconds() % i128::from(TICK), 0);
    }

    #[test]
    fn what_an_operation_cost_is_waited_for() {
        let simulation = start(&Scenario::preset("ideal").expect("a preset"));
        for cost in [Span::from_microseconds(50), Span::from_milliseconds(3)] {
            simulation
                .world
                .advance_to(now() + cost - simulation.offset);
            let shown = simulation.shown();
            simulation.wait_for_real_time();
            assert!(now() >= shown, "{cost:?}");
        }
    }

    #[test]
    fn what_happens_by_itself_wakes_who_waits() {
        let text = "preset = \"ideal\"\n[[event]]\nat = \"20ms\"\naction = \"link_down\"\n";
        let simulation = start(&Scenario::from_toml(text).expect("a scenario"));
        let next = simulation.next_event().expect("the event");
        while now() < next {
            simulation.wait_for_activity(simulation.activity(), MonotonicTime::MAX);
        }
        simulation.caught_up();
        assert_eq!(simulation.next_event(), None, "it has happened");
    }
}
