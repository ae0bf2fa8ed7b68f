//! Records a NIC's clock: readings, changes and timestamps as they come.

mod plan;
mod times;
mod traffic;

use super::reader::Reader;
use crate::moment::Moment;
use crate::options::{Datagrams, Recording};
use crate::place::Place;
use crate::recorded::Recorded;
use crate::sample::Subject;
use crate::sink::Sink;
use crate::state::State;
use crate::task::{Task, Turn, is_no_end};
use plan::Plan;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use times::Times;
use traffic::Traffic;
use wirestamp::events::CONFIRMING_BATCHES;
use wirestamp::interface::ChangeEvent;
use wirestamp::socket::AnySocket;
use wirestamp::{Error, ErrorKind, Interface, MonotonicTime, Result, Span, Watch};

/// How many times, and after how long, a clock is read again that is busy at the start or unreadable at the end.
const ATTEMPTS: u32 = 5;
const RETRY: Duration = Duration::from_millis(20);
/// When a socket is opened again.
const REOPEN: Span = Span::from_seconds(1);

/// Reads until it is ended.
pub(crate) struct RecordingTask {
    reader: Reader,
    plan: Plan,
    due: MonotonicTime,
    changes: Receiver<ChangeEvent>,
    _watch: Watch,
    datagrams: Option<Datagrams>,
    traffic: Option<Traffic>,
    /// When its socket is opened again, if it is gone.
    traffic_due: MonotonicTime,
    phase: Phase,
    has_timestamps: bool,
    /// If they are wanted.
    times: Option<Times>,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// Nothing was read yet, in so many attempts.
    Starting(u32),
    Running,
    /// The last timestamps come.
    Settling,
    /// So many batches are left that show whether the clock was changed before the last timestamps, and so many may fail.
    Confirming {
        left: u32,
        attempts: u32,
    },
    Over,
}

impl RecordingTask {
    pub(crate) fn open(wanted: &Recording, place: &Place) -> Result<Self> {
        let interface = place.interface(&wanted.interface)?;
        let plan = Plan::new(wanted.schedule, &interface)?;
        let start = |datagrams| Traffic::start(&interface, datagrams);
        let traffic = wanted.datagrams.map(start).transpose()?;
        let times = wanted.times.then(|| Times::start(&interface)).transpose()?;
        let (watch, changes) = watch(&interface)?;
        let mut reader = Reader::new(interface);
        reader.open()?;
        Ok(Self {
            reader,
            plan,
            due: MonotonicTime::MIN,
            changes,
            _watch: watch,
            datagrams: wanted.datagrams,
            traffic,
            traffic_due: MonotonicTime::MAX,
            phase: Phase::Starting(0),
            has_timestamps: false,
            times,
        })
    }

    /// Changes come before what is read after them; those before the first batch changed nothing that was read.
    fn notice(&mut self, sink: &mut dyn Sink) {
        if self.changes.try_iter().count() > 0 {
            self.reader.forget();
            self.plan.restart();
            if !matches!(self.phase, Phase::Starting(_)) {
                sink.recorded(subject(&self.reader), &Recorded::Notified);
            }
        }
    }

    /// Takes the timestamps that have arrived. A socket that cannot be read is dropped.
    fn take_timestamps(&mut self, turn: &mut Turn<'_>) {
        let Some(traffic) = &mut self.traffic else {
            return;
        };
        let subject = subject(&self.reader);
        let collected = traffic.collect(turn.is_ready, |came| match came {
            Ok(timestamp) => {
                self.has_timestamps = true;
                self.times
                    .iter_mut()
                    .for_each(|times| times.timestamp(timestamp));
                let recorded = Recorded::Timestamp(timestamp);
                turn.sink.recorded(subject, &recorded);
            }
            Err(error) => turn.sink.recorded(subject, &Recorded::Failed(&error)),
        });
        if let Err(error) = collected {
            turn.sink.recorded(subject, &Recorded::Failed(&error));
            self.traffic = None;
            self.traffic_due = turn.now + REOPEN;
        }
    }

    /// Sends, if it is time to. A socket whose NIC went away is opened again, perhaps with another address.
    fn send(&mut self, turn: &mut Turn<'_>) {
        let sent = match (&mut self.traffic, self.datagrams) {
            _ if self.phase != Phase::Running => return,
            (Some(traffic), _) => traffic.send(turn.now),
            (None, Some(wanted)) if turn.now >= self.traffic_due => {
                self.traffic_due = turn.now + REOPEN;
                let looked = self.reader.look();
                let started = looked.and_then(|()| Traffic::start(self.reader.interface(), wanted));
                started.map(|traffic| self.traffic = Some(traffic))
            }
            _ => return,
        };
        if let Err(error) = sent {
            let subject = subject(&self.reader);
            turn.sink.recorded(subject, &Recorded::Failed(&error));
            if is_no_end(error).is_err() {
                self.traffic = None;
                self.traffic_due = turn.now + REOPEN;
            }
        }
    }

    /// Takes a batch; the next one is due after this time, unless it confirms.
    fn batch(&mut self, sink: &mut dyn Sink) -> Result<Duration> {
        let (count, plan) = (self.plan.readings(), &mut self.plan);
        let times = &mut self.times;
        let name = self.reader.interface().name().to_owned();
        self.reader.read_batch(count, |batch| {
            sink.recorded(Subject::clock(&name), &Recorded::Batch(*batch));
            if let (Some(times), Some(last)) = (times, batch.readings.last()) {
                times.reading(last);
            }
            plan.next(batch)
        })
    }

    /// Takes a batch, and decides when the next is due.
    fn read(&mut self, turn: &mut Turn<'_>) {
        let read = self.batch(turn.sink);
        if let Err(error) = &read {
            self.reader.forget(); // it may be back, as another
            if !self.is_asked_again(error) {
                let subject = subject(&self.reader);
                turn.sink.recorded(subject, &Recorded::Failed(error));
            }
        }
        let after = Span::from(self.advance(read.ok()));
        // those that confirm are batches of their own, however long one takes
        let now = turn.now.max(self.plan.ended());
        let due = self.due + after;
        self.due = match self.phase {
            Phase::Confirming { .. } => now + after,
            _ if due > turn.now => due,
            _ => turn.now + after,
        };
    }

    /// A clock that is busy at the start.
    fn is_asked_again(&self, error: &Error) -> bool {
        matches!(self.phase, Phase::Starting(attempts) if attempts < ATTEMPTS)
            && error.kind() == ErrorKind::Busy
    }

    /// After how long the next batch is due; `planned` if this one was read.
    fn advance(&mut self, planned: Option<Duration>) -> Duration {
        let pause = self.plan.pause();
        let (phase, after) = match (self.phase, planned) {
            (Phase::Starting(attempts), None) => match attempts + 1 {
                next if next <= ATTEMPTS => (Phase::Starting(next), RETRY * next),
                next => (Phase::Starting(next), self.plan.after_failure()),
            },
            (Phase::Starting(_), Some(planned)) => (Phase::Running, planned),
            (Phase::Running, Some(planned)) => (Phase::Running, planned),
            (Phase::Running, None) => (Phase::Running, self.plan.after_failure()),
            (Phase::Confirming { left, attempts }, planned) => match planned {
                Some(_) if left <= 1 => (Phase::Over, pause),
                None if attempts <= 1 => (Phase::Over, pause),
                Some(_) => (confirming(left - 1, attempts), pause),
                None => (confirming(left, attempts - 1), pause.min(RETRY)),
            },
            (phase @ (Phase::Settling | Phase::Over), _) => (phase, pause),
        };
        self.phase = phase;
        after
    }

    /// Whether no timestamp is under way.
    fn is_settled(&self) -> bool {
        self.traffic.as_ref().is_none_or(Traffic::is_settled)
    }

    /// The last timestamps have come: what confirms them follows.
    fn settle(&mut self, now: MonotonicTime) {
        if self.phase == Phase::Settling && self.is_settled() {
            self.phase = match self.has_timestamps {
                true => confirming(CONFIRMING_BATCHES, ATTEMPTS),
                false => Phase::Over,
            };
            self.due = now + Span::from(self.plan.pause());
        }
    }

    /// Yields the times that are final; all of them at the end.
    fn place(&mut self, turn: &mut Turn<'_>) {
        match (&mut self.times, self.phase) {
            (Some(times), Phase::Over) => times.finish(turn.utc, turn.sink),
            (Some(times), _) => times.settle(turn.utc, turn.sink),
            (None, _) => {}
        }
    }

    /// When there is something to do even if nothing comes.
    fn next(&self, now: MonotonicTime) -> MonotonicTime {
        let sending = self.traffic.as_ref();
        let sending = sending.map_or(self.traffic_due, |traffic| traffic.due(now));
        match self.phase {
            Phase::Over => MonotonicTime::MAX,
            Phase::Settling => sending,
            Phase::Running if !self.is_settled() => sending,
            Phase::Running => self.due.min(sending),
            Phase::Starting(_) | Phase::Confirming { .. } => self.due,
        }
    }
}

impl Task for RecordingTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        self.notice(turn.sink);
        self.take_timestamps(turn);
        self.settle(turn.now);
        let reads = !matches!(self.phase, Phase::Settling | Phase::Over);
        // a timestamp stands where it was made: nothing is read while one is under way
        if reads && turn.now >= self.due && self.is_settled() {
            self.read(turn);
        }
        self.send(turn);
        self.place(turn);
        Ok(self.next(turn.now))
    }

    fn sockets<'a>(&'a self, into: &mut Vec<AnySocket<'a>>) {
        let traffic = self.traffic.iter().map(Traffic::socket);
        into.extend(traffic.map(AnySocket::from));
    }

    fn show(&self, _moment: &Moment, _into: &mut State) {}

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn finish(&mut self) {
        self.traffic.iter_mut().for_each(Traffic::stop);
        self.phase = match self.phase {
            Phase::Starting(_) | Phase::Running => Phase::Settling,
            phase => phase,
        };
    }
}

fn confirming(left: u32, attempts: u32) -> Phase {
    Phase::Confirming { left, attempts }
}

fn subject(reader: &Reader) -> Subject<'_> {
    Subject::clock(reader.interface().name())
}

/// Changes come on a thread of the library's.
fn watch(interface: &Interface) -> Result<(Watch, Receiver<ChangeEvent>)> {
    let (sender, changes) = channel();
    let watch = interface.watch(move |event: &ChangeEvent| {
        // the receiver is gone: nobody needs the change
        let _ = sender.send(*event);
    })?;
    Ok((watch, changes))
}
