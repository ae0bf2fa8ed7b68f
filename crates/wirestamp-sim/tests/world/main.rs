//! Holds the simulated world to what it claims, through the contract's traits and its truth.

mod clocks;
mod determinism;
mod faults;
mod presets;
mod scenarios;
mod sockets;
mod station;
mod threads;
mod timestamps;
mod utc;
mod windows;
mod work;
