//! Hardware and kernel timestamps of the packets that a program sends and receives, on Linux,
//! Windows and simulated NICs.
//!
//! - [`UdpSocket`] sends and receives datagrams with timestamps; it can adopt a socket of `std`,
//!   `socket2` or tokio;
//! - [`PacketReceiver`] receives from many sockets on one thread without copying payloads;
//! - `Timestamper` gives timestamps to a program that makes the socket calls itself (Linux);
//! - [`Interface`] finds a network interface, reports what it can timestamp and switches its
//!   hardware timestamping on;
//! - [`Correlator`] converts hardware timestamps to the monotonic clock or to UTC, each with an
//!   error bound;
//! - [`HostClock`] converts a packet's hardware or software timestamp to this host's clocks, and
//!   reports when the result is final;
//! - [`Capture`] captures all packets that an interface receives and sends, with the same
//!   timestamps (Linux and simulated NICs);
//! - `XdpReceiver` and `XdpSender` receive and send frames through AF_XDP, past the kernel's
//!   network stack (Linux);
//! - [`Watch`] calls a function when an interface or its clock changes;
//! - [`latency`] measures the send path, the wire and the receive path;
//! - [`events`] records cross timestamps and packet timestamps in a file, and converts them later
//!   or on another system.
//!
//! Three rules hold everywhere. The clock is in the type: a [`MonotonicTime`], a [`UtcTime`] and
//! [`HardwareTicks`] cannot be mixed. An estimate carries an error bound that contains the truth;
//! where none can be given, the conversion fails with the reason. A missing transmit timestamp is
//! always reported, with the reason.
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
//! To send now and fetch the timestamp later, give each datagram a [`TransmitId`] of your own:
//! [`UdpSocket::send_to`], then [`UdpSocket::wait_transmit_timestamp`].
//!
//! # Features
//!
//! All features are off by default.
//!
//! - `tokio`: [`tokio::AsyncUdpSocket`] and [`Correlator::until_ready`], which wait in futures.
//! - `serde`: serialises timestamps, estimates, capabilities, configurations, counters and errors,
//!   and reads them back, with units in the field names (`monotonic_ns`, `error_bound_ns`).
//! - `schema`: JSON Schemas (by `schemars`) of the serialised form of [`Error`], [`ErrorKind`],
//!   [`TimestampSource`], [`interface::HardwareCapabilities`], [`interface::SoftwareCapabilities`],
//!   [`interface::PtpVerdict`], [`interface::HardwareConfiguration`], [`interface::ReceiveFilter`],
//!   [`interface::InterfaceAddress`] and [`capture::CapturedDirection`].
//! - `sim`: [`Simulation`], NICs in virtual time for tests. Interfaces `sim0` and `sim1` are listed
//!   after the real ones.
//! - `io-uring`: [`socket::Engine::Ring`], which receives through io_uring (Linux).
//!
//! # Examples
//!
//! The repository's folder `crates/wirestamp/examples` has one page for each: `adopt` (timestamps
//! for an existing socket), `mio_loop` (an event loop of your own), `one_way_delay` (between two
//! processes), `ntp_client` (an offset with its error bound), `tokio_echo`, `phc_to_utc` (hardware
//! timestamps in UTC), `watch_changes`, `ethernet` (PTP messages over Ethernet), `simulated_test`
//! (a deterministic test of your own code), `failover` (a bond changes its NIC), `xdp_receive` and
//! `xdp_send` (AF_XDP), `ports` (which NIC's clock converts each packet of a bridge or bond),
//! `echo`.

// On docs.rs, items that need a feature or an operating system are labelled.
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

// The names that most programs use. Each is documented in the module of its subject.
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
pub use wirestamp_sys::{environment, file};

/// The choice between this system and a simulated one, for this project's C interface.
#[doc(hidden)]
pub mod choice {
    pub use crate::inner::{Clock, Inner as System, Socket, Subscription};
}

/// Compiles and runs the example of the README (scripts/check-docs compares it with the
/// repository's README).
#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../README.md")]
struct Readme;
