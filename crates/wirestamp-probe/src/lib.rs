//! STAMP, the Simple Two-way Active Measurement Protocol (RFC 8762, RFC 8972): one-way delays,
//! round trips and losses between two hosts, with error bounds.
//!
//! - [`session`] is the sender: it creates requests, validates replies, and reports delays and
//!   losses;
//! - [`reflector`] is the other end: it answers requests, with sessions and limits;
//! - [`endpoint`] connects the reflector to sockets, and converts the timestamps of both. All other
//!   modules do no I/O and read no clock: packets and timestamps are arguments, so that a simulated
//!   and a real network run the same code;
//! - [`packet`] encodes and decodes the packets of both ends, unauthenticated and authenticated;
//! - [`tlv`] decodes and fills in the extensions of RFC 8972;
//! - [`WireTimestamp`] and [`ErrorEstimate`] are timestamps and error bounds in packets.
//!
//! Peers are not trusted: every parser accepts arbitrary octets, and a peer's claim becomes part of
//! an error bound only if the caller says so.

#![forbid(unsafe_code)]

pub mod endpoint;
mod error_estimate;
mod key;
mod missing;
pub mod packet;
pub mod reflector;
pub mod session;
mod stamp;
mod timestamp;
pub mod tlv;

pub use error_estimate::ErrorEstimate;
pub use key::{Key, KeyInvalid};
pub use missing::{Missing, MissingCounts};
pub use stamp::HostTimestamp;
pub use timestamp::{TimestampFormat, WireTimestamp};
