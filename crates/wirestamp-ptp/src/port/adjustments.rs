//! Adjustments of the system clock by others, while its software timestamps are measured: a daemon
//! may slew it by much more than clocks drift.

use super::Port;
use super::ledger::Run;
use crate::configuration::{Clock, Configuration};
use crate::lost::Lost;
use crate::sockets::PortSocket;
use crate::timeline::Timeline;
use crate::timestamping::{LocalTimestamp, TimestampClock};
use std::cell::{Cell, RefCell};
use wirestamp::{MonotonicTime, TimestampSource};
use wirestamp_offset::{Observed, SharedCommands};

/// The observed adjustments of a port's clock.
#[derive(Debug)]
pub(super) struct Adjustments {
    commands: SharedCommands,
    observed: RefCell<Observed>,
    /// The generation that is observed.
    run: Option<Run>,
    /// The last timestamp on the monotonic clock and on the timescale of messages.
    last: Cell<Option<(MonotonicTime, i64)>>,
    /// Whether estimates are of before the adjustments were known.
    is_over: Cell<bool>,
}

/// The validity of estimates from before a timestamp.
enum Entered {
    Same,
    /// The timescale has moved by so many nanoseconds.
    Moved(i64),
    /// They are no longer valid.
    Over,
}

impl Adjustments {
    /// Returns `None` for a NIC's clock, which no daemon slews as fast, and for a steered clock,
    /// which nobody else adjusts.
    pub(super) fn of(clock: &TimestampClock, configuration: &Configuration) -> Option<Self> {
        let is_system = clock.source() == TimestampSource::Software;
        let is_measured = configuration.clock == Clock::Measure;
        (is_system && is_measured).then(|| {
            let commands = SharedCommands::default();
            Self {
                observed: RefCell::new(Observed::new(SharedCommands::clone(&commands))),
                commands,
                run: None,
                last: Cell::new(None),
                is_over: Cell::new(false),
            }
        })
    }

    /// Returns the history that estimators use.
    pub(super) fn commands(&self) -> &SharedCommands {
        &self.commands
    }

    /// Reads the clocks after a timestamp, on the monotonic clock and on the timescale of messages. Returns whether
    /// estimates stay valid.
    fn note(&mut self, timestamp: (MonotonicTime, i64), socket: &PortSocket) -> bool {
        self.last.set(Some(timestamp));
        self.look(socket);
        !self.is_over.take()
    }

    /// Notes the clock's generation and the timescale.
    fn enter(&mut self, run: Run) -> Entered {
        let before = self.run.replace(run).unwrap_or(run);
        match run.moved_since(before) {
            Some(0) => Entered::Same,
            Some(by) => {
                self.observed.get_mut().rescale(by);
                Entered::Moved(by)
            }
            None if self.observed.get_mut().restart() => Entered::Over,
            None => Entered::Same,
        }
    }

    fn are_unknown(&self) -> bool {
        self.observed.borrow().is_blind()
    }

    fn contradicted(&self, most_drift: f64) -> bool {
        self.observed.borrow_mut().contradicted(most_drift)
    }

    /// Reads the clocks. Returns whether estimates are still valid.
    pub(super) fn look(&self, socket: &PortSocket) -> bool {
        let Some((then, at)) = self.last.get() else {
            return true;
        };
        let adjusted = socket.adjusted();
        let since = (adjusted.at - then).saturating_nanoseconds();
        let local = at.saturating_add(since);
        if self.observed.borrow_mut().note(local, adjusted.by) {
            self.is_over.set(true);
        }
        !self.is_over.get()
    }

    fn between(&self, one: i64, other: i64) -> i64 {
        let commands = self.commands.borrow();
        let (Some(one), Some(other)) = (commands.at(one), commands.at(other)) else {
            return 0;
        };
        let up = other.shift.1.saturating_sub(one.shift.0);
        up.max(one.shift.1.saturating_sub(other.shift.0)).max(0)
    }
}

impl Port<'_> {
    /// Notes how the system clock was adjusted until a timestamp was read.
    pub(super) fn note_adjustments(&mut self, timestamp: &LocalTimestamp, timeline: &Timeline) {
        let Some(adjustments) = &mut self.adjustments else {
            return;
        };
        let at = timestamp.at.saturating_add(timeline.shift_of(&self.clock));
        let entered = adjustments.enter(Run::of(timestamp, timeline.utc_shift));
        let is_valid = adjustments.note((timestamp.system, at), &self.outlet.sockets.event);
        if adjustments.are_unknown() {
            self.outlet.counts.lost(Lost::AdjustmentsUnknown);
        }
        match entered {
            Entered::Moved(by) if is_valid => self.keep_scale(by),
            Entered::Same if is_valid => {}
            _ => self.begin_anew(),
        }
    }

    /// Estimates keep their timescale: an offset that is held has no other.
    fn keep_scale(&mut self, by: i64) {
        if let Some(held) = &mut self.holdover {
            held.keep_scale(by);
        }
        self.estimators()
            .for_each(|estimator| estimator.keep_scale(by));
    }

    /// Forgets everything that was measured beside adjustments which are forgotten.
    fn begin_anew(&mut self) {
        self.forget();
        self.holdover = None;
        if let Some(observers) = &mut self.observers {
            observers.restarted();
        }
    }

    /// Returns how far others may have moved the clock between two times at most, in nanoseconds.
    pub(super) fn adjusted_between(&self, one: i64, other: i64) -> i64 {
        let is_moved = self.adjustments.as_ref().filter(|_| one != other);
        is_moved.map_or(0, |adjustments| adjustments.between(one, other))
    }

    /// Forgets all measurements because packets contradict each other.
    pub(super) fn contradicted(&mut self) {
        self.forget();
        self.ledger.forget_requests();
        self.outlet.counts.lost(Lost::Contradiction);
        let most_drift = f64::from(self.engine.configuration.max_drift_ppm) * 1e-6;
        let is_begun_anew = |adjustments: &Adjustments| adjustments.contradicted(most_drift);
        if self.adjustments.as_ref().is_some_and(is_begun_anew) {
            self.begin_anew();
        }
    }
}
