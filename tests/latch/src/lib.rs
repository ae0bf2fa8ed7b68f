//! The latch of wirestamp-core's correlator, built with loom's atomics. Empty without `--cfg wirestamp_loom`.
#![cfg(all(test, wirestamp_loom))]

#[path = "../../../crates/wirestamp-core/src/correlate/latch.rs"]
mod latch;
