//! The configuration of pushes by OTLP.

use super::check::{at_least, at_most, invalid};
use super::times::{fifteen_seconds, five_seconds};
use hyper::Uri;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use wirestamp::Result;
use wirestamp_measure::times::duration;

/// Where metrics are pushed to: OTLP over HTTP, protobuf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Otlp {
    /// The URL of the receiver with its path, `http://` only; a collector on this host can add TLS.
    #[cfg_attr(feature = "schema", schemars(example = &"http://127.0.0.1:4318/v1/metrics", regex(pattern = r"^http://")))]
    pub endpoint: String,
    /// Time between two pushes; at least 1 s.
    #[serde(default = "fifteen_seconds", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "wirestamp_measure::times::Text"))]
    pub interval: Duration,
    /// A push that takes longer has failed; 100 ms to 60 s.
    #[serde(default = "five_seconds", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "wirestamp_measure::times::Text"))]
    pub timeout: Duration,
    /// A file with the token that each push contains (`Authorization: Bearer TOKEN`).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(example = &"/etc/wirestamp/otlp-token"))]
    pub token_file: Option<PathBuf>,
    /// Also push to other hosts. Everybody on the path can read everything, including the token.
    #[serde(default)]
    pub allow_plaintext: bool,
}

impl Otlp {
    /// Checks what types do not say.
    pub(super) fn check(&self) -> Result<()> {
        let refused = |field: &str, cause: String, remedy| {
            Err(invalid(format!("[otlp] {field}"), cause, remedy))
        };
        if cfg!(not(feature = "otlp")) {
            let cause = "this program is built without it".to_owned();
            return refused("endpoint", cause, "build it with the feature otlp");
        }
        at_least("[otlp]", "interval", self.interval, Duration::from_secs(1))?;
        at_least(
            "[otlp]",
            "timeout",
            self.timeout,
            Duration::from_millis(100),
        )?;
        at_most("[otlp]", "timeout", self.timeout, Duration::from_secs(60))?;
        let uri: Uri = match self.endpoint.parse() {
            Ok(uri) => uri,
            Err(error) => {
                let cause = format!("\"{}\" is no URL: {error}", self.endpoint);
                return refused(
                    "endpoint",
                    cause,
                    "such as http://127.0.0.1:4318/v1/metrics",
                );
            }
        };
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
            let cause = format!("\"{}\" is no URL with http://", self.endpoint);
            return refused(
                "endpoint",
                cause,
                "push to a collector on this host, which adds TLS",
            );
        };
        if !self.allow_plaintext && !is_loopback(host) {
            let cause = format!("{host} is another host, and there is no TLS");
            return refused(
                "endpoint",
                cause,
                "push to a collector on this host, or set allow_plaintext = true",
            );
        }
        Ok(())
    }
}

fn is_loopback(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || literal
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
