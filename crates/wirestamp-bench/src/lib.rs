//! Owns what the benches measure with: worlds whose truth is known, the peers' methods and
//! the measures. Nothing here is part of the product.
//!
//! A [`world`] makes readings and stamps after a [`scenario`]'s shape; an [`estimator`]
//! converts the stamps knowing only the earlier readings; [`measure`] compares with the
//! truth and [`report`] prints.
//!
//! Run it: `cargo bench -p wirestamp-bench --bench correlation -- --help`.

#![forbid(unsafe_code)]

pub mod estimator;
pub mod measure;
pub mod report;
pub mod scenario;
pub mod world;
