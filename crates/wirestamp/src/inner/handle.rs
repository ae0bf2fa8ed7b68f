//! Operations of the system's sockets that only this library uses, in one trait per system, so that
//! code that is generic over the transport need not name them.

#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
mod descriptor {
    use std::os::fd::AsFd;

    /// A socket with a descriptor.
    #[allow(
        unreachable_pub,
        reason = "a bound of a public trait; before Rust 1.88 the lint does not see that"
    )]
    pub trait Handle: AsFd {}

    impl<S: AsFd> Handle for S {}
}
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
pub(crate) use descriptor::Handle;

#[cfg(all(windows, feature = "tokio", not(wirestamp_unsupported)))]
mod waits {
    use std::sync::Arc;
    use wirestamp_core::Result;
    use wirestamp_core::backend::NoSocket;
    use wirestamp_sys::Alarm;

    /// A callback, called on one of the system's threads.
    pub(crate) type Ring = Arc<dyn Fn() + Send + Sync>;

    /// A socket that the system can wait for.
    pub trait Handle {
        /// Arranges that `ring` is called once when timestamps may be available; `None` if they may
        /// be available now.
        ///
        /// # Errors
        /// The system's.
        fn when_timestamps(&self, ring: &Ring) -> Result<Option<Alarm>>;

        /// Arranges that `ring` is called once when datagrams may be available; `None` if they may
        /// be available now.
        ///
        /// # Errors
        /// The system's.
        fn when_readable(&self, ring: &Ring) -> Result<Option<Alarm>>;
    }

    impl Handle for wirestamp_sys::Socket {
        fn when_timestamps(&self, ring: &Ring) -> Result<Option<Alarm>> {
            self.when_timestamps_may_be_there(ring)
        }

        fn when_readable(&self, ring: &Ring) -> Result<Option<Alarm>> {
            Self::when_readable(self, ring)
        }
    }

    /// Does nothing: there is no socket to wait for.
    impl Handle for NoSocket {
        fn when_timestamps(&self, _: &Ring) -> Result<Option<Alarm>> {
            Ok(None)
        }

        fn when_readable(&self, _: &Ring) -> Result<Option<Alarm>> {
            Ok(None)
        }
    }
}
#[cfg(all(windows, feature = "tokio", not(wirestamp_unsupported)))]
pub(crate) use waits::{Handle, Ring};

#[cfg(any(
    wirestamp_unsupported,
    not(any(target_os = "linux", all(windows, feature = "tokio")))
))]
mod nothing {
    /// Any socket.
    pub trait Handle {}

    impl<S> Handle for S {}
}
#[cfg(any(
    wirestamp_unsupported,
    not(any(target_os = "linux", all(windows, feature = "tokio")))
))]
pub(crate) use nothing::Handle;
