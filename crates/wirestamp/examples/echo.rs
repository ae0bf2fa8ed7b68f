//! A UDP echo service, for `wirestamp latency --echo`: returns every datagram to its sender, and
//! prints errors.
//!
//! `cargo run --all-features --example echo -- 0.0.0.0:7`

use std::env;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::{Timestamping, UdpSocket};

const EVER: Duration = Duration::MAX;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address: SocketAddr = env::args()
        .nth(1)
        .ok_or("usage: echo ADDRESS:PORT")?
        .parse()?;
    let socket = UdpSocket::bind(address)?;
    socket.configure(Timestamping::new().receive())?;
    let mut buffer = [0; 65_535];
    loop {
        let Some(received) = socket.receive(&mut buffer, EVER)? else {
            continue;
        };
        let Some(source) = received.source else {
            continue;
        };
        // the sender counts a datagram that cannot be returned as lost
        if let Err(error) = socket.send_to(&buffer[..received.length], source, None) {
            writeln!(io::stderr(), "{source}: {error}")?;
        }
    }
}
