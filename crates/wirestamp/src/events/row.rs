//! The result for each timestamp, and its form as a line of text.

use std::fmt;
use wirestamp_core::correlate::{ClockGeneration, ConversionError, FineEstimate};
use wirestamp_core::time::{HardwareTicks, Monotonic};

/// A recorded timestamp and the result of its conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The timestamp.
    pub hardware: HardwareTicks,
    /// The time on the monotonic clock of the middle of the timestamp's tick, or the reason why
    /// there is none.
    pub answer: Result<FineEstimate<Monotonic>, ConversionError>,
    /// The clock generation that it was converted with, even if the time was withdrawn later; for
    /// other conversion errors, the generation that was current then. `None` before the first cross
    /// timestamp.
    pub generation: Option<ClockGeneration>,
}

impl Row {
    /// The names of a row's columns.
    pub const COLUMNS: &str = "hardware,monotonic_ns,error_bound_ns,generation,error";

    pub(super) fn answered(self, estimate: FineEstimate<Monotonic>) -> Self {
        Self {
            answer: Ok(estimate),
            generation: Some(estimate.generation),
            ..self
        }
    }
}

/// Writes the row as text: its columns, separated by commas. Times are in nanoseconds with three
/// decimals; missing values are empty.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},", self.hardware.raw())?;
        match &self.answer {
            Ok(estimate) => {
                decimals(estimate.total_picoseconds(), f)?;
                f.write_str(",")?;
                decimals(estimate.bound_picoseconds.into(), f)?;
            }
            Err(_) => f.write_str(",")?,
        }
        f.write_str(",")?;
        if let Some(ClockGeneration(generation)) = self.generation {
            write!(f, "{generation}")?;
        }
        write!(
            f,
            ",{}",
            self.answer.err().map_or("", ConversionError::name)
        )
    }
}

/// Writes picoseconds as nanoseconds with three decimals.
fn decimals(picoseconds: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (sign, magnitude) = (
        if picoseconds < 0 { "-" } else { "" },
        picoseconds.unsigned_abs(),
    );
    write!(f, "{sign}{}.{:03}", magnitude / 1_000, magnitude % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::time::MonotonicTime;

    #[test]
    fn decimals_are_exact_over_the_whole_range() {
        let row = |at, picoseconds, bound_picoseconds| {
            let at = MonotonicTime::from_nanoseconds(at);
            let answer = Ok(FineEstimate {
                at,
                picoseconds,
                bound_picoseconds,
                generation: ClockGeneration(3),
            });
            Row {
                hardware: HardwareTicks::new(u64::MAX),
                answer,
                generation: Some(ClockGeneration(3)),
            }
            .to_string()
        };
        assert_eq!(row(0, 0, 1_000), "18446744073709551615,0.000,1.000,3,");
        assert_eq!(row(-1, 999, 1), "18446744073709551615,-0.001,0.001,3,");
        assert_eq!(
            row(i64::MIN, 0, u64::MAX),
            "18446744073709551615,-9223372036854775808.000,18446744073709551.615,3,"
        );
        let refused = Row {
            hardware: HardwareTicks::new(5),
            answer: Err(ConversionError::NotReady),
            generation: None,
        };
        assert_eq!(refused.to_string(), "5,,,,not_ready");
        assert_eq!(
            Row::COLUMNS.matches(',').count(),
            refused.to_string().matches(',').count()
        );
    }
}
