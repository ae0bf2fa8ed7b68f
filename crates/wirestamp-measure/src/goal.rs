//! The host that a measurement asks: its name, and the search for its address and keys.

pub use crate::address::{LACKS_ZONE, address, host_and_port, lacks_zone};

use crate::address::{of_text, own_zone, without_zone};
use crate::nts::{Agreed, Association, KEY_EXCHANGE_PORT, Trust};
use crate::options::Family;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Result};

/// The longest time for a whole key exchange.
const KEY_EXCHANGE_LIMIT: Duration = Duration::from_secs(10);
/// The operation that fails if a name cannot be resolved.
pub const FIND: &str = "find the host";
/// The operation that fails if keys cannot be agreed upon.
pub const AUTHENTICATE: &str = "authenticate the host";

/// A host that must be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Goal {
    /// Name or address, with an optional port.
    pub(crate) host: String,
    /// The port if the name has none.
    pub(crate) port: u16,
    /// Only addresses of this family.
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

    /// Finds the host. May take long.
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
        let certified = without_zone(&name);
        let agreed = trust.exchange(certified, exchange_at, KEY_EXCHANGE_LIMIT);
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
        if let Some(address) = of_text(name, port, own_zone) {
            let address = address.map_err(|cause| unresolved(&self.host, cause))?;
            return self.some([address].into_iter());
        }
        let found = (name, port).to_socket_addrs().map_err(|error| {
            unresolved(&self.host, format!("the name cannot be resolved: {error}"))
        })?;
        self.some(found)
    }

    /// The first address of the family that is wanted.
    fn some(&self, mut found: impl Iterator<Item = SocketAddr>) -> Result<SocketAddr> {
        found.find(|address| self.wants(address)).ok_or_else(|| {
            let family = self.family.map_or("", Family::name);
            unresolved(
                &self.host,
                format!("the name has no {family} address").replace("  ", " "),
            )
        })
    }

    fn wants(&self, address: &SocketAddr) -> bool {
        match self.family {
            None => true,
            Some(Family::Ipv4) => address.is_ipv4(),
            Some(Family::Ipv6) => address.is_ipv6(),
        }
    }
}

/// An address needs no search. `number`: the number of the interface that a zone names.
pub(crate) fn literal(
    goal: &Goal,
    number: impl Fn(&str) -> Option<u32>,
) -> Option<Result<SocketAddr>> {
    if goal.nts.is_some() {
        return None;
    }
    let (name, port) = host_and_port(&goal.host)?;
    let found = of_text(&name, port.unwrap_or(goal.port), number)?;
    let found = found.map_err(|cause| unresolved(&goal.host, cause));
    let is_wanted = found.as_ref().map_or(true, |address| goal.wants(address));
    is_wanted.then_some(found)
}

/// Whether a host is an address with a zone: the interface may have another number later.
pub(crate) fn is_zoned(goal: &Goal) -> bool {
    let named = host_and_port(&goal.host);
    named.is_some_and(|(name, _)| without_zone(&name) != name)
}

pub(crate) fn unresolved(host: &str, cause: String) -> Error {
    Error::new(ErrorKind::Unreachable, FIND, host.to_owned(), cause)
        .with_remedy("name one that can be resolved, or an address")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(zone: &str) -> Option<u32> {
        (zone == "eth0").then_some(7)
    }

    fn found(host: &str) -> Option<String> {
        let found = literal(&Goal::of(host, 862), numbers)?;
        Some(found.map_or_else(|error| error.to_string(), |found| found.to_string()))
    }

    #[test]
    fn addresses_need_no_search_and_keep_their_port() {
        for (host, address) in [
            ("192.0.2.1", "192.0.2.1:862"),
            ("192.0.2.1:5", "192.0.2.1:5"),
            ("2001:db8::1", "[2001:db8::1]:862"),
            ("[2001:db8::1]", "[2001:db8::1]:862"),
            ("[2001:db8::1]:5", "[2001:db8::1]:5"),
            ("fe80::1%eth0", "[fe80::1%7]:862"),
            ("[fe80::1%eth0]", "[fe80::1%7]:862"),
            ("[fe80::1%eth0]:5", "[fe80::1%7]:5"),
            ("fe80::1%9", "[fe80::1%9]:862"),
            ("[fe80::1%9]:5", "[fe80::1%9]:5"),
        ] {
            assert_eq!(found(host).as_deref(), Some(address), "{host}");
            assert_eq!(is_zoned(&Goal::of(host, 862)), host.contains('%'), "{host}");
        }
        for name in ["host", "host%eth0", "192.0.2.1%eth0"] {
            assert_eq!(found(name), None, "{name}");
            assert!(!is_zoned(&Goal::of(name, 862)), "{name}");
        }
        let unknown = found("[fe80::1%eth1]:5").expect("an address");
        assert!(
            unknown.contains("'eth1' is no interface of this host"),
            "{unknown}"
        );
        let only = |family| {
            let goal = Goal::of("192.0.2.1", 862);
            let goal = Goal {
                family: Some(family),
                ..goal
            };
            literal(&goal, numbers).is_some()
        };
        assert!(only(Family::Ipv4) && !only(Family::Ipv6));
        let error = Goal::of("host:port", 1).find().map(|_| ());
        let error = error.expect_err("no port").to_string();
        assert!(error.contains("it is no host"), "{error}");
    }
}
