//! Writes and reads captured packets as pcapng with each packet's clock, error bound and clock generation; compares two captures; and
//! measures how long answers take in one.
//!
//! Opens no socket and no file, and reads no clock. Captures are hostile input: memory is bounded everywhere.
//!
//! - [`pcapng`] writes, [`read`] reads (pcapng and pcap), [`note`] is the comment about a packet's timestamp;
//! - [`merge`] puts the packets of several captures of one interface in order of time;
//! - [`run`] is an uninterrupted run of a real-time clock, within which times may be subtracted;
//! - [`link`] finds the IP header behind the link header;
//! - [`packet`] parses a packet: addresses, ports, payload;
//! - [`identity`] is the number that a packet has on every host that sees it;
//! - [`compare`] finds the same packets in two captures;
//! - [`answers`] pairs requests with their answers in one.

#![forbid(unsafe_code)]

pub mod answers;
pub mod compare;
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
