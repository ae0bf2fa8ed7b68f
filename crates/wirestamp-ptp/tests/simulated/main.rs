//! PTP clocks on simulated adapters: the truth is known, so every bound is held to it.

mod bad_input;
mod failover;
mod forge;
mod measuring;
mod pair;
mod safety;
mod steered;
mod steering;
