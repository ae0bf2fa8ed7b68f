//! A running PTP clock: its ports, the selection of the best timeTransmitter, whose time
//! its messages carry, and its samples. Waits only where it is asked to.

use crate::configuration::{Clock, Configuration, Timescale};
use crate::engine::{Engine, PortState};
use crate::lost::Counts;
use crate::message::PortIdentity;
use crate::port::{Heard, OnSystem, Port};
use crate::report::{Held, PortStatus, Sample, SourceStatus, Status};
use crate::sockets;
use crate::steering::{Leap, RefusedOffset, SteeredClock, Steering};
use crate::timeline::{TakenOff, Timeline};
use crate::timestamping::SLEW;
use crate::trust::{Agreement, Judge, Measured};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use wirestamp::{
    Error, ErrorKind, Interface, MonotonicTime, Result, Span, TimestampSource, UdpSocket,
    UtcCrossTimestamp, UtcTime,
};
use wirestamp_offset::{Estimate, SharedCommands};

/// A PTP clock with one port an interface. Does nothing by itself: call
/// [`serve`](Self::serve) whenever something has come or time has passed, or [`run`](Self::run).
pub struct Node<'e> {
    engine: &'e Engine,
    ports: Vec<Port<'e>>,
    select_at: MonotonicTime,
    /// Additional selections since the timeTransmitter fell silent.
    hurried: u32,
    /// What we commanded of the clock that timestamps, for all estimates.
    commands: SharedCommands,
    steering: Option<Steering>,
    steering_error: Option<Error>,
    judge: Judge,
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("ports", &self.ports.len())
            .finish_non_exhaustive()
    }
}

/// So often the engine is asked again before its time once a timeTransmitter is silent for too long.
const HURRIES: u32 = 2;
/// Nothing lasts longer than this without a look.
const LONGEST_NAP: Span = Span::from_milliseconds(200);

/// A clock identity for an interface: from its hardware address where the system shows it, else
/// one of its own that stays the same (IEEE 1588-2008, 7.5.2.2).
pub fn identity_of(interface: &Interface) -> [u8; 8] {
    for address in &interface.description().addresses {
        if let std::net::IpAddr::V6(v6) = address.address {
            let octets = v6.octets();
            let from_hardware = octets[..2] == [0xfe, 0x80] && octets[11..13] == [0xff, 0xfe];
            if let (true, Ok(mut identity)) = (from_hardware, <[u8; 8]>::try_from(&octets[8..])) {
                identity[0] ^= 0x02; // EUI-64 as IPv6 modifies it
                return identity;
            }
        }
    }
    // FNV-1a over what tells this interface from others
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let addresses = interface
        .description()
        .addresses
        .iter()
        .map(|address| address.address.to_string());
    for byte in std::iter::once(interface.name().to_owned())
        .chain(addresses)
        .flat_map(String::into_bytes)
    {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut identity = hash.to_be_bytes();
    identity[0] = identity[0] & 0xfc | 0x02; // locally administered
    identity
}

/// Checks that a clock of this configuration can be started and steered, as far as another program could
/// be in the way. [`Node::start`] and [`Node::steer`] ask the same; but who has a port or steers a
/// clock is seen only by a program that may look at others, so one that gives up privileges asks before.
///
/// # Errors
/// Those of [`Node::start`] and [`Node::steer`].
pub fn check_free(configuration: &Configuration, interfaces: &[Interface]) -> Result<()> {
    configuration.check()?;
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
    /// `Busy` if a port is taken, naming by whom; `NotPermitted` without the privilege for ports
    /// 319 and 320; `NotSupported` if hardware timestamps were asked for and there are none.
    pub fn start(engine: &'e Engine, interfaces: &[Interface]) -> Result<Self> {
        Self::start_seeded(engine, interfaces, RandomState::new().hash_one(0))
    }

    /// Like [`start`](Self::start); `seed` decides when the engine's random timers go off.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_seeded(engine: &'e Engine, interfaces: &[Interface], seed: u64) -> Result<Self> {
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
        Ok(Self {
            engine,
            ports,
            select_at,
            hurried: 0,
            commands,
            steering: None,
            steering_error: None,
            judge,
        })
    }

    /// Starts to steer the clock that the configuration names; does nothing if it names none.
    ///
    /// # Errors
    /// `Busy` if another program that steers it runs, as far as that can be seen;
    /// `NotPermitted` without the privilege (Linux: `CAP_SYS_TIME`, or write access to the
    /// NIC's clock); `NotSupported` where no clock can be steered, or if the ports have
    /// NICs' clocks of their own: only one could follow.
    pub fn steer(&mut self) -> Result<()> {
        let clock_of = |port: &Port<'_>| port.interface().description().hardware_clock;
        let chosen = self.engine.configuration.clock;
        if chosen == Clock::Nic
            && self
                .ports
                .iter()
                .any(|port| clock_of(port) != clock_of(&self.ports[0]))
        {
            let cause = "its ports are on NICs with clocks of their own";
            return Err(Error::new(
                ErrorKind::NotSupported,
                "steer the NIC's clock",
                "a boundary clock",
                cause,
            )
            .with_remedy("name one interface, or steer the system clock"));
        }
        let steering = Steering::open(
            self.ports[0].interface(),
            &self.engine.configuration,
            &self.commands,
        )?;
        self.begin_steering(steering);
        Ok(())
    }

    /// Starts to steer a clock of the caller's: the one that timestamps the messages of the port that
    /// follows a timeTransmitter.
    ///
    /// # Errors
    /// Those of the clock.
    pub fn steer_with(&mut self, clock: Box<dyn SteeredClock>) -> Result<()> {
        let steering = Steering::new(clock, &self.engine.configuration, &self.commands)?;
        self.begin_steering(Some(steering));
        Ok(())
    }

    fn begin_steering(&mut self, steering: Option<Steering>) {
        if let Some(steering) = &steering {
            let drift =
                steering.possible_drift(f64::from(self.engine.configuration.max_drift_ppm) * 1e-6);
            self.ports
                .iter_mut()
                .for_each(|port| port.assume_drift(drift));
        }
        self.steering = steering;
    }

    /// Ends steering: what remains in force is the frequency that was learnt. Dropping the node does the same,
    /// also while a panic unwinds, but can't say that it failed.
    ///
    /// # Errors
    /// Those of the clock.
    pub fn end_steering(&mut self) -> Result<()> {
        self.steering.as_mut().map_or(Ok(()), Steering::end)
    }

    /// Returns the error of the last attempt to move the clock, if it failed.
    pub fn steering_error(&self) -> Option<&Error> {
        self.steering_error.as_ref()
    }

    /// The offset that is not followed because it is beyond the configured limits, if there is one.
    pub fn refused_offset(&self) -> Option<RefusedOffset> {
        self.steering.as_ref().and_then(Steering::refused)
    }

    fn act(&mut self, now: MonotonicTime) {
        let Some(steering) = &mut self.steering else {
            return;
        };
        let follows = self.judge.agreement().allows_following();
        let followed = self
            .ports
            .iter()
            .find(|port| follows && port.state() == PortState::TimeReceiver);
        steering.set_leap(if followed.is_some() {
            self.engine.followed_leap()
        } else {
            Leap::None
        });
        let acted = steering.act(followed.map(Port::estimator), now);
        if acted.restarted {
            steering.restart_history();
            self.ports.iter_mut().for_each(Port::restarted);
        }
        if let Some(result) = acted.result {
            self.steering_error = result.err();
        }
    }

    /// Returns whether the configured sources agree.
    pub fn agreement(&self) -> Agreement {
        self.judge.agreement()
    }

    /// Holds the sources against each other at one time of the clock that timestamps. Ports whose
    /// clocks are other ones than that of the followed port can't be compared with it.
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

    /// The ports that are timestamped by the same clock as the followed one.
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

    /// Does all that can be done now: takes what has come, lets timers go off, selects the
    /// best timeTransmitter when it is time. Does not wait.
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

    /// When [`serve`](Self::serve) has something to do even if nothing comes.
    pub fn next_at(&self) -> MonotonicTime {
        let now = self.now();
        let ports = self.ports.iter().map(|port| port.next_at(now));
        let steering = self
            .steering
            .as_ref()
            .map_or(MonotonicTime::MAX, Steering::next_at);
        ports.fold(self.select_at.min(steering), MonotonicTime::min)
    }

    /// Its sockets, for who waits for more than one clock.
    pub fn sockets(&self) -> impl Iterator<Item = &UdpSocket> {
        self.ports.iter().flat_map(Port::sockets)
    }

    /// Waits until something comes, or until `until`.
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
        UdpSocket::wait_any(&sockets, until)
    }

    /// Serves once, and then waits for the next thing to do, at most 200 ms and at most until
    /// `until`. For loops that look at something else in between.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn run(&mut self, until: MonotonicTime) -> Result<()> {
        self.serve();
        let nap = self.now() + LONGEST_NAP;
        self.wait(self.next_at().min(nap).min(until))
    }

    /// Takes the samples of the Syncs since the last call, oldest first.
    pub fn samples(&mut self) -> Vec<Sample> {
        let transmitter = self.engine.parent();
        let counts = self.counts();
        let reading = self.ports[0].socket_for_time().utc_cross_timestamp();
        let utc_shift = self.timeline().utc_shift;
        let mut samples = Vec::new();
        for (number, port) in (1..).zip(&mut self.ports) {
            while let Some((estimate, on_monotonic)) = port.next_estimate() {
                let system = match port.clock().borrow().source() {
                    TimestampSource::Software => Some((estimate.offset, estimate.bound)),
                    TimestampSource::Hardware => {
                        on_monotonic.map(|at| system_offset(&estimate, at, &reading, utc_shift))
                    }
                };
                samples.push(Sample {
                    time: reading.utc,
                    interface: port.interface().name().to_owned(),
                    port: number,
                    state: port.state(),
                    local_ns: estimate.at,
                    offset_ns: estimate.offset,
                    error_bound_ns: estimate.bound,
                    system_offset_ns: system.map(|(offset, _)| offset),
                    system_error_bound_ns: system.map(|(_, bound)| bound),
                    mean_path_delay_ns: estimate.mean_path_delay,
                    frequency_ppb: estimate.rate.map(|rate| rate * 1e9),
                    source: port.clock().borrow().source(),
                    time_transmitter: transmitter,
                    counts: counts.clone(),
                });
            }
        }
        samples
    }

    /// Returns the present state.
    pub fn status(&self) -> Status {
        let following = self.followed().is_some();
        let port = |(number, port): (u16, &Port<'_>)| PortStatus {
            interface: port.interface().name().to_owned(),
            port: number,
            state: port.state(),
            source: port.clock().borrow().source(),
            estimate: self.held(port),
            counts: port.counts().clone(),
        };
        Status {
            time: self.utc(),
            identity: PortIdentity {
                clock: self.engine.identity,
                port: 0,
            },
            time_transmitter: following.then(|| self.engine.parent()),
            grandmaster: PortIdentity {
                clock: self.engine.grandmaster(),
                port: 0,
            },
            steps_removed: self.engine.steps_removed(),
            ports: (1..).zip(&self.ports).map(port).collect(),
            agreement: self.agreement(),
            sources: self.sources(),
        }
    }

    /// The offset of each source that is compared.
    fn sources(&self) -> Vec<SourceStatus> {
        let now = self.now();
        let of_port = |(number, port): (u16, &'_ Port<'e>)| {
            let told = port
                .sources(now)
                .filter_map(|source| source.estimator.latest().map(|latest| (source, latest)));
            let told = told.map(|(source, latest)| SourceStatus {
                identity: source.identity,
                domain: source.domain,
                port: number,
                offset_ns: latest.offset,
                error_bound_ns: latest.bound,
            });
            told.collect::<Vec<_>>()
        };
        (1..).zip(&self.ports).flat_map(of_port).collect()
    }

    /// Returns counts of what was lost and ignored, on all ports.
    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for port in &self.ports {
            all.add(port.counts());
        }
        all
    }

    /// The monotonic clock.
    pub fn now(&self) -> MonotonicTime {
        self.ports[0].now()
    }

    fn utc(&self) -> UtcTime {
        self.ports[0].socket_for_time().utc_cross_timestamp().utc
    }

    fn held(&self, port: &Port<'_>) -> Option<Held> {
        let (estimate, age_ns, holdover) = port.held(self.now())?;
        Some(Held {
            offset_ns: estimate.offset,
            error_bound_ns: estimate.bound,
            mean_path_delay_ns: estimate.mean_path_delay,
            frequency_ppb: estimate.rate.map(|rate| rate * 1e9),
            age_ns,
            holdover,
        })
    }

    fn followed(&self) -> Option<&Port<'e>> {
        self.ports
            .iter()
            .find(|port| port.state() == PortState::TimeReceiver)
    }

    /// Whose time messages carry now.
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

/// The system's real-time clock minus the timeTransmitter's UTC, and its bound: the estimate carried over
/// by where its instant lies on the monotonic clock, and that by a reading of the real-time clock.
fn system_offset(
    estimate: &Estimate,
    at: OnSystem,
    reading: &UtcCrossTimestamp,
    utc_shift: i64,
) -> (i64, i64) {
    let (instant, placed) = at;
    let half = (reading.after - reading.before).saturating_nanoseconds() / 2 + 1;
    let since = (reading.before - instant)
        .saturating_nanoseconds()
        .saturating_add(half);
    let slewed = (since.saturating_abs() as f64 * SLEW).ceil() as i64;
    let utc = reading.utc.nanoseconds().saturating_sub(since);
    let transmitter = estimate
        .at
        .saturating_sub(estimate.offset)
        .saturating_sub(utc_shift);
    (
        utc.saturating_sub(transmitter),
        estimate
            .bound
            .saturating_add(placed)
            .saturating_add(half)
            .saturating_add(slewed),
    )
}
