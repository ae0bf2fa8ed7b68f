//! PTP clocks on simulated NICs: the truth is known, and every error bound is checked against it.

mod bad_input;
mod compare;
mod ethernet;
mod failover;
mod floods;
mod forge;
mod longer_path;
mod measuring;
mod pair;
mod pins;
mod rig;
mod safety;
mod slewed;
mod steered;
mod steering;
mod steps;
#[cfg(not(windows))]
mod worlds;
