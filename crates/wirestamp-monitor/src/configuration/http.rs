//! The configuration of the HTTP server and of the metrics.

use super::check::invalid;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use wirestamp::Result;
use wirestamp_measure::goal::{LACKS_ZONE, lacks_zone};

/// If the address has none.
const PORT: u16 = 9862;

fn address<'de, D: Deserializer<'de>>(read: D) -> std::result::Result<SocketAddr, D::Error> {
    let text = String::deserialize(read)?;
    wirestamp_measure::goal::address(&text, PORT).map_err(D::Error::custom)
}

/// The HTTP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("dependentRequired" = {"certificate": ["key"], "key": ["certificate"]})))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Http {
    /// Whether there is an HTTP server.
    pub enabled: bool,
    /// Address and port. Another than loopback needs TLS, or `allow_plaintext`.
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// A file with the certificate for TLS, followed by intermediate certificates (PEM). Read again on a reload. Unix
    /// only.
    #[cfg_attr(feature = "schema", schemars(example = &"/etc/wirestamp/monitor.crt"))]
    pub certificate: Option<PathBuf>,
    /// A file with the certificate's private key (PEM).
    #[cfg_attr(feature = "schema", schemars(example = &"/etc/wirestamp/monitor.key"))]
    pub key: Option<PathBuf>,
    /// Serve other addresses than loopback without TLS. Everybody on the path can read everything, including the token.
    pub allow_plaintext: bool,
    /// A file with the token that requests must contain (`Authorization: Bearer TOKEN`).
    #[cfg_attr(feature = "schema", schemars(example = &"/etc/wirestamp/token"))]
    pub token_file: Option<PathBuf>,
    /// Further host names of this server, such as that of a reverse proxy (`Host`). Without TLS and token, it answers
    /// only requests for addresses, this host's name, names without a dot, and these.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [["metrics.example.org"]])))]
    pub names: Vec<String>,
    /// The largest number of connections; each address has a fair share.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub connections: u16,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: SocketAddr::from(([127, 0, 0, 1], PORT)),
            certificate: None,
            key: None,
            allow_plaintext: false,
            token_file: None,
            names: Vec::new(),
            connections: 64,
        }
    }
}

impl Http {
    /// Returns whether other hosts reach it and are refused by all of their names for it that have a dot, but this host's:
    /// it is plaintext without a token, and there are no [`names`](Self::names).
    pub fn lacks_names(&self) -> bool {
        let is_guarded = self.certificate.is_some() || self.token_file.is_some();
        let is_reached = self.enabled && !self.listen.ip().is_loopback();
        is_reached && !is_guarded && self.names.is_empty()
    }

    /// Checks what types do not say.
    pub(super) fn check(&self) -> Result<()> {
        if self.certificate.is_some() != self.key.is_some() {
            return Err(invalid(
                "[http] certificate",
                "TLS needs certificate and key, and only one of them is named".into(),
                "name both, or neither",
            ));
        }
        if cfg!(not(unix)) && self.certificate.is_some() {
            return Err(invalid(
                "[http] certificate",
                "there is no TLS on this system".into(),
                "leave certificate and key out, and put a reverse proxy with TLS before it",
            ));
        }
        if self.enabled && lacks_zone(self.listen) {
            let cause = format!("{}: {LACKS_ZONE}", self.listen);
            let remedy = "name it behind the address: [fe80::1%eth0]:9862";
            return Err(invalid("[http] listen", cause, remedy));
        }
        let is_guarded = self.certificate.is_some() || self.listen.ip().is_loopback();
        if self.enabled && !is_guarded && !self.allow_plaintext {
            let cause = format!(
                "{} is no loopback address, and there is no TLS",
                self.listen
            );
            return Err(invalid(
                "[http] listen",
                cause,
                "name certificate and key, or a loopback address, or set allow_plaintext = true",
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Metrics {
    /// The largest number of label sets of one metric; further ones are left out and counted.
    pub series_limit: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            series_limit: 2_000,
        }
    }
}
