//! The cases of live load: a sender flat out on another processor, and what of its
//! processor's time the receiving thread takes for each datagram. Not how long it takes.

use super::Path;
use super::receiving::{RING, is_timestamp};
use super::report::Goal;
use super::sockets::{BATCH, PAYLOAD, Runtime, loopback, sender};
use super::timing::Case;
use nix::sys::socket::{
    MsgFlags, SockaddrStorage, TimestampingFlag, Timestamps, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use timestamped_socket::socket::{GeneralTimestampMode, open_ip};
use wirestamp::socket::Engine;
use wirestamp::{Incoming, Span, Timestamping};

type Failure = Box<dyn Error>;

/// Receives until the instant; how many had a timestamp.
type Receive = Box<dyn FnMut(Instant) -> Result<u64, Failure>>;

/// How long a chunk lasts.
const CHUNK: Duration = Duration::from_millis(20);
/// Longer than anything waits here.
const SOON: Duration = Duration::from_millis(5);
const GATHER: Span = Span::from_microseconds(200);

const OURS: &str = "wirestamp, gathering";
const OURS_RING: &str = "wirestamp, gathering, io_uring";
const OURS_AT_ONCE: &str = "wirestamp, at once";
const TIMESTAMPED_SOCKET: &str = "timestamped-socket";
const BLOCKING: &str = "blocking recvmsg";

pub(crate) fn paths(runtime: &Runtime) -> Result<Vec<Path>, Failure> {
    let goals = || {
        let goal = |peer, at_most| Goal { peer, at_most };
        vec![goal(TIMESTAMPED_SOCKET, 0.50), goal(BLOCKING, 0.70)]
    };
    let gathering = Timestamping::OFF.receive().gather(GATHER);
    let at_once = ours(
        OURS_AT_ONCE,
        Timestamping::OFF.receive().engine(Engine::Calls),
    )?;
    let calls = ours(OURS, gathering.engine(Engine::Calls))?;
    Ok(vec![
        Path {
            name: "receive live, the thread's processor time",
            cases: vec![calls, at_once, timestamped_socket(runtime)?, blocking()?],
            goals: goals(),
        },
        Path {
            name: "receive live, the thread's processor time, io_uring",
            cases: vec![
                ours(OURS_RING, gathering.engine(RING))?,
                timestamped_socket(runtime)?,
                blocking()?,
            ],
            goals: goals(),
        },
    ])
}

/// Runs the sender beside `receive`.
fn case(name: &'static str, at: SocketAddr, mut receive: Receive) -> Result<Case, Failure> {
    let from = sender(at)?;
    Ok(Case::new(name, move || {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _ = from.send(&PAYLOAD); // what is lost costs the receiver nothing
                }
            });
            // on a busy machine the sender may not have its turn within a chunk
            let mut outcome = Err("nothing timestamped came".to_owned());
            for _ in 0..100 {
                let before = processor_time();
                outcome = match receive(Instant::now() + CHUNK) {
                    Ok(0) => continue,
                    Ok(received) => Ok((received, processor_time() - before)),
                    Err(error) => Err(error.to_string()),
                };
                break;
            }
            over.store(true, Ordering::Relaxed);
            outcome
        })
    }))
}

/// Of the calling thread.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn ours(name: &'static str, timestamping: Timestamping) -> Result<Case, Failure> {
    let socket = wirestamp::UdpSocket::bind(loopback())?;
    socket.configure(timestamping)?;
    let at = socket.local_address()?;
    let mut buffers = vec![[0; 2_048]; BATCH];
    let receive: Receive = Box::new(move |until| {
        let mut incoming: Vec<_> = buffers
            .iter_mut()
            .map(|buffer| Incoming::new(buffer))
            .collect();
        let mut timestamped = 0;
        while Instant::now() < until {
            let count = socket.receive_batch(&mut incoming, socket.now() + Span::from(SOON))?;
            timestamped += incoming[..count]
                .iter()
                .filter(|one| one.received.timestamps.software.is_some())
                .count() as u64;
        }
        Ok(timestamped)
    });
    case(name, at, receive)
}

fn timestamped_socket(runtime: &Runtime) -> Result<Case, Failure> {
    let runtime = runtime.clone();
    let socket = {
        let _inside = runtime.enter();
        open_ip(loopback(), GeneralTimestampMode::SoftwareRecv, false)?
    };
    let at = socket.local_addr();
    let receive: Receive = Box::new(move |until| {
        runtime.block_on(async {
            let (mut buffer, mut timestamped) = ([0; 2_048], 0);
            while Instant::now() < until {
                let Ok(received) = tokio::time::timeout(SOON, socket.recv(&mut buffer)).await
                else {
                    continue;
                };
                timestamped += u64::from(received?.timestamp_data.software.is_some());
            }
            Ok(timestamped)
        })
    });
    case(TIMESTAMPED_SOCKET, at, receive)
}

fn blocking() -> Result<Case, Failure> {
    let socket = UdpSocket::bind(loopback())?;
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(&socket, sockopt::Timestamping, &flags)?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::milliseconds(5))?;
    let at = socket.local_addr()?;
    let mut space = nix::cmsg_space!(Timestamps);
    let mut buffer = [0; 2_048];
    let receive: Receive = Box::new(move |until| {
        let mut timestamped = 0;
        while Instant::now() < until {
            let mut slices = [IoSliceMut::new(&mut buffer)];
            match recvmsg::<SockaddrStorage>(
                socket.as_raw_fd(),
                &mut slices,
                Some(&mut space),
                MsgFlags::empty(),
            ) {
                Ok(message) => {
                    timestamped +=
                        u64::from(message.cmsgs()?.any(|message| is_timestamp(&message)));
                }
                Err(nix::Error::EAGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(timestamped)
    });
    case(BLOCKING, at, receive)
}
