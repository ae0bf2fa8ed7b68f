//! Tests of the facade, mostly on simulated NICs with known true times; waiting and latency also on
//! this system's loopback interface.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod addresses;
mod borne_out;
#[cfg(target_os = "linux")]
mod bridge;
#[cfg(all(feature = "tokio", target_os = "linux"))]
mod budget;
mod bursts;
#[cfg(target_os = "linux")]
mod capture;
mod changes;
mod correlator;
mod default_simulation;
#[cfg(target_os = "linux")]
mod errors;
mod events;
mod fetching;
mod hardware;
mod host_clock;
mod interfaces;
mod latency;
mod outcomes;
mod pair;
#[cfg(feature = "tokio")]
mod polls;
mod ready;
mod receiver;
mod receiving;
mod sending;
#[cfg(feature = "tokio")]
mod tasks;
#[cfg(target_os = "linux")]
mod timestamper;
#[cfg(windows)]
mod unsupported;
mod utc;
mod waiting;
mod watch;
mod worlds;
#[cfg(target_os = "linux")]
mod xdp;
