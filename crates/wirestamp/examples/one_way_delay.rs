//! One-way delay between two processes of one host: from the transmit timestamp in this process to
//! the receive timestamp in the other. Both are on the host's monotonic clock, so the difference is
//! the delay itself. (Between two hosts it would include the offset of their clocks.)
//!
//! `cargo run --all-features --example one_way_delay`

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;
use wirestamp::{
    MonotonicTime, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome, UdpSocket,
};

const COUNT: u32 = 10;
const PATIENCE: Duration = Duration::from_secs(5);

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    match env::args().nth(1).as_deref() {
        Some("receive") => receive(),
        _ => send(),
    }
}

/// The other process: prints its address, then when each datagram arrived.
fn receive() -> Outcome {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.configure(Timestamping::new().receive())?;
    let mut out = io::stdout();
    writeln!(out, "{}", socket.local_address()?)?;
    for _ in 0..COUNT {
        let received = socket
            .receive(&mut [0; 64], PATIENCE)?
            .ok_or("no datagram")?;
        let timestamp = received.timestamps.software.ok_or("no receive timestamp")?;
        writeln!(out, "{}", timestamp.at.value.nanoseconds())?;
    }
    Ok(())
}

fn send() -> Outcome {
    let mut other = Command::new(env::current_exe()?)
        .arg("receive")
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(other.stdout.take().ok_or("no output")?).lines();
    let mut line = || lines.next().ok_or("the other process has ended");
    let to: SocketAddr = line()??.parse()?;

    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.configure(Timestamping::new().transmit(64))?;
    for id in (0..COUNT).map(TransmitId) {
        socket.send_to(b"how long?", to, Some(id))?;
        let arrived = MonotonicTime::from_nanoseconds(line()??.parse()?);
        match socket.wait_transmit_timestamp(id, PATIENCE)? {
            TransmitAnswer::Resolved(TransmitOutcome::Timestamped(timestamps)) => {
                let left = timestamps.software.ok_or("no software timestamp")?.at.value;
                writeln!(io::stdout(), "{id}: {}", arrived - left)?;
            }
            other => return Err(format!("no transmit timestamp: {other:?}").into()),
        }
    }
    other.wait()?;
    Ok(())
}
