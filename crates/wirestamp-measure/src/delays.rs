//! Distributions of delays in little memory, with the buckets of Prometheus' native histograms.

use serde::{Deserialize, Serialize};
use wirestamp::{MonotonicTime, Span, UtcTime};

/// Buckets for each doubling: each is 9 % wider than the one before.
const PER_DOUBLING: i32 = 8;
/// The schema of native histograms that has so many: 2^3.
pub const SCHEMA: i32 = 3;
/// No delay counts as longer: 2^12 s, more than an hour.
const LAST: i32 = 12 * PER_DOUBLING;
/// No delay counts as shorter, unless it is 0: 2^-30 s, less than a nanosecond.
const FIRST: i32 = -30 * PER_DOUBLING;

/// After this, the next delay is the longest, however short it is.
const RENEWED: Span = Span::from_seconds(60);

/// The packet that a delay is of.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    /// Its number.
    pub sequence: u32,
    /// When it was judged.
    pub at: MonotonicTime,
    /// The same by the real-time clock.
    pub utc: UtcTime,
}

/// A long delay, and the packet that had it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Longest {
    /// The delay, in nanoseconds.
    #[serde(with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub delay_ns: u64,
    /// Number of the packet that had it.
    pub sequence: u32,
    /// When it was judged, RFC 3339: the time of its record in the history.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub time: String,
}

/// A distribution of delays: buckets whose limits grow by 2^(1/8), at most 337 of them.
///
/// A delay cannot be negative. An estimate that is, by less than its error bound, counts as 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Delays {
    /// How many delays.
    pub count: u64,
    /// Sum of the delays, in nanoseconds.
    #[serde(with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub sum_ns: u64,
    /// How many delays were 0.
    pub zero: u64,
    /// The shortest delay, in nanoseconds.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub min_ns: Option<u64>,
    /// The longest delay, in nanoseconds.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub max_ns: Option<u64>,
    /// The largest error bound of the delays, in nanoseconds.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub bound_ns: Option<u64>,
    /// Buckets that are not empty: `[i, count]`, for delays above 2^((i-1)/8) s up to 2^(i/8) s, lowest first.
    pub buckets: Vec<(i32, u64)>,
    /// The longest of about a minute, with its packet; null: there was none.
    #[serde(default)]
    pub longest: Option<Longest>,
    /// When that began.
    #[serde(skip)]
    since: Option<MonotonicTime>,
}

impl Delays {
    /// Counts the delay of a packet, and keeps the packet if the delay is the longest of a minute.
    pub fn record_of(&mut self, packet: Judged, delay_ns: i64, bound_ns: i64) {
        self.record(delay_ns, bound_ns);
        let delay = u64::try_from(delay_ns).unwrap_or(0);
        let is_over = self.since.is_none_or(|since| packet.at - since >= RENEWED);
        let known = self.longest.as_ref().filter(|_| !is_over);
        if known.is_some_and(|longest| longest.delay_ns >= delay) {
            return;
        }
        if is_over {
            self.since = Some(packet.at);
        }
        self.longest = Some(Longest {
            delay_ns: delay,
            sequence: packet.sequence,
            time: packet.utc.rfc3339().to_string(),
        });
    }

    /// Counts a delay and its error bound, both in nanoseconds.
    pub fn record(&mut self, delay_ns: i64, bound_ns: i64) {
        let delay = u64::try_from(delay_ns).unwrap_or(0);
        let bound = u64::try_from(bound_ns).unwrap_or(0);
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(delay);
        self.min_ns = Some(self.min_ns.map_or(delay, |least| least.min(delay)));
        self.max_ns = Some(self.max_ns.map_or(delay, |most| most.max(delay)));
        self.bound_ns = self.bound_ns.max(Some(bound));
        if delay == 0 {
            self.zero += 1;
            return;
        }
        let index = index_of(delay);
        match self.buckets.binary_search_by_key(&index, |bucket| bucket.0) {
            Ok(place) => self.buckets[place].1 += 1,
            Err(place) => self.buckets.insert(place, (index, 1)),
        }
    }

    /// Returns how many were at most so many seconds: the buckets up to this limit. Exact where the limit is one of a bucket.
    pub fn at_most(&self, seconds: f64) -> u64 {
        let within = |bucket: &&(i32, u64)| limit(bucket.0) <= seconds * (1.0 + 1e-12);
        self.zero
            + self
                .buckets
                .iter()
                .take_while(within)
                .map(|bucket| bucket.1)
                .sum::<u64>()
    }

    /// Returns the upper limit of the bucket that holds this share (0 to 1) of all, in seconds; `None` if there is none.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (self.count as f64 * share.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut below = self.zero;
        if self.count == 0 {
            return None;
        }
        if below >= rank {
            return Some(0.0);
        }
        for (index, count) in &self.buckets {
            below += count;
            if below >= rank {
                return Some(limit(*index));
            }
        }
        self.buckets.last().map(|bucket| limit(bucket.0))
    }
}

/// Returns the upper limit of a bucket, in seconds.
pub fn limit(index: i32) -> f64 {
    (f64::from(index) / f64::from(PER_DOUBLING)).exp2()
}

/// Returns the bucket of a delay above 0.
pub fn index_of(nanoseconds: u64) -> i32 {
    let seconds = nanoseconds as f64 / 1e9;
    let mut index = ((seconds.log2() * f64::from(PER_DOUBLING)).ceil() as i32).clamp(FIRST, LAST);
    // the logarithm may be off by its last bit
    while index > FIRST && limit(index - 1) >= seconds {
        index -= 1;
    }
    while index < LAST && limit(index) < seconds {
        index += 1;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_delay_is_in_the_bucket_whose_limits_enclose_it() {
        for nanoseconds in [
            1,
            2,
            999,
            1_000,
            125_000_000,
            500_000_000,
            1_000_000_000,
            4_095_000_000_000,
        ] {
            let (index, seconds) = (index_of(nanoseconds), nanoseconds as f64 / 1e9);
            assert!(
                limit(index - 1) < seconds && seconds <= limit(index),
                "{nanoseconds}"
            );
        }
        assert_eq!(index_of(u64::MAX), LAST);
    }

    #[test]
    fn the_longest_of_a_minute_is_kept_with_its_packet() {
        let mut delays = Delays::default();
        let mut longest = |second: i64, sequence, delay_ns| {
            let packet = Judged {
                sequence,
                at: MonotonicTime::from_nanoseconds(second * 1_000_000_000),
                utc: UtcTime::from_nanoseconds(second * 1_000_000_000),
            };
            delays.record_of(packet, delay_ns, 1);
            let longest = delays.longest.clone().expect("there is one");
            (longest.sequence, longest.delay_ns, longest.time)
        };
        assert_eq!(longest(0, 1, 50).0, 1);
        assert_eq!(longest(10, 2, 40).0, 1);
        let (sequence, delay, time) = longest(20, 3, 60);
        assert_eq!((sequence, delay), (3, 60));
        assert!(time.starts_with("1970-01-01T00:00:20"), "{time}");
        assert_eq!(longest(59, 4, 60).0, 3, "the first of equals");
        assert_eq!(longest(60, 5, -3), (5, 0, time.replace(":00:20", ":01:00")));
        assert_eq!(longest(61, 6, 2).0, 6);
        assert_eq!(delays.count, 6);
    }

    #[test]
    fn counts_and_quantiles_are_those_of_the_delays() {
        let mut delays = Delays::default();
        for nanoseconds in [-5, 0, 1_000, 2_000, 1_000_000] {
            delays.record(nanoseconds, 7);
        }
        assert_eq!(
            (delays.count, delays.zero, delays.sum_ns),
            (5, 2, 1_003_000)
        );
        assert_eq!(
            (delays.min_ns, delays.max_ns, delays.bound_ns),
            (Some(0), Some(1_000_000), Some(7))
        );
        assert_eq!(delays.at_most(limit(index_of(2_000))), 4);
        assert_eq!(delays.at_most(0.0), 2);
        let median = delays.quantile(0.5).expect("there are some");
        assert!((1e-6..1.1e-6).contains(&median), "{median}");
        assert_eq!(Delays::default().quantile(0.5), None);
    }
}
