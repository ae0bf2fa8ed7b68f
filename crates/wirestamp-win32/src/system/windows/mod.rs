//! The way to the system's own: what the sockets need of it. Exports nothing.

pub(crate) mod last_error;
pub(crate) mod object;
pub(crate) mod port;
