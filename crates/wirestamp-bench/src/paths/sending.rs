//! The cases that send datagrams, with software transmit timestamps and without.

use super::Path;
use super::receiving::RING;
use super::report::Goal;
use super::sockets::{BATCH, PAYLOAD, Runtime, Setting, Sink};
use super::timing::{Case, Chunk};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, TimestampingFlag, Timestamps,
    recvmmsg, recvmsg, sendmmsg, setsockopt, sockopt,
};
use std::error::Error;
use std::future::poll_fn;
use std::hint::black_box;
use std::io::{IoSlice, IoSliceMut, Write, stderr};
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};
use timestamped_socket::socket::{GeneralTimestampMode, connect_address};
use wirestamp::socket::{Engine, Identification, IoUringState};
use wirestamp::{
    Outgoing, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome, TransmitRecord,
};
use wirestamp_sys::bare;

type Failure = Box<dyn Error>;

const LONG: Duration = Duration::from_secs(1);
const OURS: &str = "wirestamp";
const TIMESTAMPED_SOCKET: &str = "timestamped-socket";
const OURS_COMPLETIONS: &str = "wirestamp, io_uring";
const BARE_WITH_ID: &str = "bare sendmsg with id, recvmsg";
const BARE: &str = "bare sendmsg, recvmsg";
const BARE_BATCH_WITH_IDS: &str = "bare sendmmsg with ids, recvmmsg";
const BARE_BATCH: &str = "bare sendmmsg, recvmmsg";
const DAEMON: &str = "sendmsg, poll, recvmsg";
const PLAIN: &str = "bare sendmmsg";

pub(crate) fn paths(runtime: &Runtime) -> Result<Vec<Path>, Failure> {
    paths_in(Setting::Loopback, runtime)
}

/// In the network namespace of the calling thread.
pub(crate) fn paths_on_tun(runtime: &Runtime) -> Result<Vec<Path>, Failure> {
    let mut paths = paths_in(Setting::Tun, runtime)?;
    paths
        .iter_mut()
        .for_each(|path| path.name = format!("{}, TUN", path.name).leak());
    Ok(paths)
}

fn paths_in(setting: Setting, runtime: &Runtime) -> Result<Vec<Path>, Failure> {
    let goal = |peer, at_most| Goal { peer, at_most };
    let calls = Engine::Calls;
    Ok(vec![
        Path {
            name: "send + timestamp, one at a time",
            cases: vec![
                ours_one(setting, Identification::Carried)?,
                timestamped_one(setting, runtime)?,
                bare_one_with_id(setting)?,
                bare_one(setting, BARE, false)?,
                bare_one(setting, DAEMON, true)?,
            ],
            goals: vec![
                goal(TIMESTAMPED_SOCKET, 0.90),
                goal(DAEMON, 0.83),
                goal(BARE_WITH_ID, 1.04),
            ],
        },
        Path {
            name: "send + timestamp, one at a time, the kernel's count as the peers",
            cases: vec![
                ours_one(setting, Identification::Counter)?,
                timestamped_one(setting, runtime)?,
                bare_one(setting, BARE, false)?,
                bare_one(setting, DAEMON, true)?,
            ],
            goals: vec![
                goal(TIMESTAMPED_SOCKET, 0.90),
                goal(DAEMON, 0.83),
                goal(BARE, 1.04),
            ],
        },
        Path {
            name: "send + timestamp, bursts of 64, caller's ids",
            cases: vec![
                ours_batch(setting, calls)?,
                timestamped_batch(setting, runtime)?,
                bare_batch_with_ids(setting)?,
                bare_batch(setting)?,
            ],
            goals: vec![
                goal(TIMESTAMPED_SOCKET, 0.75),
                goal(BARE_BATCH_WITH_IDS, 1.03),
            ],
        },
        Path {
            name: "send + timestamp, bursts of 64, caller's ids, completions",
            cases: vec![
                ours_batch(setting, RING)?,
                timestamped_batch(setting, runtime)?,
            ],
            goals: vec![goal(TIMESTAMPED_SOCKET, 0.70)],
        },
        Path {
            name: "the timestamp alone: timestamped - without timestamp",
            cases: vec![
                alone(ours_batch(setting, calls)?, ours_plain(setting, calls)?),
                alone(
                    timestamped_batch(setting, runtime)?,
                    timestamped_plain(setting, runtime)?,
                ),
            ],
            goals: vec![goal(TIMESTAMPED_SOCKET, 0.65)],
        },
        Path {
            name: "the timestamp alone: timestamped - without timestamp, completions",
            cases: vec![
                alone(ours_batch(setting, RING)?, ours_plain(setting, RING)?),
                alone(
                    timestamped_batch(setting, runtime)?,
                    timestamped_plain(setting, runtime)?,
                ),
            ],
            goals: vec![goal(TIMESTAMPED_SOCKET, 0.52)],
        },
        Path {
            name: "without timestamp, on a timestamping socket",
            cases: vec![ours_plain(setting, calls)?, bare_plain(setting)?],
            goals: vec![goal(PLAIN, 1.02)],
        },
    ])
}

/// What the second does not cost, chunk by chunk.
fn alone(mut with: Case, mut without: Case) -> Case {
    Case::new(with.name, move || {
        let ((operations, took), (_, less)) = (with.chunk()?, without.chunk()?);
        Ok((operations, took.saturating_sub(less)))
    })
}

fn ours(
    setting: Setting,
    timestamping: Timestamping,
) -> Result<(wirestamp::UdpSocket, Sink), Failure> {
    let (sink, socket) = (
        setting.sink()?,
        wirestamp::UdpSocket::bind(setting.local())?,
    );
    socket.connect(sink.address)?;
    let granted = socket.configure(timestamping)?;
    if let IoUringState::Refused(refusal) = granted.transmit_ring {
        writeln!(stderr(), "calls instead of completions: {refusal}")?;
    }
    Ok((socket, sink))
}

/// Times `operations` done by `work`.
fn chunk(operations: usize, work: impl FnOnce() -> Result<usize, Failure>) -> Chunk {
    let begun = Instant::now();
    let timestamped = work().map_err(|error| error.to_string())?;
    let took = begun.elapsed();
    if timestamped == operations {
        Ok((operations as u64, took))
    } else {
        Err(format!("{timestamped} of {operations} timestamped"))
    }
}

fn ours_one(setting: Setting, identification: Identification) -> Result<Case, Failure> {
    let (socket, sink) = ours(
        setting,
        Timestamping::OFF
            .transmit(64)
            .identification(identification),
    )?;
    let mut next = 0u32;
    Ok(Case::new(OURS, move || {
        let _open = &sink;
        chunk(BATCH, || {
            let mut timestamped = 0;
            for _ in 0..BATCH {
                let id = TransmitId(next);
                next = next.wrapping_add(1);
                socket.send(&PAYLOAD, Some(id))?;
                let answer = socket.wait_transmit_timestamp(id, LONG)?;
                timestamped += usize::from(matches!(
                    answer,
                    TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
                ));
            }
            Ok(timestamped)
        })
    }))
}

fn ours_batch(setting: Setting, engine: Engine) -> Result<Case, Failure> {
    let (socket, sink) = ours(setting, Timestamping::OFF.transmit(256).engine(engine))?;
    let mut next = 0u32;
    let mut records = [TransmitRecord::EMPTY; BATCH];
    Ok(Case::new(
        if engine == RING {
            OURS_COMPLETIONS
        } else {
            OURS
        },
        move || {
            let _open = &sink;
            chunk(BATCH, || {
                let outgoing: [_; BATCH] = std::array::from_fn(|place| {
                    Outgoing::new(&PAYLOAD).id(TransmitId(next.wrapping_add(place as u32)))
                });
                next = next.wrapping_add(BATCH as u32);
                let sent = socket.send_batch(&outgoing)?;
                let (mut ended, mut timestamped) = (0, 0);
                while ended < sent {
                    let count = socket.wait_transmit_timestamps(&mut records, LONG)?;
                    timestamped += records[..count]
                        .iter()
                        .filter(|r| matches!(r.outcome, TransmitOutcome::Timestamped(_)))
                        .count();
                    ended += count;
                    if count == 0 {
                        break;
                    }
                }
                Ok(timestamped)
            })
        },
    ))
}

fn ours_plain(setting: Setting, engine: Engine) -> Result<Case, Failure> {
    let (socket, sink) = ours(setting, Timestamping::OFF.transmit(256).engine(engine))?;
    Ok(Case::new(OURS, move || {
        let _open = &sink;
        chunk(BATCH, || {
            Ok(socket.send_batch(&[Outgoing::new(&PAYLOAD); BATCH])?)
        })
    }))
}

fn timestamped_one(setting: Setting, runtime: &Runtime) -> Result<Case, Failure> {
    let (sink, runtime) = (setting.sink()?, runtime.clone());
    let mut socket = {
        let _inside = runtime.enter();
        connect_address(sink.address, GeneralTimestampMode::SoftwareAll)?
    };
    Ok(Case::new(TIMESTAMPED_SOCKET, move || {
        let _open = &sink;
        chunk(BATCH, || {
            runtime.block_on(async {
                let mut timestamped = 0;
                for _ in 0..BATCH {
                    timestamped += usize::from(socket.send(&PAYLOAD).await?.software.is_some());
                }
                Ok(timestamped)
            })
        })
    }))
}

/// Its lower calls, as far as they batch.
fn timestamped_batch(setting: Setting, runtime: &Runtime) -> Result<Case, Failure> {
    let (sink, runtime) = (setting.sink()?, runtime.clone());
    let socket = {
        let _inside = runtime.enter();
        connect_address(sink.address, GeneralTimestampMode::SoftwareAll)?
    };
    Ok(Case::new(TIMESTAMPED_SOCKET, move || {
        let _open = &sink;
        chunk(BATCH, || {
            runtime.block_on(async {
                for _ in 0..BATCH {
                    poll_fn(|context| socket.poll_send(&PAYLOAD, context)).await?;
                }
                let mut timestamped = 0;
                while timestamped < BATCH {
                    black_box(tokio::time::timeout(LONG, socket.get_send_timestamp()).await??);
                    timestamped += 1;
                }
                Ok(timestamped)
            })
        })
    }))
}

fn timestamped_plain(setting: Setting, runtime: &Runtime) -> Result<Case, Failure> {
    let (sink, runtime) = (setting.sink()?, runtime.clone());
    let socket = {
        let _inside = runtime.enter();
        connect_address(sink.address, GeneralTimestampMode::None)?
    };
    Ok(Case::new(TIMESTAMPED_SOCKET, move || {
        let _open = &sink;
        chunk(BATCH, || {
            runtime.block_on(async {
                for _ in 0..BATCH {
                    poll_fn(|context| socket.poll_send(&PAYLOAD, context)).await?;
                }
                Ok(BATCH)
            })
        })
    }))
}

/// With the very control message that ours have.
fn bare_with_ids(setting: Setting) -> Result<(UdpSocket, Sink), Failure> {
    let sink = setting.sink()?;
    let socket = setting.sender(sink.address)?;
    socket.set_nonblocking(true)?;
    bare::timestamp_all(socket.as_fd())?;
    Ok((socket, sink))
}

fn bare_one_with_id(setting: Setting) -> Result<Case, Failure> {
    let (socket, sink) = bare_with_ids(setting)?;
    let mut next = 0u32;
    Ok(Case::new(BARE_WITH_ID, move || {
        let _open = &sink;
        chunk(BATCH, || {
            let mut timestamped = 0;
            for _ in 0..BATCH {
                bare::send(socket.as_fd(), &PAYLOAD, next..next + 1)?;
                next = (next + 1) % (1 << 30);
                timestamped += bare::timestamps(socket.as_fd(), 1)?;
            }
            Ok(timestamped)
        })
    }))
}

fn bare_batch_with_ids(setting: Setting) -> Result<Case, Failure> {
    let (socket, sink) = bare_with_ids(setting)?;
    let mut next = 0u32;
    Ok(Case::new(BARE_BATCH_WITH_IDS, move || {
        let _open = &sink;
        chunk(BATCH, || {
            bare::send(socket.as_fd(), &PAYLOAD, next..next + BATCH as u32)?;
            next = (next + BATCH as u32) % (1 << 30);
            let mut timestamped = 0;
            while timestamped < BATCH {
                timestamped += bare::timestamps(socket.as_fd(), BATCH)?;
            }
            Ok(timestamped)
        })
    }))
}

/// Timestamps every datagram, under the kernel's own count.
fn bare(setting: Setting, flags: TimestampingFlag) -> Result<(UdpSocket, Sink), Failure> {
    let sink = setting.sink()?;
    let socket = setting.sender(sink.address)?;
    socket.set_nonblocking(true)?;
    let transmit = TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID;
    setsockopt(&socket, sockopt::Timestamping, &(transmit | flags))?;
    Ok((socket, sink))
}

/// As PTP daemons do where `polled`: wait, then read the timestamp with the datagram's payload.
fn bare_one(setting: Setting, name: &'static str, polled: bool) -> Result<Case, Failure> {
    let only_timestamps = TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY;
    let (socket, sink) = bare(
        setting,
        if polled {
            TimestampingFlag::empty()
        } else {
            only_timestamps
        },
    )?;
    let mut space = nix::cmsg_space!(
        Timestamps,
        nix::libc::sock_extended_err,
        nix::libc::sockaddr_in
    );
    let mut buffer = [0; 2048];
    Ok(Case::new(name, move || {
        let _open = &sink;
        chunk(BATCH, || {
            let mut timestamped = 0;
            for _ in 0..BATCH {
                let payload = [IoSlice::new(&PAYLOAD)];
                nix::sys::socket::sendmsg::<()>(
                    socket.as_raw_fd(),
                    &payload,
                    &[],
                    MsgFlags::empty(),
                    None,
                )?;
                if polled {
                    poll(
                        &mut [PollFd::new(socket.as_fd(), PollFlags::POLLPRI)],
                        PollTimeout::from(1_000u16),
                    )?;
                }
                let mut slices = [IoSliceMut::new(&mut buffer)];
                let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
                let message = recvmsg::<SockaddrStorage>(
                    socket.as_raw_fd(),
                    &mut slices,
                    Some(&mut space),
                    flags,
                )?;
                timestamped += usize::from(message.cmsgs()?.any(|message| is_timestamp(&message)));
            }
            Ok(timestamped)
        })
    }))
}

fn bare_batch(setting: Setting) -> Result<Case, Failure> {
    let (socket, sink) = bare(setting, TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY)?;
    let space = nix::cmsg_space!(
        Timestamps,
        nix::libc::sock_extended_err,
        nix::libc::sockaddr_in
    );
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, Some(space));
    let mut out = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, None);
    Ok(Case::new(BARE_BATCH, move || {
        let _open = &sink;
        chunk(BATCH, || {
            let payloads = [[IoSlice::new(&PAYLOAD)]; BATCH];
            let none: [Option<SockaddrStorage>; BATCH] = [None; BATCH];
            sendmmsg(
                socket.as_raw_fd(),
                &mut out,
                &payloads,
                none,
                [],
                MsgFlags::empty(),
            )?
            .for_each(drop);
            let mut timestamped = 0;
            while timestamped < BATCH {
                let mut slices: [[IoSliceMut<'_>; 0]; BATCH] = std::array::from_fn(|_| []);
                let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
                for message in recvmmsg(
                    socket.as_raw_fd(),
                    &mut headers,
                    slices.iter_mut(),
                    flags,
                    None,
                )? {
                    timestamped +=
                        usize::from(message.cmsgs()?.any(|message| is_timestamp(&message)));
                }
            }
            Ok(timestamped)
        })
    }))
}

fn bare_plain(setting: Setting) -> Result<Case, Failure> {
    let sink = setting.sink()?;
    let socket = setting.sender(sink.address)?;
    let mut out = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, None);
    Ok(Case::new(PLAIN, move || {
        let _open = &sink;
        chunk(BATCH, || {
            let payloads = [[IoSlice::new(&PAYLOAD)]; BATCH];
            let none: [Option<SockaddrStorage>; BATCH] = [None; BATCH];
            Ok(sendmmsg(
                socket.as_raw_fd(),
                &mut out,
                &payloads,
                none,
                [],
                MsgFlags::empty(),
            )?
            .count())
        })
    }))
}

pub(crate) fn is_timestamp(message: &ControlMessageOwned) -> bool {
    matches!(message, ControlMessageOwned::ScmTimestampsns(timestamps) if timestamps.system.tv_sec() != 0)
}
