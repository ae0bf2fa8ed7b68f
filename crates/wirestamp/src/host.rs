//! A host, real or simulated, with the timestamps observed on it. Everything created from it keeps
//! it alive.

use crate::hardware::Holders;
use crate::inner::Inner;
use crate::observed::ObservedRegistry;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::{Result, backend::Backend};

/// A system, and the state that this process has for it.
#[derive(Debug)]
pub(crate) struct Host {
    inner: Inner,
    pub(crate) observed: ObservedRegistry,
    pub(crate) holders: Holders,
}

impl Host {
    pub(crate) fn new(inner: Inner) -> Arc<Self> {
        Arc::new(Self {
            inner,
            observed: ObservedRegistry::default(),
            holders: Holders::default(),
        })
    }

    /// The system that this process runs on.
    pub(crate) fn native() -> &'static Arc<Self> {
        static NATIVE: OnceLock<Arc<Host>> = OnceLock::new();
        NATIVE.get_or_init(|| Self::new(Inner::Native(wirestamp_sys::System::new())))
    }

    /// Returns the first of the current interfaces for which `wanted` holds.
    pub(crate) fn look_up(
        &self,
        mut wanted: impl FnMut(&InterfaceDescription) -> bool,
    ) -> Result<Option<InterfaceDescription>> {
        Ok(self
            .interfaces()?
            .into_iter()
            .find(|description| wanted(description)))
    }
}

impl Deref for Host {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}
