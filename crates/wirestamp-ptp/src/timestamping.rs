//! Which clock timestamps a port's messages, and turns its timestamps into nanoseconds with the
//! run of the clock that they belong to. Mixes no two clocks: a timestamp of the other one is none.

mod moved;

use crate::configuration::{self, Configuration};
use crate::lost::Lost;
pub(crate) use moved::Anchor;
use std::sync::Arc;
use wirestamp::interface::PtpVerdict;
use wirestamp::time::Frequency;
use wirestamp::timestamp::SoftwareTimestamp;
use wirestamp::{
    Bounded, Capabilities, CorrelatorOptions, Error, ErrorKind, HardwareClock, HardwareGuard,
    HardwareRequest, HostClock, HostTime, Interface, MonotonicTime, Result, Source, Span,
    TimestampPolicy, TimestampSource, Timestamps, UdpSocket,
};

/// The real-time clock may be slewed by this against the monotonic clock (Windows); more is a step.
pub(crate) const SLEW: f64 = 1e-3;
/// Readings of the two clocks are apart by less than this.
const JITTER: i64 = 1_000;
/// A NIC's clock moves in steps of up to this, whatever its frequency says.
const HARDWARE_STEP: i64 = 8;

/// The guards of so many failovers are held at most; of more, the oldest is dropped.
const MOST_GUARDS: usize = 64;

/// A timestamp in nanoseconds of the clock that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalTimestamp {
    pub(crate) at: i64,
    /// About the same instant on the monotonic clock,
    pub(crate) system: MonotonicTime,
    /// and as well as it is known; `None`: nobody knows how well.
    pub(crate) on_monotonic: Option<Bounded<MonotonicTime>>,
    /// Which run of the clock.
    pub(crate) generation: u32,
    /// What it was made from, if what is said of it is not final yet.
    pub(crate) made: Option<Made>,
}

/// A time that a NIC's timestamp was placed at while a change of the NIC's clock may still show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made(HostTime);

impl Made {
    fn of(time: HostTime) -> Option<Self> {
        (!time.is_final).then_some(Self(time))
    }

    /// When the timestamp was read.
    pub(crate) fn read_at(&self) -> MonotonicTime {
        let hardware = self.0.hardware_timestamp();
        hardware.map_or(MonotonicTime::MAX, |hardware| hardware.read_at)
    }
}

/// The clock that timestamps a port's messages.
#[derive(Debug)]
pub(crate) enum TimestampClock {
    System(SystemClock),
    Nic(Box<NicClock>),
}

/// The system's real-time clock.
#[derive(Debug, Default)]
pub(crate) struct SystemClock {
    generation: u32,
    /// UTC minus monotonic time, and when that was.
    distance: Option<(i64, MonotonicTime)>,
}

/// The NIC's clock.
#[derive(Debug)]
pub(crate) struct NicClock {
    relation: Relation,
    frequency: Frequency,
    generation: u32,
    /// Timestamping is on while these live: a guard for each NIC that was behind the interface, none if somebody else sees
    /// to that.
    guards: Vec<HardwareGuard>,
}

/// How the NIC's clock is related to the monotonic clock.
#[derive(Debug)]
enum Relation {
    /// It runs by itself. The reader is for what the correlator's readings of before cannot say.
    Correlated(HostClock, Box<HardwareClock>),
    /// We steer it, so it is read whenever its relation is wanted.
    Read(Box<HardwareClock>),
}

impl TimestampClock {
    /// Chooses by configuration, verdict, and whether the NIC's clock can be read. Says why it is the system's if nobody asked
    /// for that.
    pub(crate) fn choose(
        interface: &Interface,
        configuration: &Configuration,
    ) -> Result<(Self, Option<Error>)> {
        use configuration::Source as Wanted;
        let wanted = match configuration.clock {
            configuration::Clock::System => Wanted::Software,
            configuration::Clock::Nic => Wanted::Hardware,
            configuration::Clock::Measure => configuration.source,
        };
        if wanted == Wanted::Software {
            return Ok((Self::System(SystemClock::default()), None));
        }
        match NicClock::open(interface, configuration) {
            Ok(clock) => Ok((Self::Nic(Box::new(clock)), None)),
            Err(error) if wanted == Wanted::Hardware => Err(error),
            Err(error) => Ok((Self::System(SystemClock::default()), Some(error))),
        }
    }

    pub(crate) fn source(&self) -> TimestampSource {
        match self {
            Self::System(_) => TimestampSource::Software,
            Self::Nic(_) => TimestampSource::Hardware,
        }
    }

    /// What sockets are configured to.
    pub(crate) fn timestamps(&self) -> Source {
        match self {
            Self::System(_) => Source::Software,
            Self::Nic(_) => Source::Hardware,
        }
    }

    /// By how much a timestamp may be off, in nanoseconds.
    pub(crate) fn resolution(&self) -> i64 {
        match self {
            Self::System(_) => 1,
            Self::Nic(clock) => {
                let tick = 1_000_000_000_u64.div_ceil(clock.frequency.hertz());
                i64::try_from(tick).unwrap_or(i64::MAX).max(HARDWARE_STEP)
            }
        }
    }

    /// Turns the timestamps of a message into a time of this clock.
    pub(crate) fn read(
        &mut self,
        timestamps: &Timestamps,
        socket: &UdpSocket,
    ) -> Result<LocalTimestamp, Lost> {
        match self {
            Self::System(clock) => clock.read(timestamps, socket),
            Self::Nic(clock) => clock.read(timestamps),
        }
    }

    /// Returns whether what was said of a timestamp is right after all, once that is known. The error says why it is not.
    pub(crate) fn last_word(&self, made: &Made) -> Option<std::result::Result<(), Lost>> {
        let borne_out = self
            .host()
            .map_or(Some(true), |host| host.bears_out(&made.0))?;
        Some(match borne_out {
            true => Ok(()),
            false => Err(Lost::ClockGeneration),
        })
    }

    /// Makes that known, if the clock can be read.
    pub(crate) fn confirm(&self, made: &Made) {
        if let (Some(host), Some(hardware)) = (self.host(), made.0.hardware_timestamp()) {
            // one that can't be read confirms nothing
            let _ = host.confirm(&Timestamps::new(None, Some(*hardware)));
        }
    }

    fn host(&self) -> Option<&HostClock> {
        match self {
            Self::Nic(clock) => match &clock.relation {
                Relation::Correlated(host, _) => Some(host),
                Relation::Read(_) => None,
            },
            Self::System(_) => None,
        }
    }

    /// Where its reading `at`, of just now, lies on the monotonic clock, by a cross timestamp, and by
    /// how much that may be off. For a clock that is steered: no correlator follows it.
    pub(crate) fn look(&self, at: i64, most_drift: f64) -> Option<Bounded<MonotonicTime>> {
        let Self::Nic(clock) = self else {
            return None;
        };
        let Relation::Read(reader) = &clock.relation else {
            return None;
        };
        let reading = reader.cross_timestamp().ok()?;
        let (before, after) = (reading.monotonic_before(), reading.monotonic_after());
        let since = clock
            .nanoseconds(reading.hardware().raw())
            .saturating_sub(at);
        let half = (after - before).saturating_nanoseconds() / 2 + 1;
        let drift = (since.saturating_abs() as f64 * most_drift).ceil() as i64;
        Some(Bounded::new(
            before + Span::from_nanoseconds(i128::from(half - since)),
            Span::from_nanoseconds(half.saturating_add(drift).into()),
        ))
    }

    /// The NIC's clock minus UTC as the real-time clock shows it, in nanoseconds; `None`: not known, or it is the system's.
    pub(crate) fn minus_utc(&self, socket: &UdpSocket) -> Option<i64> {
        let Self::Nic(clock) = self else {
            return None;
        };
        let around = socket.utc_cross_timestamp();
        let (at, shown) = match &clock.relation {
            Relation::Correlated(..) => (around.before, self.at(around.before)?),
            Relation::Read(reader) => {
                let reading = reader.cross_timestamp().ok()?;
                let shown = clock.nanoseconds(reading.hardware().raw());
                (reading.monotonic_before(), shown)
            }
        };
        let since = (at - around.before).saturating_nanoseconds();
        let utc = around.utc.nanoseconds().saturating_add(since);
        Some(shown.saturating_sub(utc))
    }

    /// What this clock shows at an instant of the monotonic clock.
    pub(crate) fn at(&self, instant: MonotonicTime) -> Option<i64> {
        match self {
            Self::System(clock) => clock
                .distance
                .map(|(distance, _)| instant.nanoseconds().saturating_add(distance)),
            Self::Nic(clock) => {
                let Relation::Correlated(host, _) = &clock.relation else {
                    return None;
                };
                let estimate = host.correlator()?.to_hardware(instant).ok()?;
                Some(clock.nanoseconds(estimate.ticks.raw()))
            }
        }
    }

    /// The interface is back: what we had switched on is off now.
    pub(crate) fn came_back(&mut self, interface: &Interface) {
        let Self::Nic(clock) = self else {
            return;
        };
        clock.read_at(interface);
        if !clock.guards.is_empty() {
            // they would switch off what goes by the same name now
            clock.guards.drain(..).for_each(HardwareGuard::keep);
            let guard = interface.enable_hardware(HardwareRequest::Ptp);
            clock.guards.extend(guard);
        }
    }

    /// Another clock is behind the interface now; returns whether it timestamps. Hardware timestamping of its NIC is
    /// switched on as that of the former was, which stays on: that one may be used again.
    pub(crate) fn replaced(&mut self, interface: &Interface) -> bool {
        let Self::Nic(clock) = self else {
            return false;
        };
        if !clock.guards.is_empty() {
            let guard = interface.enable_hardware(HardwareRequest::Ptp);
            clock.guards.extend(guard);
            if clock.guards.len() > MOST_GUARDS {
                drop(clock.guards.remove(0));
            }
        }
        clock.read_at(interface);
        true
    }

    /// The clock may have been restarted, or was stepped: later timestamps are of another run.
    pub(crate) fn restarted(&mut self) {
        match self {
            Self::System(clock) => clock.generation += 1,
            Self::Nic(clock) => clock.generation += 1,
        }
    }
}

/// The NIC does not timestamp PTP: it could, or not.
fn no_hardware(interface: &Interface) -> Error {
    let supported = interface.supported();
    let could = supported.is_ok_and(|all| all.ptp_verdict() == PtpVerdict::Hardware);
    let (cause, remedy) = match could {
        true => (
            "the NIC does not timestamp PTP messages now",
            format!("switch it on: wirestamp enable {}", interface.name()),
        ),
        false => (
            "the NIC cannot timestamp PTP messages",
            "name an interface that can: see wirestamp capabilities".to_owned(),
        ),
    };
    let operation = "use hardware timestamps for PTP";
    Error::new(ErrorKind::NotSupported, operation, interface.name(), cause).with_remedy(remedy)
}

impl SystemClock {
    fn read(
        &mut self,
        timestamps: &Timestamps,
        socket: &UdpSocket,
    ) -> Result<LocalTimestamp, Lost> {
        let host = HostClock::software();
        let time = host
            .place(timestamps, TimestampPolicy::OnlySoftware)
            .map_err(|_| Lost::ReceiveTimestamp)?;
        let stepped = |timestamp: &SoftwareTimestamp| timestamp.clock_stepped;
        if time.software_timestamp().is_some_and(stepped) {
            return Err(Lost::ClockStepped);
        }
        let utc = host
            .utc(&time, || socket.utc_cross_timestamp())
            .map_err(|_| Lost::Unrelated)?;
        let (at, slack) = (
            utc.at.value.nanoseconds(),
            utc.at.bound.saturating_nanoseconds(),
        );
        let timestamp = time.monotonic;
        let distance = at.saturating_sub(timestamp.at.value.nanoseconds());
        if let Some((known, when)) = self.distance {
            let elapsed = (timestamp.at.value - when).abs().saturating_nanoseconds() as f64;
            let allowed = JITTER
                + slack
                + timestamp.at.bound.saturating_nanoseconds()
                + (elapsed * SLEW) as i64;
            if distance.abs_diff(known) > allowed.unsigned_abs() {
                self.generation += 1;
            }
        }
        self.distance = Some((distance, timestamp.at.value));
        Ok(LocalTimestamp {
            at,
            system: timestamp.at.value,
            on_monotonic: Some(timestamp.at),
            generation: self.generation,
            made: None,
        })
    }
}

impl NicClock {
    fn open(interface: &Interface, configuration: &Configuration) -> Result<Self> {
        let guard = configuration
            .enable_hardware
            .then(|| interface.enable_hardware(HardwareRequest::Ptp))
            .transpose()?;
        let active: Capabilities = interface.active()?;
        if active.ptp_verdict() != PtpVerdict::Hardware {
            return Err(no_hardware(interface));
        }
        // a clock that we steer has no constant relation to the monotonic clock
        let steered = configuration.clock == configuration::Clock::Nic;
        let options = CorrelatorOptions {
            period: std::time::Duration::from_secs(1),
            ..CorrelatorOptions::default()
        };
        let reader = Box::new(interface.hardware_clock()?);
        let relation = if steered {
            Relation::Read(reader)
        } else {
            let correlator = Arc::new(interface.correlator(options)?);
            Relation::Correlated(HostClock::hardware(correlator), reader)
        };
        let frequency = active.nominal_frequency.unwrap_or(Frequency::GIGAHERTZ);
        Ok(Self {
            relation,
            frequency,
            generation: 0,
            guards: Vec::from_iter(guard),
        })
    }

    /// Reads the clock that is behind the interface now.
    fn read_at(&mut self, interface: &Interface) {
        let (Relation::Read(reader) | Relation::Correlated(_, reader)) = &mut self.relation;
        if let Ok(other) = interface.hardware_clock() {
            **reader = other;
        }
    }

    fn read(&self, timestamps: &Timestamps) -> Result<LocalTimestamp, Lost> {
        let timestamp = timestamps.hardware.ok_or(Lost::ReceiveTimestamp)?;
        let at = self.nanoseconds(timestamp.ticks.raw());
        let Relation::Correlated(host, _) = &self.relation else {
            return Ok(LocalTimestamp {
                at,
                system: timestamp.read_at,
                on_monotonic: None,
                generation: self.generation,
                made: None,
            });
        };
        let time = host
            .place(timestamps, TimestampPolicy::OnlyHardware)
            .map_err(|_| Lost::Unrelated)?;
        let placed = time.monotonic;
        Ok(LocalTimestamp {
            at,
            system: placed.at.value,
            on_monotonic: Some(placed.at),
            generation: placed.generation.0 + self.generation,
            made: Made::of(time),
        })
    }

    fn nanoseconds(&self, ticks: u64) -> i64 {
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(self.frequency.hertz());
        i64::try_from(nanoseconds).unwrap_or(i64::MAX)
    }
}
