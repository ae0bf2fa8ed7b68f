//! Measures NICs' clocks against the system's clocks.

mod offset;
mod reader;
mod readings;
mod recording;

pub(crate) use readings::ReadingsTask;
pub(crate) use recording::RecordingTask;

use crate::event::EventKind;
use crate::moment::Moment;
use crate::nic::{Pace, correlated};
use crate::place::Place;
use crate::sample::Subject;
use crate::sink::Known;
use crate::state::{ClockState, Reasons, State};
use crate::task::{Task, Turn};
use offset::{OTHER_UNIT, Offset, UNREAD, counts_nanoseconds, parts_per_trillion};
use reader::Reader;
use wirestamp::correlator::{CorrelatorStatus, FrequencyEstimate, GenerationCause};
use wirestamp::socket::AnySocket;
use wirestamp::time::UtcCrossTimestamp;
use wirestamp::{ConversionError, Correlator, Error, ErrorKind, MonotonicTime, Result, Span};

/// The interval at which the correlator's state is read.
const LOOK: Span = Span::from_seconds(1);
/// The interval at which a cross timestamp is taken to know its width.
const WIDTH: Span = Span::from_seconds(10);
/// Why nothing is known of a clock: its NIC is gone.
const GONE: &str = "no_such_device";
const NOT_READ: &str = "the clock could not be read, or the real-time clock was stepped meanwhile";

/// A NIC's clock and its correlation.
pub(crate) struct ClockTask {
    reader: Reader,
    correlator: Correlator,
    /// Whether the clock counts nanoseconds.
    counts_nanoseconds: bool,
    tai_offset: i32,
    due: MonotonicTime,
    width_due: MonotonicTime,
    width: Option<Span>,
    taken: u64,
    /// The time of the last check before the one that found new readings, which are therefore not older.
    fresh_since: Option<MonotonicTime>,
    looked: Option<MonotonicTime>,
    generation: Option<u64>,
    changes: Reasons,
}

impl ClockTask {
    pub(crate) fn open(name: &str, tai_offset: i32, place: &Place) -> Result<Self> {
        let interface = place.interface(name)?;
        let correlator = correlated(&interface, Pace::Usual)?;
        Ok(Self {
            counts_nanoseconds: counts_nanoseconds(&interface)?,
            reader: Reader::new(interface),
            correlator,
            tai_offset,
            due: MonotonicTime::MIN,
            width_due: MonotonicTime::MIN,
            width: None,
            taken: 0,
            fresh_since: None,
            looked: None,
            generation: None,
            changes: causes(),
        })
    }

    fn look(&mut self, turn: &mut Turn<'_>) {
        let status = self.correlator.status();
        if status.taken > self.taken {
            self.taken = status.taken;
            self.fresh_since = self.looked.or(Some(turn.now));
        }
        self.looked = Some(turn.now);
        let generation = status.generation.map(|generation| u64::from(generation.0));
        let cause = status.cause.map_or("unknown", GenerationCause::name);
        if let (Some(before), Some(now)) = (self.generation, generation)
            && before != now
        {
            self.width_due = turn.now; // it may be another clock
            // of several changes between two checks, only the cause of the last is known
            *self.changes.entry(cause.to_owned()).or_default() += now.saturating_sub(before).max(1);
            turn.sink.event(
                EventKind::GenerationChange,
                self.name(),
                format!("the PTP hardware clock began clock generation {now}: {cause}"),
            );
        }
        self.generation = generation.or(self.generation);
        if turn.now >= self.width_due {
            self.width_due = turn.now + WIDTH;
            self.width = self.reader.read().ok().map(|reading| {
                let name = self.reader.interface().name();
                turn.sink.reading(Subject::clock(name), &reading);
                reading.cross.monotonic_after() - reading.cross.monotonic_before()
            });
        }
    }

    fn name(&self) -> &str {
        self.reader.interface().name()
    }

    /// The clock minus UTC as the real-time clock shows it, or why it is not known. A reading says it, which is true whatever somebody did to
    /// either clock since they were last correlated.
    fn utc_offset(&self, moment: &Moment) -> Result<Offset, &'static str> {
        if !self.counts_nanoseconds {
            return Err(OTHER_UNIT);
        }
        match self.reader.read_opened() {
            Some(read) => match read.map_err(|_| UNREAD)? {
                read if read.cross.bracket().is_some() => Offset::read(&read),
                _ => self.predicted(moment),
            },
            None => self.predicted(moment),
        }
    }

    /// The same before the first reading, and where the width of readings is not known: from the correlation.
    fn predicted(&self, moment: &Moment) -> Result<Offset, &'static str> {
        let UtcCrossTimestamp { before, utc, after } = moment.reading;
        let half = Span::from_nanoseconds((after - before).nanoseconds() / 2);
        let there = self.correlator.to_hardware(before + half);
        let there = there.map_err(ConversionError::name)?;
        let shown = i128::from(there.ticks.raw());
        let bound = i128::from(there.bound) + half.nanoseconds() + 2;
        Offset::of(utc, shown - i128::from(utc.nanoseconds()), bound)
    }

    /// Whether the NIC is there: the clock of one that was taken out shows nothing, and a new one when it is back.
    fn is_there(status: &CorrelatorStatus) -> bool {
        let is_gone = |error: &Error| error.kind() == ErrorKind::NoSuchDevice;
        !status.last_error.as_ref().is_some_and(is_gone)
    }

    fn frequency(&self) -> Option<FrequencyEstimate> {
        let frequency = self.correlator.frequency();
        frequency.filter(|_| self.counts_nanoseconds)
    }
}

impl Task for ClockTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        if turn.now >= self.due {
            self.look(turn);
            self.due = turn.now + LOOK;
        }
        Ok(self.due)
    }

    fn sockets<'a>(&'a self, _into: &mut Vec<AnySocket<'a>>) {}

    fn show(&self, moment: &Moment, into: &mut State) {
        let status = self.correlator.status();
        let is_there = Self::is_there(&status);
        let frequency = self.frequency().filter(|_| is_there);
        let offset = self.utc_offset(moment);
        let unread = offset.as_ref().err().filter(|why| **why == UNREAD);
        let unread = unread.map(|_| NOT_READ.to_owned());
        let offset = offset.ok().filter(|_| is_there);
        let shown = offset.as_ref().map(|known| {
            [known.offset.value, known.offset.bound].map(Span::saturating_nanoseconds)
        });
        let tai = i64::from(self.tai_offset) * 1_000_000_000;
        into.clocks.push(ClockState {
            name: self.name().to_owned(),
            kind: "phc".to_owned(),
            utc_offset_ns: shown.map(|[offset, _]| offset),
            utc_bound_ns: shown.map(|[_, bound]| bound),
            right_servers: None,
            tai_offset_ns: shown.map(|[offset, _]| offset.saturating_sub(tai)),
            reference: offset.as_ref().map(|_| "system".to_owned()),
            frequency_ppb: frequency.map(|one| (one.hertz / 1e9 - 1.0) * 1e9),
            frequency_bound_ppb: frequency.map(|one| one.error_bound_parts_per_billion),
            generation: self.generation,
            generation_changes: self.changes.clone(),
            age_ns: self
                .fresh_since
                .map(|at| (moment.now - at).saturating_nanoseconds()),
            cross_width_ns: self.width.map(Span::saturating_nanoseconds),
            cross_method: status.method.map(|method| method.name().to_owned()),
            readings: status.taken,
            failures: status.failures,
            error: status.last_error.map(|error| error.to_string()).or(unread),
        });
    }

    fn estimate(&mut self, moment: &Moment) -> Option<Known> {
        let generation = self.correlator.generation();
        let (offset, frequency) = (self.utc_offset(moment), self.frequency());
        let status = self.correlator.status();
        let utc = moment.reading.utc;
        Some(if !Self::is_there(&status) {
            Known::nothing(utc, GONE)
        } else if status.generation != generation {
            // which of them the numbers are of is not known
            Known::nothing(utc, ConversionError::OutsideGenerations.name())
        } else {
            // the offset is of when it was read
            let at = offset.as_ref().map_or(utc, |known| known.at);
            Known {
                from: at,
                until: at,
                generation: generation.map(|generation| generation.0),
                offset: offset.map(|known| known.offset),
                right_servers: None,
                frequency_ppt: frequency.as_ref().map(parts_per_trillion),
            }
        })
    }
}

/// No change for any cause: a series that begins at 1 has no increase, and no alert would see the first change.
fn causes() -> Reasons {
    let all = GenerationCause::ALL.iter();
    all.filter(|cause| **cause != GenerationCause::Start)
        .map(|cause| (cause.name().to_owned(), 0))
        .collect()
}
