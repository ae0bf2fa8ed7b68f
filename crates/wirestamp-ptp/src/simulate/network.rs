//! The cables and clocks of a simulated network, and the advance of virtual time.

use super::held::Held;
use super::outcome::{Outcome, Point};
use super::scenarios::{Scenario, Shape};
use crate::configuration::{Role, Source};
use crate::engine::Engine;
use crate::lost::Counts;
use crate::node::Node;
use crate::report::Sample;
use wirestamp::sim::{Truth, World};
use wirestamp::{
    HardwareGuard, HardwareRequest, HardwareTicks, Interface, InterfaceIndex, MonotonicTime,
    Result, Simulation, Span, TimestampSource,
};

/// An end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    cable: usize,
    side: usize,
}

/// A clock: its role, priority, and the cable ends of its ports.
struct Plan {
    role: Role,
    priority: u8,
    ends: Vec<End>,
}

struct Cable {
    world: World,
    ends: [Interface; 2],
    _timestamping: Vec<HardwareGuard>,
}

/// Cables with clocks planned at their ends.
pub(super) struct Network {
    cables: Vec<Cable>,
    plans: Vec<Plan>,
    /// The number of plans, from the first, that are grandmasters.
    transmitters: usize,
}

impl Network {
    pub(super) fn build(scenario: &Scenario, seed: u64) -> Result<Self> {
        let cables = (0..scenario.cable_count())
            .map(|number| Cable::new(scenario, number, seed))
            .collect::<Result<_>>()?;
        let plans = plans(scenario.shape);
        let transmitters = if matches!(scenario.shape, Shape::Redundant(_)) {
            2
        } else {
            1
        };
        Ok(Self {
            cables,
            plans,
            transmitters,
        })
    }

    pub(super) fn run(&self, scenario: &Scenario, seed: u64) -> Result<Outcome> {
        let mut engines = Vec::new();
        for (number, plan) in (1u8..).zip(&self.plans) {
            let mut configuration = scenario.configuration(plan.role);
            configuration.priority1 = plan.priority;
            engines.push(Engine::new(configuration, identity(number))?);
        }
        let mut nodes = Vec::new();
        for (number, (engine, plan)) in (1u64..).zip(engines.iter().zip(&self.plans)) {
            let interfaces: Vec<_> = plan
                .ends
                .iter()
                .map(|end| self.cables[end.cable].ends[end.side].clone())
                .collect();
            nodes.push(Node::start_seeded(
                engine,
                &interfaces,
                seed.wrapping_mul(1_000).wrapping_add(number),
            )?);
        }
        let begun = self.now();
        let step = Span::from_microseconds(scenario.step_us);
        let until = begun + Span::from_seconds(scenario.seconds.into());
        let mut told = Told {
            held: Held::new(),
            bounds: vec![0; nodes.len()],
            begun,
        };
        while self.now() < until {
            for (place, node) in nodes.iter_mut().enumerate() {
                node.serve();
                let origin = node.status().grandmaster.clock;
                for sample in node.provisional_samples() {
                    // a boundary clock transmits its own time until it hears the first
                    // timeTransmitter
                    if self.is_chain() && origin != identity(1) {
                        continue;
                    }
                    self.hold_against_truth(place, sample, &mut told);
                }
                told.held.settle(place, node);
            }
            let next = self.now() + step;
            self.cables
                .iter()
                .for_each(|cable| cable.world.advance_to(next));
        }
        for (place, node) in nodes.iter().enumerate() {
            told.held.settle_all(place, node);
        }
        let mut counts = Counts::default();
        nodes[self.transmitters..]
            .iter()
            .for_each(|node| counts.add(&node.counts()));
        Ok(Outcome::of(scenario.name, seed, told.held, counts))
    }

    /// The latest of the cables' times, which differ by the duration of calls.
    fn now(&self) -> MonotonicTime {
        let times = self.cables.iter().map(|cable| cable.world.truth().now());
        times.fold(MonotonicTime::MIN, MonotonicTime::max)
    }

    fn hold_against_truth(&self, place: usize, sample: Sample, told: &mut Told) {
        let end = self.plans[place].ends[usize::from(sample.port) - 1];
        let Some(real) = self.truth(end, &sample) else {
            return;
        };
        // a boundary clock also has the errors of those before it
        let place_before = place.checked_sub(1).filter(|_| self.is_chain());
        let before = place_before.map_or(0, |before| told.bounds[before]);
        let on = place_before.and_then(|before| told.held.newest(before));
        let bound = sample
            .offset
            .bound
            .saturating_nanoseconds()
            .saturating_add(before);
        told.bounds[place] = bound;
        let point = Point {
            at_ns: (real.at - told.begun).saturating_nanoseconds(),
            clock: place + 1 - self.transmitters,
            offset_ns: sample.offset.value.saturating_nanoseconds(),
            error_ns: real.error(sample.offset.value.saturating_nanoseconds()),
            error_bound_ns: bound,
            flight_ns: real.flight.saturating_nanoseconds(),
        };
        told.held.add(place, sample, point, on);
    }

    fn is_chain(&self) -> bool {
        self.transmitters == 1 && self.plans.iter().any(|plan| plan.ends.len() == 2)
    }

    /// Returns what really happened to a sample's Sync, and the true offset of the clock at `end` meanwhile.
    fn truth(&self, end: End, sample: &Sample) -> Option<Real> {
        if sample.source == TimestampSource::Software {
            // all of them read the same clock
            return Some(Real {
                at: self.now(),
                flight: Span::ZERO,
                offsets: [0; 2],
            });
        }
        let cable = &self.cables[end.cable];
        let truth = cable.world.truth();
        let ticks = HardwareTicks::new(sample.local_ns as u64);
        let index = cable.ends[end.side].index();
        let passed = passed(&truth, index, ticks);
        let came = || truth.monotonic_time_of(index, ticks).map(|at| [at; 2]);
        let [left, at] = passed.or_else(came)?;
        // along a chain the reference is the first timeTransmitter
        let origin = if self.is_chain() {
            End { cable: 0, side: 0 }
        } else {
            End {
                side: 1 - end.side,
                ..end
            }
        };
        let shown = |end: End, at| {
            let cable = &self.cables[end.cable];
            let ticks = cable.world.truth();
            let ticks = ticks.hardware_ticks_at(cable.ends[end.side].index(), at)?;
            Some(ticks.raw() as i64)
        };
        let offset = |local: i64, at| Some(local.wrapping_sub(shown(origin, at)?));
        Some(Real {
            at,
            flight: at - left,
            offsets: [
                offset(sample.local_ns, at)?,
                offset(shown(end, left)?, left)?,
            ],
        })
    }
}

/// What really happened to a sample's Sync.
struct Real {
    /// When it arrived.
    at: MonotonicTime,
    /// How long it was under way.
    flight: Span,
    /// The offset when it arrived, and when it left: of a clock that was stepped in between, nobody can know more.
    offsets: [i64; 2],
}

impl Real {
    /// Returns the error of a measured offset.
    fn error(&self, measured: i64) -> i64 {
        let errors = self.offsets.map(|offset| measured.saturating_sub(offset));
        let [arrived, left] = errors;
        if left.saturating_abs() < arrived.saturating_abs() {
            left
        } else {
            arrived
        }
    }
}

/// Returns when the message with this NIC timestamp left and arrived, by the NIC's clock at that time, because a later or a
/// set-back clock may show the same value again. `None` for the second arrival of a duplicated message.
fn passed(
    truth: &Truth,
    index: InterfaceIndex,
    ticks: HardwareTicks,
) -> Option<[MonotonicTime; 2]> {
    let newest_first = (0..truth.datagrams()).rev();
    newest_first
        .filter_map(|sequence| {
            let datagram = truth.datagram(sequence)?;
            let at = datagram.receive_hardware_at?;
            Some([datagram.transmit_hardware_at.unwrap_or(at), at])
        })
        .find(|[_, at]| truth.hardware_ticks_at(index, *at) == Some(ticks))
}

/// The samples so far.
struct Told {
    held: Held,
    /// The last error bound of each clock, including those of the clocks before it.
    bounds: Vec<i64>,
    begun: MonotonicTime,
}

impl Cable {
    fn new(scenario: &Scenario, number: usize, seed: u64) -> Result<Self> {
        let simulation = Simulation::from_toml(
            &scenario.cable(number),
            seed.wrapping_add(7_919 * number as u64),
        )?;
        let ends = [simulation.interface("sim0")?, simulation.interface("sim1")?];
        let mut timestamping = Vec::new();
        if scenario.source != Source::Software {
            for end in &ends {
                timestamping.push(end.enable_hardware(HardwareRequest::Ptp)?);
            }
        }
        Ok(Self {
            world: simulation.world().clone(),
            ends,
            _timestamping: timestamping,
        })
    }
}

fn identity(number: u8) -> [u8; 8] {
    [0x02, 0, 0, 0xff, 0xfe, 0, 0, number]
}

fn plans(shape: Shape) -> Vec<Plan> {
    let transmitter = |priority, ends| Plan {
        role: Role::TimeTransmitter,
        priority,
        ends,
    };
    let receiver = |ends| Plan {
        role: Role::TimeReceiver,
        priority: 128,
        ends,
    };
    let near = |cable| End { cable, side: 0 };
    let far = |cable| End { cable, side: 1 };
    match shape {
        Shape::Pair => vec![transmitter(100, vec![near(0)]), receiver(vec![far(0)])],
        Shape::Chain(count) => {
            let mut plans = vec![transmitter(100, vec![near(0)])];
            plans.extend(
                (1..count).map(|cable| transmitter(200, vec![far(cable - 1), near(cable)])),
            );
            plans.push(receiver(vec![far(count - 1)]));
            plans
        }
        Shape::Star(count) => {
            let mut plans = vec![transmitter(100, (0..count).map(near).collect())];
            plans.extend((0..count).map(|cable| receiver(vec![far(cable)])));
            plans
        }
        Shape::Redundant(_) => {
            vec![
                transmitter(100, vec![near(0)]),
                transmitter(110, vec![near(1)]),
                receiver(vec![far(0), far(1)]),
            ]
        }
    }
}
