//! The real-time clock: it is watched for steps.

use crate::event::EventKind;
use crate::moment::Moment;
use crate::sink::Sink;
use crate::state::{ClockState, Reasons, Reference};
use wirestamp::clock::utc_error_bound;
use wirestamp::time::UtcCrossTimestamp;
use wirestamp::{MonotonicTime, Span};

/// The interval at which the clock is checked.
const LOOK: Span = Span::from_seconds(1);

/// The real-time clock: it is watched for steps.
pub(crate) struct Realtime {
    tai_offset: i32,
    is_simulated: bool,
    last: Option<UtcCrossTimestamp>,
    due: MonotonicTime,
    generation: u64,
    steps: u64,
}

impl Realtime {
    /// A simulation's clock is none of the kernel's: that says nothing of it.
    pub(crate) fn new(tai_offset: i32, is_simulated: bool) -> Self {
        Self {
            tai_offset,
            is_simulated,
            last: None,
            due: MonotonicTime::MIN,
            generation: 0,
            steps: 0,
        }
    }

    pub(crate) fn set_tai_offset(&mut self, tai_offset: i32) {
        self.tai_offset = tai_offset;
    }

    /// Compares its offset to the monotonic clock with the previous one: a larger change than a slew can cause is a
    /// step.
    pub(crate) fn look(&mut self, moment: &Moment, sink: &mut dyn Sink) -> MonotonicTime {
        let Moment { now, reading, .. } = *moment;
        if now < self.due {
            return self.due;
        }
        self.due = now + LOOK;
        let before = self.last.replace(reading);
        if let Some(before) = before
            && moment.real_time_clock.slewed(&before, &reading).is_none()
        {
            let moved = (reading.utc - before.utc) - (reading.before - before.before);
            self.generation += 1;
            self.steps += 1;
            let message = format!("the real-time clock was stepped by {moved}");
            sink.event(EventKind::ClockStep, "realtime", message);
        }
        self.due
    }

    /// Returns its state: from the reference, else from the kernel.
    pub(crate) fn show(&self, moment: &Moment, reference: Option<Reference>) -> ClockState {
        let kernel = || utc_error_bound().filter(|_| !self.is_simulated && reference.is_none());
        let kernel = kernel().map(Span::saturating_nanoseconds);
        let name = reference.map(|reference| reference.name);
        let name = name.or(kernel.map(|_| "kernel"));
        let name = name.or(self.is_simulated.then_some("simulation"));
        let tai = i64::from(self.tai_offset) * 1_000_000_000;
        let offset = reference.map(|reference| reference.offset_ns);
        let width = moment.reading.after - moment.reading.before;
        ClockState {
            name: "realtime".to_owned(),
            kind: "realtime".to_owned(),
            utc_offset_ns: offset,
            utc_bound_ns: reference.map(|reference| reference.bound_ns).or(kernel),
            right_servers: reference.and_then(|reference| reference.right_servers),
            tai_offset_ns: offset.map(|offset| offset - tai),
            reference: name.map(str::to_owned),
            generation: Some(self.generation),
            generation_changes: Reasons::from([("step".to_owned(), self.steps)]),
            age_ns: reference.and_then(|reference| reference.age_ns),
            cross_width_ns: Some(width.saturating_nanoseconds()),
            ..ClockState::default()
        }
    }
}
