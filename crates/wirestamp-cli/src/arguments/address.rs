//! Addresses with or without a port.

use std::net::SocketAddr;
use wirestamp_measure::goal::address;

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
