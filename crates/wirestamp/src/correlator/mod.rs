//! The readings of one NIC's clock in the background: when they are taken, and what
//! restarts them. What they say about the clock is the correlation's business.

mod model;
mod ready;

use self::model::Model;
use self::ready::Attempts;
use crate::find;
use crate::host::Host;
use crate::inner::{Clock, Subscription, Task};
use crate::interface::Interface;
use crate::sampling::Sampling;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use wirestamp_core::backend::{Backend, Change, ChangeKind, HardwareClock as _};
use wirestamp_core::correlate::{
    ClockGeneration, ConversionError, Correlation, Estimate, FrequencyEstimate, GenerationCause,
    HardwareEstimate, SliceEstimate, UtcHistory,
};
use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{HardwareTicks, Monotonic, MonotonicTime, Span, Utc};
use wirestamp_core::timestamp::HardwareTimestamp;
use wirestamp_core::{Error, ErrorKind, Result};
use wirestamp_sys::vector::widest;

/// The schedule by which a [`Correlator`] reads the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct CorrelatorOptions {
    /// From one reading to the next, in the long run.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "period_ns", with = "wirestamp_core::serialized::nanoseconds")
    )]
    pub period: Duration,
    /// How many readings are taken in quick succession at the start and after every restart,
    /// so that the rate is known soon.
    pub burst: u32,
    /// From one reading of a burst to the next: the longer, the better the first rate.
    #[cfg_attr(
        feature = "serde",
        serde(
            rename = "burst_gap_ns",
            with = "wirestamp_core::serialized::nanoseconds"
        )
    )]
    pub burst_gap: Duration,
    /// How many cross timestamps are taken for one reading; all of them count.
    pub readings_per_batch: usize,
    /// How much of each second may go into reading the clocks. The correlator then reads as often
    /// as helps, `period` apart at most even if the budget does not pay for it, and takes as many
    /// cross timestamps for one reading as delayed ones make necessary: see [`Sampling`]. If
    /// `None`, uses `period` and `readings_per_batch` as given, regardless of cost.
    #[cfg_attr(
        feature = "serde",
        serde(
            rename = "budget_ns",
            with = "wirestamp_core::serialized::nanoseconds_or_none"
        )
    )]
    pub budget: Option<Duration>,
}

impl CorrelatorOptions {
    /// A reading every 5 seconds, as in the specification's example; 16 at the start, over 150
    /// ms, which bound the rate to a few ppm where one cross timestamp is good to half a
    /// microsecond; 5 at a time, because the first of a batch is always the worst.
    pub const FIXED: Self = Self {
        period: Duration::from_secs(5),
        burst: 16,
        burst_gap: Duration::from_millis(10),
        readings_per_batch: 5,
        budget: None,
    };
}

/// As [`FIXED`](Self::FIXED) at the start; then as often as helps, for 100 µs of each second.
impl Default for CorrelatorOptions {
    fn default() -> Self {
        Self {
            budget: Some(Duration::from_micros(100)),
            ..Self::FIXED
        }
    }
}

/// The state of a [`Correlator`]: its readings, their failures, and their cost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CorrelatorStatus {
    /// Returns the current generation of the hardware clock; `None` before the first reading.
    pub generation: Option<ClockGeneration>,
    /// What opened it.
    pub cause: Option<GenerationCause>,
    /// How many readings the current conversions stand on.
    pub readings: usize,
    /// How many attempts to read failed since the start.
    pub failures: u64,
    /// Why the last failure failed; `None` once a reading has succeeded after it.
    pub last_error: Option<Error>,
    /// How the last reading was made.
    pub method: Option<CrossMethod>,
    /// How many cross timestamps were taken since the start.
    pub taken: u64,
    /// What taking them took.
    #[cfg_attr(feature = "serde", serde(rename = "reading_time_ns"))]
    pub reading_time: Span,
}

/// A converter of hardware timestamps, which reads the NIC's clock in the background until it is dropped.
///
/// Conversions carry an error bound and fail across a restart of the clock: every change of the
/// NIC's configuration starts a new generation. If the clock can't be read for long, they
/// fail as stale; if it comes back, they start again.
pub struct Correlator {
    shared: Arc<Shared>,
    subscription: Option<Subscription>,
}

struct Shared {
    host: Arc<Host>,
    options: CorrelatorOptions,
    model: Model,
    reading: Mutex<Reading>,
    /// The clocks are read under its lock, so that readings come in order.
    utc: Mutex<UtcHistory>,
    attempts: Attempts,
    /// The periodic job; replaced when a burst is due at once.
    task: Mutex<Option<Task>>,
}

/// What the job needs and reports.
struct Reading {
    correlation: Correlation,
    interface: InterfaceDescription,
    clock: Option<Clock>,
    burst_left: u32,
    /// `None`: the period is fixed.
    plan: Option<Sampling>,
    taken: u64,
    reading_time: Span,
    /// Whether a job was started that has not run yet.
    due: bool,
    batch: Vec<CrossTimestamp>,
    failures: u64,
    last_error: Option<Error>,
    method: Option<CrossMethod>,
}

impl Correlator {
    pub(crate) fn start(interface: &Interface, options: CorrelatorOptions) -> Result<Self> {
        check(interface, &options)?;
        let host = interface.host();
        let clock = host.open_clock(interface.description())?;
        let nominal = interface
            .supported()
            .ok()
            .and_then(|supported| supported.nominal_frequency);
        let correlation = Correlation::new(interface.index(), nominal)
            .with_system_frequency(clock.system_frequency());
        let shared = Arc::new(Shared {
            host: Arc::clone(host),
            options,
            model: Model::new(&correlation),
            reading: Mutex::new(Reading {
                correlation,
                interface: interface.description().clone(),
                clock: Some(clock),
                burst_left: options.burst,
                plan: Sampling::new(&options),
                taken: 0,
                reading_time: Span::ZERO,
                due: true,
                batch: Vec::with_capacity(options.readings_per_batch),
                failures: 0,
                last_error: None,
                method: None,
            }),
            utc: Mutex::new(UtcHistory::new(host.real_time_clock())),
            attempts: Attempts::default(),
            task: Mutex::new(None),
        });
        drop(shared.utc_now());
        // changes first, then readings: none is taken before changes are seen
        let watching = Arc::downgrade(&shared);
        let subscription = host.subscribe(Box::new(move |change| {
            if let Some(shared) = watching.upgrade() {
                shared.changed(change);
            }
        }))?;
        shared.read_from_now_on()?;
        Ok(Self {
            shared,
            subscription: Some(subscription),
        })
    }

    /// Converts a hardware timestamp to the monotonic clock.
    ///
    /// # Errors
    /// [`ConversionError`]: why there is no honest answer.
    pub fn to_monotonic(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<Estimate<Monotonic>, ConversionError> {
        self.shared.model.to_monotonic(timestamp)
    }

    /// Converts a hardware timestamp to UTC, as the system's real-time clock showed it then, with an
    /// error bound that covers both conversions: to the monotonic clock, and from there to UTC.
    ///
    /// The real-time clock is read beside the monotonic clock with each reading of the NIC's clock, and once more by
    /// this call. Between such readings, both clocks are slewed alike on Linux; on Windows, where the
    /// real-time clock may run faster or slower by 0.1 %, the bound grows by 1 µs for each millisecond to the
    /// nearest reading: convert soon.
    ///
    /// This is UTC as far as the system's clock is right: how far that is off is what NTP or PTP daemons know.
    ///
    /// # Errors
    /// As [`to_monotonic`](Self::to_monotonic); [`ConversionError::UtcUnknown`] if the real-time clock was
    /// stepped between the readings before and after the timestamp.
    ///
    /// ```
    /// # #[cfg(feature = "sim")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use wirestamp::{CorrelatorOptions, HardwareRequest, Interface, Source, Timestamping, TransmitOutcome};
    ///
    /// let nic = Interface::find("sim0")?;
    /// let _on = nic.enable_hardware(HardwareRequest::AllPackets)?;
    /// let correlator = nic.correlator(CorrelatorOptions::default())?;
    /// correlator.wait_until_ready(Duration::from_secs(1))?;
    ///
    /// let socket = nic.bind((nic.description().addresses[0].address, 0).into())?;
    /// socket.configure(Timestamping::OFF.transmit(64).source(Source::Hardware))?;
    /// let to = (nic.description().addresses[0].address, 9).into();
    /// if let TransmitOutcome::Timestamped(timestamps) =
    ///     socket.send_to_timestamped(b"when?", to, Duration::from_secs(1))?
    /// {
    ///     let timestamp = timestamps.hardware.ok_or("none by the NIC")?;
    ///     let left = correlator.to_utc(&timestamp)?;
    ///     println!("left at {:?} ± {}", left.at, left.bound);
    /// }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "sim"))]
    /// # fn main() {}
    /// ```
    pub fn to_utc(&self, timestamp: &HardwareTimestamp) -> Result<Estimate<Utc>, ConversionError> {
        let estimate = self.to_monotonic(timestamp)?;
        self.shared.utc_now().convert(&estimate, timestamp.read_at)
    }

    /// Converts many timestamps of this NIC that were read together at `read_at`: writes their
    /// times to `into`, of the same length, and returns one bound that holds for each of them.
    /// By vector instructions, where the processor has them.
    ///
    /// # Errors
    /// As [`Correlation::to_monotonic_slice`]: if one fails, `into` holds nothing of use.
    pub fn to_monotonic_slice(
        &self,
        ticks: &[HardwareTicks],
        read_at: MonotonicTime,
        into: &mut [MonotonicTime],
    ) -> Result<SliceEstimate, ConversionError> {
        let whole = self.shared.model.whole();
        widest(
            #[inline(always)]
            || whole.to_monotonic_slice(ticks, read_at, into),
        )
    }

    /// Converts an instant of the monotonic clock to the NIC's counter.
    ///
    /// # Errors
    /// [`ConversionError`]: why there is no honest answer.
    pub fn to_hardware(&self, at: MonotonicTime) -> Result<HardwareEstimate, ConversionError> {
        self.shared.model.whole().to_hardware(at)
    }

    /// Returns the hardware clock's frequency against the monotonic clock; `None` until it is known.
    pub fn frequency(&self) -> Option<FrequencyEstimate> {
        self.shared.model.whole().frequency()
    }

    /// Returns the current generation of the hardware clock; `None` before the first reading.
    pub fn generation(&self) -> Option<ClockGeneration> {
        self.shared.model.whole().generation()
    }

    /// Returns the state of the correlator: readings, failures, cost.
    pub fn status(&self) -> CorrelatorStatus {
        let reading = self.shared.reading();
        let (failures, last_error, method) =
            (reading.failures, reading.last_error.clone(), reading.method);
        let (taken, reading_time) = (reading.taken, reading.reading_time);
        drop(reading);
        let correlation = self.shared.model.whole();
        CorrelatorStatus {
            generation: correlation.generation(),
            cause: correlation.cause(),
            readings: correlation.readings(),
            failures,
            last_error,
            method,
            taken,
            reading_time,
        }
    }
}

impl fmt::Debug for Correlator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Correlator")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl Drop for Correlator {
    fn drop(&mut self) {
        drop(self.subscription.take()); // nothing starts a job any more
        let task = self
            .shared
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(task); // waits for a running reading, without the lock
    }
}

impl Shared {
    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the real-time clock; what is known of it until now.
    fn utc_now(&self) -> MutexGuard<'_, UtcHistory> {
        let mut utc = self.utc.lock().unwrap_or_else(PoisonError::into_inner);
        utc.observe(self.host.utc_cross_timestamp());
        utc
    }

    /// Replaces the periodic job by one that starts now.
    fn read_from_now_on(self: &Arc<Self>) -> Result<()> {
        let shared: Weak<Self> = Arc::downgrade(self);
        let job = Box::new(move || shared.upgrade().map(|shared| shared.read_by_plan()));
        let task = self.host.run(Span::ZERO, job)?;
        let previous = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(task);
        drop(previous); // may wait for a running reading: not under the lock
        Ok(())
    }

    /// The NIC may have been restarted: nothing from before holds any more.
    fn changed(self: &Arc<Self>, change: Change) {
        let mut reading = self.reading();
        let lost_one_is_back = change.kind == ChangeKind::Added && reading.clock.is_none();
        if change
            .interface
            .is_some_and(|index| index != reading.interface.index)
            && !lost_one_is_back
        {
            return; // another NIC's
        }
        reading.clock = None;
        reading.burst_left = self.options.burst;
        reading.correlation.restart(GenerationCause::Notification);
        self.model.publish(&reading.correlation);
        if std::mem::replace(&mut reading.due, true) {
            return; // a storm of changes starts one job
        }
        drop(reading);
        if let Err(error) = self.read_from_now_on() {
            let mut reading = self.reading();
            reading.due = false;
            reading.failed(error); // the old job still runs and takes the burst, later
        }
    }

    /// One run of the job: a reading, and when to take the next within the budget.
    fn read_by_plan(&self) -> Span {
        drop(self.utc_now());
        let begun = self.host.now();
        let next = self.read();
        self.attempts.tell();
        let mut reading = self.reading();
        if reading.batch.is_empty() {
            return next; // none was taken
        }
        let took = self.host.now() - begun;
        let Reading {
            plan,
            batch,
            burst_left,
            correlation,
            ..
        } = &mut *reading;
        let wanted = (*burst_left > 0).then_some(self.options.burst_gap);
        let next = plan.as_mut().map_or(next, |plan| {
            plan.next(batch, took, correlation, wanted).into()
        });
        reading.taken += reading.batch.len() as u64;
        reading.reading_time += took;
        reading.batch.clear();
        next
    }

    /// A reading, and when to take the next by a fixed period.
    fn read(&self) -> Span {
        let mut reading = self.reading();
        reading.due = false;
        let count = reading
            .plan
            .as_ref()
            .map_or(self.options.readings_per_batch, Sampling::readings);
        let taken = reading.take(&self.host, count);
        match taken {
            Ok(()) => {
                reading.succeeded();
                self.model.publish(&reading.correlation);
                if reading.burst_left > 0 {
                    Span::from(self.options.burst_gap)
                } else {
                    Span::from(self.options.period)
                }
            }
            Err(error) => {
                reading.failed(error);
                Span::from(self.options.period)
            }
        }
    }
}

impl Reading {
    /// Fills the batch with at least one reading.
    fn take(&mut self, host: &Host, count: usize) -> Result<()> {
        if self.clock.is_none() {
            self.reopen(host)?;
        }
        let Some(clock) = self.clock.as_mut() else {
            return Err(self.none_valid());
        };
        self.batch.clear();
        clock.cross_timestamps(count, &mut self.batch)?;
        if self.batch.is_empty() {
            Err(self.none_valid())
        } else {
            Ok(())
        }
    }

    fn none_valid(&self) -> Error {
        Error::new(
            ErrorKind::Io,
            "read the hardware clock",
            &self.interface.name,
            "every reading was invalid",
        )
    }

    /// The NIC may have come back under another number, with another clock.
    fn reopen(&mut self, host: &Host) -> Result<()> {
        let found = find::again(host, &self.interface)?.ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuchDevice,
                "open the hardware clock",
                &self.interface.name,
                "the interface is gone",
            )
        })?;
        self.clock = Some(host.open_clock(&found)?);
        self.interface = found;
        Ok(())
    }

    fn succeeded(&mut self) {
        self.method = self.batch.first().map(CrossTimestamp::method);
        self.last_error = None;
        self.burst_left = self.burst_left.saturating_sub(1);
        if self.correlation.interface() != self.interface.index {
            // bound again under a new number: timestamps carry the new one from now on
            self.correlation.renumber(self.interface.index);
        }
        for reading in &self.batch {
            let _ = self.correlation.push(reading);
        }
    }

    fn failed(&mut self, error: Error) {
        self.failures += 1;
        if error.kind() != ErrorKind::Busy {
            self.clock = None; // opened anew at the next attempt
        }
        self.last_error = Some(error);
    }
}

fn check(interface: &Interface, options: &CorrelatorOptions) -> Result<()> {
    let wrong = match options {
        _ if options.period.is_zero() => "a period of zero",
        _ if options.burst_gap.is_zero() && options.burst > 1 => "a burst without a gap",
        _ if options.readings_per_batch == 0 => "batches without a reading",
        _ if options.budget.is_some_and(|budget| budget.is_zero()) => "a budget of nothing",
        _ => return Ok(()),
    };
    Err(Error::new(
        ErrorKind::InvalidInput,
        "start a correlator",
        interface.name(),
        wrong,
    )
    .with_remedy("start from CorrelatorOptions::default()"))
}
