//! Hardware and kernel timestamps of the UDP packets that a program sends and receives, on
//! Linux, on Windows, and on simulated NICs.
//!
//! - [`UdpSocket`] sends and receives with timestamps; it can take over a socket of `std`, `socket2` or tokio;
//! - [`PacketReceiver`] receives from many sockets on one thread and lends their packets instead of copying them;
//! - `Timestamper` gives timestamps to a program that makes the calls itself (Linux);
//! - [`Interface`] finds a network interface, says what it can timestamp and switches its
//!   hardware timestamps on;
//! - [`Correlator`] converts hardware timestamps to the monotonic clock or to UTC, each with an error bound;
//! - [`HostClock`] places the timestamps of packets on this host's clocks, and says when that is final;
//! - [`Capture`] has the packets that an interface receives and sends, whoever they are for, with the same timestamps (Linux, and simulated NICs);
//! - `XdpReceiver` takes packets from the driver before the kernel has made anything of them, `XdpSender` hands frames to it (Linux);
//! - [`Watch`] calls back when an interface or its clock changes;
//! - [`latency`] measures the send path, the wire and the receive path;
//! - [`events`] records what a system sees of a NIC's clock, and converts it elsewhere.
//!
//! Three rules hold everywhere. The clock is in the type: a [`MonotonicTime`], a [`UtcTime`] and
//! [`HardwareTicks`] cannot be mixed. An estimate carries an error bound that contains the truth;
//! where none can be given, the conversion fails with the reason. A missing transmit timestamp
//! is an answer with a reason, never silence.
//!
//! ```
//! # #[cfg(feature = "sim")]
//! # fn main() -> wirestamp::Result<()> {
//! use std::time::Duration;
//! use wirestamp::{Interface, Timestamping, TransmitOutcome};
//!
//! let nic = Interface::find("sim0")?; // or "lo", "eth0", …
//! let address = nic.description().addresses[0].address;
//! let sender = nic.bind((address, 0).into())?;
//! let receiver = nic.bind((address, 0).into())?;
//! sender.configure(Timestamping::new().transmit(64))?;
//! receiver.configure(Timestamping::new().receive())?;
//!
//! let (before, to) = (sender.now(), receiver.local_address()?);
//! match sender.send_to_timestamped(b"hello", to, Duration::from_secs(1))? {
//!     TransmitOutcome::Timestamped(timestamps) => {
//!         println!("send path: {:?}", timestamps.software.map(|timestamp| timestamp.at - before));
//!     }
//!     TransmitOutcome::Missing(reason) => println!("no timestamp: {reason}"),
//! }
//! let mut buffer = [0; 64];
//! if let Some(received) = receiver.receive(&mut buffer, Duration::from_secs(1))? {
//!     println!("arrived: {:?}", received.timestamps.software.map(|timestamp| timestamp.at));
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "sim"))]
//! # fn main() {}
//! ```
//!
//! To send first and ask later, give each datagram a [`TransmitId`] of your own:
//! [`UdpSocket::send_to`], then [`UdpSocket::wait_transmit_timestamp`].
//!
//! # Features
//!
//! None is on by default.
//!
//! - `tokio`: [`tokio::AsyncUdpSocket`], whose waits are futures, and [`Correlator::until_ready`].
//! - `serde`: timestamps, estimates, capabilities, configurations, counters and errors can be serialised and
//!   read back, with units in the field names (`monotonic_ns`, `error_bound_ns`).
//! - `schema`: JSON Schemas of the serialised form of some of these, by `schemars`.
//! - `sim`: [`Simulation`], NICs in virtual time for tests; `sim0` and `sim1` are then found beside the real interfaces.
//! - `io-uring`: [`socket::Engine::Ring`] on Linux.
//!
//! # Examples
//!
//! In the repository's `crates/wirestamp/examples`, a page each: `adopt` (timestamps for a socket that exists),
//! `mio_loop` (a loop of your own), `one_way_delay` (between two processes), `ntp_client` (an offset with its error bound), `tokio_echo`, `phc_to_utc` (hardware
//! timestamps in UTC), `watch_changes`, `ethernet` (PTP messages over Ethernet), `simulated_test` (a deterministic test of your own code), `xdp_receive` and `xdp_send` (AF_XDP), `echo`.

// docs.rs labels what needs a feature or a system.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod address;
pub mod capture;
pub mod clock;
pub mod correlator;
mod deadline;
pub mod ethernet;
pub mod events;
mod find;
mod hardware;
mod host;
mod host_clock;
mod inner;
pub mod interface;
pub mod latency;
mod observed;
pub mod receiver;
mod sampling;
#[cfg(feature = "sim")]
mod simulation;
pub mod socket;
mod synchronization;
pub mod time;
pub mod timestamp;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
mod timestamper;
#[cfg(feature = "tokio")]
pub mod tokio;
mod watch;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
pub mod xdp;

/// The simulator: scenarios, and the world with its truth, for tests.
#[cfg(feature = "sim")]
pub use wirestamp_sim as sim;

// What most programs name. Each is documented in the module of its subject.
#[doc(no_inline)]
pub use crate::{
    capture::Capture,
    clock::{CrossTimestamp, HardwareClock, HostClock, HostTime, TimestampPolicy},
    correlator::{ConversionError, Correlator, CorrelatorOptions, Estimate},
    interface::{Capabilities, HardwareGuard, HardwareRequest, Interface, InterfaceIndex, Watch},
    receiver::PacketReceiver,
    socket::{Incoming, Outgoing, Received, Source, Timestamping, UdpSocket},
    time::{Bounded, HardwareTicks, MonotonicTime, PtpTime, Span, UtcTime},
    timestamp::{
        HardwareTimestamp, MissingReason, TimestampSource, Timestamps, TransmitAnswer, TransmitId,
        TransmitOutcome, TransmitRecord,
    },
};
#[cfg(feature = "sim")]
pub use simulation::{ENVIRONMENT, Simulation};
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
#[doc(no_inline)]
pub use socket::Timestamper;
pub use wirestamp_core::error::{Error, ErrorKind, Result};

// For this project's other crates.
#[doc(hidden)]
pub use wirestamp_sys::file;

/// The choice between this system and a simulated one, for this project's C interface.
#[doc(hidden)]
pub mod choice {
    pub use crate::inner::{Clock, Inner as System, Socket, Subscription};
}

/// Compiles and runs the example of the README, which is that of the README of the repository (scripts/check-docs).
#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../README.md")]
struct Readme;
