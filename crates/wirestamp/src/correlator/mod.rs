//! Conversion of hardware timestamps to the host's clocks. A [`Correlator`] reads the NIC's clock
//! in the background; a [`Correlation`] gets its cross timestamps from the caller. Both return an
//! [`Estimate`] with an error bound, or a [`ConversionError`].

mod confirmed;
mod model;
mod options;
mod reading;
mod ready;

pub use self::options::{CorrelatorOptions, CorrelatorStatus};
pub use crate::sampling::Sampling;
pub use wirestamp_core::correlate::{
    Assumptions, Burst, ClockGeneration, ConversionError, Correlation, Estimate, FineEstimate,
    FrequencyEstimate, GenerationCause, HardwareEstimate, Prior, Pushed, SliceEstimate,
};

use self::confirmed::Begun;
use self::model::Model;
use self::options::check;
use self::reading::{Reading, devices_of, nominal_frequency};
use self::ready::Attempts;
use crate::host::Host;
use crate::inner::{Subscription, Task};
use crate::interface::Interface;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use wirestamp_core::backend::{Backend, Change, ChangeKind, HardwareClock as _};
use wirestamp_core::correlate::UtcHistory;
use wirestamp_core::time::{HardwareTicks, Monotonic, MonotonicTime, Span, Utc};
use wirestamp_core::timestamp::HardwareTimestamp;
use wirestamp_core::{Error, ErrorKind, Result};
use wirestamp_sys::vector::widest;

/// How many failed batches a request tolerates: a noisy clock has some without a valid cross
/// timestamp.
const FAILURES: u32 = 5;

/// A converter of hardware timestamps that takes cross timestamps of the NIC's clock in the
/// background until it is dropped.
///
/// Conversions carry an error bound and never cross a restart of the clock. Every change of the
/// NIC's configuration starts a new clock generation, and so does a change to another clock (a bond
/// fails over): the correlator checks for it after each batch of cross timestamps and on each
/// notification, and then reads the new clock. If the clock cannot be read for long, conversions
/// fail as stale; they resume when it can be read again.
pub struct Correlator {
    shared: Arc<Shared>,
    subscription: Option<Subscription>,
}

struct Shared {
    host: Arc<Host>,
    options: CorrelatorOptions,
    model: Model,
    reading: Mutex<Reading>,
    /// The clocks are read under this lock, so that cross timestamps stay in order.
    utc: Mutex<UtcHistory>,
    attempts: Attempts,
    /// Timestamps read before this instant (in nanoseconds) are confirmed by enough batches.
    confirmed: AtomicI64,
    /// The periodic job; replaced if a burst has to start at once.
    task: Mutex<Option<Task>>,
}

impl Correlator {
    pub(crate) fn start(interface: &Interface, options: CorrelatorOptions) -> Result<Self> {
        check(interface, &options)?;
        let host = interface.host();
        let clock = host.open_clock(interface.description())?;
        let nominal = nominal_frequency(host, interface.description());
        let mut correlation = Correlation::new(interface.index(), nominal)
            .with_system_frequency(clock.system_frequency())
            .with_assumptions(&options.assumptions);
        correlation.set_devices(devices_of(host, interface.description()).unwrap_or_default());
        let shared = Arc::new(Shared {
            host: Arc::clone(host),
            options,
            model: Model::new(&correlation),
            reading: Mutex::new(Reading {
                correlation,
                interface: interface.description().clone(),
                clock: Some(clock),
                burst: Burst::new(options.burst, options.burst_gap),
                plan: Sampling::new(&options),
                taken: 0,
                reading_time: Span::ZERO,
                due: true,
                batch: Vec::with_capacity(options.readings_per_batch),
                begun: Begun::NONE,
                failures: 0,
                last_error: None,
                method: None,
            }),
            utc: Mutex::new(UtcHistory::new(host.real_time_clock())),
            attempts: Attempts::default(),
            confirmed: AtomicI64::new(i64::MIN),
            task: Mutex::new(None),
        });
        drop(shared.utc_now());
        // subscribe before the first cross timestamp, so that no change is missed
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

    /// Converts a hardware timestamp to the monotonic clock, with the cross timestamps taken so
    /// far.
    ///
    /// The result does not account for a change of the clock that was not noticed yet: a step, or a
    /// change to another clock (a bond failed over up to half a second ago, and the timestamp names
    /// only the bond). It is then wrong by the size of the step or by the offset between the two
    /// clocks, beyond the error bound. No immediate conversion can avoid this, because the change
    /// has had no visible effect yet. [`HostClock`](crate::HostClock) waits until the clock was
    /// read again and withdraws such results. A timestamp that names the device that made it (see
    /// [`HardwareTimestamp::interface`]) fails with [`ConversionError::OtherClock`] until the
    /// failover is noticed.
    ///
    /// # Errors
    /// [`ConversionError::NotReady`] or [`ConversionError::Stale`] until the next cross timestamps;
    /// [`ConversionError::OtherClock`] or [`ConversionError::UnknownDevice`] if another clock made
    /// the timestamp, or may have; [`ConversionError::OutsideGenerations`] or
    /// [`ConversionError::Ambiguous`] for a timestamp near a change of the clock.
    pub fn to_monotonic(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<Estimate<Monotonic>, ConversionError> {
        self.shared.model.to_monotonic(timestamp)
    }

    /// Converts a hardware timestamp to UTC as the system's real-time clock showed it, with an
    /// error bound that covers both conversions: to the monotonic clock, and from there to UTC.
    ///
    /// The real-time clock is compared with the monotonic clock at each cross timestamp, and again
    /// by this call. On Linux both clocks are slewed alike in between. On Windows the real-time
    /// clock may run faster or slower by 0.1 %, so the error bound grows by 1 µs for each
    /// millisecond to the nearest comparison: convert soon.
    ///
    /// The result is only as close to UTC as the system's clock, whose offset the NTP or PTP daemon
    /// knows. Like [`to_monotonic`](Self::to_monotonic), it does not account for unnoticed changes
    /// of the NIC's clock.
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
    /// socket.configure(Timestamping::new().transmit(64).source(Source::Hardware))?;
    /// let to = (nic.description().addresses[0].address, 9);
    /// if let TransmitOutcome::Timestamped(timestamps) =
    ///     socket.send_to_timestamped(b"when?", to, Duration::from_secs(1))?
    /// {
    ///     let timestamp = timestamps.hardware.ok_or("none by the NIC")?;
    ///     let left = correlator.to_utc(&timestamp)?;
    ///     println!("left at {left}");
    /// }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "sim"))]
    /// # fn main() {}
    /// ```
    pub fn to_utc(&self, timestamp: &HardwareTimestamp) -> Result<Estimate<Utc>, ConversionError> {
        let estimate = self.to_monotonic(timestamp)?;
        self.utc_of(&estimate, timestamp.read_at)
    }

    /// Converts to UTC a result of [`to_monotonic`](Self::to_monotonic) for a timestamp that was
    /// read at `read_at`.
    pub(crate) fn utc_of(
        &self,
        estimate: &Estimate<Monotonic>,
        read_at: MonotonicTime,
    ) -> Result<Estimate<Utc>, ConversionError> {
        self.shared.utc_now().convert(estimate, read_at)
    }

    /// As [`Correlation::bears_out`].
    pub(crate) fn bears_out(
        &self,
        timestamp: &HardwareTimestamp,
        said: &Estimate<Monotonic>,
    ) -> bool {
        self.shared.model.whole().bears_out(timestamp, said)
    }

    /// Returns whether enough batches of cross timestamps began after `at` that conversions account
    /// for any earlier change of the clock.
    #[inline]
    pub(crate) fn has_confirmed(&self, at: MonotonicTime) -> bool {
        self.shared.has_confirmed(at)
    }

    /// Takes a cross timestamp now, unless one began after `at`.
    pub(crate) fn read_after(&self, at: MonotonicTime) -> Result<()> {
        self.shared.read_until(|begun| begun.newest() >= Some(at))
    }

    /// Takes extra cross timestamps until [`has_confirmed`](Self::has_confirmed) holds for `at`.
    pub(crate) fn confirm(&self, at: MonotonicTime) -> Result<()> {
        if self.has_confirmed(at) {
            return Ok(());
        }
        let now = self.shared.host.now();
        if at > now {
            let name = self.shared.reading().interface.name.clone();
            let cause = "it was read later than now: on another host, or before a restart";
            let kind = ErrorKind::InvalidInput;
            return Err(Error::new(kind, "confirm a timestamp", name, cause));
        }
        self.shared.read_until(|begun| begun.confirmed() >= at)
    }

    /// Returns the generation of the real-time clock for [`to_utc`](Self::to_utc): the number of
    /// its steps noticed between the start of the correlator and that time.
    ///
    /// # Errors
    /// As [`to_utc`](Self::to_utc).
    pub fn utc_generation(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<ClockGeneration, ConversionError> {
        let estimate = self.to_monotonic(timestamp)?;
        let history = self.shared.utc_now();
        history.generation(&estimate, timestamp.read_at)
    }

    /// Converts many timestamps of this NIC that were read together at `read_at`. Writes their
    /// times to `into`, a slice of the same length, and returns one error bound that holds for all
    /// of them. Uses vector instructions if the processor has them.
    ///
    /// # Errors
    /// As [`Correlation::to_monotonic_slice`]: if one timestamp fails, the contents of `into` are
    /// unspecified.
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

    /// Converts an instant of the monotonic clock to ticks of the NIC's clock.
    ///
    /// # Errors
    /// As [`Correlation::to_hardware`].
    pub fn to_hardware(&self, at: MonotonicTime) -> Result<HardwareEstimate, ConversionError> {
        self.shared.model.whole().to_hardware(at)
    }

    /// Returns the hardware clock's frequency relative to the monotonic clock; `None` until it is
    /// known.
    pub fn frequency(&self) -> Option<FrequencyEstimate> {
        self.shared.model.whole().frequency()
    }

    /// Returns the current generation of the hardware clock; `None` before the first cross
    /// timestamp.
    pub fn generation(&self) -> Option<ClockGeneration> {
        self.shared.model.whole().generation()
    }

    /// Returns the state of the correlator: its cross timestamps, failures and cost.
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
        drop(self.subscription.take()); // nothing starts a job from here on
        let task = self
            .shared
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(task); // waits for a running job, without the lock
    }
}

impl Shared {
    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the real-time clock once more and returns its history.
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
        drop(previous); // may wait for a running job: not under the lock
        Ok(())
    }

    /// Starts a new generation: the NIC may have been restarted, which invalidates all earlier
    /// cross timestamps.
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
        reading.burst.restart();
        reading.correlation.restart(GenerationCause::Notification);
        self.model.publish(&reading.correlation);
        self.read_soon(reading);
    }

    /// Has the periodic job run now, because a burst began. Takes the lock.
    fn read_soon(self: &Arc<Self>, mut reading: MutexGuard<'_, Reading>) {
        if std::mem::replace(&mut reading.due, true) {
            return; // a storm of changes starts one job
        }
        drop(reading);
        if let Err(error) = self.read_from_now_on() {
            let mut reading = self.reading();
            reading.due = false;
            reading.failed(error); // the old job still runs and takes the burst later
        }
    }

    /// One run of the job: takes a batch and returns the time until the next one.
    fn read_by_plan(&self) -> Span {
        drop(self.utc_now());
        let next = self.read();
        self.attempts.tell();
        next.into()
    }

    fn has_confirmed(&self, at: MonotonicTime) -> bool {
        self.confirmed.load(Ordering::Acquire) >= at.nanoseconds()
    }

    /// Takes batches in addition to the job's until there are enough.
    fn read_until(self: &Arc<Self>, is_enough: impl Fn(&Begun) -> bool) -> Result<()> {
        let mut failures = 0;
        loop {
            let pause = match self.read_again(&is_enough) {
                Ok(None) => return Ok(()),
                Ok(Some(pause)) => pause,
                Err(error) if failures == FAILURES || error.kind() == ErrorKind::NoSuchDevice => {
                    return Err(error);
                }
                Err(_) => {
                    failures += 1;
                    confirmed::SHORTEST
                }
            };
            self.host.sleep_until(self.host.now() + pause);
        }
    }

    /// Takes a batch in addition to the job's. Returns how long to wait before the next one; `None`
    /// if there are enough.
    fn read_again(self: &Arc<Self>, is_enough: impl Fn(&Begun) -> bool) -> Result<Option<Span>> {
        drop(self.utc_now());
        let mut reading = self.reading();
        if is_enough(&reading.begun) {
            return Ok(None); // another thread was faster
        }
        let begun = self.host.now();
        let count = reading.wanted(&self.options);
        if let Err(error) = reading.take(&self.host, count) {
            reading.failed(error.clone());
            self.publish(&reading);
            return Err(error);
        }
        let ended = reading.push();
        self.publish(&reading);
        let is_due = reading.besides(ended, self.host.now() - begun);
        let pause = (!is_enough(&reading.begun)).then(|| reading.begun.pause());
        if is_due {
            self.read_soon(reading);
        } else {
            drop(reading);
        }
        self.attempts.tell();
        Ok(pause)
    }

    /// Publishes the correlation after a batch to other threads.
    fn publish(&self, reading: &Reading) {
        self.model.publish(&reading.correlation);
        let confirmed = reading.begun.confirmed().nanoseconds();
        self.confirmed.store(confirmed, Ordering::Release);
    }

    /// Takes a batch and returns the time until the next one.
    fn read(&self) -> Duration {
        let begun = self.host.now();
        let mut reading = self.reading();
        reading.due = false;
        let count = reading.wanted(&self.options);
        let taken = reading.take(&self.host, count);
        match taken {
            Ok(()) => {
                let ended = reading.push();
                self.publish(&reading);
                reading.next(ended, self.host.now() - begun, &self.options)
            }
            Err(error) => {
                reading.failed(error);
                self.model.publish(&reading.correlation); // stops conversions if the clock is gone
                let is_charged = !reading.batch.is_empty();
                let planned = is_charged.then(|| reading.charge(self.host.now() - begun));
                let planned = planned.flatten().unwrap_or(self.options.period);
                reading.burst.failed(planned)
            }
        }
    }
}
