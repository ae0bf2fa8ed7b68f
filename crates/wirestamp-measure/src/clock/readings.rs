//! Takes single readings of a NIC's clock at an interval.

use super::reader::Reader;
use crate::moment::Moment;
use crate::options::Readings;
use crate::place::Place;
use crate::sample::Subject;
use crate::state::State;
use crate::task::{Task, Turn};
use wirestamp::socket::AnySocket;
use wirestamp::{MonotonicTime, Result, Span};

/// Reads until it has tried often enough.
pub(crate) struct ReadingsTask {
    reader: Reader,
    interval: Span,
    /// How many are left; `None`: without an end.
    left: Option<u32>,
    due: MonotonicTime,
}

impl ReadingsTask {
    pub(crate) fn open(wanted: &Readings, place: &Place) -> Result<Self> {
        let mut reader = Reader::new(place.interface(&wanted.interface)?);
        reader.open()?;
        Ok(Self {
            reader,
            interval: wanted.interval.into(),
            left: wanted.count,
            due: MonotonicTime::MIN,
        })
    }

    fn read(&mut self, turn: &mut Turn<'_>) {
        let read = self.reader.read();
        let subject = Subject::clock(self.reader.interface().name());
        match read {
            Ok(reading) => turn.sink.reading(subject, &reading),
            Err(error) => turn.sink.unread(subject, &error),
        }
    }
}

impl Task for ReadingsTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        if turn.now >= self.due && !self.is_over() {
            self.read(turn);
            self.left = self.left.map(|left| left - 1);
            // a missed reading is not made up for: two would be too close
            let due = self.due + self.interval;
            self.due = match due > turn.now {
                true => due,
                false => turn.now + self.interval,
            };
        }
        Ok(match self.is_over() {
            true => MonotonicTime::MAX,
            false => self.due,
        })
    }

    fn sockets<'a>(&'a self, _into: &mut Vec<AnySocket<'a>>) {}

    fn show(&self, _moment: &Moment, _into: &mut State) {}

    fn is_over(&self) -> bool {
        self.left == Some(0)
    }
}
