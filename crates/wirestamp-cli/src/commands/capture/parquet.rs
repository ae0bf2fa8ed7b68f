//! `capture --parquet DIR`: captured packets as rows of the fleet's table `timestamps`. A packet's sequence number is the one that it has
//! wherever it is captured, so that captures of two hosts can be joined.
//!
//! Packets that look alike have the same number and cannot be distinguished. So the row of a sent packet waits until its
//! like could not be sent any more; if it was, none of them has a time. (Received ones that look alike have theirs: the network duplicated a packet that
//! was sent once.)

use crate::arguments;
use crate::commands::recordings;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use wirestamp::capture::{CapturedDirection, CapturedPacket, LinkType};
use wirestamp::{ConversionError, Error, TimestampSource};
use wirestamp_capture::identity;
use wirestamp_capture::packet::{self, Flow};
use wirestamp_record::{Direction, Options, Recorder, Source, Timestamp, flow_of};

/// Packets that look alike and were sent further apart than this, in nanoseconds, are distinguished by their times.
const WINDOW: i64 = 10_000_000_000;
/// The kernel hands packets over earlier than this after their timestamps.
const LATE: i64 = 1_000_000_000;
/// So many rows wait at most: about 150 MB.
const MOST: usize = 1 << 20;
/// So many numbers of flows are remembered.
const FLOWS: usize = 1 << 16;
/// Why a row has no time: other packets look like it.
const ALIKE: &str = "looks_alike";
/// Why a row has no time: too many packets were sent to wait whether one looks like it.
const UNKNOWN: &str = "too_many";

/// The key of sent packets that look alike: flow and number.
type Like = (i64, i64);

/// The files, and the rows that wait.
pub(super) struct Store {
    folder: PathBuf,
    interface: Arc<str>,
    recorder: Recorder<Timestamp>,
    flows: HashMap<Flow, i64>,
    /// Sent packets, with the time at which each was captured.
    waiting: VecDeque<(i64, Timestamp)>,
    /// How many wait, and whether there were ever two.
    alike: HashMap<Like, (u32, bool)>,
    now: i64,
    /// How many wait at most.
    most: usize,
    /// Packets that are no rows: not IP, cut off, or between others.
    left_out: u64,
}

impl Store {
    pub(super) fn open(
        arguments: &arguments::Capture,
        interface: &str,
    ) -> Result<Option<Self>, Error> {
        let Some(folder) = arguments.parquet.clone() else {
            return Ok(None);
        };
        let host = recordings::open(&folder, arguments.host.as_deref())?;
        Ok(Some(Self {
            interface: interface.into(),
            recorder: Recorder::new(&folder, host, Options::default()),
            folder,
            flows: HashMap::new(),
            waiting: VecDeque::new(),
            alike: HashMap::new(),
            now: 0,
            most: MOST,
            left_out: 0,
        }))
    }

    /// Takes a packet.
    pub(super) fn packet(
        &mut self,
        packet: &CapturedPacket<'_>,
        link_type: LinkType,
    ) -> Result<(), Error> {
        let direction = match packet.direction() {
            CapturedDirection::Sent => Direction::Transmit,
            CapturedDirection::Received => Direction::Receive,
            _ => return self.leave_out(),
        };
        let Some(found) = packet::ip(link_type, packet.data()) else {
            return self.leave_out();
        };
        let Some(sequence) = identity::number(&found) else {
            return self.leave_out();
        };
        let utc = packet.utc();
        self.go_on(utc.map_or(self.now, |time| time.at.value.nanoseconds()))?;
        let timestamps = packet.timestamps();
        let (source, ticks) = match packet.clock() {
            TimestampSource::Hardware => {
                let hardware = timestamps.hardware;
                (Source::Hardware, hardware.map(|made| made.ticks.raw()))
            }
            TimestampSource::Software => {
                let software = timestamps.software;
                let ticks = software.map(|made| made.at.value.nanoseconds().cast_unsigned());
                (Source::Software, ticks)
            }
        };
        let row = Timestamp {
            interface: Arc::clone(&self.interface),
            flow: self.flow(&found.flow),
            sequence,
            direction,
            source,
            generation: utc.ok().map(|time| time.generation.0),
            ticks,
            utc: utc.map_err(ConversionError::name).map(|time| {
                let bound = time.at.bound.saturating_nanoseconds().cast_unsigned();
                (time.at.value.nanoseconds(), bound)
            }),
        };
        if direction == Direction::Transmit {
            let like = self.alike.entry(like(&row)).or_insert((0, false));
            like.0 += 1;
            like.1 |= like.0 > 1;
            self.waiting.push_back((self.now, row));
        } else {
            self.push(self.now, row)?;
        }
        self.give(self.now.saturating_sub(WINDOW))
    }

    /// A packet has this time. If the clock was stepped back, the rows from before would wait until it shows their times again: they go now.
    fn go_on(&mut self, now: i64) -> Result<(), Error> {
        if now < self.now.saturating_sub(LATE) {
            self.give(i64::MAX)?;
        }
        self.now = now;
        Ok(())
    }

    /// Writes the rows that were held long enough; `since_1970`: what the captured system's clock shows, in nanoseconds.
    pub(super) fn poll(&mut self, since_1970: u64) -> Result<(), Error> {
        let now = i64::try_from(since_1970).unwrap_or(i64::MAX);
        self.give(now.saturating_sub(WINDOW + LATE))?;
        let polled = self.recorder.poll();
        polled.map_err(|error| recordings::failed(&self.folder, &error))
    }

    /// How many packets are no rows.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Writes what still waits.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.give(i64::MAX)?;
        let Self {
            folder, recorder, ..
        } = self;
        let finished = recorder.finish();
        finished.map_err(|error| recordings::failed(&folder, &error))
    }

    fn leave_out(&mut self) -> Result<(), Error> {
        self.left_out += 1;
        Ok(())
    }

    fn flow(&mut self, flow: &Flow) -> i64 {
        if self.flows.len() >= FLOWS {
            self.flows.clear();
        }
        *self.flows.entry(*flow).or_insert_with(|| {
            let [one, other] = identity::endpoints(flow);
            flow_of(&one, &other, u64::from(flow.protocol))
        })
    }

    /// Gives out rows that came before, and those for which there is no room.
    fn give(&mut self, before: i64) -> Result<(), Error> {
        while let Some((came, _)) = self.waiting.front() {
            let is_due = *came < before;
            if !is_due && self.waiting.len() <= self.most {
                break;
            }
            let Some((came, mut row)) = self.waiting.pop_front() else {
                break;
            };
            if let Entry::Occupied(mut entry) = self.alike.entry(like(&row)) {
                let (waiting, had_like) = entry.get_mut();
                *waiting -= 1;
                if *had_like {
                    row.utc = row.utc.and(Err(ALIKE));
                }
                if *waiting == 0 {
                    entry.remove();
                }
            }
            if !is_due {
                row.utc = row.utc.and(Err(UNKNOWN));
            }
            self.push(came, row)?;
        }
        Ok(())
    }

    fn push(&mut self, at: i64, row: Timestamp) -> Result<(), Error> {
        let pushed = self.recorder.push(at, row);
        pushed.map_err(|error| recordings::failed(&self.folder, &error))
    }
}

fn like(row: &Timestamp) -> Like {
    (row.flow, row.sequence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    fn sent(sequence: i64) -> Timestamp {
        Timestamp {
            interface: "eth0".into(),
            flow: 1,
            sequence,
            direction: Direction::Transmit,
            source: Source::Software,
            generation: None,
            ticks: Some(1),
            utc: Ok((1, 1)),
        }
    }

    fn files(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| match entry.path() {
                path if path.is_dir() => files(&path),
                path => usize::from(path.extension().is_some_and(|end| end == "parquet")),
            })
            .sum()
    }

    /// One that writes rows at once.
    fn store(folder: &Path, most: usize) -> Store {
        let at_once = Options {
            age: Duration::ZERO,
            ..Options::default()
        };
        Store {
            folder: folder.to_owned(),
            interface: "eth0".into(),
            recorder: Recorder::new(folder, "host", at_once),
            flows: HashMap::new(),
            waiting: VecDeque::new(),
            alike: HashMap::new(),
            now: 0,
            most,
            left_out: 0,
        }
    }

    #[test]
    fn no_more_rows_wait_than_there_is_room_for() {
        let folder = tempfile::tempdir().expect("made");
        let mut store = store(folder.path(), 3);
        for sequence in 0..10 {
            store.alike.insert((1, sequence), (1, false));
            store.waiting.push_back((1, sent(sequence)));
            store.give(0).expect("room");
        }
        assert_eq!((store.waiting.len(), store.alike.len()), (3, 3));
    }

    #[test]
    fn rows_from_before_a_step_back_do_not_wait_until_the_clock_is_there_again() {
        let folder = tempfile::tempdir().expect("made");
        let mut store = store(folder.path(), MOST);
        let now = 1_750_000_000_000_000_000;
        for (step, waiting) in [(0, 1), (-LATE, 2), (-LATE - 1, 0)] {
            store.now = now;
            store.alike.insert((1, step), (1, false));
            store.waiting.push_back((now, sent(step)));
            store.go_on(now + step).expect("written");
            assert_eq!((store.waiting.len(), store.now), (waiting, now + step));
        }
    }

    #[test]
    fn rows_are_written_while_no_packet_comes() {
        let folder = tempfile::tempdir().expect("made");
        let mut store = store(folder.path(), MOST);
        let now = 1_750_000_000_000_000_000;
        for (came, sequence) in [(now - 20_000_000_000, 1), (now, 2)] {
            store.alike.insert((1, sequence), (1, false));
            store.waiting.push_back((came, sent(sequence)));
        }
        store.poll(now.cast_unsigned()).expect("written");
        assert_eq!(files(folder.path()), 1);
        assert_eq!(store.waiting.len(), 1, "its like may still be sent");
    }
}
