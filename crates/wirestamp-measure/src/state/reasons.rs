//! Counts by reason.

use std::collections::BTreeMap;
use wirestamp::TimestampSource;

/// Counts by a short, stable name of the reason.
pub type Reasons = BTreeMap<String, u64>;

/// So many timestamps of one source.
pub(crate) fn by_source(source: TimestampSource, count: u64) -> Reasons {
    Reasons::from([(source.name().to_owned(), count)])
}
