//! The system calls of wirestamp: sockets, interfaces, hardware clocks, change notifications. `wirestamp-core` decides
//! what their results mean for a timestamp.
//!
//! - `linux/`: `socket/` (`kind` has the differences between UDP and Ethernet, `engine` chooses between calls and
//!   `ring/`, io_uring), `capture/` (packet rings), `xdp/` (AF_XDP), `hardware_clock`, `steered` (clocks that can be
//!   moved), `holders` (lock files), `device` (the NIC behind a bond or VLAN), `watch`. Pure functions in `wire/` decode
//!   the kernel's bytes;
//! - `windows/`: `api` and `call/` hold all `unsafe`; `windows_wire` decodes bytes, `abi` has Windows' structures and
//!   numbers. Both are built everywhere, `abi/agreement.rs` compares them with `windows-sys`;
//! - `unsupported/`: the answers on other systems, built by CI on Linux too;
//! - `cmsg` walks and builds control messages, `environment` reads the variables that change what this crate and those
//!   above do, `file` reads a file that a user names, with a limit, `lock` locks files
//!   (Linux), `vector` compiles a loop for the processor at hand.
//!
//! Every system's folder has the same files with the same signatures, and fulfils
//! [`wirestamp_core::backend::Backend`] with a type called [`System`]. What bytes from the
//! kernel mean is decided by pure functions in [`cmsg`] and in the folders' `wire` modules,
//! which fuzzers and sanitizers reach without a socket.

// docs.rs labels what needs a feature or a system.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod abi;
pub mod cmsg;
pub mod environment;
pub mod file;

#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
mod linux;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
use linux as native;

#[cfg(all(windows, not(wirestamp_unsupported)))]
mod windows;
#[cfg(all(windows, not(wirestamp_unsupported)))]
use windows as native;

// Also built on Linux by CI (`--cfg wirestamp_unsupported`): a backend nobody builds is broken.
#[cfg(any(not(any(target_os = "linux", windows)), wirestamp_unsupported))]
mod unsupported;
#[cfg(any(not(any(target_os = "linux", windows)), wirestamp_unsupported))]
use unsupported as native;

#[cfg(target_os = "linux")]
pub mod lock;
#[cfg(any(not(target_os = "linux"), wirestamp_unsupported))]
mod no_capture;
pub mod packet_ring;
pub mod vector;

// Pure, so built everywhere: what bytes from Windows mean.
pub mod windows_wire;

pub use native::{Clock, Socket, Subscription, System, Task};

#[cfg(all(target_os = "linux", feature = "io-uring", not(wirestamp_unsupported)))]
pub use native::{Lent, PacketRing};
#[cfg(not(all(target_os = "linux", feature = "io-uring", not(wirestamp_unsupported))))]
pub use packet_ring::{Lent, PacketRing};

#[cfg(all(windows, not(wirestamp_unsupported)))]
pub use native::{Alarm, counter_frequency, utc};

#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
pub use native::{
    Block, Capture, Captured, Datagrams, Frames, Header, Kind, Tag, Xdp, XdpBatch, XdpPacket,
    XdpSend, steered, wire, xdp_features,
};

#[cfg(any(not(target_os = "linux"), wirestamp_unsupported))]
pub use no_capture::{Block, Capture, Captured};

#[cfg(all(target_os = "linux", feature = "bare", not(wirestamp_unsupported)))]
#[doc(hidden)]
pub use native::bare;
