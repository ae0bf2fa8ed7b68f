//! Owns which clock stamps a port's messages, and turns its stamps into nanoseconds with the
//! run of the clock that they belong to. Mixes no two clocks: a stamp of the other one is none.

use crate::configuration::{self, Configuration};
use crate::lost::Lost;
use wirestamp::{
    Capabilities, Correlator, CorrelatorOptions, Error, ErrorKind, Frequency, HardwareClock,
    HardwareGuard, HardwareRequest, Interface, PtpVerdict, Result, SoftwareStamp, Source, Span,
    StampSource, Stamps, SystemTime, UdpSocket,
};

/// The civil clock may be slewed by this against the steady one (Windows); more is a step.
pub(crate) const SLEW: f64 = 1e-3;
/// Readings of the two clocks are apart by less than this.
const JITTER: i64 = 1_000;
/// An adapter's clock moves in steps of up to this, whatever its frequency says.
const HARDWARE_STEP: i64 = 8;

/// A stamp in nanoseconds of the clock that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalStamp {
    pub(crate) at: i64,
    /// The same instant on the steady clock, as well as it is known.
    pub(crate) system: SystemTime,
    /// By how much that may be off, in nanoseconds; `None`: by we don't know how much.
    pub(crate) system_bound: Option<i64>,
    /// Which run of the clock.
    pub(crate) epoch: u32,
}

/// The clock that stamps a port's messages.
#[derive(Debug)]
pub(crate) enum StampClock {
    System(SystemClock),
    Adapter(Box<AdapterClock>),
}

/// The system's civil clock.
#[derive(Debug, Default)]
pub(crate) struct SystemClock {
    epoch: u32,
    /// Civil minus steady, and when that was.
    distance: Option<(i64, SystemTime)>,
}

/// The adapter's clock.
#[derive(Debug)]
pub(crate) struct AdapterClock {
    relation: Relation,
    frequency: Frequency,
    epoch: u32,
    /// Stamping is on while this lives; `None` if somebody else sees to that.
    guard: Option<HardwareGuard>,
}

/// How the adapter's clock is related to the steady one.
#[derive(Debug)]
enum Relation {
    /// It runs by itself.
    Correlated(Correlator),
    /// We steer it, so it is read whenever its relation is wanted.
    Read(HardwareClock),
}

impl StampClock {
    /// Chooses by configuration, verdict, and whether the adapter's clock can be read.
    pub(crate) fn choose(interface: &Interface, configuration: &Configuration) -> Result<Self> {
        use configuration::Source as Wanted;
        let wanted = match configuration.clock {
            configuration::Clock::System => Wanted::Software,
            configuration::Clock::Adapter => Wanted::Hardware,
            configuration::Clock::Measure => configuration.source,
        };
        if wanted == Wanted::Software {
            return Ok(Self::System(SystemClock::default()));
        }
        match AdapterClock::open(interface, configuration) {
            Ok(clock) => Ok(Self::Adapter(Box::new(clock))),
            Err(error) if wanted == Wanted::Hardware => Err(error),
            Err(_) => Ok(Self::System(SystemClock::default())),
        }
    }

    pub(crate) fn source(&self) -> StampSource {
        match self {
            Self::System(_) => StampSource::Software,
            Self::Adapter(_) => StampSource::Hardware,
        }
    }

    /// What sockets are configured to.
    pub(crate) fn stamps(&self) -> Source {
        match self {
            Self::System(_) => Source::Software,
            Self::Adapter(_) => Source::Hardware,
        }
    }

    /// By how much a stamp may be off, in nanoseconds.
    pub(crate) fn resolution(&self) -> i64 {
        match self {
            Self::System(_) => 1,
            Self::Adapter(clock) => {
                let tick = 1_000_000_000_u64.div_ceil(clock.frequency.hertz());
                i64::try_from(tick).unwrap_or(i64::MAX).max(HARDWARE_STEP)
            }
        }
    }

    /// Turns the stamps of a message into a time of this clock.
    pub(crate) fn read(&mut self, stamps: &Stamps, socket: &UdpSocket) -> Result<LocalStamp, Lost> {
        match self {
            Self::System(clock) => clock.read(stamps.software.ok_or(Lost::ReceiveStamp)?, socket),
            Self::Adapter(clock) => clock.read(stamps),
        }
    }

    /// Where its reading `at`, of just now, lies on the steady clock, by a cross timestamp, and by
    /// how much that may be off. For a clock that is steered: no correlator follows it.
    pub(crate) fn look(&self, at: i64, most_drift: f64) -> Option<(SystemTime, i64)> {
        let Self::Adapter(clock) = self else {
            return None;
        };
        let Relation::Read(reader) = &clock.relation else {
            return None;
        };
        let reading = reader.cross_timestamp().ok()?;
        let (before, after) = (reading.system_before(), reading.system_after());
        let since = clock
            .nanoseconds(reading.hardware().raw())
            .saturating_sub(at);
        let half = (after - before).saturating_nanoseconds() / 2 + 1;
        let drift = (since.saturating_abs() as f64 * most_drift).ceil() as i64;
        Some((
            before + Span::from_nanoseconds(i128::from(half - since)),
            half.saturating_add(drift),
        ))
    }

    /// What this clock shows at an instant of the steady clock.
    pub(crate) fn at(&self, instant: SystemTime) -> Option<i64> {
        match self {
            Self::System(clock) => clock
                .distance
                .map(|(distance, _)| instant.nanoseconds().saturating_add(distance)),
            Self::Adapter(clock) => {
                let Relation::Correlated(correlator) = &clock.relation else {
                    return None;
                };
                let estimate = correlator.to_hardware(instant).ok()?;
                Some(clock.nanoseconds(estimate.ticks.raw()))
            }
        }
    }

    /// The interface is back: what we had switched on is off now.
    pub(crate) fn came_back(&mut self, interface: &Interface) {
        if let Self::Adapter(clock) = self
            && let Some(old) = clock.guard.take()
        {
            // it would switch off what goes by the same name now
            old.keep();
            clock.guard = interface.enable_hardware(HardwareRequest::Ptp).ok();
        }
    }

    /// The clock may have been restarted, or was stepped: later stamps are of another run.
    pub(crate) fn restarted(&mut self) {
        match self {
            Self::System(clock) => clock.epoch += 1,
            Self::Adapter(clock) => clock.epoch += 1,
        }
    }
}

impl SystemClock {
    fn read(&mut self, stamp: SoftwareStamp, socket: &UdpSocket) -> Result<LocalStamp, Lost> {
        if stamp.clock_stepped {
            return Err(Lost::ClockStepped);
        }
        let (at, slack) = match stamp.wall {
            Some(wall) => (wall.nanoseconds(), 0),
            None => {
                // the stamp is on the steady clock: placed by a reading of both just now
                let reading = socket.wall();
                let width = (reading.after - reading.before).saturating_nanoseconds();
                let middle = reading.before + Span::from_nanoseconds(i128::from(width / 2));
                let distance = reading
                    .wall
                    .nanoseconds()
                    .saturating_sub(middle.nanoseconds());
                (stamp.at.nanoseconds().saturating_add(distance), width)
            }
        };
        let distance = at.saturating_sub(stamp.at.nanoseconds());
        if let Some((known, when)) = self.distance {
            let elapsed = (stamp.at - when).abs().saturating_nanoseconds() as f64;
            let allowed =
                JITTER + slack + stamp.bound.saturating_nanoseconds() + (elapsed * SLEW) as i64;
            if distance.abs_diff(known) > allowed.unsigned_abs() {
                self.epoch += 1;
            }
        }
        self.distance = Some((distance, stamp.at));
        let system_bound = Some(stamp.bound.saturating_nanoseconds());
        Ok(LocalStamp {
            at,
            system: stamp.at,
            system_bound,
            epoch: self.epoch,
        })
    }
}

impl AdapterClock {
    fn open(interface: &Interface, configuration: &Configuration) -> Result<Self> {
        const OPERATION: &str = "use hardware stamps for PTP";
        let guard = configuration
            .enable_hardware
            .then(|| interface.enable_hardware(HardwareRequest::Ptp))
            .transpose()?;
        let active: Capabilities = interface.active()?;
        if active.ptp_verdict() != PtpVerdict::Hardware {
            let cause = "the adapter does not stamp PTP messages now";
            let remedy = format!("switch it on: wirestamp enable {}", interface.name());
            return Err(
                Error::new(ErrorKind::NotSupported, OPERATION, interface.name(), cause)
                    .with_remedy(remedy),
            );
        }
        // a clock that we steer has no steady relation to the system clock
        let steered = configuration.clock == configuration::Clock::Adapter;
        let options = CorrelatorOptions {
            period: std::time::Duration::from_secs(1),
            ..CorrelatorOptions::default()
        };
        let relation = if steered {
            Relation::Read(interface.hardware_clock()?)
        } else {
            Relation::Correlated(interface.correlator(options)?)
        };
        let frequency = active.nominal_frequency.unwrap_or(Frequency::GIGAHERTZ);
        Ok(Self {
            relation,
            frequency,
            epoch: 0,
            guard,
        })
    }

    fn read(&self, stamps: &Stamps) -> Result<LocalStamp, Lost> {
        let stamp = stamps.hardware.ok_or(Lost::ReceiveStamp)?;
        let at = self.nanoseconds(stamp.ticks.raw());
        let Relation::Correlated(correlator) = &self.relation else {
            return Ok(LocalStamp {
                at,
                system: stamp.read_at,
                system_bound: None,
                epoch: self.epoch,
            });
        };
        let placed = correlator.to_system(&stamp).map_err(|_| Lost::Unrelated)?;
        let system_bound = Some(placed.bound.saturating_nanoseconds());
        Ok(LocalStamp {
            at,
            system: placed.at,
            system_bound,
            epoch: placed.epoch.0 + self.epoch,
        })
    }

    fn nanoseconds(&self, ticks: u64) -> i64 {
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(self.frequency.hertz());
        i64::try_from(nanoseconds).unwrap_or(i64::MAX)
    }
}
