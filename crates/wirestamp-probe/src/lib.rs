//! STAMP, the Simple Two-way Active Measurement Protocol (RFC 8762, RFC 8972): one-way delays, round trips and losses
//! between two hosts, with error bounds.
//!
//! - [`session`] is the sender: delays, losses, and the conditions for a packet to count;
//! - [`reflector`] is the other end: replies, sessions, limits;
//! - [`endpoint`] joins the reflector to sockets, and reads the timestamps of both. Everything else does no input or output and reads no clock: packets and timestamps come in as arguments, so that a
//!   simulated network and a real one run the same code;
//! - [`packet`] reads and writes the packets of both ends, unauthenticated and authenticated;
//! - [`tlv`] reads and fills in the extensions of RFC 8972;
//! - [`WireTimestamp`] and [`ErrorEstimate`] are times and error bounds as packets carry them.
//!
//! Peers are not trusted: every parser takes any octets, and a packet's claim never becomes a guaranteed bound without the caller's
//! word for it.

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
