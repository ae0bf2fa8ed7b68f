//! Counts by reason.

use std::collections::BTreeMap;

/// Counts by a short, stable name of the reason.
pub type Reasons = BTreeMap<String, u64>;
