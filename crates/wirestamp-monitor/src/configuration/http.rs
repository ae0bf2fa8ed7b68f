//! What is served over HTTP, and how many metrics.

use super::check::invalid;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use wirestamp::Result;

/// What is served over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Http {
    /// Whether anything is served.
    pub enabled: bool,
    /// Address and port. Default: 127.0.0.1:9862.
    pub listen: SocketAddr,
    /// Serve other addresses than loopback: without TLS, so that everybody on the way can read, the token too. A reverse proxy adds TLS.
    pub allow_plaintext: bool,
    /// A file with the token that requests must bear (`Authorization: Bearer TOKEN`).
    pub token_file: Option<PathBuf>,
    /// Connections at a time; more are closed at once. 1 to 1,000.
    pub connections: u16,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: SocketAddr::from(([127, 0, 0, 1], 9862)),
            allow_plaintext: false,
            token_file: None,
            connections: 64,
        }
    }
}

impl Http {
    /// Checks what types do not say.
    pub(super) fn check(&self) -> Result<()> {
        if self.enabled && !self.listen.ip().is_loopback() && !self.allow_plaintext {
            let cause = format!(
                "{} is no loopback address, and there is no TLS",
                self.listen
            );
            return Err(invalid(
                "[http] listen",
                cause,
                "name a loopback address and put a reverse proxy with TLS before it, or set allow_plaintext = true",
            ));
        }
        if !(1..=1_000).contains(&self.connections) {
            return Err(invalid(
                "[http] connections",
                format!("{} is not 1 to 1000", self.connections),
                "name a number in this range",
            ));
        }
        Ok(())
    }
}

/// The metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Metrics {
    /// Label sets of one metric, at most; those beyond are left out and counted.
    pub series_limit: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            series_limit: 2_000,
        }
    }
}
