//! Sockets as Winsock has them: startup, options, ioctls, datagrams with their control
//! messages, overlapped operations. Where datagrams really go is `adapter`'s affair.

pub mod address_text;
pub mod buffers;
#[cfg(not(windows))]
pub mod completion;
mod control;
pub mod events;
pub mod exports;
pub(crate) mod failure;
mod group;
mod ioctl;
pub(crate) mod message;
pub mod messages;
#[cfg(target_os = "linux")]
pub mod names;
mod overlapped;
mod pending;
pub mod presentation;
mod readiness;
mod ready;
mod receive;
pub mod selecting;
mod selection;
mod send;
pub(crate) mod setting;
pub(crate) mod socket;
pub(crate) mod startup;
mod status;
mod timestamping;
pub mod transfer;
pub mod waiting;
