//! By how much the values of a path are shifted in the file of `--histogram`.
//!
//! HdrHistogram rounds a value in proportion to its size, the shift included. With one shift for all, a single value far
//! below the others, such as a clock's offset before its first step, would take the digits of all. Such values have a
//! histogram of their own.

use wirestamp::Span;
use wirestamp::latency::Histogram;

/// Up to this shift, five digits keep nanoseconds.
const EXACT: u64 = 100_000;
/// A shift of so many usual values, rounded up to a power of ten, leaves more digits than our buckets have: they are a
/// 64th of a power of two wide.
const TIMES: u64 = 100;

/// Values of a path that are in one histogram of the file.
#[derive(Debug)]
pub(super) struct Part {
    /// Added to each, ns: 0, or a power of ten that leaves none of them negative.
    pub(super) offset: u64,
    /// Ascending, each with how often it was counted.
    pub(super) values: Vec<(i64, u64)>,
}

/// Splits values into those that are usual and, part by part, those ever further below. There is one part at least.
pub(super) fn parts(histogram: &Histogram) -> Vec<Part> {
    let mut rest = middles(histogram);
    let mut parts = Vec::new();
    loop {
        let least = rest.first().map_or(0, |(value, _)| below(*value));
        let near = usual(&rest).saturating_mul(TIMES).max(EXACT);
        let offset = power(least.min(near));
        let far = rest.partition_point(|(value, _)| below(*value) > offset);
        let values = rest.split_off(far);
        parts.push(Part { offset, values });
        if rest.is_empty() {
            return parts;
        }
    }
}

/// The middle of each bucket.
fn middles(histogram: &Histogram) -> Vec<(i64, u64)> {
    let least = histogram.minimum().unwrap_or_default();
    let buckets = histogram.buckets().map(|bucket| {
        // the bucket of the smallest value reaches below it
        let [lowest, highest] = [bucket.lowest.max(least), bucket.highest];
        let [lowest, highest] = [lowest, highest].map(Span::saturating_nanoseconds);
        (lowest.midpoint(highest), bucket.count)
    });
    buckets.collect()
}

fn below(value: i64) -> u64 {
    value.min(0).unsigned_abs()
}

/// The median of the distances from zero.
fn usual(values: &[(i64, u64)]) -> u64 {
    let sized = values.iter();
    let mut sizes: Vec<_> = sized
        .map(|(value, count)| (value.unsigned_abs(), *count))
        .collect();
    sizes.sort_unstable();
    let half = sizes
        .iter()
        .map(|(_, count)| count)
        .sum::<u64>()
        .div_ceil(2);
    let mut seen = 0;
    let median = sizes.iter().find(|(_, count)| {
        seen += count;
        seen >= half
    });
    median.map_or(0, |(size, _)| *size)
}

/// 0, or the smallest power of ten that is not less.
fn power(least: u64) -> u64 {
    let powers = (0..=19).map(|power| 10_u64.pow(power));
    let mut enough = powers.filter(|power| least > 0 && *power >= least);
    enough.next().unwrap_or(0)
}
