//! The host that a measurement asks: its name, and what must be found out before it can be asked.

use crate::nts::{Agreed, Association, KEY_EXCHANGE_PORT, Trust};
use crate::options::Family;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Result};

/// A key exchange that takes longer has failed: from the first octet to the last.
const KEY_EXCHANGE_LIMIT: Duration = Duration::from_secs(10);
/// What fails if a name cannot be resolved.
pub const FIND: &str = "find the host";
/// What fails if keys cannot be agreed upon.
pub const AUTHENTICATE: &str = "authenticate the host";

/// A host that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Goal {
    /// Name or address, and a port of its own perhaps.
    pub(crate) host: String,
    /// Its port, if it has none of its own.
    pub(crate) port: u16,
    /// Addresses of this family alone.
    pub(crate) family: Option<Family>,
    /// Keys are agreed upon with it: the authorities whose certificates count, if not the system's.
    pub(crate) nts: Option<Option<PathBuf>>,
}

/// Where a host is, and the keys for it.
pub(crate) struct Found {
    pub(crate) address: SocketAddr,
    pub(crate) association: Option<Association>,
}

impl From<SocketAddr> for Found {
    fn from(address: SocketAddr) -> Self {
        Self {
            address,
            association: None,
        }
    }
}

impl Goal {
    pub(crate) fn of(host: &str, port: u16) -> Self {
        Self {
            host: host.to_owned(),
            port,
            family: None,
            nts: None,
        }
    }

    /// Finds it. May take long.
    pub(crate) fn find(&self) -> Result<Found> {
        let (name, own_port) = self.named()?;
        let Some(authorities) = &self.nts else {
            let address = self.resolve(&name, own_port.unwrap_or(self.port))?;
            return Ok(address.into());
        };
        let refused = |cause: String| {
            Error::new(
                ErrorKind::Unreachable,
                AUTHENTICATE,
                self.host.clone(),
                cause,
            )
        };
        let trust = Trust::new(authorities.as_deref())?;
        let exchange_at = self.resolve(&name, own_port.unwrap_or(KEY_EXCHANGE_PORT))?;
        let agreed = trust.exchange(&name, exchange_at, KEY_EXCHANGE_LIMIT);
        let Agreed {
            association,
            server,
            port,
        } = agreed.map_err(refused)?;
        let server = server.unwrap_or(name);
        Ok(Found {
            address: self.resolve(&server, port.unwrap_or(self.port))?,
            association: Some(association),
        })
    }

    fn named(&self) -> Result<(String, Option<u16>)> {
        host_and_port(&self.host).ok_or_else(|| unresolved(&self.host, "it is no host".into()))
    }

    /// The first address of the name, of the family that is wanted.
    fn resolve(&self, name: &str, port: u16) -> Result<SocketAddr> {
        let mut found = (name, port).to_socket_addrs().map_err(|error| {
            unresolved(&self.host, format!("the name cannot be resolved: {error}"))
        })?;
        let is_wanted = |address: &SocketAddr| match self.family {
            None => true,
            Some(Family::Ipv4) => address.is_ipv4(),
            Some(Family::Ipv6) => address.is_ipv6(),
        };
        found.find(is_wanted).ok_or_else(|| {
            let family = self.family.map_or("", Family::name);
            unresolved(
                &self.host,
                format!("the name has no {family} address").replace("  ", " "),
            )
        })
    }
}

/// An address needs no search.
pub(crate) fn literal(goal: &Goal) -> Option<SocketAddr> {
    if goal.nts.is_some() {
        return None;
    }
    let (name, port) = host_and_port(&goal.host)?;
    let address: IpAddr = name.parse().ok()?;
    let is_wanted = match goal.family {
        None => true,
        Some(Family::Ipv4) => address.is_ipv4(),
        Some(Family::Ipv6) => address.is_ipv6(),
    };
    is_wanted.then(|| SocketAddr::new(address, port.unwrap_or(goal.port)))
}

/// Reads the name or address of a host and the port behind it: `ntp.example.org`, `192.0.2.1:123` or `[2001:db8::1]:123`, with a zone perhaps; `None`: it is
/// neither.
pub fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let port = |text: &str| text.parse().ok().filter(|port| *port > 0);
    // in brackets an IPv6 address, with a zone perhaps: [fe80::1%eth0]:123
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let number = address
            .split_once('%')
            .map_or(address, |(number, _)| number);
        let _address: Ipv6Addr = number.parse().ok()?;
        return match rest.strip_prefix(':') {
            Some(rest) => Some((address.to_owned(), Some(port(rest)?))),
            None if rest.is_empty() => Some((address.to_owned(), None)),
            None => None,
        };
    }
    if text.parse::<IpAddr>().is_ok() || text.matches(':').count() > 1 {
        return Some((text.to_owned(), None));
    }
    let (name, port) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(port(rest)?)),
        None => (text, None),
    };
    let is_wrong = |letter: char| letter.is_whitespace() || letter == '/';
    let is_right = !name.is_empty() && !name.contains(is_wrong);
    is_right.then(|| (name.to_owned(), port))
}

pub(crate) fn unresolved(host: &str, cause: String) -> Error {
    Error::new(ErrorKind::Unreachable, FIND, host.to_owned(), cause)
        .with_remedy("name one that can be resolved, or an address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_no_search_and_keep_their_port() {
        let shown = |host| literal(&Goal::of(host, 862)).map(|address| address.to_string());
        assert_eq!(shown("192.0.2.1").as_deref(), Some("192.0.2.1:862"));
        assert_eq!(shown("192.0.2.1:5").as_deref(), Some("192.0.2.1:5"));
        assert_eq!(shown("2001:db8::1").as_deref(), Some("[2001:db8::1]:862"));
        assert_eq!(shown("[2001:db8::1]").as_deref(), Some("[2001:db8::1]:862"));
        assert_eq!(shown("[2001:db8::1]:5").as_deref(), Some("[2001:db8::1]:5"));
        assert_eq!(shown("host"), None);
        let only = |family| Goal {
            family: Some(family),
            ..Goal::of("192.0.2.1", 862)
        };
        assert!(literal(&only(Family::Ipv4)).is_some() && literal(&only(Family::Ipv6)).is_none());
        let error = Goal::of("host:port", 1).find().map(|_| ());
        let error = error.expect_err("no port").to_string();
        assert!(error.contains("it is no host"), "{error}");
    }

    #[test]
    fn hosts_are_read_with_and_without_a_port() {
        let host = |name: &str, port| Some((name.to_owned(), port));
        for (text, name, port) in [
            ("ntp.example.org", "ntp.example.org", None),
            ("ntp.example.org:1123", "ntp.example.org", Some(1123)),
            ("192.0.2.1:9", "192.0.2.1", Some(9)),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]", "2001:db8::1", None),
            ("[2001:db8::1]:9", "2001:db8::1", Some(9)),
            ("fe80::1%eth0", "fe80::1%eth0", None),
            ("[fe80::1%eth0]", "fe80::1%eth0", None),
            ("[fe80::1%eth0]:9", "fe80::1%eth0", Some(9)),
            ("[fe80::1%2]:9", "fe80::1%2", Some(9)),
        ] {
            assert_eq!(host_and_port(text), host(name, port), "{text}");
        }
        for wrong in [
            "",
            ":123",
            "host:",
            "host:0",
            "host:65536",
            "a b",
            "ntp://host",
            "[fe80::1%eth0]:",
            "[fe80::1%eth0]9",
            "[eth0]:9",
            "[192.0.2.1]:9",
        ] {
            assert_eq!(host_and_port(wrong), None, "{wrong}");
        }
    }
}
