//! Queries an NTP server once a second, and prints the offset of this host's clock with an error
//! bound. The bound is half of the round trip, for an unknown asymmetry, plus the root distance
//! that the server reports.
//!
//! `cargo run --all-features --example ntp_client -- 192.0.2.7:123`; without an address it queries
//! a server of its own on loopback, whose offset is 0 because both use the same clock.

use std::env;
use std::io::{self, Write};
use std::net::{self, SocketAddr};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wirestamp::{Span, Timestamping, Timestamps, TransmitOutcome, UdpSocket, UtcTime};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const PATIENCE: Duration = Duration::from_secs(1);
/// The seconds from 1900, the start of NTP time, to 1970.
const TO_1970: u64 = 2_208_988_800;

/// A packet of 48 bytes (RFC 5905, section 7.3).
struct Packet([u8; 48]);

impl Packet {
    /// Version 4; mode 3 for a client, 4 for a server.
    fn of_mode(mode: u8) -> Self {
        let mut packet = Self([0; 48]);
        packet.0[0] = 4 << 3 | mode;
        packet
    }

    /// Decodes the 8 bytes at `place` as a time: seconds since 1900 and a fraction.
    fn time(&self, place: usize) -> Outcome<UtcTime> {
        let bytes: [u8; 8] = self.0[place..place + 8].try_into()?;
        let whole = u64::from_be_bytes(bytes);
        let (seconds, fraction) = ((whole >> 32) - TO_1970, whole & u64::from(u32::MAX));
        let nanoseconds = u32::try_from((fraction * 1_000_000_000) >> 32)?;
        Ok(UtcTime::from_seconds_and_nanoseconds(
            seconds.try_into()?,
            nanoseconds,
        )?)
    }

    fn set_time(&mut self, place: usize, since_1970: Duration) {
        let seconds = (since_1970.as_secs() + TO_1970) << 32;
        let fraction = (u64::from(since_1970.subsec_nanos()) << 32) / 1_000_000_000;
        self.0[place..place + 8].copy_from_slice(&(seconds | fraction).to_be_bytes());
    }

    /// The server's root distance, its own error bound, from units of 2⁻¹⁶ s.
    fn root_distance(&self) -> Span {
        let field = |place| {
            let bytes = [place, place + 1, place + 2, place + 3].map(|place: usize| self.0[place]);
            i128::from(u32::from_be_bytes(bytes))
        };
        Span::from_nanoseconds(((field(4) / 2 + field(8)) * 1_000_000_000) >> 16)
    }
}

/// The time of a software timestamp.
fn utc(timestamps: Timestamps) -> Outcome<UtcTime> {
    let software = timestamps.software.ok_or("no software timestamp")?;
    Ok(software.utc.ok_or("this system's timestamps are not UTC")?)
}

/// One exchange: returns the offset (positive: the local clock is ahead) with its error bound.
fn ask(socket: &UdpSocket, server: SocketAddr) -> Outcome<(Span, Span)> {
    let request = Packet::of_mode(3);
    let sent = socket.send_to_timestamped(&request.0, server, PATIENCE)?;
    let TransmitOutcome::Timestamped(sent) = sent else {
        return Err(format!("no transmit timestamp: {sent:?}").into());
    };
    let mut answer = Packet::of_mode(0);
    let received = socket
        .receive(&mut answer.0, PATIENCE)?
        .ok_or("no answer")?;
    if received.length < 48 || received.source != Some(server) || answer.0[0] & 7 != 4 {
        return Err("no answer of an NTP server".into());
    }
    let (left, arrived) = (utc(sent)?, utc(received.timestamps)?);
    let (there, back) = (answer.time(32)?, answer.time(40)?);
    // like RFC 5905, section 8, but local minus server
    let (forth, home) = (left - there, arrived - back);
    let round_trip = home - forth;
    let half = |span: Span| Span::from_nanoseconds(span.nanoseconds() / 2);
    Ok((
        half(forth + home),
        half(round_trip) + answer.root_distance(),
    ))
}

/// Answers like a server with this host's clock.
fn serve(socket: &net::UdpSocket, times: u32) -> io::Result<()> {
    for _ in 0..times {
        let (_, client) = socket.recv_from(&mut [0; 48])?;
        let now = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_err(io::Error::other)
        };
        let mut answer = Packet::of_mode(4);
        answer.set_time(32, now()?);
        answer.set_time(40, now()?);
        socket.send_to(&answer.0, client)?;
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let (server, times) = match env::args().nth(1) {
        Some(address) => (address.parse()?, 10),
        None => {
            let own = net::UdpSocket::bind("127.0.0.1:0")?;
            let address = own.local_addr()?;
            thread::spawn(move || serve(&own, 3));
            (address, 3)
        }
    };
    let any = if server.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(any)?;
    socket.configure(Timestamping::new().receive().transmit(64))?;
    for number in 0..times {
        if number > 0 {
            thread::sleep(Duration::from_secs(1));
        }
        let (offset, bound) = ask(&socket, server)?;
        let (offset, bound) = (offset.nanoseconds(), bound.nanoseconds());
        writeln!(io::stdout(), "offset {offset} ns ±{bound} ns")?;
    }
    Ok(())
}
