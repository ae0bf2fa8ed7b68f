//! Compiles a loop for the baseline of x86-64, for AVX2 and for AVX-512, and runs the widest version that this
//! processor supports. Compilers before Rust 1.89 have no AVX-512: `build.rs` leaves it out.

use std::arch::is_x86_feature_detected;

/// Runs `work`, compiled for the widest vectors of this processor: whatever is inlined into it.
/// What it computes is the same; products and sums are never fused.
#[inline]
pub fn widest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(wirestamp_avx512)]
    if has_avx512() {
        // SAFETY: the processor has it.
        return unsafe { wide_512(work) };
    }
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        return unsafe { wide_256(work) };
    }
    work()
}

/// Whether the processor has all that [`wide_512`] uses.
#[cfg(wirestamp_avx512)]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(wirestamp_avx512)]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
unsafe fn wide_512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[target_feature(enable = "avx2")]
unsafe fn wide_256<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wirestamp_core::correlate::Correlation;
    use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
    use wirestamp_core::interface::InterfaceIndex;
    use wirestamp_core::time::{Frequency, HardwareTicks, MonotonicTime, Span};
    use wirestamp_core::timestamp::HardwareTimestamp;

    /// Ticks in a second: of a clock of 125 MHz that is 7 ppm fast.
    const RATE: u64 = 125_000_875;
    /// Right after the last of the readings.
    const FIRST: u64 = 20 * RATE + 150;

    fn at(nanoseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(nanoseconds)
    }

    /// Read each second from 1 to 20 s.
    fn correlation() -> Correlation {
        let interface = InterfaceIndex::new(3).expect("not zero");
        let mut correlation = Correlation::new(interface, Frequency::from_hertz(125_000_000));
        for reading in 1..=20 {
            let (before, ticks) = (
                reading * 1_000_000_000,
                HardwareTicks::new(reading as u64 * RATE + 75),
            );
            let cross =
                CrossTimestamp::new(at(before), ticks, at(before + 1_200), CrossMethod::Extended);
            let _ = correlation.push(&cross.expect("in order"));
        }
        correlation
    }

    type Converted = (Vec<MonotonicTime>, Option<Span>);

    #[inline(always)]
    fn slice(
        correlation: &Correlation,
        ticks: &[HardwareTicks],
        read_at: MonotonicTime,
    ) -> Converted {
        let mut into = vec![MonotonicTime::MIN; ticks.len()];
        let estimate = correlation.to_monotonic_slice(ticks, read_at, &mut into);
        (into, estimate.ok().map(|estimate| estimate.bound))
    }

    fn each(
        correlation: &Correlation,
        ticks: &[HardwareTicks],
        read_at: MonotonicTime,
    ) -> Converted {
        let timestamp = |ticks| HardwareTimestamp {
            ticks,
            interface: Some(correlation.interface()),
            read_at,
        };
        let all: Vec<_> = ticks
            .iter()
            .map(|ticks| {
                correlation
                    .to_monotonic(&timestamp(*ticks))
                    .expect("converts")
            })
            .collect();
        (
            all.iter().map(|one| one.at.value).collect(),
            all.iter().map(|one| one.at.bound).max(),
        )
    }

    proptest! {
        /// To the nanosecond, whatever instructions do it.
        #[test]
        fn a_slice_is_converted_as_each_of_it_is(offsets in prop::collection::vec(0u64..100_000_000, 1..70)) {
            let (correlation, read_at) = (correlation(), at(20_900_000_000));
            let ticks: Vec<_> = offsets.iter().map(|offset| HardwareTicks::new(FIRST + offset)).collect();
            let expected = each(&correlation, &ticks, read_at);
            prop_assert_eq!(&slice(&correlation, &ticks, read_at), &expected);
            prop_assert_eq!(&widest(|| slice(&correlation, &ticks, read_at)), &expected);
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has it.
                let converted = unsafe { wide_256(|| slice(&correlation, &ticks, read_at)) };
                prop_assert_eq!(&converted, &expected);
            }
            #[cfg(wirestamp_avx512)]
            if has_avx512() {
                // SAFETY: the processor has it.
                let converted = unsafe { wide_512(|| slice(&correlation, &ticks, read_at)) };
                prop_assert_eq!(&converted, &expected);
            }
        }
    }
}
