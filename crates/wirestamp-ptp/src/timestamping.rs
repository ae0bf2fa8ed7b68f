//! The clock that timestamps a port's messages, and the conversion of its timestamps to nanoseconds
//! with their clock generation. Timestamps of other clocks are not used.

mod moved;

use crate::configuration::{self, Configuration, Transport};
use crate::lost::Lost;
use crate::sockets::PortSocket;
pub(crate) use moved::Anchor;
use std::sync::Arc;
use wirestamp::interface::{Direction, PtpVerdict, ReceiveFilter};
use wirestamp::time::Frequency;
use wirestamp::timestamp::SoftwareTimestamp;
use wirestamp::{
    Bounded, Capabilities, CorrelatorOptions, Error, ErrorKind, HardwareClock, HardwareGuard,
    HardwareRequest, HostClock, HostTime, Interface, MonotonicTime, Result, Source, Span,
    TimestampPolicy, TimestampSource, Timestamps, UtcTime,
};

/// The largest slew of a clock in its readings; more is a step.
const SLEW: f64 = 1e-3;
/// The largest time between readings of the two clocks, in nanoseconds.
const JITTER: i64 = 1_000;
/// The largest step of a NIC's clock in nanoseconds, whatever its nominal frequency.
const HARDWARE_STEP: i64 = 8;

/// The most guards, one per failover; beyond that the oldest is dropped.
const MOST_GUARDS: usize = 64;

/// A timestamp in nanoseconds of the clock that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalTimestamp {
    pub(crate) at: i64,
    /// The largest error of `at` beyond the clock's resolution: Windows' timestamps are converted
    /// to the real-time clock.
    pub(crate) unsure: i64,
    /// The approximate time on the monotonic clock,
    pub(crate) system: MonotonicTime,
    /// and the same with an error bound; `None` if that is unknown.
    pub(crate) on_monotonic: Option<Bounded<MonotonicTime>>,
    /// The clock generation.
    pub(crate) generation: u32,
    /// The converted NIC timestamp, if it is still provisional.
    pub(crate) made: Option<Made>,
}

/// A provisional conversion of a NIC's timestamp, which a change of the NIC's clock may still
/// invalidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made(HostTime);

impl Made {
    fn of(time: HostTime) -> Option<Self> {
        (!time.is_final).then_some(Self(time))
    }

    /// The time at which the timestamp was read.
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
    /// The last timestamp on both clocks.
    last: Option<(Bounded<UtcTime>, Bounded<MonotonicTime>)>,
}

/// The NIC's clock.
#[derive(Debug)]
pub(crate) struct NicClock {
    relation: Relation,
    frequency: Frequency,
    generation: u32,
    /// The guards that keep hardware timestamping on, one for each NIC that served the interface;
    /// none if another program keeps it on.
    guards: Vec<HardwareGuard>,
    /// What they request.
    request: HardwareRequest,
}

/// The relation of the NIC's clock to the monotonic clock.
#[derive(Debug)]
enum Relation {
    /// The clock is not steered, so a correlator converts its timestamps. The open clock is for
    /// readings that the correlator cannot replace.
    Correlated(HostClock, Box<HardwareClock>),
    /// The clock is steered, so it is read whenever its relation is needed.
    Read(Box<HardwareClock>),
}

impl TimestampClock {
    /// Selects the clock by the configuration, the PTP verdict, and whether the NIC's clock can be
    /// read. If it is the system's without being requested, also returns the reason.
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

    /// Returns the source of timestamps to configure sockets with.
    pub(crate) fn timestamps(&self) -> Source {
        match self {
            Self::System(_) => Source::Software,
            Self::Nic(_) => Source::Hardware,
        }
    }

    /// Returns the largest error of a timestamp in nanoseconds.
    pub(crate) fn resolution(&self) -> i64 {
        match self {
            Self::System(_) => 1,
            Self::Nic(clock) => {
                let tick = 1_000_000_000_u64.div_ceil(clock.frequency.hertz());
                i64::try_from(tick).unwrap_or(i64::MAX).max(HARDWARE_STEP)
            }
        }
    }

    /// Converts the timestamps of a message to a time of this clock.
    pub(crate) fn read(
        &mut self,
        timestamps: &Timestamps,
        socket: &PortSocket,
    ) -> Result<LocalTimestamp, Lost> {
        match self {
            Self::System(clock) => clock.read(timestamps, socket),
            Self::Nic(clock) => clock.read(timestamps),
        }
    }

    /// Returns whether a provisional conversion is confirmed, once that is known, or the reason why
    /// it is not.
    pub(crate) fn last_word(&self, made: &Made) -> Option<std::result::Result<(), Lost>> {
        let borne_out = self
            .host()
            .map_or(Some(true), |host| host.bears_out(&made.0))?;
        Some(match borne_out {
            true => Ok(()),
            false => Err(Lost::ClockGeneration),
        })
    }

    /// Reads the clock, if possible, to make the conversion final.
    pub(crate) fn confirm(&self, made: &Made) {
        if let (Some(host), Some(hardware)) = (self.host(), made.0.hardware_timestamp()) {
            // if the clock cannot be read, nothing is confirmed
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

    /// Converts the recent time `at` to the monotonic clock with a new cross timestamp. For a
    /// steered clock, which has no correlator.
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

    /// Returns the NIC's clock minus UTC by the real-time clock, in nanoseconds; `None` if unknown,
    /// or if this is the system's clock.
    pub(crate) fn minus_utc(&self, socket: &PortSocket) -> Option<i64> {
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

    /// Returns this clock's time at an instant of the monotonic clock.
    pub(crate) fn at(&self, instant: MonotonicTime) -> Option<i64> {
        match self {
            Self::System(clock) => clock.last.map(|(utc, at)| {
                let since = (instant - at.value).saturating_nanoseconds();
                utc.value.nanoseconds().saturating_add(since)
            }),
            Self::Nic(clock) => {
                let Relation::Correlated(host, _) = &clock.relation else {
                    return None;
                };
                let estimate = host.correlator()?.to_hardware(instant).ok()?;
                Some(clock.nanoseconds(estimate.ticks.raw()))
            }
        }
    }

    /// Switches timestamping on again after the interface came back.
    pub(crate) fn came_back(&mut self, interface: &Interface) {
        let Self::Nic(clock) = self else {
            return;
        };
        clock.read_at(interface);
        if !clock.guards.is_empty() {
            // dropping them would switch off the new interface of the same name
            clock.guards.drain(..).for_each(HardwareGuard::keep);
            let guard = interface.enable_hardware(clock.request);
            clock.guards.extend(guard);
        }
    }

    /// Switches to another clock of the interface, and returns whether it timestamps. Switches
    /// hardware timestamping on at its NIC, and leaves it on at the former one, which may be used
    /// again.
    pub(crate) fn replaced(&mut self, interface: &Interface) -> bool {
        let Self::Nic(clock) = self else {
            return false;
        };
        if !clock.guards.is_empty() {
            let guard = interface.enable_hardware(clock.request);
            clock.guards.extend(guard);
            if clock.guards.len() > MOST_GUARDS {
                drop(clock.guards.remove(0));
            }
        }
        clock.read_at(interface);
        true
    }

    /// Begins a new clock generation, after a step or a possible restart of the clock.
    pub(crate) fn restarted(&mut self) {
        match self {
            Self::System(clock) => clock.generation += 1,
            Self::Nic(clock) => clock.generation += 1,
        }
    }
}

/// Returns the error for a NIC that does not timestamp PTP now, whether it could or not.
fn no_hardware(interface: &Interface, transport: Transport) -> Error {
    let supported = interface.supported();
    let could = supported.is_ok_and(|all| could_timestamp(&all, transport));
    let (cause, remedy) = match (could, transport) {
        (true, Transport::Ethernet) => (
            "the NIC does not timestamp PTP messages over Ethernet now",
            "switch it on: enable_hardware (--enable-hardware)".to_owned(),
        ),
        (true, _) => (
            "the NIC does not timestamp PTP messages now",
            format!("switch it on: wirestamp enable {}", interface.name()),
        ),
        (false, _) => (
            "the NIC cannot timestamp PTP messages",
            "name an interface that can: see wirestamp capabilities".to_owned(),
        ),
    };
    let operation = "use hardware timestamps for PTP";
    Error::new(ErrorKind::NotSupported, operation, interface.name(), cause).with_remedy(remedy)
}

fn could_timestamp(supported: &Capabilities, transport: Transport) -> bool {
    if transport != Transport::Ethernet {
        return supported.ptp_verdict() == PtpVerdict::Hardware;
    }
    let filters = supported
        .kernel_masks
        .map_or(0, |masks| masks.receive_filters);
    let mut known = ReceiveFilter::ALL.iter().enumerate();
    supported
        .hardware
        .timestamps_any_datagram(Direction::Transmit)
        && known.any(|(number, filter)| {
            filters & 1 << number != 0 && filter.covers(ReceiveFilter::PtpV2Ethernet)
        })
}

/// Whether the NIC timestamps the event messages of this transport now, in both directions.
/// `is_on`: this program has switched it on.
fn timestamps(
    interface: &Interface,
    active: &Capabilities,
    transport: Transport,
    is_on: bool,
) -> Result<bool> {
    if transport != Transport::Ethernet {
        return Ok(active.ptp_verdict() == PtpVerdict::Hardware);
    }
    let set = interface.configuration()?;
    // "some" are those that were requested and perhaps others: only who requested them knows which
    let receives = match set.receive {
        ReceiveFilter::Some => is_on,
        filter => filter.covers(ReceiveFilter::PtpV2Ethernet),
    };
    Ok(set.transmit && receives)
}

impl SystemClock {
    fn read(
        &mut self,
        timestamps: &Timestamps,
        socket: &PortSocket,
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
        let at = time.monotonic.at;
        let last = self.last.replace((utc.at, at));
        let clock = socket.real_time_clock();
        let is_stepped =
            last.is_some_and(|(shown, when)| clock.slewed_in(utc.at - shown, at - when).is_none());
        self.generation += u32::from(is_stepped);
        Ok(LocalTimestamp {
            at: utc.at.value.nanoseconds(),
            unsure: utc.at.bound.saturating_nanoseconds(),
            system: at.value,
            on_monotonic: Some(at),
            generation: self.generation,
            made: None,
        })
    }
}

impl NicClock {
    fn open(interface: &Interface, configuration: &Configuration) -> Result<Self> {
        let transport = configuration.transport_of(interface.name());
        let request = match transport {
            Transport::Udp4 | Transport::Udp6 => HardwareRequest::Ptp,
            Transport::Ethernet => HardwareRequest::PtpOverEthernet,
        };
        let guard = configuration
            .enable_hardware
            .then(|| interface.enable_hardware(request))
            .transpose()?;
        let active: Capabilities = interface.active()?;
        if !timestamps(interface, &active, transport, guard.is_some())? {
            return Err(no_hardware(interface, transport));
        }
        // a steered clock has no constant relation to the monotonic clock
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
            request,
        })
    }

    /// Reads the interface's current clock.
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
                unsure: 0,
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
            unsure: 0,
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
