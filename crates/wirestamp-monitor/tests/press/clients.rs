//! Clients that ask as fast as they can, each on a connection of its own.

use std::io::{Read as _, Result, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub(crate) const CLIENTS: usize = 64;

/// What they ask, with what they say of themselves, and whether that needs a snapshot. The token is "secret".
pub(crate) const KINDS: [(&str, &str, bool); 10] = {
    const BEARING: &str = "Authorization: Bearer secret\r\n";
    const RANGE: &str = "/api/history?from=2000-01-01T00:00:00Z&to=2000-12-31T00:00:00Z";
    [
        ("/healthz", BEARING, false),
        ("/readyz", BEARING, false),
        ("/", BEARING, false),
        ("/", "", false),
        ("/api/events?after=0", BEARING, false),
        (RANGE, BEARING, false),
        ("/metrics", "", false),
        ("/api/snapshot", "", false),
        ("/metrics", BEARING, true),
        ("/api/snapshot", BEARING, true),
    ]
};

/// Asks on one connection until it must not any more.
fn press(address: SocketAddr, request: &str, is_over: &AtomicBool) -> Result<u64> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let (mut answers, mut buffer) = (0, vec![0; 1 << 16]);
    while !is_over.load(Ordering::Relaxed) {
        stream.write_all(request.as_bytes())?;
        let (mut head, mut body) = (Vec::new(), 0);
        let announced = loop {
            let read = stream.read(&mut buffer)?;
            if read == 0 {
                return Ok(answers);
            }
            head.extend_from_slice(&buffer[..read]);
            let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            body += head.len() - end - 4;
            let text = String::from_utf8_lossy(&head[..end]).to_ascii_lowercase();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            match length.and_then(|length| length.parse::<usize>().ok()) {
                Some(length) => break length,
                // a stream, which never ends
                None => return Ok(answers + 1),
            }
        };
        while body < announced {
            match stream.read(&mut buffer)? {
                0 => return Ok(answers),
                read => body += read,
            }
        }
        answers += 1;
    }
    Ok(answers)
}

/// Has all clients press while `wait` runs; returns how many answers they got.
pub(crate) fn pressed(address: SocketAddr, path: &str, headers: &str, wait: impl FnOnce()) -> u64 {
    let is_over = AtomicBool::new(false);
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    thread::scope(|scope| {
        let client = || {
            let mut answers = 0;
            while !is_over.load(Ordering::Relaxed) {
                answers += press(address, &request, &is_over).unwrap_or(0);
            }
            answers
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        wait();
        is_over.store(true, Ordering::Relaxed);
        let ended = clients
            .into_iter()
            .map(|client| client.join().expect("it ends"));
        ended.sum()
    })
}
