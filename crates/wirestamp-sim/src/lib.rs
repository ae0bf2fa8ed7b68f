//! A simulated host, its two NICs and the cable between them, in virtual time:
//! seeded, deterministic to the bit, with every fault of packet timestamping.
//!
//! Makes no system call, and nothing here sleeps. `world` is virtual time, `host` the monotonic and the real-time clock,
//! `nic`, `clock` and `link` the hardware, `faults` its faults, `scenario` and `presets/` their description, `traffic`
//! other programs' packets, `frames` Ethernet sockets, `capture/` the packet rings of captures. A [`World`] is built
//! from a [`Scenario`] (a preset, or a small TOML file) and a seed, and fulfils
//! [`wirestamp_core::backend::Backend`]; its [`Truth`] has the true times.
//!
//! ```
//! use wirestamp_core::backend::{Backend, DatagramSocket, Incoming, Interest, Outgoing};
//! use wirestamp_core::time::Span;
//! use wirestamp_sim::{Scenario, World};
//!
//! let world = World::new(&Scenario::preset("i225")?, 1);
//! let socket = world.bind("192.0.2.1:0".parse().unwrap(), None)?;
//! let to = Some(socket.local_address()?); // through the NIC's own looped link
//! socket.send(&[Outgoing::new(b"hello").to(to)])?;
//! socket.wait(Interest::Receive, world.now() + Span::from_milliseconds(1))?;
//! let mut buffer = [0; 64];
//! let mut incoming = [Incoming::new(&mut buffer)];
//! assert_eq!(socket.receive(&mut incoming)?, 1);
//! assert_eq!(incoming[0].payload(), b"hello");
//! # Ok::<(), wirestamp_core::Error>(())
//! ```
//!
//! The host: `sim0` (192.0.2.1/24, 2001:db8::1/64) and `sim1` (192.0.2.2, 2001:db8::2), both
//! on one cable. Nobody else lives in these networks, and there is no route out of them.

#![forbid(unsafe_code)]

mod agenda;
mod backend;
mod behind;
mod bind;
mod bridge;
mod by_value;
mod capture;
mod chance;
mod clock;
mod clock_device;
mod codes;
mod control;
mod cross;
mod discipline;
mod faults;
mod frames;
mod handles;
mod host;
mod link;
mod nic;
mod packet;
mod receive;
mod scenario;
mod socket;
mod sockets;
mod state;
mod timestamping;
mod timestamps;
mod traffic;
mod transmit;
mod truth;
mod virtual_clocks;
mod work;
mod world;

pub use capture::{Block, Capture, Captured};
pub use clock_device::ClockDevice;
pub use control::NicName;
pub use handles::{SimulatedClock, SimulatedSocket};
pub use scenario::Scenario;
pub use truth::{Datagram, Ends, Fate, Truth};
pub use work::{Subscription, Task};
pub use world::World;
