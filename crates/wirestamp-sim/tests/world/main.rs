//! Holds the simulated world to what it claims, through the contract's traits and its truth.

mod civil;
mod clocks;
mod determinism;
mod faults;
mod presets;
mod scenarios;
mod sockets;
mod stamps;
mod station;
mod threads;
mod windows;
mod work;
