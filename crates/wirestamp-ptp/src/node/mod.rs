//! A running PTP clock: its ports, the selection of the best timeTransmitter, the time that its
//! messages carry, and its samples. Only [`Node::wait`] and [`Node::run`] wait.

mod status;
mod steering;
mod unsettled;
mod warnings;

use crate::configuration::{Clock, Configuration, Timescale};
use crate::engine::{Engine, PortState};
use crate::port::{Heard, Port};
use crate::sockets;
use crate::steering::Steering;
use crate::timeline::{TakenOff, Timeline};
use crate::trust::{Agreement, Judge, Measured};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use unsettled::Unsettled;
use wirestamp::socket::AnySocket;
use wirestamp::{Error, ErrorKind, Interface, MonotonicTime, Result, Span, TimestampSource};
use wirestamp_offset::SharedCommands;

/// A PTP clock with one port per interface. It has no thread of its own: call
/// [`serve`](Self::serve) whenever a message has come or a timer is due, or call
/// [`run`](Self::run).
pub struct Node<'e> {
    engine: &'e Engine,
    ports: Vec<Port<'e>>,
    select_at: MonotonicTime,
    /// The number of additional selections since the timeTransmitter fell silent.
    hurried: u32,
    /// The commands to the timestamping clock, shared by all estimators.
    commands: SharedCommands,
    steering: Option<Steering>,
    /// The number of the steered NIC clock.
    steered: Option<u32>,
    steering_error: Option<Error>,
    judge: Judge,
    /// The samples of each port that are not final.
    unsettled: Vec<Unsettled>,
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("ports", &self.ports.len())
            .finish_non_exhaustive()
    }
}

/// The number of early selections once a timeTransmitter is silent for too long.
const HURRIES: u32 = 2;
/// The longest wait.
const LONGEST_NAP: Span = Span::from_milliseconds(200);

/// Checks that no other program prevents a clock of this configuration from being started and
/// steered. [`Node::start`] and [`Node::steer`] check the same. But only a privileged program can
/// see which program has a port or steers a clock, so call this before dropping privileges.
///
/// # Errors
/// As [`Node::start`] and [`Node::steer`].
pub fn check_free(configuration: &Configuration, interfaces: &[Interface]) -> Result<()> {
    configuration.check()?;
    configuration.check_transports(interfaces)?;
    for interface in interfaces {
        sockets::check_free(interface, configuration)?;
    }
    match interfaces.first() {
        Some(first) => Steering::open(first, configuration, &SharedCommands::default()).map(drop),
        None => Ok(()),
    }
}

impl<'e> Node<'e> {
    /// Opens a port on each interface.
    ///
    /// # Errors
    /// `Busy` if a port is in use (the message names the program); `NotPermitted` without the
    /// privilege for ports 319 and 320, or for Ethernet sockets; `NotSupported` if hardware timestamps
    /// are requested and not available, or where there are no Ethernet sockets; `InvalidInput` if the
    /// configuration has a transport for an interface that is not one of these.
    pub fn start(engine: &'e Engine, interfaces: &[Interface]) -> Result<Self> {
        Self::start_seeded(engine, interfaces, RandomState::new().hash_one(0))
    }

    /// Opens a port on each interface like [`start`](Self::start), with a seed for the engine's
    /// random timers.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_seeded(engine: &'e Engine, interfaces: &[Interface], seed: u64) -> Result<Self> {
        engine.configuration.check_transports(interfaces)?;
        let (mut ports, commands) = (Vec::new(), SharedCommands::default());
        for (number, interface) in (1..).zip(interfaces) {
            ports.push(Port::open(
                engine,
                interface,
                number,
                seed.wrapping_add(number.into()),
                &commands,
            )?);
        }
        let Some(first) = ports.first() else {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "start a PTP clock",
                "no interface",
                "it has no port",
            )
            .with_remedy("name at least one interface"));
        };
        let select_at = first.now();
        let judge = Judge::new(
            engine.configuration.compares(),
            engine.configuration.trust.tolerance_ns,
        );
        let unsettled = ports.iter().map(|_| Unsettled::default()).collect();
        Ok(Self {
            engine,
            ports,
            unsettled,
            select_at,
            hurried: 0,
            commands,
            steering: None,
            steered: None,
            steering_error: None,
            judge,
        })
    }

    /// Returns whether the configured sources agree.
    pub fn agreement(&self) -> Agreement {
        self.judge.agreement()
    }

    /// Compares the sources at one instant of the timestamping clock. Ports with another clock than
    /// the followed port's cannot be compared.
    fn compare(&mut self, now: MonotonicTime) {
        if self.judge.agreement() == Agreement::Single {
            return;
        }
        let sources: Vec<_> = self.compared().flat_map(|port| port.sources(now)).collect();
        let newest = |source: &Heard<'_>| source.estimator.newest();
        let Some(at) = sources.iter().map(newest).max() else {
            return;
        };
        let measured: Vec<Measured> = sources.iter().filter_map(|source| source.at(at)).collect();
        self.judge.hear(&measured, now);
    }

    /// The ports with the same timestamping clock as the followed port.
    fn compared(&self) -> impl Iterator<Item = &Port<'e>> {
        let reference = self.followed().unwrap_or(&self.ports[0]);
        let clock_of = |port: &Port<'_>| {
            let hardware = port.clock().borrow().source() == TimestampSource::Hardware;
            hardware.then(|| {
                (
                    port.interface().description().hardware_clock,
                    port.interface().index(),
                )
            })
        };
        let is_same = move |port: &&Port<'_>| match (clock_of(reference), clock_of(port)) {
            (None, None) => true,
            (Some((Some(one), _)), Some((Some(other), _))) => one == other,
            (Some((_, one)), Some((_, other))) => one == other,
            _ => false,
        };
        self.ports.iter().filter(is_same)
    }

    /// Processes received messages and due timers, and selects the best timeTransmitter when due.
    /// Does not wait.
    pub fn serve(&mut self) {
        let now = self.now();
        let timeline = self.timeline();
        if let Some(steering) = &mut self.steering {
            steering.set_shift(timeline.shift_of(&timeline.reference));
        }
        for port in &mut self.ports {
            port.serve(&timeline, now);
        }
        self.compare(now);
        self.act(now);
        if now >= self.select_at {
            self.select(now);
            self.select_at = now + self.engine.selection_interval();
        } else if self.transmitter_is_silent(now) && self.hurried < HURRIES {
            self.hurried += 1;
            self.select(now);
        }
        if !self.transmitter_is_silent(now) {
            self.hurried = 0;
        }
    }

    /// Returns when to call [`serve`](Self::serve) again even if no message comes.
    pub fn next_at(&self) -> MonotonicTime {
        let now = self.now();
        let ports = self.ports.iter().map(|port| port.next_at(now));
        let steering = self
            .steering
            .as_ref()
            .map_or(MonotonicTime::MAX, Steering::next_at);
        let next = ports.fold(self.select_at.min(steering), MonotonicTime::min);
        match self.unsettled.iter().all(Unsettled::is_empty) {
            true => next,
            false => next.min(now + unsettled::LOOK),
        }
    }

    /// Returns the sockets, for programs with an event loop.
    pub fn sockets(&self) -> impl Iterator<Item = AnySocket<'_>> {
        self.ports.iter().flat_map(Port::sockets)
    }

    /// Waits until a message or timestamp comes, at most until `until`.
    ///
    /// # Errors
    /// `Io` if waiting fails.
    pub fn wait(&self, until: MonotonicTime) -> Result<()> {
        let sockets: Vec<_> = self.sockets().collect();
        if sockets.is_empty() {
            // every interface is gone
            self.ports[0].socket_for_time().sleep_until(until);
            return Ok(());
        }
        AnySocket::wait_any(&sockets, until)
    }

    /// Calls [`serve`](Self::serve) and then waits for the next event, at most 200 ms and at most
    /// until `until`. For loops that do other work in between.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn run(&mut self, until: MonotonicTime) -> Result<()> {
        self.serve();
        let nap = self.now() + LONGEST_NAP;
        self.wait(self.next_at().min(nap).min(until))
    }

    /// Reads the monotonic clock.
    pub fn now(&self) -> MonotonicTime {
        self.ports[0].now()
    }

    fn followed(&self) -> Option<&Port<'e>> {
        self.ports
            .iter()
            .find(|port| port.state() == PortState::TimeReceiver)
    }

    /// The time that messages carry now.
    fn timeline(&self) -> Timeline {
        const SECOND: i64 = 1_000_000_000;
        let chosen = &self.engine.configuration;
        let followed = self.followed();
        let reference = followed.unwrap_or(&self.ports[0]).clock();
        let (ptp_timescale, utc_offset) = match followed {
            Some(_) => self.engine.followed_time(),
            None => (self.transmits_ptp_time(), None),
        };
        let utc_offset = utc_offset.unwrap_or(chosen.utc_offset);
        Timeline {
            reference: Rc::clone(reference),
            utc_shift: if ptp_timescale {
                i64::from(utc_offset) * SECOND
            } else {
                0
            },
            taken_off: match followed {
                Some(_) if !self.judge.agreement().allows_following() => TakenOff::Unknown,
                Some(port) if chosen.clock == Clock::Measure => port
                    .estimator()
                    .latest()
                    .map_or(TakenOff::Unknown, TakenOff::Offset),
                _ => TakenOff::Nothing,
            },
        }
    }

    fn transmits_ptp_time(&self) -> bool {
        match self.engine.configuration.timescale {
            Timescale::Ptp => true,
            Timescale::Arbitrary => false,
            Timescale::Auto => self.ports[0].clock().borrow().source() == TimestampSource::Hardware,
        }
    }

    fn transmitter_is_silent(&self, now: MonotonicTime) -> bool {
        let chosen = &self.engine.configuration;
        let interval = self.engine.selection_interval().nanoseconds();
        let allowed = Span::from_nanoseconds(interval * i128::from(chosen.announce_timeout));
        self.followed()
            .is_some_and(|port| port.silent_for(now) > allowed)
    }

    fn select(&mut self, now: MonotonicTime) {
        let mut paused: Vec<_> = self.ports.iter_mut().filter_map(Port::pause).collect();
        self.engine
            .select(&mut paused.iter_mut().collect::<Vec<_>>());
        for (port, paused) in self.ports.iter_mut().zip(paused) {
            port.go_on(paused, now);
        }
        let own = self
            .followed()
            .is_none()
            .then(|| self.engine.own_time(self.transmits_ptp_time()));
        for port in &mut self.ports {
            port.announce_own_time(own);
        }
    }
}
