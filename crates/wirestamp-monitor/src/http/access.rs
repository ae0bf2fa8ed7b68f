//! Who may ask: the bearer token, and the names under which a loopback server is asked.

use crate::configuration::Http;
use crate::secret;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue};
use std::net::IpAddr;
use std::path::Path;
use wirestamp::{Error, ErrorKind, Result};

pub(super) struct Access {
    token: Option<String>,
    /// A page of another site must not read a loopback server under a name of its own.
    only_loopback_names: bool,
}

/// Without the token, which is in no log.
impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("has_token", &self.token.is_some())
            .finish_non_exhaustive()
    }
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    WrongToken,
    WrongHost,
}

impl Access {
    pub(super) fn new(configuration: &Http) -> Result<Self> {
        Ok(Self {
            token: configuration.token_file.as_deref().map(token).transpose()?,
            only_loopback_names: configuration.listen.ip().is_loopback(),
        })
    }

    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let is_loopback = |host: &HeaderValue| host.to_str().is_ok_and(is_loopback);
        if self.only_loopback_names && !headers.get(HOST).is_none_or(is_loopback) {
            return Err(Refused::WrongHost);
        }
        let Some(token) = &self.token else {
            return Ok(());
        };
        let bears = text(AUTHORIZATION).and_then(|value| value.split_once(' '));
        match bears {
            Some((scheme, borne))
                if scheme.eq_ignore_ascii_case("bearer")
                    && is_same(borne.trim().as_bytes(), token.as_bytes()) =>
            {
                Ok(())
            }
            _ => Err(Refused::WrongToken),
        }
    }
}

/// Takes the same time wherever they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .fold(0, |different, (one, other)| different | (one ^ other))
            == 0
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    };
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || literal
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Reads a token: one line.
pub(crate) fn token(path: &Path) -> Result<String> {
    let refused = |cause: String| {
        Error::new(
            ErrorKind::InvalidInput,
            "read the token",
            path.display().to_string(),
            cause,
        )
        .with_remedy("write one line into a file that this user alone can read")
    };
    let text = secret::read(path).map_err(|error| refused(error.to_string()))?;
    match text.trim() {
        "" => Err(refused("it is empty".into())),
        token => Ok(token.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(token: Option<&str>) -> Access {
        Access {
            token: token.map(str::to_owned),
            only_loopback_names: true,
        }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    hyper::header::HeaderName::from_static(name),
                    value.parse().expect("a value"),
                )
            })
            .collect()
    }

    #[test]
    fn only_who_bears_the_token_is_answered() {
        let access = with(Some("secret"));
        for (value, right) in [
            ("Bearer secret", true),
            ("bearer secret", true),
            ("Bearer secre", false),
            ("Bearer secrets", false),
            ("Basic secret", false),
            ("secret", false),
        ] {
            assert_eq!(
                access.check(&headers(&[("authorization", value)])).is_ok(),
                right,
                "{value}"
            );
        }
        assert_eq!(access.check(&HeaderMap::new()), Err(Refused::WrongToken));
        assert!(!format!("{access:?}").contains("secret"));
    }

    /// It says that it has no bytes.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_does_not_say_how_long_it_is_is_no_token() {
        let path = Path::new("/proc/self/smaps");
        assert_eq!(std::fs::metadata(path).expect("it is there").len(), 0);
        let said = token(path).expect_err("it is long").to_string();
        assert!(said.contains("longer than any"), "{said}");
    }

    #[test]
    fn a_foreign_name_for_a_loopback_server_is_refused() {
        for (host, right) in [
            ("localhost", true),
            ("localhost:9862", true),
            ("127.0.0.1:9862", true),
            ("[::1]:9862", true),
            ("[::1]", true),
            ("example.org", false),
            ("127.0.0.1.example.org:9862", false),
            ("192.0.2.1", false),
        ] {
            assert_eq!(
                with(None).check(&headers(&[("host", host)])).is_ok(),
                right,
                "{host}"
            );
        }
        let latin = HeaderValue::from_bytes(b"ex\xe4mple.org").expect("a value");
        let headers = HeaderMap::from_iter([(HOST, latin)]);
        assert_eq!(with(None).check(&headers), Err(Refused::WrongHost));
    }
}
