//! The questions about sockets: what the two ioctls answer, and what timestamps come.

use crate::call::{self, Answer};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

const SIO_TIMESTAMPING: u32 = 0x9800_00eb;
const SIO_GET_TX_TIMESTAMP: u32 = 0x9800_00ea;
const SO_TIMESTAMP: i32 = 0x300a;
const RX: u32 = 1;
const TX: u32 = 2;
/// `UDP_RECV_MAX_COALESCED_SIZE`, of IPPROTO_UDP.
const MAX_COALESCED_SIZE: i32 = 3;
const IPPROTO_UDP: i32 = 17;

fn configure(socket: &impl std::os::windows::io::AsSocket, flags: u32, capacity: u16) -> Answer {
    call::ioctl(socket, SIO_TIMESTAMPING, &config(flags, capacity), &mut [])
}

fn config(flags: u32, capacity: u16) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&flags.to_ne_bytes());
    bytes[4..6].copy_from_slice(&capacity.to_ne_bytes());
    bytes
}

/// The timestamp of an id, if it is there.
fn fetch(socket: &UdpSocket, id: u32) -> Result<u64, Answer> {
    let mut timestamp = [0; 8];
    match call::ioctl(
        socket,
        SIO_GET_TX_TIMESTAMP,
        &id.to_ne_bytes(),
        &mut timestamp,
    ) {
        Answer::Done(8) => Ok(u64::from_ne_bytes(timestamp)),
        other => Err(other),
    }
}

fn shown(fetched: Result<u64, Answer>) -> String {
    fetched.map_or_else(
        |answer| answer.to_string(),
        |timestamp| format!("timestamp {timestamp}"),
    )
}

pub(crate) fn ask(adapter: Option<&str>, peer: Option<&str>) -> io::Result<()> {
    arguments()?;
    let loopback = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let SocketAddr::V4(to) = loopback.local_addr()? else {
        return Ok(());
    };
    timestamps("loopback", &loopback, to)?;
    let chosen = adapter.and_then(|name| {
        call::adapters()
            .into_iter()
            .find(|known| known.name == name)
    });
    let address = chosen.and_then(|adapter| adapter.ipv4);
    let (Some(address), Some(Ok(peer))) = (address, peer.map(str::parse::<SocketAddrV4>)) else {
        return writeln!(
            io::stdout(),
            "no adapter with an IPv4 address and no peer were given: nothing was sent"
        );
    };
    echo_here(peer);
    let socket = UdpSocket::bind((address, 0))?;
    timestamps("the adapter", &socket, peer)
}

/// What calls answer that make little sense.
fn arguments() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let id = 7u32.to_ne_bytes();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let enable = |length: usize| {
        call::ioctl(
            &socket,
            SIO_TIMESTAMPING,
            &config(RX | TX, 16)[..length],
            &mut [],
        )
    };
    let fetch_with =
        |id: &[u8], room: usize| call::ioctl(&socket, SIO_GET_TX_TIMESTAMP, id, &mut vec![0; room]);
    writeln!(out, "1. What the calls answer:")?;
    writeln!(out, "  fetch before enabling: {}", fetch_with(&id, 8))?;
    writeln!(
        out,
        "  enable both, capacity 16: {}",
        configure(&socket, RX | TX, 16)
    )?;
    writeln!(out, "  fetch an id never sent: {}", fetch_with(&id, 8))?;
    writeln!(out, "  fetch with room for 4 bytes: {}", fetch_with(&id, 4))?;
    writeln!(
        out,
        "  fetch with an id of 2 bytes: {}",
        fetch_with(&id[..2], 8)
    )?;
    writeln!(out, "  input of 4 bytes: {}", enable(4))?;
    writeln!(out, "  input of 6 bytes: {}", enable(6))?;
    writeln!(out, "  unknown flag 0x80: {}", configure(&socket, 0x83, 16))?;
    writeln!(out, "  capacity 0: {}", configure(&socket, TX, 0))?;
    writeln!(
        out,
        "  capacity 65535: {}",
        configure(&socket, TX, u16::MAX)
    )?;
    writeln!(out, "  off: {}", configure(&socket, 0, 0))?;
    writeln!(out, "  fetch after switching off: {}", fetch_with(&id, 8))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    writeln!(
        out,
        "  enable on a TCP socket: {}",
        configure(&listener, RX | TX, 16)
    )
}

/// Sends, and prints the timestamps that come.
fn timestamps(way: &str, socket: &UdpSocket, to: SocketAddrV4) -> io::Result<()> {
    let mut out = io::stdout().lock();
    socket.set_nonblocking(true)?;
    writeln!(out, "1, 4, 6. Timestamps over {way}:")?;
    let sent = call::send(socket, b"an id, and TX is off", to, Some(1));
    writeln!(
        out,
        "  an id without TX: {sent}; fetched: {}",
        shown(fetch(socket, 1))
    )?;
    let enabled = configure(socket, RX | TX, 16);
    writeln!(out, "  enable: {enabled}")?;
    if enabled != Answer::Done(0) {
        return Ok(());
    }
    let mut waited: Vec<Duration> = (10..30)
        .filter_map(|id| timestamp_of(socket, to, id).map(|(_, time)| time))
        .collect();
    waited.sort_unstable();
    let middle = waited
        .get(waited.len() / 2)
        .map_or(String::from("none"), |time| format!("{time:?}"));
    writeln!(
        out,
        "  transmit timestamps of 20: {}, fetched after (median) {middle}",
        waited.len()
    )?;
    writeln!(out, "  {}", received(socket))?;
    for (id, count) in [(40, 2), (41, 1)] {
        for _ in 0..count {
            call::send(socket, b"one id", to, Some(id));
        }
    }
    thread::sleep(Duration::from_millis(200));
    let twice = [fetch(socket, 40), fetch(socket, 40), fetch(socket, 40)].map(shown);
    writeln!(
        out,
        "  one id twice, fetched three times: {}",
        twice.join("; ")
    )?;
    let again = configure(socket, RX | TX, 1);
    writeln!(
        out,
        "  configured again with a timestamp waiting: {again}; fetched: {}",
        shown(fetch(socket, 41))
    )?;
    for id in 50..54 {
        call::send(socket, b"more than there is room for", to, Some(id));
    }
    thread::sleep(Duration::from_millis(200));
    let kept: Vec<String> = (50..54).map(|id| shown(fetch(socket, id))).collect();
    writeln!(out, "  four sent, room for one: {}", kept.join("; "))?;
    while call::receive(socket, &mut [0; 2_048]).is_ok() {}
    writeln!(
        out,
        "5. Receive coalescing: {}",
        call::option(socket, IPPROTO_UDP, MAX_COALESCED_SIZE, 1_440)
    )?;
    for _ in 0..20 {
        call::send(socket, &[0; 1_200], to, None);
    }
    thread::sleep(Duration::from_millis(200));
    writeln!(out, "  {}", received(socket))
}

/// Sends under an id, and fetches its timestamp for up to 200 ms.
fn timestamp_of(socket: &UdpSocket, to: SocketAddrV4, id: u32) -> Option<(u64, Duration)> {
    let begun = Instant::now();
    call::send(socket, b"timestamped", to, Some(id));
    while begun.elapsed() < Duration::from_millis(200) {
        if let Ok(timestamp) = fetch(socket, id) {
            return Some((timestamp, begun.elapsed()));
        }
    }
    None
}

/// What all that waits to be received has with it.
fn received(socket: &UdpSocket) -> String {
    let (mut datagrams, mut none, mut zero, mut timestamped) = (0, 0, 0, 0);
    let mut others = Vec::new();
    let mut last = Instant::now();
    while last.elapsed() < Duration::from_millis(500) {
        let Ok(arrived) = call::receive(socket, &mut [0; 65_536]) else {
            thread::sleep(Duration::from_micros(100));
            continue;
        };
        last = Instant::now();
        datagrams += 1;
        match arrived
            .controls
            .iter()
            .find(|(_, kind, _)| *kind == SO_TIMESTAMP)
        {
            None => none += 1,
            Some((_, _, bytes)) if bytes.iter().all(|byte| *byte == 0) => zero += 1,
            Some(_) => timestamped += 1,
        }
        let other = arrived
            .controls
            .iter()
            .filter(|(_, kind, _)| *kind != SO_TIMESTAMP);
        others.extend(
            other.map(|(level, kind, bytes)| format!("{level}/{kind} ({} bytes)", bytes.len())),
        );
    }
    others.sort_unstable();
    others.dedup();
    format!(
        "received {datagrams}: no message {none}, zero {zero}, timestamp {timestamped}; other messages: [{}]",
        others.join(", ")
    )
}

/// Where the peer is this host, as on the model, answers in its place.
fn echo_here(peer: SocketAddrV4) {
    let Ok(socket) = UdpSocket::bind(peer) else {
        return;
    };
    let _ = socket.set_nonblocking(true);
    drop(thread::spawn(move || {
        let mut buffer = [0; 65_536];
        loop {
            if let Ok(arrived) = call::receive(&socket, &mut buffer) {
                if let Some(SocketAddr::V4(from)) = arrived.from {
                    call::send(&socket, &buffer[..arrived.length as usize], from, None);
                }
            }
            thread::sleep(Duration::from_micros(100));
        }
    }));
}
