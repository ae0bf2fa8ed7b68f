//! Captured packets in files: writing pcapng with each packet's clock, error bound and clock
//! generation, reading pcapng and pcap, comparing two captures, and measuring response times in
//! one.
//!
//! It opens no sockets and no files, and reads no clock. Capture files are untrusted input: memory
//! use is bounded everywhere.
//!
//! - [`pcapng`] writes files, [`read`] reads pcapng and pcap, [`note`] is the comment about a
//!   packet's timestamp;
//! - [`merge`] sorts the packets of several captures of an interface by time;
//! - [`run`] is a generation of a real-time clock, within which times may be subtracted;
//! - [`link`] finds the IP header behind the link header;
//! - [`frames`] parses a frame without one;
//! - [`packet`] parses a packet: addresses, ports, payload;
//! - [`identity`] computes a number for a packet that is the same on every host that captures it;
//! - [`copies`] recognises the same packet from several interfaces of one file;
//! - [`compare`] finds the same packets in two captures;
//! - [`answers`] matches requests with their answers in one capture.

#![forbid(unsafe_code)]

pub mod answers;
pub mod compare;
pub mod copies;
pub mod frames;
pub mod identity;
pub mod link;
pub mod merge;
pub mod note;
mod order;
pub mod packet;
pub mod pcapng;
pub mod read;
pub mod run;
pub mod spread;
