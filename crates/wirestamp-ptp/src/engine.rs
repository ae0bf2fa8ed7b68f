//! The adapter to the `statime` engine: its types, a filter that only records, and a clock that is
//! never adjusted. The engine has the protocol, the BMCA and the port states; this crate has
//! sockets, timers, clocks and estimates.

use crate::configuration::{Configuration, DelayMechanism, Role};
use crate::message::{AnnouncedTime, PortIdentity};
use crate::steering::Leap;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use statime::config::{
    AcceptAnyMaster, ClockIdentity, InstanceConfig, LeapIndicator, PortConfig, PtpMinorVersion,
    SdoId, TimePropertiesDS, TimeSource,
};
use statime::filters::{Filter, FilterEstimate, FilterUpdate};
use statime::observability::port::PortState as EngineState;
use statime::port::{InBmca, Measurement, Port, PortActionIterator, Running};
use statime::time::{Duration, Interval, Time};
use statime::{Clock, PtpInstance};
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use wirestamp::{Result, Span};

/// A port that processes messages.
pub(crate) type RunningPort<'e> = Port<'e, Running, AcceptAnyMaster, SmallRng, Unmoved, Recorder>;
/// A port during a selection.
pub(crate) type PausedPort<'e> = Port<'e, InBmca, AcceptAnyMaster, SmallRng, Unmoved, Recorder>;
/// The engine's records that were not read yet.
pub(crate) type Records = Rc<RefCell<Vec<Record>>>;

/// The protocol state of a clock. It must outlive the [`Node`](crate::Node) that runs it.
pub struct Engine {
    instance: PtpInstance<Recorder>,
    pub(crate) configuration: Configuration,
    pub(crate) identity: [u8; 8],
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("configuration", &self.configuration)
            .finish_non_exhaustive()
    }
}

/// An input of the engine's filter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Record {
    Measured(Measurement),
    /// The timeTransmitter is no longer followed.
    Ended,
}

/// A filter that only records, because estimates are made outside the engine.
#[derive(Debug)]
pub(crate) struct Recorder(Records);

impl Filter for Recorder {
    type Config = Records;

    fn new(records: Records) -> Self {
        Self(records)
    }

    fn measurement<C: Clock>(&mut self, measurement: Measurement, _: &mut C) -> FilterUpdate {
        self.0.borrow_mut().push(Record::Measured(measurement));
        FilterUpdate {
            next_update: None,
            mean_delay: measurement.delay.or(measurement.peer_delay),
        }
    }

    fn update<C: Clock>(&mut self, _: &mut C) -> FilterUpdate {
        FilterUpdate::default()
    }

    fn demobilize<C: Clock>(self, _: &mut C) {
        self.0.borrow_mut().push(Record::Ended);
    }

    fn current_estimates(&self) -> FilterEstimate {
        FilterEstimate {
            offset_from_master: Duration::ZERO,
            mean_delay: Duration::ZERO,
        }
    }
}

/// The engine's clock. Only a filter would read or adjust it, and ours does not.
#[derive(Debug)]
pub(crate) struct Unmoved;

impl Clock for Unmoved {
    type Error = Infallible;

    fn now(&self) -> Time {
        Time::default()
    }

    fn step_clock(&mut self, _: Duration) -> Result<Time, Infallible> {
        Ok(Time::default())
    }

    fn set_frequency(&mut self, _: f64) -> Result<Time, Infallible> {
        Ok(Time::default())
    }

    fn set_properties(&mut self, _: &TimePropertiesDS) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The state of a port, in the terms of IEEE 1588g.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PortState {
    /// The port waits for a timeTransmitter.
    #[default]
    Listening,
    /// The port follows a timeTransmitter.
    TimeReceiver,
    /// The port is the timeTransmitter on its network.
    TimeTransmitter,
    /// The port is passive: its network has a better timeTransmitter, and another port follows one.
    Passive,
    /// The port is faulty: two neighbours answered one peer delay request (until a valid exchange),
    /// or a timeTransmitter's own messages get no usable timestamps, and it transmits no time until
    /// they do.
    Faulty,
}

impl PortState {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Listening => "listening",
            Self::TimeReceiver => "timeReceiver",
            Self::TimeTransmitter => "timeTransmitter",
            Self::Passive => "passive",
            Self::Faulty => "faulty",
        }
    }

    pub(crate) fn of(state: EngineState, role: Role) -> Self {
        match state {
            EngineState::Slave | EngineState::Uncalibrated => Self::TimeReceiver,
            EngineState::Master | EngineState::PreMaster if role == Role::TimeReceiver => {
                Self::Listening
            }
            EngineState::Master | EngineState::PreMaster => Self::TimeTransmitter,
            EngineState::Passive => Self::Passive,
            EngineState::Faulty | EngineState::Disabled => Self::Faulty,
            EngineState::Listening | EngineState::Initializing => Self::Listening,
        }
    }
}

impl Engine {
    /// Creates an engine for a clock of this identity; an identity in the configuration takes
    /// precedence.
    ///
    /// # Errors
    /// `InvalidInput` if the configuration is invalid.
    pub fn new(configuration: Configuration, identity: [u8; 8]) -> Result<Self> {
        configuration.check()?;
        let identity = configuration.clock_identity()?.unwrap_or(identity);
        let receives_only = configuration.role == Role::TimeReceiver;
        // The engine's own `slave_only` fails an assertion when the last timeTransmitter goes away.
        // A timeReceiver therefore has the worst priority (see `message::better_than_a_receiver`),
        // and if the engine still makes it the timeTransmitter, its outlet is mute.
        let (priority_1, priority_2) = if receives_only {
            (u8::MAX, u8::MAX)
        } else {
            (configuration.priority1, configuration.priority2)
        };
        let instance = PtpInstance::new(
            InstanceConfig {
                clock_identity: ClockIdentity(identity),
                priority_1,
                priority_2,
                domain_number: configuration.domain,
                sdo_id: SdoId::default(),
                slave_only: false,
                path_trace: false,
            },
            TimePropertiesDS::new_arbitrary_time(false, false, TimeSource::InternalOscillator),
        );
        Ok(Self {
            instance,
            configuration,
            identity,
        })
    }

    /// Adds a port; its first actions come with [`start`].
    pub(crate) fn add_port(&self, records: Records, seed: u64) -> PausedPort<'_> {
        let chosen = &self.configuration;
        let interval = Interval::from_log_2(chosen.log_delay_interval);
        let port = PortConfig {
            acceptable_master_list: AcceptAnyMaster,
            delay_mechanism: match chosen.delay_mechanism {
                DelayMechanism::E2e => statime::config::DelayMechanism::E2E { interval },
                DelayMechanism::P2p => statime::config::DelayMechanism::P2P { interval },
            },
            announce_interval: Interval::from_log_2(chosen.log_announce_interval),
            announce_receipt_timeout: chosen.announce_timeout,
            sync_interval: Interval::from_log_2(chosen.log_sync_interval),
            master_only: false,
            delay_asymmetry: Duration::from_nanos(chosen.delay_asymmetry_ns),
            minor_ptp_version: if chosen.minor_version == 0 {
                PtpMinorVersion::Zero
            } else {
                PtpMinorVersion::One
            },
        };
        self.instance
            .add_port(port, records, Unmoved, SmallRng::seed_from_u64(seed))
    }

    /// Selects the best timeTransmitter and every port's state.
    pub(crate) fn select(&self, ports: &mut [&mut PausedPort<'_>]) {
        // The engine's references to a port are invariant in its lifetime, which is ours.
        self.instance.bmca(ports);
    }

    /// The interval between selections.
    pub(crate) fn selection_interval(&self) -> Span {
        Span::from(self.instance.bmca_interval())
    }

    /// The followed timeTransmitter, or this clock with port 0.
    pub(crate) fn parent(&self) -> PortIdentity {
        let parent = self.instance.parent_ds().parent_port_identity;
        PortIdentity {
            clock: parent.clock_identity.0,
            port: parent.port_number,
        }
    }

    /// The grandmaster's identity.
    pub(crate) fn grandmaster(&self) -> [u8; 8] {
        self.instance.parent_ds().grandmaster_identity.0
    }

    /// The followed timeTransmitter's properties: whether it uses the PTP timescale, and its offset
    /// to UTC.
    pub(crate) fn followed_time(&self) -> (bool, Option<i16>) {
        let properties = self.instance.time_properties_ds();
        (properties.is_ptp(), properties.utc_offset())
    }

    /// The followed timeTransmitter's leap second announcement, if it uses the PTP timescale.
    pub(crate) fn followed_leap(&self) -> Leap {
        let properties = self.instance.time_properties_ds();
        match properties.leap_indicator() {
            LeapIndicator::Leap61 if properties.is_ptp() => Leap::Insert,
            LeapIndicator::Leap59 if properties.is_ptp() => Leap::Delete,
            _ => Leap::None,
        }
    }

    /// The number of clocks between this one and the grandmaster.
    pub(crate) fn steps_removed(&self) -> u16 {
        self.instance.current_ds(None).steps_removed
    }

    /// The properties of its own time that this clock announces.
    pub(crate) fn own_time(&self, ptp_timescale: bool) -> AnnouncedTime {
        let chosen = &self.configuration;
        AnnouncedTime {
            ptp_timescale,
            utc_offset: chosen.utc_offset,
            utc_valid: chosen.utc_valid,
            time_traceable: chosen.time_traceable,
            frequency_traceable: chosen.frequency_traceable,
            clock_class: chosen.clock_class,
            clock_accuracy: chosen.clock_accuracy,
            time_source: TimeSource::InternalOscillator.to_primitive(),
        }
    }
}

/// Ends a selection: the port processes messages again.
pub(crate) fn start(paused: PausedPort<'_>) -> (RunningPort<'_>, PortActionIterator<'static>) {
    paused.end_bmca()
}

/// Converts an engine time to whole nanoseconds.
pub(crate) fn nanoseconds(time: Time) -> i64 {
    time.nanos().to_num::<u128>().try_into().unwrap_or(i64::MAX)
}

/// Converts an engine duration to whole nanoseconds.
pub(crate) fn difference(duration: Duration) -> i64 {
    let rounded = duration.nanos_rounded();
    i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
}
