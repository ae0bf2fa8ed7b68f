//! An NTPv4 client (RFC 5905) without I/O: the offset of the local clock to a server, with an error
//! bound, from the kernel's or the NIC's timestamps of the packets. It supports basic and
//! interleaved mode (RFC 9769) and does not adjust any clock.
//!
//! A [`Client`] queries one server: it creates the requests, takes timestamps and responses, and
//! ignores packets that do not answer its request. [`select()`] compares several servers.
//!
//! # Error bounds
//!
//! Offsets are local minus server (positive: the local clock is ahead). There are two separate
//! bounds:
//!
//! - the error bound of [`Measurement::offset`], relative to the server's clock, follows from the
//!   timestamps alone. The paths may be asymmetric. It holds if no packet arrives before it was
//!   sent, if the server's timestamps are as precise as it states, and if the clocks drift by at
//!   most [`ClientOptions::max_drift_ppm`] against each other. Either clock may be stepped by any
//!   amount: the newest exchange determines the bound, and samples that contradict each other are
//!   counted ([`Counts::contradictions`]). A bound for a later time ([`Client::measurement_at`])
//!   holds if there was no step since. It grows by the drift that samples have shown. That assumes
//!   that the frequency changes by at most [`ClientOptions::wander_ppb`] and
//!   [`ClientOptions::jump_ppb`], and that there is at most one step of the server's clock in a
//!   quarter of an hour that is too small to notice: smaller than the round trips of the samples
//!   before and after it together, plus twice the largest drift between these. Contradictions are
//!   counted ([`Counts::drift_contradictions`]).
//! - [`ServerState::root_bound`] is the largest error of the server's clock against UTC, *as the
//!   server states it*. No measurement over the network can check it.
//!
//! Without authentication, anyone who sees the requests can forge responses; anyone else would have
//! to guess the 64 random bits that each response must repeat. An attacker who delays packets in
//! one direction moves the estimate within the bound.
//!
//! ```
//! use std::net::SocketAddr;
//! use wirestamp_core::time::{Bounded, MonotonicTime, UtcTime};
//! use wirestamp_ntp::{Client, ClientOptions, LocalTime, Outcome};
//!
//! # fn exchange(_: &[u8]) -> Vec<u8> { Vec::new() }
//! # let now = || LocalTime {
//! #     utc: Bounded::exact(UtcTime::from_nanoseconds(0)),
//! #     monotonic: Bounded::exact(MonotonicTime::from_nanoseconds(0)),
//! #     adjusted: None,
//! # };
//! let server: SocketAddr = "192.0.2.7:123".parse()?;
//! let mut client = Client::new(server, ClientOptions::default());
//! let request = client.request([0x1234_5678_9abc_def0, 0x0fed_cba9_8765_4321])?; // of a random generator
//! let response = exchange(&request);
//! client.sent(now());
//! if let Outcome::Sample(_) = client.received(server, &response, Some(now())) {
//!     let measured = client.measurement().expect("one sample is enough");
//!     let (offset, bound) = (measured.offset.value, measured.offset.bound);
//!     println!("{offset} ±{bound}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod client;
mod drift;
mod exchange;
mod measure;
mod outcome;
mod packet;
mod select;
mod timestamp;

pub use client::{Client, ClientOptions};
pub use exchange::{LocalTime, Sample};
pub use measure::Measurement;
pub use outcome::{Counts, Ignored, Kiss, NoSample, Outcome, Stopped};
pub use packet::{Leap, Malformed, Response, ServerState, answer};
pub use select::{Agreement, Interval, Selection, select};
pub use timestamp::NtpTimestamp;
