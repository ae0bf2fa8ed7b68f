//! Receiving from many sockets through one ring without copying: what every system's has in common, and
//! what stands for it where there is none.

use wirestamp_core::Error;

/// What happened to a socket of a ring, besides datagrams.
#[derive(Debug)]
pub enum SocketEvent {
    /// Receiving failed; it goes on.
    Failed(Error),
    /// It was closed.
    Closed,
    /// It was removed, and everything that the ring had taken from it was handed out.
    Removed,
}

#[cfg(not(all(target_os = "linux", feature = "io-uring", not(wirestamp_unsupported))))]
pub use absent::{Lent, PacketRing};

#[cfg(not(all(target_os = "linux", feature = "io-uring", not(wirestamp_unsupported))))]
mod absent {
    use super::SocketEvent;
    use crate::Socket;
    use std::convert::Infallible;
    use wirestamp_core::Result;
    use wirestamp_core::backend::{Received, Udp};
    use wirestamp_core::configuration::IoUringUnavailable;
    use wirestamp_core::time::MonotonicTime;

    /// Never made: there is no io_uring on this system, or the feature `io-uring` is off.
    #[derive(Debug)]
    pub struct PacketRing(Infallible);

    /// Never made.
    #[derive(Debug)]
    pub struct Lent {
        /// The number of its socket.
        pub slot: u32,
        /// Its timestamps and other metadata.
        pub received: Received<Udp>,
    }

    impl PacketRing {
        /// Says that there is none.
        ///
        /// # Errors
        /// Always.
        pub fn new(_: u16, _: u16) -> std::result::Result<Self, IoUringUnavailable> {
            let cause = if cfg!(all(target_os = "linux", not(wirestamp_unsupported))) {
                "wirestamp was built without its feature `io-uring`"
            } else {
                "this system has no io_uring"
            };
            Err(IoUringUnavailable::new(cause, None))
        }

        /// Can't be called.
        ///
        /// # Errors
        /// None.
        pub fn add(&mut self, _: u32, _: &Socket) -> Result<()> {
            match self.0 {}
        }

        /// Can't be called.
        ///
        /// # Errors
        /// None.
        pub fn remove(&mut self, _: u32) -> Result<()> {
            match self.0 {}
        }

        /// Can't be called.
        ///
        /// # Errors
        /// None.
        pub fn receive<'s>(
            &mut self,
            _: MonotonicTime,
            _: impl Fn(u32) -> Option<&'s Socket>,
            _: &mut Vec<(u32, SocketEvent)>,
        ) -> Result<()> {
            match self.0 {}
        }

        /// Can't be called.
        pub fn lent(&self) -> &[Lent] {
            match self.0 {}
        }

        /// Can't be called.
        pub fn payload(&self, _: &Lent) -> &[u8] {
            match self.0 {}
        }
    }
}
