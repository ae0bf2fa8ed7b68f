//! What the benches measure with: worlds whose truth is known, the peers' methods and
//! the measures. Nothing here is part of the product.
//!
//! A [`world`] makes readings and timestamps after a [`scenario`]'s shape; an [`estimator`]
//! converts the timestamps knowing only the earlier readings; [`measure`] compares with the
//! truth and [`report`] prints.
//!
//! [`paths`] holds the hot paths beside the peers'.
//!
//! Run them: `cargo bench -p wirestamp-bench --bench correlation -- --help`, `--bench paths -- --help`.

#![forbid(unsafe_code)]

pub mod estimator;
pub mod measure;
#[cfg(target_os = "linux")]
pub mod paths;
#[cfg(not(target_os = "linux"))]
pub mod paths_elsewhere;
#[cfg(not(target_os = "linux"))]
pub use paths_elsewhere as paths;
pub mod report;
pub mod scenario;
pub mod world;
