//! The execution of a run: a timeTransmitter, and a timeReceiver that steers its clock device, with
//! disturbances, compared with the truth.

use super::device::Device;
use super::expect::{Expectation, Routes};
use super::outcome::{Phase, Run, Trace};
use super::plan::{Disturbance, Plan};
use crate::configuration::Role;
use crate::engine::Engine;
use crate::node::Node;
use crate::report::Sample;
use std::cell::Cell;
use std::rc::Rc;
use wirestamp::sim::{NicName, World};
use wirestamp::socket::AnySocket;
use wirestamp::{
    Bounded, HardwareGuard, HardwareRequest, Interface, MonotonicTime, Result, Simulation, Span,
};

/// The longest time between checks while both programs run,
const LOOK: f64 = 1.0;
/// and while only the timeReceiver does.
const LONG_LOOK: f64 = 20.0;
/// How long the clock is watched after the computed recovery, in seconds, in addition to a
/// selection.
const WATCHED: f64 = 20.0;
/// The most starts of programs in a run.
const STARTS: usize = 8;
/// The most failures that are kept.
const FAILURES: usize = 5;
/// The largest number of iterations per second of virtual time: more mean that a program never
/// waits.
const MOST_TURNS: u32 = 5_000;

/// The two programs and their world.
struct Bench<'a> {
    plan: &'a Plan,
    world: World,
    ends: [Interface; 2],
    engines: &'a [[Engine; 2]],
    transmitter: Option<Node<'a>>,
    receiver: Option<Node<'a>>,
    started: [usize; 2],
    killed: Rc<Cell<bool>>,
    /// The value that the clock device shows instead of its adjustment.
    shown: Rc<Cell<Option<f64>>>,
    begun: MonotonicTime,
    /// The error of the timeTransmitter's clock: its time minus the right time.
    lie: i64,
    phase: Watched,
    failures: Vec<String>,
    trace: Option<Vec<Trace>>,
}

/// The phase that is being watched.
#[derive(Debug)]
struct Watched {
    expected: Expectation,
    begin: f64,
    /// The time until which the error bound may contain the earlier truth.
    excess_until: f64,
    excess_ns: f64,
    /// The time at which the clock was last outside its steady-state error.
    outside_at: f64,
    worst_after_ns: i64,
    furthest_ns: i64,
    samples: u64,
    checked: u64,
    worst_of_bound: f64,
    estimate: Option<(i64, i64)>,
}

impl Plan {
    /// Runs the plan. With `traced`, keeps a trace with a row for each second.
    ///
    /// # Errors
    /// The errors of starting its clocks.
    pub fn run(&self, traced: bool) -> Result<Run> {
        let simulation = Simulation::from_toml(&self.simulation(), self.seed)?;
        let ends = [simulation.interface("sim0")?, simulation.interface("sim1")?];
        let _timestamping: Vec<HardwareGuard> = ends
            .iter()
            .map(|end| end.enable_hardware(HardwareRequest::Ptp))
            .collect::<Result<_>>()?;
        let engines = (0..STARTS)
            .map(|_| self.engines())
            .collect::<Result<Vec<_>>>()?;
        let world = simulation.world().clone();
        let begun = world.truth().now();
        let mut bench = Bench {
            plan: self,
            world,
            ends,
            engines: &engines,
            transmitter: None,
            receiver: None,
            started: [0; 2],
            killed: Rc::default(),
            shown: Rc::default(),
            begun,
            lie: 0,
            phase: Watched::new(Expectation::of_start(self), 0.0),
            failures: Vec::new(),
            trace: traced.then(Vec::new),
        };
        let phases = bench.run()?;
        let seconds = bench.seconds();
        Ok(Run {
            plan: self.clone(),
            seconds,
            phases,
            failures: bench.failures,
            trace: bench.trace.unwrap_or_default(),
        })
    }

    fn engines(&self) -> Result<[Engine; 2]> {
        let identity = |last| [0x02, 0, 0, 0xff, 0xfe, 0, 0, last];
        Ok([
            Engine::new(self.configuration(Role::TimeTransmitter), identity(1))?,
            Engine::new(self.configuration(Role::TimeReceiver), identity(2))?,
        ])
    }
}

impl Watched {
    fn new(expected: Expectation, now: f64) -> Self {
        let excess_ns = expected.excess.map_or(0.0, |(_, by)| by);
        Self {
            expected,
            begin: now,
            // while the disturbance lasts, and for some time after it
            excess_until: if expected.excess.is_some() {
                f64::INFINITY
            } else {
                f64::NEG_INFINITY
            },
            excess_ns,
            outside_at: now,
            worst_after_ns: 0,
            furthest_ns: 0,
            samples: 0,
            checked: 0,
            worst_of_bound: 0.0,
            estimate: None,
        }
    }
}

impl<'a> Bench<'a> {
    fn run(&mut self) -> Result<Vec<Phase>> {
        self.start_transmitter()?;
        self.start_receiver()?;
        let mut phases = vec![self.finish("start", 0.0)?];
        let mut routes = Routes::default();
        for disturbance in &self.plan.disturbances {
            if !self.failures.is_empty() {
                break;
            }
            let begin = self.seconds();
            self.phase = Watched::new(Expectation::of(self.plan, disturbance, routes), begin);
            routes = routes.after(disturbance);
            self.note(format!("{disturbance:?}"));
            self.disturb(disturbance)?;
            let lasted = self.seconds() - begin;
            phases.push(self.finish(disturbance.name(), lasted)?);
        }
        Ok(phases)
    }

    fn disturb(&mut self, disturbance: &Disturbance) -> Result<()> {
        match *disturbance {
            Disturbance::Nothing { seconds } => self.pass(seconds)?,
            Disturbance::Step { by_ns } => self.step_transmitter(by_ns),
            Disturbance::Lie { by_ns, seconds } => {
                self.step_transmitter(by_ns);
                self.lie = by_ns;
                self.pass(seconds)?;
                self.lie = 0;
                self.step_transmitter(-by_ns);
            }
            Disturbance::Outage { seconds } | Disturbance::TransmitterRestart { seconds } => {
                self.outage(seconds)?;
            }
            Disturbance::OutageWhileSlewing {
                by_ns,
                after,
                seconds,
            } => {
                self.step_transmitter(by_ns);
                self.pass(after)?;
                self.outage(seconds)?;
            }
            Disturbance::LinkDown { seconds } => {
                self.world.set_link(false);
                self.pass(seconds)?;
                self.world.set_link(true);
            }
            Disturbance::DelayStep { from_ns, to_ns } => {
                self.world
                    .set_extra_delay(NicName::Sim0, Span::from_nanoseconds(from_ns.into()));
                self.world
                    .set_extra_delay(NicName::Sim1, Span::from_nanoseconds(to_ns.into()));
            }
            Disturbance::ReceiverRestart { seconds } => {
                self.receiver = None;
                self.pass(seconds)?;
                self.start_receiver()?;
            }
            Disturbance::ReceiverKilled {
                by_ns,
                after,
                seconds,
            } => {
                self.step_transmitter(by_ns);
                self.pass(after)?;
                self.killed.set(true);
                self.receiver = None;
                self.pass(seconds)?;
                self.start_receiver()?;
            }
            Disturbance::DeviceRefuses { seconds } => {
                self.world.set_virtual_clocks(NicName::Sim1, 1);
                self.pass(seconds)?;
                self.world.set_virtual_clocks(NicName::Sim1, 0);
            }
            Disturbance::AdjustmentLost { shown } => {
                let adjustment = self.world.clock_device(NicName::Sim1).frequency()? / 1e3;
                self.shown.set((!shown).then_some(adjustment));
                self.world.drop_frequency_adjustment(NicName::Sim1);
            }
        }
        Ok(())
    }

    fn outage(&mut self, seconds: f64) -> Result<()> {
        self.transmitter = None;
        self.pass(seconds)?;
        self.ends_no_further_than_free("at the end of the outage");
        self.start_transmitter()
    }

    /// Lets the computed recovery pass, and watches the clock afterwards.
    fn finish(&mut self, name: &'static str, lasted: f64) -> Result<Phase> {
        let ended = self.seconds();
        // if a step ended the disturbance, a bound may be wrong again from here on
        if let Some((excess_for, _)) = self.phase.expected.excess {
            self.phase.excess_until = ended + excess_for;
        }
        self.phase.outside_at = ended;
        let stated = self.phase.expected.recovery;
        self.pass(stated)?;
        self.phase.samples = 0;
        self.phase.worst_after_ns = self.offset().abs();
        self.pass(WATCHED + self.plan.selecting())?;
        if self.phase.outside_at > ended + stated {
            let text = format!(
                "{} ns off {:.1} s after it, after stated {stated:.1} s",
                self.phase.worst_after_ns,
                self.phase.outside_at - ended
            );
            self.fail(name, &text);
        }
        self.check_end(name);
        let phase = &self.phase;
        Ok(Phase {
            name,
            begin: phase.begin,
            lasted,
            recovered: phase.outside_at - ended,
            stated,
            steady_ns: phase.expected.steady_ns as i64,
            worst_ns: phase.worst_after_ns,
            furthest_ns: phase.furthest_ns,
            checked: phase.checked,
            worst_of_bound: phase.worst_of_bound,
        })
    }

    fn check_end(&mut self, name: &'static str) {
        self.ends_no_further_than_free(name);
        let furthest = self.phase.furthest_ns;
        if furthest as f64 > self.phase.expected.furthest_ns {
            let text = format!(
                "{furthest} ns off at the furthest, stated {:.0} ns",
                self.phase.expected.furthest_ns
            );
            self.fail(name, &text);
        }
        let Some(receiver) = &self.receiver else {
            return;
        };
        if let Some(error) = receiver.steering_error() {
            let text = format!("it still says: {error}");
            self.fail(name, &text);
        } else if self.phase.samples == 0 {
            self.fail(name, "it does not follow the timeTransmitter");
        }
    }

    /// Compares with the clock as it would be without steering.
    fn ends_no_further_than_free(&mut self, when: &str) {
        let moved = self
            .world
            .truth()
            .clock_moved_by(self.ends[1].index())
            .unwrap_or(0);
        let (offset, bound) = (
            self.offset() + self.lie,
            self.phase.estimate.map_or(0, |(_, bound)| bound),
        );
        let free = offset - moved;
        // a step just before the loss cannot be known, and is not followed afterwards
        let allowed = if self.transmitter.is_some() {
            bound
        } else {
            bound.saturating_add(self.phase.excess_ns as i64)
        };
        if offset.saturating_abs() > free.saturating_abs().saturating_add(allowed) {
            self.fail(
                when,
                &format!("{offset} ns off; by itself the clock would be {free} ns off, bound {allowed} ns"),
            );
        }
    }

    fn start_transmitter(&mut self) -> Result<()> {
        let [engine, _] = &self.engines[self.started[0] % STARTS];
        let seed = self.plan.seed.wrapping_add(self.started[0] as u64);
        self.transmitter = Some(Node::start_seeded(
            engine,
            std::slice::from_ref(&self.ends[0]),
            seed,
        )?);
        self.started[0] += 1;
        Ok(())
    }

    fn start_receiver(&mut self) -> Result<()> {
        let [_, engine] = &self.engines[self.started[1] % STARTS];
        let seed = self.plan.seed.wrapping_add(1_000 + self.started[1] as u64);
        let mut node = Node::start_seeded(engine, std::slice::from_ref(&self.ends[1]), seed)?;
        self.killed = Rc::default();
        let device = self.world.clock_device(NicName::Sim1);
        node.steer_with(Box::new(Device {
            device,
            killed: Rc::clone(&self.killed),
            shown: Rc::clone(&self.shown),
        }))?;
        self.receiver = Some(node);
        self.started[1] += 1;
        Ok(())
    }

    fn step_transmitter(&self, by_ns: i64) {
        self.world.step_hardware_clock(NicName::Sim0, by_ns);
    }

    /// Lets virtual time pass for both programs.
    fn pass(&mut self, seconds: f64) -> Result<()> {
        let until = self.now() + Span::from_nanoseconds((seconds * 1e9) as i128);
        let (mut turns, mut second) = (0, self.now());
        loop {
            turns += 1;
            if self.now() - second >= Span::from_seconds(1) {
                (turns, second) = (0, self.now());
            } else if turns > MOST_TURNS {
                self.fail("programs", "one of them never waits");
                return Ok(());
            }
            let mut samples = Vec::new();
            for node in [&mut self.transmitter, &mut self.receiver]
                .into_iter()
                .flatten()
            {
                node.serve();
                samples = node.samples();
            }
            if self.receiver.is_some() {
                samples.iter().for_each(|sample| self.check_sample(sample));
            }
            self.look();
            let now = self.now();
            if now >= until {
                return Ok(());
            }
            let nodes = || [&self.transmitter, &self.receiver].into_iter().flatten();
            let pause = if nodes().count() == 2 {
                LOOK
            } else {
                LONG_LOOK
            };
            let look = now + Span::from_nanoseconds((pause * 1e9) as i128);
            let next = nodes()
                .map(Node::next_at)
                .fold(until.min(look), MonotonicTime::min);
            let sockets: Vec<AnySocket<'_>> = nodes().flat_map(Node::sockets).collect();
            if sockets.is_empty() {
                self.world.advance_to(next);
            } else {
                AnySocket::wait_any(&sockets, next)?;
            }
        }
    }

    fn now(&self) -> MonotonicTime {
        self.world.truth().now()
    }

    /// Returns the virtual time since the start in seconds.
    fn seconds(&self) -> f64 {
        (self.now() - self.begun).saturating_nanoseconds() as f64 / 1e9
    }

    /// Returns the steered clock minus the timeTransmitter's.
    fn offset_at(&self, at: MonotonicTime) -> Option<i64> {
        let truth = self.world.truth();
        let shown =
            |end: usize| Some(truth.hardware_ticks_at(self.ends[end].index(), at)?.raw() as i64);
        Some(shown(1)?.wrapping_sub(shown(0)?))
    }

    fn offset(&self) -> i64 {
        self.offset_at(self.now()).unwrap_or(0)
    }

    fn check_sample(&mut self, sample: &Sample) {
        self.phase.samples += 1;
        let ticks = wirestamp::HardwareTicks::new(sample.local_ns as u64);
        let Some(at) = self
            .world
            .truth()
            .monotonic_time_of(self.ends[1].index(), ticks)
        else {
            return;
        };
        let Some(truth) = self.offset_at(at) else {
            return;
        };
        self.hold_against(truth, sample.offset, "sample");
    }

    /// Compares the clock, and the timeReceiver's current estimate, with the truth.
    fn look(&mut self) {
        let (now, offset) = (self.seconds(), self.offset());
        let right = offset.saturating_add(self.lie);
        self.phase.furthest_ns = self.phase.furthest_ns.max(right.saturating_abs());
        self.phase.worst_after_ns = self.phase.worst_after_ns.max(offset.saturating_abs());
        if offset.saturating_abs() as f64 > self.phase.expected.steady_ns {
            self.phase.outside_at = now;
        }
        let Some(receiver) = &self.receiver else {
            return;
        };
        if let Some(held) = receiver.carried() {
            self.hold_against(offset, held.offset, "held estimate");
        }
        self.keep(String::new(), true);
    }

    fn hold_against(&mut self, truth: i64, estimate: Bounded<Span>, what: &str) {
        let [offset, bound] = [estimate.value, estimate.bound].map(Span::saturating_nanoseconds);
        self.phase.estimate = Some((offset, bound));
        let error = offset.saturating_sub(truth).saturating_abs();
        let may_be_old = self.seconds() <= self.phase.excess_until;
        let excess = if may_be_old {
            self.phase.excess_ns as i64
        } else {
            0
        };
        self.phase.checked += 1;
        if !may_be_old {
            self.phase.worst_of_bound = self
                .phase
                .worst_of_bound
                .max(error as f64 / bound.max(1) as f64);
        }
        if error > bound.saturating_add(excess) {
            self.fail(
                what,
                &format!("{offset} ns ± {bound} ns, but {truth} ns is true"),
            );
        }
    }

    fn fail(&mut self, what: &str, text: &str) {
        let text = format!("{:.3} s: {what}: {text}", self.seconds());
        self.note(text.clone());
        if self.failures.len() < FAILURES {
            self.failures.push(text);
        }
    }

    fn note(&mut self, note: String) {
        self.keep(note, false);
    }

    /// Adds a row to the trace, at most once a second unless there is a note.
    fn keep(&mut self, note: String, seldom: bool) {
        let (at, offset_ns, estimate) = (self.seconds(), self.offset(), self.phase.estimate);
        let adjustment_ppm = self
            .world
            .clock_device(NicName::Sim1)
            .frequency()
            .unwrap_or(0.0)
            / 1e3;
        let Some(trace) = &mut self.trace else { return };
        if seldom && trace.last().is_some_and(|last| at - last.at < 1.0) {
            return;
        }
        trace.push(Trace {
            at,
            offset_ns,
            adjustment_ppm,
            estimate,
            note,
        });
    }
}
