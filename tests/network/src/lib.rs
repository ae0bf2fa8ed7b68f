//! A small network for tests: hosts in network namespaces, joined by a router in user space that delays,
//! reorders, duplicates, loses, rate-limits and re-marks packets by direction, and logs what it did to each.
//!
//! Every host has one TUN device, `net0`, with the addresses `10.66.0.N` and `fd66::N`, N from 1 in the order of
//! the hosts. All packets pass the router, which is one hop. The hosts share one kernel and so one clock: the true
//! offset between them is 0, and the log says how long each packet was under way. Kernel timestamps of a packet lie
//! outside the router: the transmit timestamp before it reads the packet, the receive timestamp after it writes it.
//!
//! The same seed treats the n-th packet of a direction the same way. Times are those of a process on a shared machine:
//! a packet is never early, and may be late by what the scheduler takes.
//!
//! ```no_run
//! # #[cfg(target_os = "linux")]
//! # fn main() -> std::io::Result<()> {
//! use std::time::Duration;
//! use wirestamp_test_network::{Direction, Network};
//!
//! let network = Network::builder()
//!     .hosts(["a", "b"])
//!     .seed(7)
//!     .direction("a", "b", Direction::new().delay(Duration::from_millis(3)).loss(0.02))
//!     .direction("b", "a", Direction::new().delay(Duration::from_millis(7)))
//!     .build()?;
//! let status = network.host("a").command("ping").args(["-c3", "10.66.0.2"]).status()?;
//! for event in network.take_log() {
//!     println!("{event:?}");
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(target_os = "linux"))]
//! # fn main() {}
//! ```
//!
//! Scripts start the program `wirestamp-test-network`. Needs Linux, root and iproute2; see [`missing`].

#[cfg(target_os = "linux")]
mod direction;
#[cfg(target_os = "linux")]
mod event;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(target_os = "linux")]
mod router;
#[cfg(target_os = "linux")]
mod treatment;
#[cfg(target_os = "linux")]
mod tun;

#[cfg(target_os = "linux")]
pub use direction::Direction;
#[cfg(target_os = "linux")]
pub use event::{Event, Fate};
#[cfg(target_os = "linux")]
pub use network::{Builder, Host, Network, missing};
