//! The word that the hot paths' peers are Linux libraries.

use std::error::Error;

/// Measures nothing.
///
/// # Errors
/// Always.
pub fn run(_: &Options) -> Result<(), Box<dyn Error>> {
    Err("the peers that this bench compares with run on Linux only".into())
}

/// None.
#[derive(clap::Parser)]
pub struct Options {}
