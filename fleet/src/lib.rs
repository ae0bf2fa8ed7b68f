//! The kernels of wirestamp-fleet: pure functions on columns of integers, for every engine the same.

#![deny(missing_docs)]

pub mod delays;
pub mod mesh;
#[cfg(feature = "python")]
mod python;
