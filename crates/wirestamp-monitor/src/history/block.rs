//! Encodes the records of one sync as one block. The numbers of each series are differences to the previous ones, in as
//! few bytes as they need.
//!
//! A block is its version (one byte), the least and the greatest time in it (i64, nanoseconds of UTC, little-endian),
//! and entries. An entry begins with the number of its series. It refers only to earlier entries of its block. Numbers
//! are LEB128, signed ones in zigzag.
//!
//! | entry | what follows |
//! |---|---|
//! | series 0 | a text: a record as JSON |
//! | a series that the block had | time and numbers, as differences to the entry before and to the series' one before |
//! | the next new series | kind, name, count of segments and their names; then as above. A name is the number of one that the block had, or the next new number and a text |

use super::Record;
use super::series::{Kind, LONGEST_NAME, MOST_SEGMENTS, Series, split, text_of};
use crate::rfc3339::nanoseconds;
use std::borrow::Cow;
use std::collections::HashMap;

const VERSION: u8 = 3;
/// That of before had one kind of series less.
const OLDEST: u8 = 2;
/// Version and times.
pub(super) const HEAD: usize = 17;

/// A block under construction.
#[derive(Debug, Default)]
pub(super) struct Block {
    entries: Vec<u8>,
    names: HashMap<String, u64>,
    /// Number and newest numbers of each.
    series: HashMap<Series, (u64, Vec<i64>)>,
    newest: i64,
    times: Option<(i64, i64)>,
}

impl Block {
    /// Adds a record; one that is larger than `longest` is left out.
    pub(super) fn add(&mut self, record: &Record, longest: usize) {
        let at = nanoseconds(record.time());
        if let Some(at) = at {
            let (least, most) = self.times.unwrap_or((at, at));
            self.times = Some((least.min(at), most.max(at)));
        }
        match at
            .filter(|at| text_of(*at) == record.time())
            .zip(split(record))
        {
            Some((at, (series, numbers))) => self.add_numbers(at, series, numbers),
            None => match serde_json::to_string(record) {
                Ok(text) if text.len() <= longest => {
                    unsigned(&mut self.entries, 0);
                    self.text(&text);
                }
                _ => {}
            },
        }
    }

    fn add_numbers(&mut self, at: i64, series: Series, numbers: Vec<i64>) {
        let step = at.wrapping_sub(self.newest);
        self.newest = at;
        if let Some((number, newest)) = self.series.get_mut(&series) {
            unsigned(&mut self.entries, *number);
            signed(&mut self.entries, step);
            for (now, before) in numbers.iter().zip(newest.iter()) {
                signed(&mut self.entries, now.wrapping_sub(*before));
            }
            *newest = numbers;
            return;
        }
        let number = self.series.len() as u64 + 1;
        unsigned(&mut self.entries, number);
        self.entries.push(series.kind as u8);
        self.name(&series.name);
        unsigned(&mut self.entries, series.segments.len() as u64);
        let segments = series.segments.iter();
        segments.for_each(|segment| self.name(segment));
        signed(&mut self.entries, step);
        let entries = &mut self.entries;
        numbers.iter().for_each(|number| signed(entries, *number));
        self.series.insert(series, (number, numbers));
    }

    /// Returns the block if there is anything in it, and begins another.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let done = std::mem::take(self);
        let (least, most) = done.times.unwrap_or((i64::MAX, i64::MIN));
        let mut block = Vec::with_capacity(HEAD + done.entries.len());
        block.push(VERSION);
        block.extend_from_slice(&least.to_le_bytes());
        block.extend_from_slice(&most.to_le_bytes());
        block.extend_from_slice(&done.entries);
        (!done.entries.is_empty()).then_some(block)
    }

    /// Returns how many bytes it has.
    pub(super) fn len(&self) -> usize {
        HEAD + self.entries.len()
    }

    fn name(&mut self, name: &str) {
        let next = self.names.len() as u64;
        let number = *self.names.entry(name.to_owned()).or_insert(next);
        unsigned(&mut self.entries, number);
        if number == next {
            self.text(name);
        }
    }

    fn text(&mut self, text: &str) {
        unsigned(&mut self.entries, text.len() as u64);
        self.entries.extend_from_slice(text.as_bytes());
    }
}

fn unsigned(entries: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        entries.push(number as u8 | 0x80);
        number >>= 7;
    }
    entries.push(number as u8);
}

fn signed(entries: &mut Vec<u8>, number: i64) {
    unsigned(entries, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

fn is_known(version: u8) -> bool {
    (OLDEST..=VERSION).contains(&version)
}

/// Returns the least and the greatest time in a block; `None` if it has none, or is no block.
pub(super) fn times(block: &[u8]) -> Option<(i64, i64)> {
    let (head, _) = block.split_first_chunk::<HEAD>()?;
    let word = |from: usize| head[from..from + 8].try_into().ok().map(i64::from_le_bytes);
    let (least, most) = (word(1)?, word(9)?);
    (is_known(head[0]) && least <= most).then_some((least, most))
}

/// Calls `each` with the records of a block whose kind is `wanted`, up to the first that makes no sense.
pub(super) fn records(block: &[u8], wanted: impl Fn(&str) -> bool, mut each: impl FnMut(Record)) {
    if block.first().copied().is_some_and(is_known) {
        let mut left = Left(block.get(HEAD..).unwrap_or_default());
        let mut known = Known::default();
        while !left.0.is_empty() {
            match known.entry(&mut left, &wanted) {
                Some(Some(record)) => each(record),
                Some(None) => {}
                None => return,
            }
        }
    }
}

/// What the entries before said.
#[derive(Default)]
struct Known {
    names: Vec<Cow<'static, str>>,
    series: Vec<(Series, Vec<i64>)>,
    newest: i64,
}

impl Known {
    /// `Some(None)`: an entry that is not wanted. `None`: no entry.
    fn entry(
        &mut self,
        left: &mut Left<'_>,
        wanted: &impl Fn(&str) -> bool,
    ) -> Option<Option<Record>> {
        let Some(place) = usize::try_from(left.unsigned()?).ok()?.checked_sub(1) else {
            let record = serde_json::from_str::<Record>(left.text()?).ok();
            return Some(record.filter(|record| wanted(record.kind())));
        };
        if place == self.series.len() {
            let series = self.new_series(left)?;
            let numbers = series.kind.numbers() + 2 * series.segments.len();
            self.series.push((series, vec![0; numbers]));
        }
        let (series, numbers) = self.series.get_mut(place)?;
        self.newest = self.newest.wrapping_add(left.signed()?);
        for number in &mut *numbers {
            *number = number.wrapping_add(left.signed()?);
        }
        if wanted(series.kind.name()) {
            series.record(self.newest, numbers).map(Some)
        } else {
            Some(None)
        }
    }

    fn new_series(&mut self, left: &mut Left<'_>) -> Option<Series> {
        let kind = *Kind::ALL.get(usize::from(left.octets(1)?[0]))?;
        let name = self.name(left)?.into_owned();
        let count = usize::try_from(left.unsigned()?).ok()?;
        let segments = (count <= MOST_SEGMENTS)
            .then(|| (0..count).map(|_| self.name(left)).collect::<Option<_>>())??;
        Some(Series {
            kind,
            name,
            segments,
        })
    }

    fn name(&mut self, left: &mut Left<'_>) -> Option<Cow<'static, str>> {
        let number = usize::try_from(left.unsigned()?).ok()?;
        if number == self.names.len() {
            let name = left.text().filter(|name| name.len() <= LONGEST_NAME)?;
            self.names.push(name.to_owned().into());
        }
        self.names.get(number).cloned()
    }
}

/// The bytes that were not read yet.
struct Left<'a>(&'a [u8]);

impl<'a> Left<'a> {
    fn octets(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(count)?;
        self.0 = left;
        Some(taken)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let octet = self.octets(1)?[0];
            number |= u64::from(octet & 0x7f) << shift;
            if octet & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.unsigned()?;
        Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.unsigned()?).ok()?;
        std::str::from_utf8(self.octets(length)?).ok()
    }
}

#[cfg(test)]
mod tests;
