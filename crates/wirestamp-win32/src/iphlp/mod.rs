//! The interface functions: capabilities, cross timestamps, change notifications, the list
//! of adapters, conversions of their names. Results are Win32 errors, in the return value.

mod adapters;
pub mod best;
pub mod exports;
mod guid;
pub(crate) mod layout;
pub mod names;
mod notify;
pub mod old;
