//! The error for an offset that is not followed.

use crate::output::quantity::shown;
use wirestamp::{Error, ErrorKind};
use wirestamp_ptp::RefusedOffset;

/// The error for an offset beyond the limit, with its remedy.
pub(super) fn off_limit(refused: RefusedOffset) -> Error {
    let [offset, limit] = texts(refused.offset_ns, refused.limit_ns);
    let (what, remedy) = if refused.is_first {
        (
            "at the start",
            "--allow-any-first-step, if the timeTransmitter is right",
        )
    } else {
        (
            "after the first step",
            "see whether the timeTransmitter is right; --max-step sets the limit",
        )
    };
    let cause = format!("its offset is {offset}, and {what} no more than {limit} is followed");
    Error::new(
        ErrorKind::InvalidInput,
        "steer the clock",
        "the steered clock",
        cause,
    )
    .with_remedy(remedy)
}

/// The offset and the limit: to the nanosecond, where an offset beyond it would look like it.
fn texts(offset: i64, limit: u64) -> [String; 2] {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    match shown(offset.saturating_abs()) == shown(limit) {
        true => [offset, limit].map(|time| format!("{time} ns")),
        false => [offset, limit].map(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_beyond_the_limit_does_not_look_like_it() {
        let limit = 20_000_000;
        assert_eq!(texts(-20_100_000, limit), ["-20.1 ms", "20.0 ms"]);
        assert_eq!(texts(-20_000_001, limit), ["-20000001 ns", "20000000 ns"]);
    }
}
