//! Puts the records of a range of time into bins that keep the extremes: the bound of a bin holds for all samples in
//! it.

use super::Record;
use super::question::{Question, Show};
use crate::snapshot::Event;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use wirestamp_measure::delays::index_of;
use wirestamp_measure::exact::Exact;

/// The most series of offsets, and of delays.
const MOST_OFFSETS: usize = 64;
const MOST_DELAYS: usize = 32;
/// The most events: the newest.
const MOST_EVENTS: usize = 500;

/// Kind, name and, of delays, the segment.
type Key = (&'static str, String, String);

/// The results of a range.
#[derive(Debug, Default)]
pub(super) struct Bins {
    pub(super) records: u64,
    more_series: bool,
    offsets: BTreeMap<Key, BTreeMap<u32, Offsets>>,
    delays: BTreeMap<Key, BTreeMap<u32, DelayBin>>,
    /// By time, run and number, so that the order in which segments are read does not matter.
    events: BTreeMap<(i64, String, u64), Event>,
    events_left_out: u64,
}

#[derive(Debug)]
struct Offsets {
    count: u64,
    /// Least and greatest.
    range: Option<(i64, i64)>,
    bound: i64,
    right_servers: Option<u64>,
}

#[derive(Debug)]
struct DelayBin {
    count: u64,
    range: (i64, i64),
    bound: i64,
    zero: u64,
    buckets: BTreeMap<i32, u64>,
}

impl Bins {
    /// Counts a record whose time is in the range.
    pub(super) fn add(&mut self, question: &Question, at: i64, record: Record) {
        let Some(bin) = question.bin(at) else {
            return;
        };
        match (question.show, record) {
            (
                Show::Offsets,
                Record::Clock {
                    clock,
                    offset_ns,
                    bound_ns,
                    right_servers,
                    ..
                },
            ) => {
                let known = self.offset(question, bin, ("clock", clock), offset_ns, bound_ns);
                if let Some(known) = known {
                    known.right_servers = known.right_servers.max(right_servers);
                }
            }
            (
                Show::Offsets,
                Record::Ntp {
                    server,
                    offset_ns,
                    bound_ns,
                    ..
                },
            ) => {
                self.offset(question, bin, ("ntp", server), Some(offset_ns), bound_ns);
            }
            (
                Show::Offsets,
                Record::Ptp {
                    interface,
                    offset_ns,
                    bound_ns,
                    ..
                },
            ) => {
                self.offset(question, bin, ("ptp", interface), Some(offset_ns), bound_ns);
            }
            (Show::Delays, Record::Stamp { peer, delays, .. }) => {
                self.delays(question, bin, ("stamp", peer), delays);
            }
            (
                Show::Delays,
                Record::Path {
                    interface, delays, ..
                },
            ) => {
                self.delays(question, bin, ("path", interface), delays);
            }
            (Show::Events, Record::Event(event)) => {
                self.records += 1;
                self.events.insert((at, event.run.clone(), event.id), event);
                if self.events.len() > MOST_EVENTS {
                    self.events.pop_first();
                    self.events_left_out += 1;
                }
            }
            _ => {}
        }
    }

    fn offset(
        &mut self,
        question: &Question,
        bin: u32,
        (kind, name): (&'static str, String),
        offset: Option<i64>,
        bound: i64,
    ) -> Option<&mut Offsets> {
        if question.name.as_ref().is_some_and(|wanted| *wanted != name) {
            return None;
        }
        self.records += 1;
        let key = (kind, name, String::new());
        let series = series(&mut self.offsets, key, MOST_OFFSETS, &mut self.more_series)?;
        let known = series.entry(bin).or_insert(Offsets {
            count: 0,
            range: None,
            bound,
            right_servers: None,
        });
        known.count += 1;
        known.bound = known.bound.max(bound);
        if let Some(offset) = offset {
            let (least, most) = known.range.unwrap_or((offset, offset));
            known.range = Some((least.min(offset), most.max(offset)));
        }
        Some(known)
    }

    fn delays(
        &mut self,
        question: &Question,
        bin: u32,
        (kind, name): (&'static str, String),
        delays: Vec<(Cow<'static, str>, i64, i64)>,
    ) {
        if question.name.as_ref().is_some_and(|wanted| *wanted != name) {
            return;
        }
        self.records += 1;
        for (segment, delay, bound) in delays {
            if question
                .segment
                .as_ref()
                .is_some_and(|wanted| *wanted != segment)
            {
                continue;
            }
            let key = (kind, name.clone(), segment.into_owned());
            let Some(series) = series(&mut self.delays, key, MOST_DELAYS, &mut self.more_series)
            else {
                continue;
            };
            let known = series.entry(bin).or_insert_with(|| DelayBin {
                count: 0,
                range: (delay, delay),
                bound,
                zero: 0,
                buckets: BTreeMap::new(),
            });
            known.count += 1;
            known.range = (known.range.0.min(delay), known.range.1.max(delay));
            known.bound = known.bound.max(bound);
            match u64::try_from(delay) {
                // two buckets of the histogram become one: 2^(1/4), 19 %
                Ok(delay @ 1..) => {
                    *known
                        .buckets
                        .entry((index_of(delay) + 1).div_euclid(2))
                        .or_default() += 1;
                }
                _ => known.zero += 1,
            }
        }
    }

    /// Returns the answer. `is_complete`: all segments that may have records of the range were read; `unreadable`:
    /// bytes among them that are damaged.
    pub(super) fn into_answer(
        self,
        question: &Question,
        is_complete: bool,
        unreadable: u64,
    ) -> Answer {
        let text = |at: i64| {
            wirestamp::UtcTime::from_nanoseconds(at)
                .rfc3339()
                .to_string()
        };
        Answer {
            schema: "wirestamp.history/1",
            from: text(question.from),
            to: text(question.to),
            bin_ns: Exact(Some(question.bin_ns())),
            complete: is_complete,
            unreadable_bytes: unreadable,
            records: self.records,
            more_series: self.more_series,
            offsets: self.offsets.into_iter().map(OffsetSeries::new).collect(),
            delays: self.delays.into_iter().map(DelaySeries::new).collect(),
            events: self.events.into_values().collect(),
            events_left_out: self.events_left_out,
        }
    }
}

/// The series of a key. Of more than the limit, those stay whose keys are first in order, whatever order they come in.
fn series<'a, T>(
    all: &'a mut BTreeMap<Key, BTreeMap<u32, T>>,
    key: Key,
    most: usize,
    more: &mut bool,
) -> Option<&'a mut BTreeMap<u32, T>> {
    if all.len() >= most && !all.contains_key(&key) {
        *more = true;
        if all.last_key_value().is_some_and(|(last, _)| *last < key) {
            return None;
        }
        all.pop_last();
    }
    Some(all.entry(key).or_default())
}

/// What `/api/history` serves. Lists of a series have one entry for each bin that has records; bin `i` begins at `from + i * bin_ns`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Answer {
    /// Name and version of this schema.
    schema: &'static str,
    /// Begin of the range, RFC 3339.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    from: String,
    /// End of the range, which does not belong to it, RFC 3339.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    to: String,
    /// Length of an interval in nanoseconds; interval `i` begins at `from` + `i` × `bin_ns`.
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    bin_ns: Exact,
    /// Whether all records of the range were read; if not, only the newest part was, or some are damaged
    /// (`unreadable_bytes`).
    complete: bool,
    /// Bytes that may have had records of the range and are damaged: they were passed over.
    unreadable_bytes: u64,
    /// Records of the range that were counted.
    records: u64,
    /// Whether there are more series than are answered.
    more_series: bool,
    /// Offsets, with `show=offsets`.
    offsets: Vec<OffsetSeries>,
    /// Delays, with `show=delays`.
    delays: Vec<DelaySeries>,
    /// Events, with `show=events`, oldest first.
    events: Vec<Event>,
    /// Older events of the range that were left out.
    events_left_out: u64,
}

#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OffsetSeries {
    /// The reference: UTC (`clock`), an NTP server or a PTP timeTransmitter.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = super::reader::kinds(Show::Offsets))))]
    kind: &'static str,
    /// Name of the clock, server or interface.
    name: String,
    /// Numbers of the intervals, ascending.
    bin: Vec<u32>,
    /// Records in each.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<std::num::NonZeroU64>"))]
    count: Vec<u64>,
    /// The least offset of each, local minus reference; null: only the bound is known.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Option<i64>>"))]
    offset_min_ns: Vec<Exact>,
    /// The greatest offset of each; null: only the bound is known.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Option<i64>>"))]
    offset_max_ns: Vec<Exact>,
    /// The largest error bound of each.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<i64>"))]
    bound_max_ns: Vec<Exact>,
    /// The bound holds if so many NTP servers are right.
    right_servers: Vec<Option<u64>>,
}

impl OffsetSeries {
    fn new(((kind, name, _), bins): (Key, BTreeMap<u32, Offsets>)) -> Self {
        let mut new = Self {
            kind,
            name,
            ..Self::default()
        };
        for (bin, known) in bins {
            new.bin.push(bin);
            new.count.push(known.count);
            new.offset_min_ns
                .push(Exact(known.range.map(|(least, _)| least)));
            new.offset_max_ns
                .push(Exact(known.range.map(|(_, most)| most)));
            new.bound_max_ns.push(Exact(Some(known.bound)));
            new.right_servers.push(known.right_servers);
        }
        new
    }
}

#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DelaySeries {
    /// A STAMP session, or a path of this host.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = super::reader::kinds(Show::Delays))))]
    kind: &'static str,
    /// Name of the session or interface.
    name: String,
    /// Which part of the way.
    segment: String,
    /// Numbers of the intervals, ascending.
    bin: Vec<u32>,
    /// Packets in each.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<std::num::NonZeroU64>"))]
    count: Vec<u64>,
    /// The least delay of each; below 0 by less than its error bound at most.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<i64>"))]
    delay_min_ns: Vec<Exact>,
    /// The greatest delay of each.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<i64>"))]
    delay_max_ns: Vec<Exact>,
    /// The largest error bound of each.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<i64>"))]
    bound_max_ns: Vec<Exact>,
    /// Delays of each that were 0, or below it by less than their bound.
    zero: Vec<u64>,
    /// `[i, count]` of each: delays above 2^((i-1)/4) s up to 2^(i/4) s.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<Vec<(i32, std::num::NonZeroU64)>>")
    )]
    buckets: Vec<Vec<(i32, u64)>>,
}

impl DelaySeries {
    fn new(((kind, name, segment), bins): (Key, BTreeMap<u32, DelayBin>)) -> Self {
        let mut new = Self {
            kind,
            name,
            segment,
            ..Self::default()
        };
        for (bin, known) in bins {
            new.bin.push(bin);
            new.count.push(known.count);
            new.delay_min_ns.push(Exact(Some(known.range.0)));
            new.delay_max_ns.push(Exact(Some(known.range.1)));
            new.bound_max_ns.push(Exact(Some(known.bound)));
            new.zero.push(known.zero);
            new.buckets.push(known.buckets.into_iter().collect());
        }
        new
    }
}
