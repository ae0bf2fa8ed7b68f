//! The packets of a file in time order: several interfaces or queues write them as they come, and
//! files may be concatenated. Packets are sorted within a window of `WINDOW` packets; a packet
//! farther from its position is an error.
//!
//! A step of the clock is not disorder. If the file has clock generations, they are placed on a
//! monotonic time scale, on which no generation begins before the last packet of the previous one.
//! The size of a step on this scale is unknown; generations are numbered so that the scale can be
//! compared with others.

use crate::read::{FilePacket, Reader};
use crate::run::ClockRun;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::ops::RangeInclusive;
use wirestamp_core::Result;

/// The number of packets that are sorted together.
pub(crate) const WINDOW: usize = 65_536;
/// The largest disorder between packets with NIC and kernel timestamps, in nanoseconds; farther
/// back is a step.
const DISORDER: i64 = 1_000_000;
/// The number of clock generations that are remembered.
const MOST_RUNS: usize = 64;
/// The largest time, in nanoseconds, by which packets of a continued section may be before the
/// latest of the previous one, because several queues write them.
const SLACK: i64 = 1_000_000_000;

/// A reader of packets in order; `read` extracts the needed parts of each.
pub(crate) struct Ordered<'a, 'r, T, F> {
    reader: &'a mut Reader<'r>,
    read: F,
    window: usize,
    waiting: BinaryHeap<Reverse<Placed<T>>>,
    line: Line,
    /// The number of packets read.
    place: u64,
    /// The time of the last returned packet.
    given_ns: i64,
    ended: bool,
    out_of_order: u64,
}

/// A packet, as extracted by `read`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed<T> {
    /// The time on the monotonic scale; for a packet without a time, that of the previous one.
    pub(crate) line_ns: i64,
    /// The number of its clock generation, counted from the first step; 0 if the file has no
    /// generations. For a packet without a time, the last one.
    pub(crate) run: u32,
    place: u64,
    pub(crate) packet: T,
}

/// The positions of a clock's generations on the monotonic time scale.
#[derive(Debug, Default)]
struct Line {
    runs: VecDeque<Run>,
    first_ns: Option<i64>,
    latest_ns: Option<i64>,
    /// The latest time before the first step.
    unstepped_ns: Option<i64>,
    steps: u64,
    /// The number of the last generation.
    number: u32,
}

/// A generation of a clock.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    section: u32,
    /// Its number in the counter of the kernel's timestamps, and in that of the NIC's.
    counted: [Option<u32>; 2],
    number: u32,
    /// The shift that is added to its times.
    shift: i64,
}

impl Line {
    /// Returns a packet's time on the scale, and the number of its generation.
    fn place(&mut self, packet: &FilePacket<'_>) -> (i64, u32) {
        let Some(utc_ns) = packet.utc_ns else {
            return (self.latest_ns.unwrap_or(i64::MIN), self.number);
        };
        let run = match packet.run {
            Some(run) => self.run(packet.section, run, utc_ns),
            None => Run::default(),
        };
        let line_ns = utc_ns.saturating_add(run.shift);
        self.first_ns.get_or_insert(line_ns);
        self.latest_ns = self.latest_ns.max(Some(line_ns));
        if self.steps == 0 {
            self.unstepped_ns = self.latest_ns;
        }
        (line_ns, run.number)
    }

    fn at_least_first(&self, line_ns: i64) -> i64 {
        match self.first_ns {
            Some(first) if line_ns == i64::MIN => first,
            _ => line_ns,
        }
    }

    fn run(&mut self, section: u32, named: ClockRun, utc_ns: i64) -> Run {
        let (own, name) = (named.place(), Some(named.generation));
        let is_it = |run: &&Run| run.section == section && run.counted[own] == name;
        if let Some(known) = self.runs.iter().rev().find(is_it) {
            return *known;
        }
        if self.has_begun(section, named, utc_ns) {
            if let Some(last) = self.runs.back_mut() {
                last.counted[own] = name;
                return *last;
            }
        }
        let is_first = !self.runs.iter().any(|run| run.section == section);
        let shift = match self.latest_ns {
            Some(latest) if !is_first => {
                self.steps += 1;
                // a later time is not shifted: it follows a pause, or a step to the other capture's
                // clock
                latest.saturating_sub(utc_ns).max(0)
            }
            Some(latest) => self.shift_of_section(latest, utc_ns),
            None => 0,
        };
        self.number += u32::from(self.steps > 0);
        if self.runs.len() == MOST_RUNS {
            self.runs.pop_front();
        }
        let mut counted = [None; 2];
        counted[own] = name;
        let run = Run {
            section,
            counted,
            number: self.number,
            shift,
        };
        self.runs.push_back(run);
        run
    }

    /// Whether the last generation seems to be the one with this number of the counter: the other
    /// counter has noticed its beginning, and its times continue. Both notice the same steps except
    /// the smallest.
    fn has_begun(&self, section: u32, named: ClockRun, utc_ns: i64) -> bool {
        let (own, other) = (named.place(), 1 - named.place());
        let mut runs = self
            .runs
            .iter()
            .rev()
            .take_while(|run| run.section == section);
        let Some(last) = runs.next().filter(|run| run.counted[own].is_none()) else {
            return false;
        };
        let line_ns = utc_ns.saturating_add(last.shift);
        if self
            .latest_ns
            .is_some_and(|latest| line_ns < latest.saturating_sub(DISORDER))
        {
            return false;
        }
        let before = (1..)
            .zip(runs)
            .find_map(|(steps, run)| Some((steps, run.counted[own]?)));
        match before {
            Some((steps, known)) => known.checked_add(steps) == Some(named.generation),
            None => last.counted[other] == Some(named.generation),
        }
    }
}

impl Line {
    /// Returns the shift for the times of another section. A continued capture has the clock of the
    /// last generation. One that begins before the first step of the first capture was made at the
    /// same time.
    fn shift_of_section(&self, latest: i64, utc_ns: i64) -> i64 {
        let last = self.runs.back().map_or(0, |run| run.shift);
        let unstepped = self.first_ns.zip(self.unstepped_ns);
        let is_beside = unstepped.is_some_and(|(from, until)| (from..=until).contains(&utc_ns));
        let slack = SLACK.min(last / 2);
        let goes_on = utc_ns.saturating_add(last) >= latest.saturating_sub(slack);
        if goes_on && !is_beside { last } else { 0 }
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

    /// Returns the next packet; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Placed<T>>> {
        self.fill()?;
        let mut next = self.waiting.pop().map(|Reverse(placed)| placed);
        if let Some(placed) = &mut next {
            self.given_ns = placed.line_ns;
            // no earlier packet has a time
            placed.line_ns = self.line.at_least_first(placed.line_ns);
        }
        Ok(next)
    }

    /// Returns the next packet's time on the scale, and the number of its generation.
    pub(crate) fn peek(&mut self) -> Result<Option<(i64, u32)>> {
        self.fill()?;
        let next = self.waiting.peek();
        Ok(next.map(|Reverse(placed)| (self.line.at_least_first(placed.line_ns), placed.run)))
    }

    fn fill(&mut self) -> Result<()> {
        while !self.ended && self.waiting.len() < self.window {
            let Some(packet) = self.reader.next_packet()? else {
                self.ended = true;
                return Ok(());
            };
            let latest = self.line.latest_ns;
            let (line_ns, run) = self.line.place(&packet);
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
                run,
                place,
                packet,
            }));
        }
        Ok(())
    }

    /// Returns the reader, for the counts of the file.
    pub(crate) fn reader(&self) -> &Reader<'r> {
        self.reader
    }

    /// Returns the number of packets that come after a later one.
    pub(crate) fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// The number of steps of the clock that the file reports.
    pub(crate) fn steps(&self) -> u64 {
        self.line.steps
    }

    /// Returns the period of the capture on the time scale.
    pub(crate) fn lasted(&self) -> Option<RangeInclusive<i64>> {
        let lasted = self.reader.lasted()?;
        let last = self.line.runs.back().map_or(0, |run| run.shift);
        let first = self.line.runs.front().map_or(0, |run| run.shift);
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
