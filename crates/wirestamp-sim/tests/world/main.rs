//! Tests the simulated world against its truth, through the contract's traits.

mod clocks;
mod determinism;
mod faults;
mod presets;
mod queueing;
mod scenarios;
mod sockets;
mod station;
mod threads;
mod timestamps;
mod utc;
mod windows;
mod work;
