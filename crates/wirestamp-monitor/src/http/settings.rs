//! The settings that a reload exchanges while connections stay open: token, certificate, limits and the history's
//! folder.

use super::access::Access;
use super::tls::Tls;
use crate::configuration::Configuration;
use crate::history::Reader;
use std::sync::{Arc, PoisonError, RwLock};
use wirestamp::Result;

#[derive(Debug)]
pub(super) struct Settings {
    pub(super) access: Access,
    /// `None`: plaintext.
    pub(super) tls: Option<Tls>,
    pub(super) series_limit: usize,
    /// Reads the history, if one is kept.
    pub(super) history: Option<Arc<Reader>>,
    /// Connections at a time.
    pub(super) connections: usize,
}

impl Settings {
    /// Reads the files that the configuration names.
    pub(super) fn read(configuration: &Configuration) -> Result<Self> {
        let http = &configuration.http;
        let tls = match (&http.certificate, &http.key) {
            (Some(certificate), Some(key)) => Some(Tls::read(certificate, key)?),
            _ => None,
        };
        let history = configuration.history.as_ref();
        Ok(Self {
            history: history.map(|history| Arc::new(Reader::new(&history.directory))),
            access: Access::new(configuration)?,
            tls,
            series_limit: configuration.metrics.series_limit,
            connections: usize::from(http.connections),
        })
    }
}

/// Returns the current settings.
#[derive(Debug)]
pub(super) struct Current(RwLock<Arc<Settings>>);

impl Current {
    pub(super) fn new(settings: Settings) -> Self {
        Self(RwLock::new(Arc::new(settings)))
    }

    pub(super) fn get(&self) -> Arc<Settings> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set(&self, settings: Settings) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }
}
