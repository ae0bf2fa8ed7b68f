//! Where metrics are pushed to.

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
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Otlp {
    /// The URL of the receiver with its path, such as `http://127.0.0.1:4318/v1/metrics`. Without TLS: a collector on this host adds it.
    pub endpoint: String,
    /// From one push to the next; at least 1 s. Default: 15 s.
    #[serde(default = "fifteen_seconds", with = "duration")]
    pub interval: Duration,
    /// A push that takes longer has failed; 100 ms to 60 s. Default: 5 s.
    #[serde(default = "five_seconds", with = "duration")]
    pub timeout: Duration,
    /// A file with the token that each push bears (`Authorization: Bearer TOKEN`).
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// Push to other hosts, so that everybody on the way can read, the token too.
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
