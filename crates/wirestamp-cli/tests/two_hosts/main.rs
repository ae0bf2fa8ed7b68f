//! `wirestamp reflect` and `wirestamp latency --peer` between two hosts of the test network: what they say is what its router did.
//! Needs root, TUN devices and iproute2; skipped without.
#![cfg(target_os = "linux")]

mod attack;
mod delays;
mod disk;
#[cfg(feature = "parquet")]
mod probes;
mod reflector;
mod rig;
mod size;
