//! The clock of a NIC, and two PTP clocks of which one steers it.

use crate::pair::{Cable, run};
use std::cell::RefCell;
use std::rc::Rc;
use wirestamp::sim::{NicName, World};
use wirestamp::{Error, ErrorKind, InterfaceIndex, Result, Span};
use wirestamp_ptp::{Clock, ClockStatus, Configuration, Node, Role, Sample, SteeredClock};

/// The properties of a clock that a test can change and observe while it is steered.
#[derive(Debug, Default)]
pub(crate) struct Handle {
    /// The frequency adjustment in force, in ppm.
    pub(crate) ppm: f64,
    pub(crate) steps: Vec<i64>,
    /// Silently, as some drivers do.
    pub(crate) clamps_at: Option<f64>,
    /// The number of calls that set the frequency and will fail.
    pub(crate) failures: u32,
    /// It slews by itself like Linux's system clock: over its next whole second.
    pub(crate) slews: bool,
    /// The requested slew in microseconds, and the current one: its end, and its rate in ppm.
    pub(crate) slew: Option<i64>,
    pub(crate) largest_slew: i64,
    slewing: Option<(i64, f64)>,
    /// The second that was looked at last.
    second: i64,
    /// The status that was set last.
    pub(crate) status: Option<ClockStatus>,
    /// It reports success without executing the command.
    pub(crate) lies: Option<f64>,
}

/// The clock of `sim1`, with an oscillator of this frequency offset.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedClock {
    world: World,
    index: InterfaceIndex,
    own_error_ppb: f64,
    pub(crate) handle: Rc<RefCell<Handle>>,
}

impl SimulatedClock {
    pub(crate) fn new(cable: &Cable, own_error_ppb: f64) -> Self {
        let (world, index) = (cable.world().clone(), cable.ends[1].index());
        Self {
            world,
            index,
            own_error_ppb,
            handle: Rc::default(),
        }
    }

    /// The timer tick of a kernel: begins and ends slews.
    fn tick(&self) {
        let second = self.now().expect("shown").div_euclid(1_000_000_000);
        let mut handle = self.handle.borrow_mut();
        if std::mem::replace(&mut handle.second, second) == second {
            return;
        }
        handle.slewing = handle.slew.take().map(|by| (second, by as f64));
        self.apply(&handle);
    }

    fn apply(&self, handle: &Handle) {
        let ppm = handle.ppm + handle.slewing.map_or(0.0, |(_, ppm)| ppm);
        self.world.change_hardware_rate(
            NicName::Sim1,
            (self.own_error_ppb + ppm * 1e3).round() as i32,
        );
    }
}

impl SteeredClock for SimulatedClock {
    fn now(&self) -> Result<i64> {
        let truth = self.world.truth();
        let ticks = truth
            .hardware_ticks_at(self.index, truth.now())
            .expect("has a clock");
        Ok(ticks.raw() as i64)
    }

    fn step(&mut self, by: Span) -> Result<()> {
        self.handle
            .borrow_mut()
            .steps
            .push(by.saturating_nanoseconds());
        self.world
            .step_hardware_clock(NicName::Sim1, by.saturating_nanoseconds());
        Ok(())
    }

    fn set_rate(&mut self, ppm: f64) -> Result<()> {
        let mut handle = self.handle.borrow_mut();
        if handle.failures > 0 {
            handle.failures -= 1;
            return Err(Error::new(
                ErrorKind::Io,
                "set the frequency",
                "a clock",
                "it does not answer",
            ));
        }
        let limit = handle.clamps_at.unwrap_or(f64::INFINITY);
        let really = ppm.clamp(-limit, limit);
        (handle.ppm, handle.lies) = (really, handle.lies.map(|_| ppm));
        self.apply(&handle);
        Ok(())
    }

    fn rate(&self) -> Result<f64> {
        let handle = self.handle.borrow();
        Ok(handle.lies.unwrap_or(handle.ppm))
    }

    fn rate_step(&self) -> f64 {
        0.000_5 // whole thousand-millionths
    }

    fn slews_by_itself(&self) -> bool {
        self.handle.borrow().slews
    }

    fn slew(&mut self, microseconds: i64) -> Result<()> {
        let mut handle = self.handle.borrow_mut();
        handle.slew = Some(microseconds).filter(|by| *by != 0);
        handle.largest_slew = handle.largest_slew.max(microseconds.abs());
        Ok(())
    }

    fn tell(&mut self, status: ClockStatus) -> Result<()> {
        self.handle.borrow_mut().status = Some(status);
        Ok(())
    }
}

/// A timeTransmitter and a timeReceiver that steers its clock, connected by a cable.
pub(crate) struct Scene<'e> {
    pub(crate) cable: &'e Cable,
    pub(crate) transmitter: Option<Node<'e>>,
    pub(crate) receiver: Node<'e>,
    pub(crate) clock: Rc<RefCell<Handle>>,
    ticking: SimulatedClock,
}

/// Runs a script with a clock of frequency offset `drift_ppb`, with the default configuration
/// changed by `change`.
pub(crate) fn play(
    drift_ppb: i32,
    change: impl Fn(&mut Configuration),
    script: impl FnOnce(&mut Scene<'_>),
) {
    let cable = Cable::new(&format!(
        "[sim0.clock]\nfrequency_error_ppb = 0\nwander_ppb = 0.0\n[sim1.clock]\nfrequency_error_ppb = {drift_ppb}\nwander_ppb = 0.0"
    ));
    let engines = [Role::TimeTransmitter, Role::TimeReceiver].map(|role| {
        let mut configuration = Configuration::default();
        change(&mut configuration);
        configuration.role = role;
        if role == Role::TimeReceiver {
            configuration.clock = Clock::Nic;
        }
        cable.engine(usize::from(role == Role::TimeReceiver), configuration)
    });
    let clock = SimulatedClock::new(&cable, drift_ppb.into());
    let handle = Rc::clone(&clock.handle);
    let (mut receiver, ticking) = (cable.node(&engines[1], 1), clock.clone());
    receiver.steer_with(Box::new(clock)).expect("a frequency");
    let transmitter = Some(cable.node(&engines[0], 0));
    script(&mut Scene {
        cable: &cable,
        transmitter,
        receiver,
        clock: handle,
        ticking,
    });
}

impl Scene<'_> {
    /// The offset of the steered clock in nanoseconds.
    pub(crate) fn error(&self) -> i64 {
        self.cable.true_offset(self.receiver.now())
    }

    /// The timeTransmitter's clock jumps.
    pub(crate) fn jump(&self, nanoseconds: i64) {
        self.cable
            .world()
            .step_hardware_clock(NicName::Sim0, nanoseconds);
    }

    /// Lets seconds pass, in which the bounds hold, apart from `slack` nanoseconds.
    pub(crate) fn pass(&mut self, seconds: i64, slack: i64) {
        let cable = self.cable;
        let clock = Rc::clone(&self.clock);
        let mut steps = clock.borrow().steps.len();
        let each = |_: usize, sample: Sample, now| {
            if std::mem::replace(&mut steps, clock.borrow().steps.len())
                != clock.borrow().steps.len()
            {
                return; // reported before the step, and compared with the truth after it
            }
            let error = sample.offset.value.saturating_nanoseconds() - cable.true_offset(now);
            assert!(
                error.abs()
                    <= sample
                        .offset
                        .bound
                        .saturating_nanoseconds()
                        .saturating_add(slack),
                "{sample:?} is off by {error}"
            );
        };
        let (mut each, ticking) = (each, self.ticking.clone());
        let slice = Span::from_milliseconds(if self.clock.borrow().slews { 40 } else { 1_000 });
        let until = self.receiver.now() + Span::from_seconds(seconds);
        while self.receiver.now() < until {
            let slice = slice.min(until - self.receiver.now());
            match &mut self.transmitter {
                Some(transmitter) => run(&mut [transmitter, &mut self.receiver], slice, &mut each),
                None => run(&mut [&mut self.receiver], slice, &mut each),
            }
            ticking.tick();
        }
    }
}
