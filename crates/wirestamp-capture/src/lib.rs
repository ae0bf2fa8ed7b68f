//! Captured packets as files, and what they say: pcapng with each packet's clock, error bound and clock generation;
//! the way of packets between two captures; and how long answers take in one.
//!
//! Opens no socket and no file, and reads no clock. Captures are hostile input: memory is bounded everywhere.
//!
//! - [`pcapng`] writes, [`read`] reads (pcapng and pcap), [`note`] is what is written about a packet's timestamp;
//! - [`merge`] puts the packets of several captures of one interface in order of time;
//! - [`run`] is an uninterrupted run of a real-time clock, within which times may be subtracted;
//! - [`link`] is what stands before the IP header;
//! - [`packet`] says what a packet is: addresses, ports, payload;
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
