//! Addresses with or without a port.

use std::net::{IpAddr, SocketAddr};

/// The port of the UDP echo service (RFC 862).
const ECHO_PORT: u16 = 7;
/// The port of the UDP discard service (RFC 863).
const DISCARD_PORT: u16 = 9;

pub(super) fn echo_address(text: &str) -> Result<SocketAddr, String> {
    address(text, ECHO_PORT)
}

pub(super) fn discard_address(text: &str) -> Result<SocketAddr, String> {
    address(text, DISCARD_PORT)
}

/// An address with or without a port.
pub(super) fn address(text: &str, port: u16) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    let wrong = |_| {
        format!(
            "'{text}' is no IP address; write 192.0.2.1, 192.0.2.1:7, 2001:db8::1 or [2001:db8::1]:7"
        )
    };
    bare.parse::<IpAddr>()
        .map(|ip| SocketAddr::new(ip, port))
        .map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        let read = |text| address(text, 7).map(|address| address.to_string());
        assert_eq!(read("192.0.2.1").as_deref(), Ok("192.0.2.1:7"));
        assert_eq!(read("192.0.2.1:9000").as_deref(), Ok("192.0.2.1:9000"));
        assert_eq!(read("2001:db8::1").as_deref(), Ok("[2001:db8::1]:7"));
        assert_eq!(read("[2001:db8::1]").as_deref(), Ok("[2001:db8::1]:7"));
        assert_eq!(read("[2001:db8::1]:9").as_deref(), Ok("[2001:db8::1]:9"));
        assert!(read("eth0").is_err_and(|message| message.contains("'eth0' is no IP address")));
    }
}
