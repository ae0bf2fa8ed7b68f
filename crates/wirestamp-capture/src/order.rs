//! The packets of a file in order of time: several interfaces or queues write them as they come, and files are put behind each other.
//! `WINDOW` packets are looked at together; what is further from its place is an error.
//!
//! A step of the clock is no disorder. Where the file says which run of the clock a time is of, the packets of each run follow those
//! of the run before, on a line of time without the step.

use crate::read::{FilePacket, Reader};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::ops::RangeInclusive;
use wirestamp_core::Result;

/// So many packets are put in order together.
pub(crate) const WINDOW: usize = 65_536;
/// So many runs of the clock are remembered.
const MOST_RUNS: usize = 64;

/// Reads packets in order; `read` takes from each what is needed of it.
pub(crate) struct Ordered<'a, 'r, T, F> {
    reader: &'a mut Reader<'r>,
    read: F,
    window: usize,
    waiting: BinaryHeap<Reverse<Placed<T>>>,
    line: Line,
    /// Packets read.
    place: u64,
    /// The one that was given out last.
    given_ns: i64,
    ended: bool,
    out_of_order: u64,
}

/// What was read of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed<T> {
    /// Its time, on a line without the clock's steps. Of a packet without a time: that of the one before it.
    pub(crate) line_ns: i64,
    place: u64,
    pub(crate) packet: T,
}

/// Where the runs of a clock lie on one line of time.
#[derive(Debug, Default)]
struct Line {
    /// What is to be added to the times of a run, by section and number of the run.
    shifts: VecDeque<((u32, u32), i64)>,
    first_ns: Option<i64>,
    latest_ns: Option<i64>,
    steps: u64,
}

impl Line {
    fn place(&mut self, packet: &FilePacket<'_>) -> i64 {
        let Some(utc_ns) = packet.utc_ns else {
            return self.latest_ns.unwrap_or(i64::MIN);
        };
        let shift = match packet.utc_generation {
            Some(generation) => self.shift((packet.section, generation), utc_ns),
            None => 0,
        };
        let line_ns = utc_ns.saturating_add(shift);
        self.first_ns.get_or_insert(line_ns);
        self.latest_ns = self.latest_ns.max(Some(line_ns));
        line_ns
    }

    fn at_least_first(&self, line_ns: i64) -> i64 {
        match self.first_ns {
            Some(first) if line_ns == i64::MIN => first,
            _ => line_ns,
        }
    }

    fn shift(&mut self, run: (u32, u32), utc_ns: i64) -> i64 {
        if let Some((_, shift)) = self.shifts.iter().rev().find(|(known, _)| *known == run) {
            return *shift;
        }
        let is_first = !self
            .shifts
            .iter()
            .any(|((section, _), _)| *section == run.0);
        let shift = match self.latest_ns {
            Some(latest) if !is_first => {
                self.steps += 1;
                latest.saturating_sub(utc_ns)
            }
            _ => 0,
        };
        if self.shifts.len() == MOST_RUNS {
            self.shifts.pop_front();
        }
        self.shifts.push_back((run, shift));
        shift
    }
}

impl<'a, 'r, T, F: FnMut(&FilePacket<'_>) -> T> Ordered<'a, 'r, T, F> {
    pub(crate) fn new(reader: &'a mut Reader<'r>, window: usize, read: F) -> Self {
        Self {
            reader,
            read,
            window: window.max(1),
            waiting: BinaryHeap::new(),
            line: Line::default(),
            place: 0,
            given_ns: i64::MIN,
            ended: false,
            out_of_order: 0,
        }
    }

    /// The next packet. `None`: there is none.
    pub(crate) fn next(&mut self) -> Result<Option<Placed<T>>> {
        self.fill()?;
        let mut next = self.waiting.pop().map(|Reverse(placed)| placed);
        if let Some(placed) = &mut next {
            self.given_ns = placed.line_ns;
            // no packet before it has a time
            placed.line_ns = self.line.at_least_first(placed.line_ns);
        }
        Ok(next)
    }

    /// When it is, on the line of time.
    pub(crate) fn peek_ns(&mut self) -> Result<Option<i64>> {
        self.fill()?;
        let next = self.waiting.peek();
        Ok(next.map(|Reverse(placed)| self.line.at_least_first(placed.line_ns)))
    }

    fn fill(&mut self) -> Result<()> {
        while !self.ended && self.waiting.len() < self.window {
            let Some(packet) = self.reader.next_packet()? else {
                self.ended = true;
                return Ok(());
            };
            let latest = self.line.latest_ns;
            let line_ns = self.line.place(&packet);
            self.out_of_order += u64::from(latest.is_some_and(|latest| line_ns < latest));
            self.place += 1;
            let place = self.place;
            let packet = (self.read)(&packet);
            if line_ns < self.given_ns {
                let early = self.given_ns.abs_diff(line_ns);
                return Err(self.reader.out_of_order(place, early, self.window));
            }
            self.waiting.push(Reverse(Placed {
                line_ns,
                place,
                packet,
            }));
        }
        Ok(())
    }

    /// What the file says of itself.
    pub(crate) fn reader(&self) -> &Reader<'r> {
        self.reader
    }

    /// How many packets stand behind a later one.
    pub(crate) fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// How many steps of the clock the file tells of.
    pub(crate) fn steps(&self) -> u64 {
        self.line.steps
    }

    /// From when until when was captured, on the line of time.
    pub(crate) fn lasted(&self) -> Option<RangeInclusive<i64>> {
        let lasted = self.reader.lasted()?;
        let last = self.line.shifts.back().map_or(0, |(_, shift)| *shift);
        let first = self.line.shifts.front().map_or(0, |(_, shift)| *shift);
        Some(lasted.start().saturating_add(first)..=lasted.end().saturating_add(last))
    }
}

impl<T> PartialEq for Placed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Placed<T> {}

impl<T> PartialOrd for Placed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Packets of the same time stay in the order of the file.
impl<T> Ord for Placed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.line_ns, self.place).cmp(&(other.line_ns, other.place))
    }
}
