//! The cases of STAMP: what of its processor's time a reflector takes for each packet that it answers, while 32 sessions
//! on loopback send. Each sends when its last packet is answered; all reflectors get the same load in turn.
//!
//! "Both timestamps" means a kernel receive timestamp and a kernel transmit timestamp of each packet; the latter is in the
//! session's next reply.

use super::Path;
use super::report::Goal;
use super::sockets::loopback;
use super::timing::Case;
use std::error::Error;
use std::fs::{read_dir, read_link, read_to_string};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path as File, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{Interface, MonotonicTime, Span, UtcTime};
use wirestamp_probe::Key;
use wirestamp_probe::endpoint::{Clock, ReflectorService};
use wirestamp_probe::reflector::{Reflector, ReflectorConfiguration};
use wirestamp_probe::session::{Session, SessionConfiguration};

type Failure = Box<dyn Error + Send + Sync>;

/// How long a chunk lasts.
const CHUNK: Duration = Duration::from_millis(20);
const SESSIONS: usize = 32;
const KEY: &str = "07070707070707070707070707070707";
/// A reflector looks that often whether it shall end.
const STEP: Duration = Duration::from_millis(50);

const OPEN: &str = "STAMP reflector, its processor time";
const AUTHENTICATED: &str = "STAMP reflector, authenticated, its processor time";
const OURS: &str = "wirestamp, both timestamps";
const ECHO: &str = "bare echo, no timestamps";
const SUITE: &str = "stamp-suite, both timestamps";
const SUITE_USERSPACE: &str = "stamp-suite, timestamps in user space";

/// `suite` is stamp-suite, optimised and with its feature `hwtstamp`.
pub(super) fn paths(suite: Option<&File>) -> Result<Vec<Path>, Box<dyn Error>> {
    let key = Key::from_hexadecimal(KEY)?;
    let goal = |peer| Goal { peer, at_most: 1.0 };
    let mut paths = Vec::new();
    for (name, key) in [(OPEN, None), (AUTHENTICATED, Some(&key))] {
        let mut cases = vec![case(OURS, ours(key)?, key)?, case(ECHO, echo()?, key)?];
        if let Some(suite) = suite {
            for (name, timestamps) in [(SUITE, "auto"), (SUITE_USERSPACE, "off")] {
                cases.push(case(name, stamp_suite(suite, timestamps, key)?, key)?);
            }
        }
        paths.push(Path {
            name,
            cases,
            goals: vec![goal(SUITE)],
        });
    }
    Ok(paths)
}

/// What the figures of a path mean; `None`: it is none of these.
pub(super) fn conclusion(path: &str, nanoseconds: f64) -> Option<String> {
    if path != OPEN && path != AUTHENTICATED {
        return None;
    }
    let rate = (1e6 / nanoseconds).round();
    let against = if nanoseconds <= 10_000.0 {
        "met"
    } else {
        "missed"
    };
    Some(format!(
        "one core answers {rate:.0},000 packets/s with both timestamps (goal: 100,000, {against}); the kernel's send and receive calls \
         are most of it, as the echo shows."
    ))
}

/// A program that answers, and the source of its processor time.
struct Server {
    address: SocketAddr,
    tasks: Tasks,
    running: Running,
}

enum Tasks {
    Thread(PathBuf),
    Process(PathBuf),
}

enum Running {
    Thread(Arc<AtomicBool>),
    Process(Child),
}

impl Drop for Server {
    fn drop(&mut self) {
        match &mut self.running {
            Running::Thread(over) => over.store(true, Ordering::Relaxed),
            Running::Process(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

impl Server {
    /// Since it started.
    fn processor_time(&self) -> io::Result<Duration> {
        let of = |task: &File| -> io::Result<u64> {
            let text = read_to_string(task.join("schedstat"))?;
            let first = text.split_whitespace().next().unwrap_or_default();
            first.parse().map_err(io::Error::other)
        };
        let nanoseconds = match &self.tasks {
            Tasks::Thread(task) => of(task)?,
            Tasks::Process(tasks) => read_dir(tasks)?
                .map(|task| of(&task?.path()))
                .sum::<io::Result<u64>>()?,
        };
        Ok(Duration::from_nanos(nanoseconds))
    }

    /// `answer` answers for a moment.
    fn on_thread(
        address: SocketAddr,
        mut answer: impl FnMut() -> Result<(), Failure> + Send + 'static,
    ) -> Result<Self, Box<dyn Error>> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let _ = tell.send(read_link("/proc/thread-self"));
            // who does not answer any more shows as a chunk without replies
            while !is_over.load(Ordering::Relaxed) && answer().is_ok() {}
        });
        let task = File::new("/proc").join(told.recv()??);
        Ok(Self {
            address,
            tasks: Tasks::Thread(task),
            running: Running::Thread(over),
        })
    }
}

fn ours(key: Option<&Key>) -> Result<Server, Box<dyn Error>> {
    let socket = Interface::loopback()?.bind(loopback())?;
    let address = socket.local_address()?;
    let reflector = Reflector::new(ReflectorConfiguration {
        key: key.cloned(),
        rate: u32::MAX,
        ..ReflectorConfiguration::default()
    });
    let mut service = ReflectorService::new(reflector, vec![socket], Clock::software())?;
    Server::on_thread(address, move || Ok(service.serve(STEP)?))
}

fn echo() -> Result<Server, Box<dyn Error>> {
    let socket = UdpSocket::bind(loopback())?;
    socket.set_read_timeout(Some(STEP))?;
    let address = socket.local_addr()?;
    let mut buffer = [0; 2_048];
    Server::on_thread(address, move || {
        if let Ok((length, source)) = socket.recv_from(&mut buffer) {
            socket.send_to(&buffer[..length], source)?;
        }
        Ok(())
    })
}

fn stamp_suite(
    program: &File,
    timestamps: &str,
    key: Option<&Key>,
) -> Result<Server, Box<dyn Error>> {
    // it takes no port 0
    let address = UdpSocket::bind(loopback())?.local_addr()?;
    let mut command = Command::new(program);
    command
        .args([
            "-i",
            "--stateful-reflector",
            "--hwtstamp",
            timestamps,
            "--local-addr",
        ])
        .args([
            &address.ip().to_string(),
            "--local-port",
            &address.port().to_string(),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if key.is_some() {
        command.args(["-A", "A", "--verify-tlv-hmac", "--hmac-key", KEY]);
    }
    let child = command
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let tasks = File::new("/proc").join(child.id().to_string()).join("task");
    let server = Server {
        address,
        tasks: Tasks::Process(tasks),
        running: Running::Process(child),
    };
    let mut load = Load::on(address, key)?;
    let until = Instant::now() + Duration::from_secs(10);
    while load.run(Instant::now())? == 0 {
        if Instant::now() > until {
            return Err(format!("{} does not answer on {address}", program.display()).into());
        }
    }
    Ok(server)
}

/// Sessions of which each sends when its last packet is answered.
struct Load {
    sockets: Vec<UdpSocket>,
    session: Session,
    request: Vec<u8>,
}

impl Load {
    fn on(peer: SocketAddr, key: Option<&Key>) -> io::Result<Self> {
        let make = |_| {
            let socket = UdpSocket::bind(loopback())?;
            socket.connect(peer)?;
            socket.set_read_timeout(Some(STEP))?;
            Ok(socket)
        };
        let configuration = SessionConfiguration {
            key: key.cloned(),
            ..SessionConfiguration::default()
        };
        Ok(Self {
            sockets: (0..SESSIONS).map(make).collect::<io::Result<_>>()?,
            session: Session::new(configuration),
            request: Vec::new(),
        })
    }

    /// Sends until then, once at least; returns how many replies came.
    fn run(&mut self, until: Instant) -> io::Result<u64> {
        let (mut reply, mut replies) = ([0; 2_048], 0);
        let utc = UtcTime::from_nanoseconds(1_800_000_000_000_000_000);
        loop {
            self.session
                .request(MonotonicTime::MIN, utc, Span::ZERO, &mut self.request);
            self.session.expire(MonotonicTime::MAX, |_| {});
            for socket in &self.sockets {
                // who does not listen yet refuses
                let _ = socket.send(&self.request);
            }
            for socket in &self.sockets {
                replies += u64::from(socket.recv(&mut reply).is_ok());
            }
            if Instant::now() >= until {
                return Ok(replies);
            }
        }
    }
}

fn case(name: &'static str, server: Server, key: Option<&Key>) -> Result<Case, Box<dyn Error>> {
    let mut load = Load::on(server.address, key)?;
    Ok(Case::new(name, move || {
        let failed = |error: io::Error| error.to_string();
        let before = server.processor_time().map_err(failed)?;
        let replies = load.run(Instant::now() + CHUNK).map_err(failed)?;
        let took = server.processor_time().map_err(failed)? - before;
        if replies == 0 {
            return Err("nothing was answered".to_owned());
        }
        Ok((replies, took))
    }))
}
