//! PTP clocks on simulated adapters: the truth is known, so every bound is held to it.

mod failover;
mod measuring;
mod pair;
