//! Decides who may make requests: by the bearer token, and by the host name in the request.

use crate::configuration::Configuration;
use crate::secret;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue};
use std::net::IpAddr;
use std::path::Path;
use wirestamp::{Error, ErrorKind, Result};

pub(super) struct Access {
    token: Option<String>,
    names: Names,
    /// Names of the configuration, in lower case.
    more: Vec<String>,
}

/// The host names that requests may use. Otherwise another site's page could read this server by a name of its own that
/// resolves to this host (DNS rebinding).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Of this host alone.
    Loopback,
    /// Those that no stranger can have: addresses, and names without a dot.
    Unowned,
    /// Any name: such a page has neither the token nor the certificate.
    Any,
}

/// Omits the token, which must not appear in logs.
impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("has_token", &self.token.is_some())
            .finish_non_exhaustive()
    }
}

/// The reasons for which a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    WrongToken,
    WrongHost,
    /// A page of another site asks.
    OtherSite,
}

impl Access {
    pub(super) fn new(configuration: &Configuration) -> Result<Self> {
        let http = &configuration.http;
        let is_guarded = http.token_file.is_some() || http.certificate.is_some();
        let own = configuration.host_name();
        let more = http.names.iter().map(String::as_str).chain([own.as_str()]);
        Ok(Self {
            token: http.token_file.as_deref().map(token).transpose()?,
            names: match http.listen.ip().is_loopback() {
                true => Names::Loopback,
                false if is_guarded => Names::Any,
                false => Names::Unowned,
            },
            more: more.map(str::to_ascii_lowercase).collect(),
        })
    }

    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let is_known = |host: &HeaderValue| host.to_str().is_ok_and(|host| self.is_known(host));
        if !headers.get(HOST).is_none_or(is_known) {
            return Err(Refused::WrongHost);
        }
        if is_of_other_site(headers) {
            return Err(Refused::OtherSite);
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

impl Access {
    fn is_known(&self, host: &str) -> bool {
        let (name, literal) = name_of(host);
        let is_unowned = || !name.contains('.') || literal.is_some();
        match self.names {
            Names::Any => true,
            _ if self.more.iter().any(|one| name.eq_ignore_ascii_case(one)) => true,
            Names::Unowned => is_unowned(),
            Names::Loopback => {
                name.eq_ignore_ascii_case("localhost")
                    || literal.is_some_and(|address| address.is_loopback())
            }
        }
    }
}

/// Whether a page of another site asks: browsers say so. A link that is followed to here is none of those.
fn is_of_other_site(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let is_followed =
        text("sec-fetch-mode") == Some("navigate") && text("sec-fetch-dest") == Some("document");
    let is_other =
        text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let origin = text("origin").filter(|_| !is_followed);
    let is_foreign = origin.is_some_and(|origin| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        let host = text("host").unwrap_or_default();
        !authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    });
    is_foreign || (is_other && !is_followed)
}

/// Compares in constant time.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .fold(0, |different, (one, other)| different | (one ^ other))
            == 0
}

/// The name in a `Host` header, without its port, and the address if it is one.
fn name_of(host: &str) -> (&str, Option<IpAddr>) {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    };
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    (name, literal.parse().ok())
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
            names: Names::Loopback,
            more: vec!["proxy.example.org".to_owned()],
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
        assert!(said.contains("more than 4096 bytes"), "{said}");
    }

    #[test]
    fn a_foreign_name_for_a_loopback_server_is_refused() {
        for (host, right) in [
            ("localhost", true),
            ("localhost:9862", true),
            ("127.0.0.1:9862", true),
            ("[::1]:9862", true),
            ("[::1]", true),
            ("Proxy.example.org:443", true),
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

    fn of(http: &str) -> Access {
        let text = format!("host = 'rack7.example.org'\n[http]\n{http}");
        Access::new(&Configuration::from_toml(&text).expect("it is right")).expect("it is right")
    }

    /// A page of `attacker.example` that resolves to this server.
    #[test]
    fn beyond_loopback_a_name_that_a_stranger_may_have_is_refused() {
        let open = of(
            "listen = '192.0.2.1:9862'\nallow_plaintext = true\nnames = ['Metrics.example.org']",
        );
        for (host, right) in [
            ("192.0.2.1:9862", true),
            ("[2001:db8::1]:9862", true),
            ("rack7:9862", true),
            ("rack7.example.org:9862", true),
            ("metrics.example.ORG", true),
            ("localhost:9862", true),
            ("attacker.example:9862", false),
            ("192.0.2.1.attacker.example", false),
            ("rack7.example.org.attacker.example", false),
            ("rack7.", false),
        ] {
            assert_eq!(
                open.check(&headers(&[("host", host)])).is_ok(),
                right,
                "{host}"
            );
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "secret").expect("written");
        let guarded = of(&format!(
            "listen = '192.0.2.1:9862'\nallow_plaintext = true\ntoken_file = '{}'",
            file.path().display()
        ));
        let bearing = [("host", "any.example"), ("authorization", "Bearer secret")];
        assert_eq!(guarded.check(&headers(&bearing)), Ok(()));
    }

    #[test]
    fn pages_of_other_sites_are_refused_and_links_from_them_followed() {
        const HERE: (&str, &str) = ("host", "localhost:9862");
        let site = |site| ("sec-fetch-site", site);
        let (fetched, followed) = (("sec-fetch-mode", "cors"), ("sec-fetch-mode", "navigate"));
        let dest = |dest| ("sec-fetch-dest", dest);
        for (pairs, right) in [
            (vec![site("same-origin"), fetched], true),
            (vec![site("none"), followed, dest("document")], true),
            (vec![site("cross-site"), followed, dest("document")], true),
            (vec![site("cross-site"), followed, dest("iframe")], false),
            (vec![site("cross-site"), fetched], false),
            (vec![site("same-site"), fetched], false),
            (vec![("origin", "http://localhost:9862")], true),
            (vec![("origin", "http://localhost:3000")], false),
            (vec![("origin", "https://example.org")], false),
            (vec![("origin", "null")], false),
        ] {
            let all: Vec<_> = pairs.iter().copied().chain([HERE]).collect();
            let checked = with(None).check(&headers(&all));
            let wanted = if right {
                Ok(())
            } else {
                Err(Refused::OtherSite)
            };
            assert_eq!(checked, wanted, "{pairs:?}");
        }
    }
}
