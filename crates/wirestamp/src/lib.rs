//! Hardware and kernel timestamps of the UDP packets that a program sends and receives, on
//! Linux, on Windows, and on simulated NICs.
//!
//! - [`Interface`] finds a network interface, says what it can timestamp and switches its
//!   hardware timestamps on;
//! - [`UdpSocket`] sends and receives with timestamps; `Timestamper` gives them to a program that makes
//!   the calls itself (Linux);
//! - [`Correlator`] converts hardware timestamps to the monotonic clock, each with an error bound;
//! - [`Watch`] calls back when an interface or its clock changes;
//! - [`latency`] measures the send path, the wire and the receive path.
//!
//! Three rules hold everywhere. The clock is in the type: a [`MonotonicTime`], a [`UtcTime`] and
//! [`HardwareTicks`] cannot be mixed. An estimate carries an error bound that contains the truth;
//! where none can be given, the conversion fails with the reason. A missing transmit timestamp
//! is an answer with a reason, never silence.
//!
//! ```
//! use std::time::Duration;
//! use wirestamp::{Interface, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome};
//!
//! # fn main() -> wirestamp::Result<()> {
//! let nic = Interface::find("sim0")?; // or "lo", "eth0", …
//! let address = nic.description().addresses[0].address;
//! let sender = nic.bind((address, 0).into())?;
//! let receiver = nic.bind((address, 0).into())?;
//! sender.configure(Timestamping::OFF.transmit(64))?;
//! receiver.configure(Timestamping::OFF.receive())?;
//!
//! let before = sender.now();
//! sender.send_to(b"hello", receiver.local_address()?, Some(TransmitId(1)))?;
//!
//! let mut buffer = [0; 64];
//! if let Some(received) = receiver.receive(&mut buffer, Duration::from_secs(1))? {
//!     println!("arrived: {:?}", received.timestamps.software.map(|timestamp| timestamp.at));
//! }
//! match sender.wait_transmit_timestamp(TransmitId(1), Duration::from_secs(1))? {
//!     TransmitAnswer::Resolved(TransmitOutcome::Timestamped(timestamps)) => {
//!         println!("send path: {:?}", timestamps.software.map(|timestamp| timestamp.at - before));
//!     }
//!     TransmitAnswer::Resolved(TransmitOutcome::Missing(reason)) => println!("no timestamp: {reason}"),
//!     other => println!("{other:?}"),
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod clock;
mod correlator;
pub mod events;
mod find;
mod hardware;
mod host;
mod inner;
mod interface;
pub mod latency;
mod observed;
mod sampling;
mod simulation;
mod socket;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
mod timestamper;
#[cfg(feature = "tokio")]
pub mod tokio;
mod watch;

pub use clock::HardwareClock;
pub use correlator::{Correlator, CorrelatorOptions, CorrelatorStatus};
pub use hardware::{HardwareGuard, HardwareRequest};
pub use interface::Interface;
pub use observed::Observed;
pub use sampling::Sampling;
pub use simulation::{ENVIRONMENT, Simulation};
pub use socket::{ReceiveCounters, UdpSocket};
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
pub use timestamper::{ReceivedControl, Tag, Timestamper};
pub use watch::{ChangeEvent, Watch};

/// The simulator: scenarios, and the world with its truth, for tests.
pub use wirestamp_sim as sim;

pub use wirestamp_core::backend::{ChangeKind, Incoming, Outgoing, Received};
pub use wirestamp_core::capability::{
    AddressFamily, Capabilities, Direction, HardwareCapabilities, KernelMasks, PtpVerdict,
    SoftwareCapabilities, TimestampSource,
};
pub use wirestamp_core::configuration::{
    Engine, Granted, HardwareConfiguration, Identification, IoUringState, IoUringUnavailable,
    ReceiveFilter, Source, Timestamping,
};
pub use wirestamp_core::correlate::{
    ClockGeneration, ConversionError, Correlation, Estimate, FineEstimate, FrequencyEstimate,
    GenerationCause, HardwareEstimate, Prior, Pushed, SliceEstimate,
};
pub use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
pub use wirestamp_core::error::{Error, ErrorKind, Result};
pub use wirestamp_core::interface::{
    InterfaceAddress, InterfaceDescription, InterfaceIndex, InterfaceState,
};
pub use wirestamp_core::time::{
    Frequency, HardwareTicks, Monotonic, MonotonicTime, PtpTime, Span, Time, Utc,
    UtcCrossTimestamp, UtcTime,
};
pub use wirestamp_core::timestamp::{
    HardwareTimestamp, IcmpError, LateTimestamp, MissingReason, Notice, SoftwareTimestamp,
    Timestamps, TransmitAnswer, TransmitCounters, TransmitId, TransmitOutcome, TransmitRecord,
};

/// Compiles and runs the example of the README.
#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
