//! Timestamps on an existing socket: adopts it, uses it, and converts it back.
//!
//! `cargo run --all-features --example adopt`

use std::io::{self, Write};
use std::net;
use std::time::Duration;
use wirestamp::{Timestamping, TransmitAnswer, TransmitId, TransmitOutcome, UdpSocket};

const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any UDP socket works: from std, from socket2, or a descriptor from a service manager.
    let existing = net::UdpSocket::bind("127.0.0.1:0")?;
    let to = existing.local_addr()?;

    let socket = UdpSocket::adopt(existing)?;
    socket.configure(Timestamping::new().receive().transmit(64))?;

    let before = socket.now();
    socket.send_to(b"to itself", to, Some(TransmitId(1)))?;
    let mut buffer = [0; 64];
    let received = socket
        .receive(&mut buffer, PATIENCE)?
        .ok_or("no datagram")?;
    let arrived = received
        .timestamps
        .software
        .ok_or("no receive timestamp")?
        .at
        .value;

    let answer = socket.wait_transmit_timestamp(TransmitId(1), PATIENCE)?;
    let TransmitAnswer::Resolved(TransmitOutcome::Timestamped(timestamps)) = answer else {
        return Err(format!("no transmit timestamp: {answer:?}").into());
    };
    let left = timestamps.software.ok_or("no software timestamp")?.at.value;
    let mut out = io::stdout();
    writeln!(out, "send path {}, wire {}", left - before, arrived - left)?;

    // Timestamping is off again, and the owner's options are restored.
    let existing = socket.into_std()?;
    existing.send_to(b"as before", to)?;
    writeln!(out, "{} bytes as before", existing.recv(&mut buffer)?)?;
    Ok(())
}
