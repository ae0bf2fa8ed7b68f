//! The cases without a system call: converting, matching, recording.

use super::Path;
use super::report::Goal;
use super::sockets::Runtime;
use super::timing::Case;
use hdrhistogram::Histogram as HdrHistogram;
use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use wirestamp_core::configuration::Timestamping;
use wirestamp_core::correlate::{Correlation, Published};
use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::latency::Histogram;
use wirestamp_core::time::{Bounded, Frequency, HardwareTicks, MonotonicTime, Span};
use wirestamp_core::timestamp::{
    HardwareTimestamp, Matcher, SoftwareTimestamp, Timestamps, TransmitId, TransmitRecord,
};
use wirestamp_sys::vector::widest;

/// Timestamps converted in a row: they stay in the cache.
const TIMESTAMPS: usize = 1_024;
/// And many more than it holds: 16 MB.
const OUT_OF_CACHE: usize = 1 << 21;
const OPERATIONS: usize = 1_024;

const OURS: &str = "wirestamp";
const ABSOLUTE: &str = "f64 on absolute times";
const COPY: &str = "memcpy";
const MAP: &str = "HashMap";
const HDR: &str = "hdrhistogram";

pub(crate) fn paths(_: &Runtime) -> Result<Vec<Path>, Box<dyn Error>> {
    let goal = |peer, at_most| vec![Goal { peer, at_most }];
    Ok(vec![
        Path {
            name: "conversion, one, with its bound, shared between threads",
            cases: vec![one_by_one(), absolute(TIMESTAMPS)],
            goals: Vec::new(),
        },
        Path {
            name: "conversion, a slice in the cache",
            cases: vec![slice(TIMESTAMPS), absolute(TIMESTAMPS)],
            goals: goal(ABSOLUTE, 0.10),
        },
        Path {
            name: "conversion, a slice out of the cache",
            cases: vec![slice(OUT_OF_CACHE), copy(OUT_OF_CACHE)],
            goals: goal(COPY, 1.15),
        },
        Path {
            name: "id match: insert + take",
            cases: vec![matcher(), hash_map()],
            goals: Vec::new(),
        },
        Path {
            name: "histogram record",
            cases: vec![histogram(), hdr()?],
            goals: goal(HDR, 0.40),
        },
    ])
}

fn interface() -> InterfaceIndex {
    InterfaceIndex::new(1).expect("1 is not 0")
}

/// What a minute of readings says of a clock of 125 MHz.
fn correlation() -> Correlation {
    let mut correlation = Correlation::new(interface(), Frequency::from_hertz(125_000_000));
    for reading in 0..60i64 {
        let at = 1_700_000_000_000_000_000 + reading * 1_000_000_000;
        let (before, after) = (
            MonotonicTime::from_nanoseconds(at),
            MonotonicTime::from_nanoseconds(at + 1_200),
        );
        let ticks = HardwareTicks::new((at + 600) as u64 / 8);
        let cross =
            CrossTimestamp::new(before, ticks, after, CrossMethod::Extended).expect("in order");
        let _ = correlation.push(&cross);
    }
    correlation
}

/// Made in the second after the last reading.
fn timestamps(count: usize) -> (Vec<HardwareTicks>, MonotonicTime) {
    let newest = 1_700_000_000_000_000_000 + 59 * 1_000_000_000 + 2_000;
    let step = 900_000_000 / count as i64;
    let ticks = (0..count as i64)
        .map(|place| HardwareTicks::new((newest + place * step) as u64 / 8))
        .collect();
    (
        ticks,
        MonotonicTime::from_nanoseconds(newest + 1_000_000_000),
    )
}

fn one_by_one() -> Case {
    let (published, (ticks, read_at)) = (Published::new(), timestamps(TIMESTAMPS));
    published.publish(&correlation());
    let timestamp = |ticks| HardwareTimestamp {
        ticks,
        interface: Some(interface()),
        read_at,
    };
    let timestamps: Vec<_> = ticks.into_iter().map(timestamp).collect();
    Case::whole(OURS, TIMESTAMPS as u64, move || {
        for timestamp in black_box(&timestamps) {
            let estimate = published.to_monotonic(timestamp).expect("it is new");
            black_box((estimate.at.value, estimate.at.bound.nanoseconds() as i64));
        }
    })
}

fn slice(count: usize) -> Case {
    let (correlation, (ticks, read_at)) = (correlation(), timestamps(count));
    let mut into = vec![MonotonicTime::MIN; count];
    Case::whole(OURS, count as u64, move || {
        // as Correlator::to_monotonic_slice does
        let converted = widest(
            #[inline(always)]
            || correlation.to_monotonic_slice(black_box(&ticks), read_at, &mut into),
        );
        black_box(converted.expect("all are new"));
    })
}

/// What programs do without a library: wrong by 128 ns with times of today.
fn absolute(count: usize) -> Case {
    let (ticks, _) = timestamps(count);
    let mut into = vec![0i64; count];
    let (slope, offset) = (black_box(8.000_000_1), black_box(17.0));
    Case::whole(ABSOLUTE, count as u64, move || {
        for (ticks, into) in black_box(&ticks).iter().zip(&mut into) {
            *into = (ticks.raw() as f64 * slope + offset) as i64;
        }
        black_box(&into);
    })
}

fn copy(count: usize) -> Case {
    let (ticks, _) = timestamps(count);
    let mut into = ticks.clone();
    Case::whole(COPY, count as u64, move || {
        into.copy_from_slice(black_box(&ticks));
        black_box(&into);
    })
}

/// As sockets use it: an id begins, its timestamp comes, the outcome is fetched.
fn matcher() -> Case {
    let now = MonotonicTime::from_nanoseconds(1_000_000_000);
    let mut matcher = Matcher::new();
    matcher.configure(&Timestamping::OFF.transmit(1_024), now);
    let timestamps = Timestamps::new(
        Some(SoftwareTimestamp::new(Bounded::new(now, Span::ZERO))),
        None,
    );
    let mut records = [TransmitRecord::EMPTY; 64];
    let mut next = 0u32;
    Case::whole(OURS, OPERATIONS as u64, move || {
        for _ in 0..OPERATIONS / 64 {
            for place in 0..64 {
                let _ = black_box(matcher.begin(TransmitId(next.wrapping_add(place)), now));
            }
            for place in 0..64 {
                matcher.timestamped(TransmitId(next.wrapping_add(place)), &timestamps);
            }
            next = next.wrapping_add(64);
            assert_eq!(matcher.fetch_batch(now, &mut records), 64);
        }
    })
}

fn hash_map() -> Case {
    let mut map: HashMap<u32, Timestamps> = HashMap::with_capacity(2_048);
    let mut next = 0u32;
    Case::whole(MAP, OPERATIONS as u64, move || {
        for _ in 0..OPERATIONS / 64 {
            for place in 0..64 {
                map.insert(next.wrapping_add(place), Timestamps::NONE);
            }
            for place in 0..64 {
                black_box(map.remove(&next.wrapping_add(place)));
            }
            next = next.wrapping_add(64);
        }
    })
}

/// Some hundred nanoseconds to some milliseconds, in no order.
fn latencies() -> Vec<i64> {
    (0..OPERATIONS as i64)
        .map(|place| 300 + (place * 7_919 % 1_024) * (place * 31 % 4_096))
        .collect()
}

fn histogram() -> Case {
    let (mut histogram, latencies) = (Histogram::new(), latencies());
    Case::whole(OURS, OPERATIONS as u64, move || {
        for latency in black_box(&latencies) {
            histogram.record(Span::from_nanoseconds(i128::from(*latency)));
        }
    })
}

fn hdr() -> Result<Case, Box<dyn Error>> {
    let (mut histogram, latencies) = (
        HdrHistogram::<u64>::new_with_bounds(1, 10_000_000_000, 2)?,
        latencies(),
    );
    Ok(Case::whole(HDR, OPERATIONS as u64, move || {
        for latency in black_box(&latencies) {
            histogram.record(*latency as u64).expect("within its range");
        }
    }))
}
