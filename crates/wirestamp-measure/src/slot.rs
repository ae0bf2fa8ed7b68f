//! Opens a measurement that was asked for, runs it, and opens it again when it failed.

mod counting;
mod search;

use crate::address::own_zone;
use crate::carried::Carried;
use crate::clock::{ClockTask, ReadingsTask, RecordingTask};
use crate::event::EventKind;
use crate::goal::{Found, Goal, is_zoned, literal, unresolved};
use crate::host::Host;
use crate::key;
use crate::moment::Moment;
use crate::ntp::NtpTask;
use crate::ntp_server::NtpServerTask;
use crate::path;
use crate::ptp::{PtpTask, recorded_as};
use crate::reflector::ReflectorTask;
use crate::report::Report;
use crate::sink::{Known, Sink};
use crate::stamp::StampTask;
use crate::state::{State as Shown, TaskState};
use crate::task::{Task, Turn};
use crate::wanted::Wanted;
use counting::Distributions;
use search::{LATER, Looked, Search, Whereabouts};
use wirestamp::{Error, MonotonicTime, Result, Span};

/// The first and the longest pause before a failed task is tried again.
const RETRY: (Span, Span) = (Span::from_seconds(2), Span::from_seconds(60));
/// The most STAMP sessions that send at the same time; the next ones send later by [`APART`]. A burst of all of them
/// would measure itself.
const TOGETHER: usize = 8;
const APART: Span = Span::from_milliseconds(5);
/// Why nothing is known of a clock: its task starts, or failed and is tried again.
const NOT_RUNNING: &str = "not_running";

/// A task, or the search that precedes it.
pub(crate) struct Slot {
    pub(crate) wanted: Wanted,
    state: State,
    retry: Span,
    has_failed: bool,
    /// How often it has failed.
    failures: u64,
    /// Of its earlier runs.
    carried: Option<Box<Carried>>,
    /// The distributions of its delays, of all its runs.
    delays: Distributions,
    /// Whether one of its sockets has something.
    pub(crate) is_ready: bool,
    /// Of a session: its place among them.
    pub(crate) number: usize,
    /// Of the key file that it was opened with.
    key: Option<u64>,
    /// Whether it is to end once what it has yielded is confirmed.
    is_finishing: bool,
}

enum State {
    Starting,
    Resolving(Search),
    Running {
        task: Box<dyn Task>,
        due: MonotonicTime,
        since: MonotonicTime,
        /// Of a task that asks a host by its name.
        whereabouts: Option<Box<Whereabouts>>,
    },
    Failed {
        error: Error,
        retry_at: MonotonicTime,
    },
}

impl Slot {
    pub(crate) fn new(wanted: Wanted, number: usize) -> Self {
        Self {
            wanted,
            state: State::Starting,
            retry: RETRY.0,
            has_failed: false,
            failures: 0,
            carried: None,
            delays: Distributions::default(),
            is_ready: false,
            number,
            key: None,
            is_finishing: false,
        }
    }

    /// Returns whether the key file has another key than it runs with.
    pub(crate) fn has_old_key(&self) -> bool {
        let now = self.wanted.key_file().and_then(key::mark);
        now.is_some() && now != self.key
    }

    /// Serves the task. Returns the time of its next work that needs no packet.
    pub(crate) fn serve(&mut self, host: &Host, turn: &mut Turn<'_>) -> MonotonicTime {
        let is_ready = std::mem::take(&mut self.is_ready);
        turn.is_ready = is_ready;
        match &mut self.state {
            State::Running {
                due, whereabouts, ..
            } if *due > turn.now && !is_ready => {
                let due = *due;
                match whereabouts {
                    Some(searched) if searched.is_searched() => self.look(due, host, turn),
                    _ => due,
                }
            }
            State::Running {
                task, due, since, ..
            } => match self.delays.counting(turn, |turn| task.serve(turn)) {
                Ok(next) => {
                    *due = next;
                    self.look(next, host, turn)
                }
                Err(error) => {
                    if turn.now - *since > RETRY.1 {
                        self.retry = RETRY.0;
                    }
                    self.fail(error, turn)
                }
            },
            State::Failed { retry_at, .. } if *retry_at > turn.now => *retry_at,
            State::Failed { .. } | State::Starting => match self.wanted.goal() {
                None => self.open(None, host, turn),
                Some(goal) => self.find(&goal, host, turn),
            },
            State::Resolving(search) => match search.found(turn.now) {
                Ok(Ok(found)) => self.open(Some(found), host, turn),
                Ok(Err(error)) => self.fail(error, turn),
                Err(then) => then,
            },
        }
    }

    /// Begins to look for the host.
    fn find(&mut self, goal: &Goal, host: &Host, turn: &mut Turn<'_>) -> MonotonicTime {
        match host.place.find(goal) {
            Some(Ok(address)) => return self.open(Some(address.into()), host, turn),
            Some(Err(error)) => return self.fail(error, turn),
            None => {}
        }
        match Search::begin(goal) {
            Ok(Some(search)) => {
                self.state = State::Resolving(search);
                turn.now
            }
            Ok(None) => turn.now + LATER,
            Err(error) => self.fail(error, turn),
        }
    }

    /// Looks for the host of a running task again, if it has been silent for long and is known by a name. Returns when there is something to do; `due`
    /// is when the task has.
    fn look(&mut self, due: MonotonicTime, host: &Host, turn: &mut Turn<'_>) -> MonotonicTime {
        let State::Running {
            task,
            whereabouts: Some(whereabouts),
            ..
        } = &mut self.state
        else {
            return due;
        };
        if !whereabouts.is_searched() && !task.is_silent(turn.now) {
            return due;
        }
        let Some(goal) = self.wanted.goal() else {
            return due;
        };
        let begin = || Search::begin(&goal);
        match whereabouts.look(turn.now, task.is_silent(turn.now), begin) {
            Looked::There => due,
            Looked::At(then) => due.min(then),
            Looked::Moved(address) => {
                let found = whereabouts.moved();
                let text = format!("{} has the address {address} now", goal.host);
                turn.sink
                    .event(EventKind::AddressChanged, self.wanted.name(), text);
                self.carry(turn);
                // the task is over: if the next one can't be opened, its counts are not carried a second time
                self.state = State::Starting;
                self.open(found, host, turn)
            }
        }
    }

    /// Keeps what the task counted, for the one that follows it.
    fn carry(&mut self, turn: &Turn<'_>) {
        if let Some(shown) = self.shown(&turn.moment) {
            self.carried = Some(Box::new(Carried::new(shown, turn.now)));
        }
    }

    fn open(&mut self, found: Option<Found>, host: &Host, turn: &mut Turn<'_>) -> MonotonicTime {
        self.key = self.wanted.key_file().and_then(key::mark);
        turn.sink.begin(self.wanted.subject());
        // an address stays where it is, and so does a host of a simulation
        let goal = self.wanted.goal().filter(|_| !host.place.is_simulated());
        let is_named =
            goal.is_some_and(|goal| is_zoned(&goal) || literal(&goal, own_zone).is_none());
        let named = found.as_ref().filter(|_| is_named);
        let whereabouts = named.map(|found| Box::new(Whereabouts::new(found.address)));
        match self.opened(found, host) {
            Ok(mut task) => {
                if self.is_finishing {
                    task.finish();
                }
                if std::mem::take(&mut self.has_failed) {
                    let message = format!("the {} task runs again", self.wanted.kind().name());
                    let name = self.wanted.name();
                    turn.sink.event(EventKind::TaskRunning, name, message);
                }
                self.state = State::Running {
                    task,
                    due: turn.now,
                    since: turn.now,
                    whereabouts,
                };
                turn.now
            }
            Err(error) => self.fail(error, turn),
        }
    }

    fn fail(&mut self, error: Error, turn: &mut Turn<'_>) -> MonotonicTime {
        let (kind, name) = (self.wanted.kind().name(), self.wanted.name());
        let message = format!("the {kind} task failed: {error}");
        turn.sink.event(EventKind::TaskFailed, name, message);
        let retry_at = match self.wanted.ends() {
            true => MonotonicTime::MAX,
            false => turn.now + self.retry,
        };
        self.retry = (self.retry + self.retry).min(RETRY.1);
        self.has_failed = true;
        self.failures += 1;
        self.carry(turn);
        self.state = State::Failed { error, retry_at };
        retry_at
    }

    fn opened(&self, found: Option<Found>, host: &Host) -> Result<Box<dyn Task>> {
        let found = || found.ok_or_else(|| unresolved(self.wanted.name(), "no address".into()));
        let place = &host.place;
        Ok(match &self.wanted {
            Wanted::Clock {
                interface,
                tai_offset,
            } => Box::new(ClockTask::open(interface, *tai_offset, place)?),
            Wanted::Readings(readings) => Box::new(ReadingsTask::open(readings, place)?),
            Wanted::Recording(recording) => Box::new(RecordingTask::open(recording, place)?),
            Wanted::Path(path) => path::open(path, place)?,
            Wanted::Stamp(stamp) => {
                let after = APART.nanoseconds() * (self.number / TOGETHER) as i128;
                let after = after % Span::from(stamp.interval).nanoseconds().max(1);
                Box::new(StampTask::open(
                    stamp,
                    found()?.address,
                    host,
                    Span::from_nanoseconds(after),
                )?)
            }
            Wanted::Reflector(reflector) => Box::new(ReflectorTask::open(reflector, host)?),
            Wanted::Ntp(ntp) => Box::new(NtpTask::open(ntp, found()?, host)?),
            Wanted::Ptp(ptp) => Box::new(PtpTask::open(ptp, place)?),
            Wanted::NtpServer(address) => Box::new(NtpServerTask::open(*address, place)?),
        })
    }

    pub(crate) fn task(&self) -> Option<&dyn Task> {
        match &self.state {
            State::Running { task, .. } => Some(task.as_ref()),
            State::Starting | State::Resolving(_) | State::Failed { .. } => None,
        }
    }

    /// Writes what it knows now, with what its earlier runs counted.
    pub(crate) fn show(&self, moment: &Moment, into: &mut Shown) {
        let shown = match (&self.state, &self.carried) {
            (State::Running { .. }, _) => self.shown(moment),
            (State::Failed { error, .. }, Some(carried)) => {
                Some(carried.show(moment.now, Some(&error.to_string())))
            }
            (_, Some(carried)) => Some(carried.show(moment.now, None)),
            (_, None) => None,
        };
        if let Some(mut shown) = shown {
            self.delays.show(&mut shown);
            into.append(shown);
        }
    }

    /// What the task shows by itself, with what its earlier runs counted; `None` if it does not run.
    fn shown(&self, moment: &Moment) -> Option<Shown> {
        let mut shown = Shown::default();
        self.task()?.show(moment, &mut shown);
        if let Some(carried) = &self.carried {
            carried.add_to(&mut shown);
        }
        Some(shown)
    }

    /// Yields what it knows of its clock; a task that does not run knows nothing.
    pub(crate) fn estimate(&mut self, moment: &Moment, into: &mut dyn Sink) {
        let name = match &self.wanted {
            Wanted::Clock { interface, .. } => interface.clone(),
            Wanted::Ptp(ptp) => recorded_as(&ptp.interface),
            _ => return,
        };
        let known = match &mut self.state {
            State::Running { task, .. } => task.estimate(moment),
            _ => Some(Known::nothing(moment.utc(), NOT_RUNNING)),
        };
        if let Some(known) = known {
            into.estimate(&name, &known);
        }
    }

    pub(crate) fn is_of_clocks(&self) -> bool {
        matches!(
            self.wanted,
            Wanted::Clock { .. } | Wanted::Ntp(_) | Wanted::Ptp(_)
        )
    }

    /// Why it failed, if it did.
    pub(crate) fn error(&self) -> Option<&Error> {
        match &self.state {
            State::Failed { error, .. } => Some(error),
            State::Starting | State::Resolving(_) | State::Running { .. } => None,
        }
    }

    /// Whether there is nothing more to measure.
    pub(crate) fn is_over(&self) -> bool {
        match &self.state {
            State::Running { task, .. } => task.is_over(),
            State::Failed { .. } => self.wanted.ends(),
            State::Starting | State::Resolving(_) => false,
        }
    }

    /// Ends once what it has yielded is confirmed.
    pub(crate) fn finish(&mut self) {
        self.is_finishing = true;
        if let State::Running { task, due, .. } = &mut self.state {
            task.finish();
            *due = MonotonicTime::MIN;
        }
    }

    /// Its report, or why there is none.
    pub(crate) fn report(self, sink: &mut dyn Sink) -> Result<Report> {
        let none = |why: &str| Err(unresolved(self.wanted.name(), why.into()));
        match self.state {
            State::Running { mut task, .. } => {
                let report = task.report(sink);
                report.unwrap_or_else(|| none("it has no report"))
            }
            State::Failed { error, .. } => Err(error),
            State::Starting => none("it was not begun"),
            State::Resolving(_) => none("it is still looked for"),
        }
    }

    /// When its newest sample was made.
    pub(crate) fn newest(&self) -> Option<Moment> {
        self.task()?.newest()
    }

    pub(crate) fn is_ntp(&self) -> bool {
        matches!(self.wanted, Wanted::Ntp(_))
    }

    pub(crate) fn state(&self) -> TaskState {
        let (state, error) = match &self.state {
            State::Running { .. } => ("running", None),
            State::Starting | State::Resolving(_) => ("starting", None),
            State::Failed { error, .. } => ("failed", Some(error.to_string())),
        };
        TaskState {
            kind: self.wanted.kind().name().to_owned(),
            name: self.wanted.name().to_owned(),
            state: state.to_owned(),
            error,
            failures: self.failures,
        }
    }
}

#[cfg(test)]
mod tests;
