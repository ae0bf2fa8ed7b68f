//! Counts by reason.

use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use wirestamp::TimestampSource;

/// Counts by a short, stable name of the reason.
pub type Reasons = BTreeMap<String, u64>;

/// So many timestamps of one source.
pub(crate) fn by_source(source: TimestampSource, count: u64) -> Reasons {
    Reasons::from([(source.name().to_owned(), count)])
}

/// Reads counts by source. An earlier version wrote one number, without its source: that is no count of any.
pub(super) fn read_by_source<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Reasons, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected counts by source")]
    enum Written {
        BySource(Reasons),
        Earlier(#[expect(dead_code, reason = "its source is not known")] u64),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::BySource(counts) => counts,
        Written::Earlier(_) => Reasons::new(),
    })
}
