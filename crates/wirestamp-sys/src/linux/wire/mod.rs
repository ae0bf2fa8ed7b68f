//! What bytes from the kernel mean. Pure: no system call, so fuzzers and sanitizers
//! reach all of it without a socket.

pub mod address;
pub mod btf;
pub mod completion;
pub mod constants;
pub mod control;
pub mod link;
pub mod nic;
pub mod packet_ring;

pub use wirestamp_core::uevent;
