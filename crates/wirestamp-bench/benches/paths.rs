//! The hot paths beside the peers', interleaved in one run.
//!
//! Without the `--bench` that `cargo bench` passes, as under `cargo test --all-targets`, it only
//! shows in one short pass that every case works.

use clap::Parser;
use std::error::Error;
use wirestamp_bench::paths;

fn main() -> Result<(), Box<dyn Error>> {
    paths::run(&paths::Options::parse())
}
