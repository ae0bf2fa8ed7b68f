//! Packet timestamps: when a UDP datagram really left and really arrived, stamped by the
//! kernel or by the network adapter, on Linux and on a simulated adapter that exists
//! everywhere (`sim0`).
//!
//! [`Interface`] says what an adapter can stamp; [`UdpSocket`] sends and receives stamped
//! datagrams; [`Correlator`] relates an adapter's clock to the system clock; [`Watch`] tells
//! of changes; [`latency`] measures where packets spend their time.
//!
//! Three rules run through all of it. The clock is in the type: a [`SystemTime`], a
//! [`WallTime`] and [`HardwareTicks`] don't mix. An estimate carries a bound that contains the
//! truth, or is refused. A stamp that does not come is an answer with a reason, not an error.
//!
//! ```
//! use std::time::Duration;
//! use wirestamp::{Interface, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome};
//!
//! # fn main() -> wirestamp::Result<()> {
//! let adapter = Interface::find("sim0")?; // or "lo", "eth0", …
//! let address = adapter.description().addresses[0].address;
//! let sender = adapter.bind((address, 0).into())?;
//! let receiver = adapter.bind((address, 0).into())?;
//! sender.configure(Timestamping::OFF.transmit(64))?;
//! receiver.configure(Timestamping::OFF.receive())?;
//!
//! let before = sender.now();
//! sender.send_to(b"hello", receiver.local_address()?, Some(TransmitId(1)))?;
//!
//! let mut buffer = [0; 64];
//! if let Some(received) = receiver.receive(&mut buffer, Duration::from_secs(1))? {
//!     println!("arrived: {:?}", received.stamps.software.map(|stamp| stamp.at));
//! }
//! match sender.wait_transmit_stamp(TransmitId(1), Duration::from_secs(1))? {
//!     TransmitAnswer::Ended(TransmitOutcome::Stamped(stamps)) => {
//!         println!("send path: {:?}", stamps.software.map(|stamp| stamp.at - before));
//!     }
//!     TransmitAnswer::Ended(TransmitOutcome::Lost(reason)) => println!("no stamp: {reason}"),
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
pub use watch::{ChangeEvent, Watch};

/// The simulator: scenarios, and the world with its truth, for tests.
pub use wirestamp_sim as sim;

pub use wirestamp_core::backend::{ChangeKind, Incoming, Outgoing, Received};
pub use wirestamp_core::capability::{
    AddressFamily, Capabilities, Direction, HardwareCapabilities, KernelMasks, PtpVerdict,
    SoftwareCapabilities, StampSource,
};
pub use wirestamp_core::configuration::{
    Engine, Granted, HardwareConfiguration, Identification, ReceiveFilter, RingRefusal, RingState,
    Source, Timestamping,
};
pub use wirestamp_core::correlate::{
    Correlation, Epoch, EpochCause, Estimate, FineEstimate, HardwareEstimate, Prior, Pushed,
    RateEstimate, Refusal, SliceEstimate,
};
pub use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
pub use wirestamp_core::error::{Error, ErrorKind, Result};
pub use wirestamp_core::interface::{
    InterfaceAddress, InterfaceDescription, InterfaceIndex, InterfaceState,
};
pub use wirestamp_core::stamp::{
    HardwareStamp, IcmpError, LateStamp, LossReason, Notice, SoftwareStamp, Stamps, TransmitAnswer,
    TransmitCounters, TransmitId, TransmitOutcome, TransmitRecord,
};
pub use wirestamp_core::time::{
    Frequency, HardwareTicks, PtpTime, Span, System, SystemTime, Time, Wall, WallReading, WallTime,
};

/// Compiles and runs the example of the README.
#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
