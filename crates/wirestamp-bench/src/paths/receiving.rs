//! The cases that receive datagrams with software timestamps.

use super::Path;
use super::report::Goal;
use super::sockets::{BATCH, PAYLOAD, Runtime, WAITING, loopback, receiver, sender};
use super::timing::{Case, Chunk};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, TimestampingFlag, Timestamps,
    recvmmsg, recvmsg, setsockopt, sockopt,
};
use std::error::Error;
use std::hint::black_box;
use std::io::{IoSliceMut, Write, stderr};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use timestamped_socket::socket::{GeneralTimestampMode, open_ip};
use wirestamp::socket::{Engine, IoUringState};
use wirestamp::{Incoming, MonotonicTime, PacketReceiver, Timestamping};

type Failure = Box<dyn Error>;

/// Takes so many waiting datagrams; how many had a timestamp.
type Take = Box<dyn FnMut(usize) -> Result<usize, Failure>>;

/// A way to receive, and whither to send for it.
struct Receiver {
    name: &'static str,
    take: Take,
    at: SocketAddr,
}

/// A timestamp and nothing else, as timestamped-socket asks for it.
const PLAIN: Timestamping = Timestamping::OFF.receive();
/// The destination, too, which quinn-udp always asks for.
const ADDRESSED: Timestamping = PLAIN.packet_information();
/// For datagrams of an Ethernet frame.
pub(crate) const RING: Engine = Engine::Ring { longest: 1_472 };
/// Of the caller's buffers for long datagrams.
const ROOM: usize = 9_216;

const OURS: &str = "wirestamp";
const OURS_RING: &str = "wirestamp, io_uring";
const OURS_LENT: &str = "wirestamp, lent";
const OURS_ONE_BY_ONE: &str = "wirestamp, one by one";
const TIMESTAMPED_SOCKET: &str = "timestamped-socket";
const QUINN: &str = "quinn-udp";
const BARE_BATCH: &str = "bare recvmmsg";
const BARE_RING: &str = "bare io_uring, multishot";
const BARE: &str = "bare recvmsg";
const DAEMON: &str = "poll, then recvmsg";

pub(crate) fn paths(runtime: &Runtime) -> Result<Vec<Path>, Failure> {
    let goal = |peer, at_most| Goal { peer, at_most };
    let waiting = [
        ours(PLAIN)?,
        ours_one_by_one(PLAIN)?,
        timestamped_socket(runtime)?,
        bare_batch(PLAIN)?,
    ];
    let addressed = [ours(ADDRESSED)?, quinn()?, bare_batch(ADDRESSED)?];
    let lent_plain = [
        lent(PLAIN)?,
        ours(PLAIN)?,
        timestamped_socket(runtime)?,
        bare_ring(PLAIN)?,
    ];
    let lent_addressed = [
        lent(ADDRESSED)?,
        ours(ADDRESSED)?,
        quinn()?,
        bare_ring(ADDRESSED)?,
    ];
    let ring = [ours(PLAIN.engine(RING))?, timestamped_socket(runtime)?];
    let ring_addressed = [ours(ADDRESSED.engine(RING))?, quinn()?];
    let one = [
        ours_one_by_one(PLAIN)?,
        timestamped_socket(runtime)?,
        bare(BARE, PLAIN, false)?,
        bare(DAEMON, PLAIN, true)?,
    ];
    let one_addressed = [
        ours_one_by_one(ADDRESSED)?,
        bare(BARE, ADDRESSED, false)?,
        bare(DAEMON, ADDRESSED, true)?,
    ];
    let cases = |kinds: Vec<Receiver>, case: fn(Receiver) -> Result<Case, Failure>| {
        kinds.into_iter().map(case).collect::<Result<Vec<_>, _>>()
    };
    Ok(vec![
        Path {
            name: "receive, queue waiting",
            cases: cases(waiting.into(), drain)?,
            goals: vec![goal(TIMESTAMPED_SOCKET, 0.67), goal(BARE_BATCH, 1.03)],
        },
        Path {
            name: "receive, queue waiting, destination asked for",
            cases: cases(addressed.into(), drain)?,
            goals: vec![goal(QUINN, 0.87), goal(BARE_BATCH, 1.03)],
        },
        Path {
            name: "receive, queue waiting, io_uring, packets lent",
            cases: cases(lent_plain.into(), drain)?,
            goals: vec![goal(OURS, 0.80), goal(TIMESTAMPED_SOCKET, 0.55)],
        },
        Path {
            name: "receive, queue waiting, io_uring, packets lent, destination asked for",
            cases: cases(lent_addressed.into(), drain)?,
            goals: vec![goal(OURS, 0.80), goal(QUINN, 0.75)],
        },
        Path {
            name: "receive, queue waiting, io_uring, packets copied",
            cases: cases(ring.into(), drain)?,
            goals: vec![goal(TIMESTAMPED_SOCKET, 0.55)],
        },
        Path {
            name: "receive, queue waiting, io_uring, packets copied, destination asked for",
            cases: cases(ring_addressed.into(), drain)?,
            goals: vec![goal(QUINN, 0.70)],
        },
        Path {
            name: "receive, queue waiting, 1,472 bytes",
            cases: vec![
                drain_of(ours_into(ROOM, PLAIN)?, 1_472)?,
                drain_of(bare_batch_into(ROOM, PLAIN)?, 1_472)?,
            ],
            goals: vec![goal(BARE_BATCH, 1.03)],
        },
        Path {
            name: "receive, queue waiting, 9,000 bytes",
            cases: vec![
                drain_of(ours_into(ROOM, PLAIN)?, 9_000)?,
                drain_of(bare_batch_into(ROOM, PLAIN)?, 9_000)?,
            ],
            goals: vec![goal(BARE_BATCH, 1.03)],
        },
        Path {
            name: "receive, one packet at a time",
            cases: cases(one.into(), one_at_a_time)?,
            goals: vec![
                goal(TIMESTAMPED_SOCKET, 0.80),
                goal(DAEMON, 0.87),
                goal(BARE, 1.04),
            ],
        },
        Path {
            name: "receive, one packet at a time, destination asked for",
            cases: cases(one_addressed.into(), one_at_a_time)?,
            goals: vec![goal(DAEMON, 0.87), goal(BARE, 1.04)],
        },
    ])
}

/// Only taking them counts.
fn drain(receiver: Receiver) -> Result<Case, Failure> {
    drain_of(receiver, PAYLOAD.len())
}

/// As many as fit into a usual receive buffer.
fn drain_of(Receiver { name, mut take, at }: Receiver, length: usize) -> Result<Case, Failure> {
    let (from, payload) = (sender(at)?, vec![0x42; length]);
    let waiting = if length > PAYLOAD.len() { 8 } else { WAITING };
    Ok(Case::new(name, move || -> Chunk {
        for _ in 0..waiting {
            from.send(&payload).map_err(|error| error.to_string())?;
        }
        let begun = Instant::now();
        let timestamped = take(waiting).map_err(|error| error.to_string())?;
        let took = begun.elapsed();
        if timestamped == waiting {
            Ok((waiting as u64, took))
        } else {
            Err(format!("{timestamped} of {waiting} timestamped"))
        }
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
                return Err("no timestamp".into());
            }
        }
        Ok((BATCH as u64, begun.elapsed()))
    }))
}

fn ours_bound(wanted: Timestamping) -> Result<(wirestamp::UdpSocket, SocketAddr), Failure> {
    let socket = wirestamp::UdpSocket::bind(loopback())?;
    let granted = socket.configure(wanted)?;
    if let IoUringState::Refused(refusal) = granted.receive_ring {
        writeln!(stderr(), "calls instead of a ring: {refusal}")?;
    }
    let at = socket.local_address()?;
    Ok((socket, at))
}

fn ours(wanted: Timestamping) -> Result<Receiver, Failure> {
    ours_into(2_048, wanted)
}

/// With buffers of `room` bytes.
fn ours_into(room: usize, wanted: Timestamping) -> Result<Receiver, Failure> {
    let (socket, at) = ours_bound(wanted)?;
    // for as long as the bench runs: a batch is made once, as the peers' headers are
    let buffers = Vec::leak(vec![vec![0; room]; BATCH]);
    let mut incoming: Vec<_> = buffers
        .iter_mut()
        .map(|buffer| Incoming::new(buffer))
        .collect();
    let take: Take = Box::new(move |wanted| {
        let mut timestamped = 0;
        let mut taken = 0;
        while taken < wanted {
            let count = socket.receive_batch(&mut incoming, MonotonicTime::MIN)?;
            taken += count;
            timestamped += incoming[..count]
                .iter()
                .filter(|one| one.received.timestamps.software.is_some())
                .count();
            if count == 0 {
                break;
            }
        }
        Ok(timestamped)
    });
    Ok(Receiver {
        name: if wanted.engine == RING {
            OURS_RING
        } else {
            OURS
        },
        take,
        at,
    })
}

/// Out of the ring's own buffers.
fn lent(wanted: Timestamping) -> Result<Receiver, Failure> {
    let (socket, at) = ours_bound(wanted)?;
    let mut receiver = PacketReceiver::new(1_472);
    receiver.add(Arc::new(socket))?;
    if let IoUringState::Refused(refusal) = receiver.ring() {
        writeln!(stderr(), "calls instead of a ring: {refusal}")?;
    }
    let take: Take = Box::new(move |wanted| {
        let (mut taken, mut timestamped) = (0, 0);
        while taken < wanted {
            let packets = receiver.receive(Duration::ZERO)?;
            if packets.len() == 0 {
                break;
            }
            for packet in packets {
                taken += 1;
                black_box(packet.payload);
                timestamped += usize::from(packet.received.timestamps.software.is_some());
            }
        }
        Ok(timestamped)
    });
    Ok(Receiver {
        name: OURS_LENT,
        take,
        at,
    })
}

fn ours_one_by_one(wanted: Timestamping) -> Result<Receiver, Failure> {
    let (socket, at) = ours_bound(wanted)?;
    let mut buffer = [0; 2048];
    let take: Take = Box::new(move |wanted| {
        let mut timestamped = 0;
        for _ in 0..wanted {
            let received = socket.receive(&mut buffer, Duration::ZERO)?;
            timestamped += usize::from(
                black_box(received).is_some_and(|received| received.timestamps.software.is_some()),
            );
        }
        Ok(timestamped)
    });
    Ok(Receiver {
        name: OURS_ONE_BY_ONE,
        take,
        at,
    })
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
            let (mut buffer, mut timestamped) = ([0; 2048], 0);
            for _ in 0..wanted {
                timestamped += usize::from(
                    socket
                        .recv(&mut buffer)
                        .await?
                        .timestamp_data
                        .software
                        .is_some(),
                );
            }
            Ok(timestamped)
        })
    });
    Ok(Receiver {
        name: TIMESTAMPED_SOCKET,
        take,
        at,
    })
}

fn quinn() -> Result<Receiver, Failure> {
    let socket = receiver()?;
    let at = socket.local_addr()?;
    let state = quinn_udp::UdpSocketState::new((&socket).into())?;
    let mut memory = vec![[0; 2048]; quinn_udp::BATCH_SIZE];
    let take: Take = Box::new(move |wanted| {
        let (mut taken, mut timestamped) = (0, 0);
        let mut meta = [quinn_udp::RecvMeta::default(); quinn_udp::BATCH_SIZE];
        while taken < wanted {
            let mut slices: Vec<_> = memory
                .iter_mut()
                .map(|buffer| IoSliceMut::new(buffer))
                .collect();
            let count = state.recv((&socket).into(), &mut slices, &mut meta)?;
            timestamped += meta[..count]
                .iter()
                .filter(|meta| meta.timestamp.is_some())
                .count();
            taken += count;
        }
        Ok(timestamped)
    });
    Ok(Receiver {
        name: QUINN,
        take,
        at,
    })
}

/// With the options that ours sets.
fn bare_socket(wanted: Timestamping) -> Result<(UdpSocket, SocketAddr), Failure> {
    let socket = receiver()?;
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(&socket, sockopt::Timestamping, &flags)?;
    setsockopt(&socket, sockopt::Ipv4PacketInfo, &wanted.packet_information)?;
    setsockopt(&socket, sockopt::RxqOvfl, &1)?;
    let at = socket.local_addr()?;
    Ok((socket, at))
}

pub(crate) fn is_timestamp(message: &ControlMessageOwned) -> bool {
    matches!(message, ControlMessageOwned::ScmTimestampsns(timestamps) if timestamps.system.tv_sec() != 0)
}

/// Lent, too, and nothing made of what is lent.
fn bare_ring(wanted: Timestamping) -> Result<Receiver, Failure> {
    let (socket, at) = bare_socket(wanted)?;
    let mut ring = wirestamp_sys::bare::Ring::new(socket.into(), 1_472, 256)?;
    let take: Take = Box::new(move |wanted| {
        let (mut taken, mut timestamped) = (0, 0);
        while taken < wanted {
            let (count, with_timestamp) = ring.take()?;
            taken += count;
            timestamped += with_timestamp;
            if count == 0 {
                break;
            }
        }
        Ok(timestamped)
    });
    Ok(Receiver {
        name: BARE_RING,
        take,
        at,
    })
}

fn bare_batch(wanted: Timestamping) -> Result<Receiver, Failure> {
    bare_batch_into(2_048, wanted)
}

fn bare_batch_into(room: usize, wanted: Timestamping) -> Result<Receiver, Failure> {
    let (socket, at) = bare_socket(wanted)?;
    let space = nix::cmsg_space!(Timestamps, nix::libc::in_pktinfo, u32);
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, Some(space));
    let mut buffers = vec![vec![0; room]; BATCH];
    let take: Take = Box::new(move |wanted| {
        let (mut taken, mut timestamped) = (0, 0);
        while taken < wanted {
            let mut slices: Vec<_> = buffers
                .iter_mut()
                .map(|buffer| [IoSliceMut::new(buffer)])
                .collect();
            let messages = recvmmsg(
                socket.as_raw_fd(),
                &mut headers,
                slices.iter_mut(),
                MsgFlags::MSG_DONTWAIT,
                None,
            )?;
            for message in messages {
                taken += 1;
                timestamped += usize::from(message.cmsgs()?.any(|message| is_timestamp(&message)));
                black_box(message.address);
            }
        }
        Ok(timestamped)
    });
    Ok(Receiver {
        name: BARE_BATCH,
        take,
        at,
    })
}

fn bare(name: &'static str, wanted: Timestamping, polled: bool) -> Result<Receiver, Failure> {
    let (socket, at) = bare_socket(wanted)?;
    let mut space = nix::cmsg_space!(Timestamps, nix::libc::in_pktinfo, u32);
    let mut buffer = [0; 2048];
    let take: Take = Box::new(move |wanted| {
        let mut timestamped = 0;
        for _ in 0..wanted {
            if polled {
                poll(
                    &mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)],
                    PollTimeout::ZERO,
                )?;
            }
            let mut slices = [IoSliceMut::new(&mut buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let message = recvmsg::<SockaddrStorage>(
                socket.as_raw_fd(),
                &mut slices,
                Some(&mut space),
                flags,
            )?;
            timestamped += usize::from(message.cmsgs()?.any(|message| is_timestamp(&message)));
            black_box(message.address);
        }
        Ok(timestamped)
    });
    Ok(Receiver { name, take, at })
}
