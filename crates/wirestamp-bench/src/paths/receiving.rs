//! Owns the cases that receive datagrams with software stamps.

use super::Path;
use super::report::Goal;
use super::sockets::{BATCH, PAYLOAD, Runtime, WAITING, loopback, receiver, sender};
use super::timing::{Case, Chunk};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, TimestampingFlag, Timestamps, recvmmsg, recvmsg,
    setsockopt, sockopt,
};
use std::error::Error;
use std::hint::black_box;
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};
use timestamped_socket::socket::{GeneralTimestampMode, open_ip};
use wirestamp::{Incoming, SystemTime, Timestamping};

type Failure = Box<dyn Error>;

/// Takes so many waiting datagrams; how many had a stamp.
type Take = Box<dyn FnMut(usize) -> Result<usize, Failure>>;

/// A way to receive, and whither to send for it.
struct Receiver {
    name: &'static str,
    take: Take,
    at: SocketAddr,
}

const OURS: &str = "wirestamp";
const OURS_ONE_BY_ONE: &str = "wirestamp, one by one";
const TIMESTAMPED_SOCKET: &str = "timestamped-socket";
const QUINN: &str = "quinn-udp";
const BARE_BATCH: &str = "bare recvmmsg";
const BARE: &str = "bare recvmsg";
const DAEMON: &str = "poll, then recvmsg";

pub(crate) fn paths(runtime: &Runtime) -> Result<Vec<Path>, Failure> {
    let waiting = [ours()?, ours_one_by_one()?, timestamped_socket(runtime)?, quinn()?, bare_batch()?];
    let goal = |peer, at_most| Goal { peer, at_most };
    let one = [ours_one_by_one()?, timestamped_socket(runtime)?, bare(BARE, false)?, bare(DAEMON, true)?];
    Ok(vec![
        Path {
            name: "receive, queue waiting",
            cases: waiting.into_iter().map(drain).collect::<Result<_, _>>()?,
            goals: vec![goal(TIMESTAMPED_SOCKET, 0.67), goal(QUINN, 0.87), goal(BARE_BATCH, 1.04)],
        },
        Path {
            name: "receive, one packet at a time",
            cases: one.into_iter().map(one_at_a_time).collect::<Result<_, _>>()?,
            goals: vec![goal(TIMESTAMPED_SOCKET, 0.80), goal(DAEMON, 0.87), goal(BARE, 1.04)],
        },
    ])
}

/// Only taking them counts.
fn drain(Receiver { name, mut take, at }: Receiver) -> Result<Case, Failure> {
    let from = sender(at)?;
    Ok(Case::new(name, move || -> Chunk {
        for _ in 0..WAITING {
            from.send(&PAYLOAD).map_err(|error| error.to_string())?;
        }
        let begun = Instant::now();
        let stamped = take(WAITING).map_err(|error| error.to_string())?;
        let took = begun.elapsed();
        if stamped == WAITING { Ok((WAITING as u64, took)) } else { Err(format!("{stamped} of {WAITING} stamped")) }
    }))
}

/// Sending counts as well, in all cases alike.
fn one_at_a_time(Receiver { name, mut take, at }: Receiver) -> Result<Case, Failure> {
    let from = sender(at)?;
    Ok(Case::new(name, move || -> Chunk {
        let begun = Instant::now();
        for _ in 0..BATCH {
            from.send(&PAYLOAD).map_err(|error| error.to_string())?;
            if take(1).map_err(|error| error.to_string())? != 1 {
                return Err("no stamp".into());
            }
        }
        Ok((BATCH as u64, begun.elapsed()))
    }))
}

fn ours_bound() -> Result<(wirestamp::UdpSocket, SocketAddr), Failure> {
    let socket = wirestamp::UdpSocket::bind(loopback())?;
    socket.configure(Timestamping::OFF.receive())?;
    let at = socket.local_address()?;
    Ok((socket, at))
}

fn ours() -> Result<Receiver, Failure> {
    let (socket, at) = ours_bound()?;
    let mut buffers = vec![[0; 2048]; BATCH];
    let take: Take = Box::new(move |wanted| {
        let mut stamped = 0;
        let mut incoming: Vec<_> = buffers.iter_mut().map(|buffer| Incoming::new(buffer)).collect();
        let mut taken = 0;
        while taken < wanted {
            let count = socket.receive_batch(&mut incoming, SystemTime::MIN)?;
            taken += count;
            stamped += incoming[..count].iter().filter(|one| one.received.stamps.software.is_some()).count();
            if count == 0 {
                break;
            }
        }
        Ok(stamped)
    });
    Ok(Receiver { name: OURS, take, at })
}

fn ours_one_by_one() -> Result<Receiver, Failure> {
    let (socket, at) = ours_bound()?;
    let mut buffer = [0; 2048];
    let take: Take = Box::new(move |wanted| {
        let mut stamped = 0;
        for _ in 0..wanted {
            let received = socket.receive(&mut buffer, Duration::ZERO)?;
            stamped += usize::from(black_box(received).is_some_and(|received| received.stamps.software.is_some()));
        }
        Ok(stamped)
    });
    Ok(Receiver { name: OURS_ONE_BY_ONE, take, at })
}

fn timestamped_socket(runtime: &Runtime) -> Result<Receiver, Failure> {
    let runtime = runtime.clone();
    let socket = {
        let _inside = runtime.enter();
        open_ip(loopback(), GeneralTimestampMode::SoftwareRecv, false)?
    };
    let at = socket.local_addr();
    let take: Take = Box::new(move |wanted| {
        runtime.block_on(async {
            let (mut buffer, mut stamped) = ([0; 2048], 0);
            for _ in 0..wanted {
                stamped += usize::from(socket.recv(&mut buffer).await?.timestamp_data.software.is_some());
            }
            Ok(stamped)
        })
    });
    Ok(Receiver { name: TIMESTAMPED_SOCKET, take, at })
}

fn quinn() -> Result<Receiver, Failure> {
    let socket = receiver()?;
    let at = socket.local_addr()?;
    let state = quinn_udp::UdpSocketState::new((&socket).into())?;
    let mut memory = vec![[0; 2048]; quinn_udp::BATCH_SIZE];
    let take: Take = Box::new(move |wanted| {
        let (mut taken, mut stamped) = (0, 0);
        let mut meta = [quinn_udp::RecvMeta::default(); quinn_udp::BATCH_SIZE];
        while taken < wanted {
            let mut slices: Vec<_> = memory.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
            let count = state.recv((&socket).into(), &mut slices, &mut meta)?;
            stamped += meta[..count].iter().filter(|meta| meta.timestamp.is_some()).count();
            taken += count;
        }
        Ok(stamped)
    });
    Ok(Receiver { name: QUINN, take, at })
}

/// With the options that ours sets.
fn bare_socket() -> Result<(UdpSocket, SocketAddr), Failure> {
    let socket = receiver()?;
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(&socket, sockopt::Timestamping, &flags)?;
    setsockopt(&socket, sockopt::Ipv4PacketInfo, &true)?;
    let at = socket.local_addr()?;
    Ok((socket, at))
}

fn is_stamp(message: &ControlMessageOwned) -> bool {
    matches!(message, ControlMessageOwned::ScmTimestampsns(stamps) if stamps.system.tv_sec() != 0)
}

fn bare_batch() -> Result<Receiver, Failure> {
    let (socket, at) = bare_socket()?;
    let space = nix::cmsg_space!(Timestamps, nix::libc::in_pktinfo);
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, Some(space));
    let mut buffers = vec![[0; 2048]; BATCH];
    let take: Take = Box::new(move |wanted| {
        let (mut taken, mut stamped) = (0, 0);
        while taken < wanted {
            let mut slices: Vec<_> = buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
            let messages = recvmmsg(socket.as_raw_fd(), &mut headers, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None)?;
            for message in messages {
                taken += 1;
                stamped += usize::from(message.cmsgs()?.any(|message| is_stamp(&message)));
                black_box(message.address);
            }
        }
        Ok(stamped)
    });
    Ok(Receiver { name: BARE_BATCH, take, at })
}

fn bare(name: &'static str, polled: bool) -> Result<Receiver, Failure> {
    let (socket, at) = bare_socket()?;
    let mut space = nix::cmsg_space!(Timestamps, nix::libc::in_pktinfo);
    let mut buffer = [0; 2048];
    let take: Take = Box::new(move |wanted| {
        let mut stamped = 0;
        for _ in 0..wanted {
            if polled {
                poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO)?;
            }
            let mut slices = [IoSliceMut::new(&mut buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut space), flags)?;
            stamped += usize::from(message.cmsgs()?.any(|message| is_stamp(&message)));
            black_box(message.address);
        }
        Ok(stamped)
    });
    Ok(Receiver { name, take, at })
}
