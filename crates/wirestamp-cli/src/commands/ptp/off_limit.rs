//! The error for an offset that is not followed.

use wirestamp::{Error, ErrorKind, Span};
use wirestamp_ptp::RefusedOffset;

/// The error for an offset beyond the limit, with its remedy.
pub(super) fn off_limit(refused: RefusedOffset) -> Error {
    let shown = |nanoseconds: i128| Span::from_nanoseconds(nanoseconds).to_string();
    let (offset, limit) = (
        shown(refused.offset_ns.into()),
        shown(refused.limit_ns.into()),
    );
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
