//! Reads host names and addresses as users write them, with an optional port and, for IPv6, a zone. All commands and
//! configurations use it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs as _};
use wirestamp::{Error, ErrorKind, Result};

/// Reads an address with an optional port; without one, the given port is used: `192.0.2.1`, `192.0.2.1:862`,
/// `2001:db8::1` or `[fe80::1%eth0]:862`. The zone is the name or number of an interface.
///
/// # Errors
/// A sentence that says why the text is not an address.
pub fn address(text: &str, port: u16) -> std::result::Result<SocketAddr, String> {
    let no_address = || {
        format!(
            "'{text}' is no IP address; write 192.0.2.1, 192.0.2.1:7, 2001:db8::1, [2001:db8::1]:7 or fe80::1%eth0"
        )
    };
    let (name, own_port) = parts(text).ok_or_else(no_address)?;
    of_text(&name, own_port.unwrap_or(port), own_zone).ok_or_else(no_address)?
}

/// Reads the name or address of a host with an optional port: `ntp.example.org`, `192.0.2.1:123` or
/// `[2001:db8::1]:123`; an IPv6 address may have a zone. Returns `None` if it is neither a name nor an address.
pub fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    parts(text).filter(|(_, port)| *port != Some(0))
}

fn parts(text: &str) -> Option<(String, Option<u16>)> {
    let port = |text: &str| text.parse().ok();
    // in brackets an IPv6 address, which may have a zone: [fe80::1%eth0]:123
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let _address: Ipv6Addr = number_and_zone(address).0.parse().ok()?;
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

fn number_and_zone(text: &str) -> (&str, Option<&str>) {
    match text.split_once('%') {
        Some((number, zone)) => (number, Some(zone)),
        None => (text, None),
    }
}

/// Returns the name without the zone: a server's certificate does not name an interface of its client.
pub(crate) fn without_zone(name: &str) -> &str {
    match number_and_zone(name) {
        (number, Some(_)) if number.parse::<Ipv6Addr>().is_ok() => number,
        _ => name,
    }
}

/// Returns the address in `text`, or `None` if it is a name. `number` returns the number of the interface that a zone
/// names.
pub(crate) fn of_text(
    text: &str,
    port: u16,
    number: impl Fn(&str) -> Option<u32>,
) -> Option<std::result::Result<SocketAddr, String>> {
    let (address, zone) = number_and_zone(text);
    let address: IpAddr = address.parse().ok()?;
    let Some(zone) = zone else {
        return Some(Ok(SocketAddr::new(address, port)));
    };
    let IpAddr::V6(address) = address else {
        return None;
    };
    // as the system's resolver does: first the name
    let zone = number(zone)
        .or_else(|| zone.parse().ok())
        .ok_or_else(|| format!("'{zone}' is no interface of this host, nor the number of one"));
    Some(zone.map(|zone| SocketAddrV6::new(address, port, 0, zone).into()))
}

/// Returns the number of an interface of this system, as the system's resolver does. Works while arguments are read,
/// before it is known whether the network is simulated.
pub(crate) fn own_zone(name: &str) -> Option<u32> {
    let zoned = format!("fe80::1%{name}");
    match (zoned.as_str(), 0).to_socket_addrs().ok()?.next()? {
        SocketAddr::V6(address) => Some(address.scope_id()).filter(|number| *number != 0),
        SocketAddr::V4(_) => None,
    }
}

/// Checks that a link-local address comes with its interface: each interface has its own.
///
/// # Errors
/// `InvalidInput` if neither the address nor anything else names the interface.
pub(crate) fn check_zone(
    operation: &'static str,
    address: SocketAddr,
    interface: Option<&str>,
) -> Result<()> {
    if !lacks_zone(address) || interface.is_some() {
        return Ok(());
    }
    let (kind, target) = (ErrorKind::InvalidInput, address.ip().to_string());
    let remedy = format!("name it behind the address: {target}%eth0");
    Err(Error::new(kind, operation, target, LACKS_ZONE).with_remedy(remedy))
}

/// The error for a link-local address without an interface.
pub const LACKS_ZONE: &str = "a link-local address is one on each interface, and none is named";

/// Whether an address is link-local and does not name its interface.
pub fn lacks_zone(address: SocketAddr) -> bool {
    let SocketAddr::V6(address) = address else {
        return false;
    };
    address.scope_id() == 0 && address.ip().is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_to_answer_on_and_to_send_to_are_read_alike() {
        let read = |text| address(text, 7).map(|address| address.to_string());
        assert_eq!(read("192.0.2.1").as_deref(), Ok("192.0.2.1:7"));
        assert_eq!(read("192.0.2.1:0").as_deref(), Ok("192.0.2.1:0"));
        assert_eq!(read("[2001:db8::1]").as_deref(), Ok("[2001:db8::1]:7"));
        assert_eq!(read("[2001:db8::1]:9").as_deref(), Ok("[2001:db8::1]:9"));
        assert_eq!(read("fe80::1%3").as_deref(), Ok("[fe80::1%3]:7"));
        assert_eq!(read("[fe80::1%3]:9").as_deref(), Ok("[fe80::1%3]:9"));
        for wrong in [
            "eth0",
            "",
            "192.0.2.1:x",
            "192.0.2.1%3",
            "[fe80::1%3]9",
            "a::b::c",
        ] {
            let error = read(wrong).expect_err(wrong);
            assert!(
                error.starts_with(&format!("'{wrong}' is no IP address")),
                "{error}"
            );
        }
        let error = read("fe80::1%nowhere0").expect_err("no interface");
        assert!(error.contains("'nowhere0' is no interface"), "{error}");
    }

    #[test]
    fn a_certificate_is_for_an_address_without_its_zone() {
        assert_eq!(without_zone("fe80::1%eth0"), "fe80::1");
        for name in ["fe80::1", "host", "host%eth0"] {
            assert_eq!(without_zone(name), name);
        }
    }

    #[test]
    fn a_link_local_address_needs_its_interface() {
        let check = |remote: &str, interface| {
            let remote = remote.parse().expect("an address");
            check_zone("send packets", remote, interface).map_err(|error| error.to_string())
        };
        let error = check("[fe80::1]:9", None).expect_err("which?");
        assert!(
            error.ends_with("name it behind the address: fe80::1%eth0"),
            "{error}"
        );
        for (remote, interface) in [
            ("[fe80::1%3]:9", None),
            ("[fe80::1]:9", Some("eth0")),
            ("[2001:db8::1]:9", None),
            ("169.254.0.1:9", None),
        ] {
            assert_eq!(check(remote, interface), Ok(()), "{remote}");
        }
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
