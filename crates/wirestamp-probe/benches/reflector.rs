//! What a reflected packet costs beside a bare echo: processor time of the thread that answers, so that other load does not count much.
//!
//! `cargo bench -p wirestamp-probe --bench reflector`. 32 sessions on loopback; each sends when its last packet is answered. "Both timestamps" means a
//! kernel receive timestamp and a kernel transmit timestamp of each packet, the latter told in the session's next reply.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{Interface, MonotonicTime, Span, UtcTime};
use wirestamp_probe::Key;
use wirestamp_probe::endpoint::{Clock, ReflectorService};
use wirestamp_probe::reflector::{Reflector, ReflectorConfiguration};
use wirestamp_probe::session::{Session, SessionConfiguration};

const SESSIONS: usize = 32;
const SECONDS: Duration = Duration::from_secs(3);

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Nanoseconds that this thread has run so far.
fn processor_time() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let first = text.split_whitespace().next().unwrap_or_default();
    first.parse().map_err(io::Error::other)
}

/// Packets answered, and the processor time that it took.
struct Cost {
    packets: u64,
    nanoseconds: u64,
}

impl Cost {
    fn of_one(&self) -> f64 {
        self.nanoseconds as f64 / self.packets as f64
    }
}

/// Runs `answer`, which returns how many packets it has answered in all, while the sessions send.
fn measure(
    peer: SocketAddr,
    key: Option<&Key>,
    mut answer: impl FnMut() -> Result<u64, Failed> + Send + 'static,
) -> Result<Cost, Failed> {
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let answering = thread::spawn(move || {
        let begun = processor_time()?;
        let mut packets = 0;
        while !is_over.load(Ordering::Relaxed) {
            packets = answer()?;
        }
        Ok::<_, Failed>(Cost {
            packets,
            nanoseconds: processor_time()? - begun,
        })
    });
    let sent = send(peer, key);
    over.store(true, Ordering::Relaxed);
    sent?;
    answering
        .join()
        .map_err(|_| "the answering thread panicked")?
}

fn send(peer: SocketAddr, key: Option<&Key>) -> Result<(), Failed> {
    let mut sockets = Vec::new();
    for _ in 0..SESSIONS {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(peer)?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        sockets.push(socket);
    }
    let configuration = SessionConfiguration {
        key: key.cloned(),
        ..SessionConfiguration::default()
    };
    let mut session = Session::new(configuration);
    let (mut request, mut reply) = (Vec::new(), [0; 2_048]);
    let begun = Instant::now();
    let mut sequence = 0;
    while begun.elapsed() < SECONDS {
        let at = MonotonicTime::from_nanoseconds(begun.elapsed().as_nanos() as i64);
        session.request(
            at,
            UtcTime::from_nanoseconds(1 << 60),
            Span::ZERO,
            &mut request,
        );
        session.expire(MonotonicTime::MAX, |_| {});
        sequence += 1;
        for socket in &sockets {
            socket.send(&request)?;
        }
        for socket in &sockets {
            let _ = socket.recv(&mut reply);
        }
    }
    assert!(sequence > 0);
    Ok(())
}

fn reflector(key: Option<&Key>) -> Result<Cost, Failed> {
    let socket = Interface::loopback()?.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let peer = socket.local_address()?;
    let configuration = ReflectorConfiguration {
        key: key.cloned(),
        rate: u32::MAX,
        ..ReflectorConfiguration::default()
    };
    let mut service = ReflectorService::new(
        Reflector::new(configuration),
        vec![socket],
        Clock::software(),
    )?;
    measure(peer, key, move || {
        service.serve(Duration::from_millis(10))?;
        Ok(service.counters().replies)
    })
}

fn echo() -> Result<Cost, Failed> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(Duration::from_millis(10)))?;
    let peer = socket.local_addr()?;
    let (mut buffer, mut packets) = ([0; 2_048], 0);
    measure(peer, None, move || {
        if let Ok((length, source)) = socket.recv_from(&mut buffer) {
            socket.send_to(&buffer[..length], source)?;
            packets += 1;
        }
        Ok(packets)
    })
}

fn main() -> Result<(), Failed> {
    let key = Key::from_octets(&[7; 32])?;
    let mut out = io::stdout();
    let bare = echo()?.of_one();
    let rows = [
        ("bare echo, no timestamps", bare),
        ("reflector, both timestamps", reflector(None)?.of_one()),
        (
            "reflector, both timestamps, authenticated",
            reflector(Some(&key))?.of_one(),
        ),
    ];
    for (name, cost) in rows {
        let rate = 1e9 / cost;
        writeln!(
            out,
            "{name:<42} {cost:>6.0} ns a packet  {rate:>8.0} packets/s on one core  {:>5.2} x the echo",
            cost / bare
        )?;
    }
    Ok(())
}
