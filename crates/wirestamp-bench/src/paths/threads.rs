//! The cases of two threads, each with a socket and a processor of its own, beside one: whether the paths scale. The threads
//! start together, and what they take is their processors' time, so that a busy machine does not count as contention.

use super::Path;
use super::report::Goal;
use super::sockets::{BATCH, PAYLOAD, Setting, WAITING, loopback, sender};
use super::timing::{Case, Chunk};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::error::Error;
use std::hint::{black_box, spin_loop};
use std::net::{SocketAddr, UdpSocket as Plain};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{
    Incoming, MonotonicTime, Outgoing, PacketReceiver, Timestamping, TransmitId, TransmitOutcome,
    TransmitRecord, UdpSocket,
};

type Failure = Box<dyn Error>;
type Step = Box<dyn FnMut() -> Result<(), Failure>>;
/// Makes the work of a thread, on that thread.
type Make = Box<dyn FnOnce() -> Result<Job, Failure> + Send>;

const ONE: &str = "one thread";
const TWO: &str = "two threads";
/// 1.8 times as many packets in the same time.
const GOAL: f64 = 0.556;
const LONG: Duration = Duration::from_secs(1);
/// A busy machine gives the other thread its processor late.
const PATIENCE: Duration = Duration::from_secs(10);
/// Flows that are tried until each socket of a group has one.
const FLOWS: usize = 64;

/// What a thread does in a chunk; only `work` counts.
struct Job {
    operations: u64,
    prepare: Step,
    work: Step,
}

/// Nothing where there are not two processors.
pub(crate) fn paths() -> Result<Vec<Path>, Failure> {
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    let processors: Vec<usize> = (0..CpuSet::count())
        .filter(|processor| allowed.is_set(*processor).unwrap_or(false))
        .take(2)
        .collect();
    if processors.len() < 2 {
        return Ok(Vec::new());
    }
    let path = |name, make: fn(usize) -> Result<Vec<Make>, Failure>| -> Result<Path, Failure> {
        Ok(Path {
            name,
            cases: vec![
                team(TWO, &processors, make(2)?)?,
                team(ONE, &processors, make(1)?)?,
            ],
            goals: vec![Goal {
                peer: ONE,
                at_most: GOAL,
            }],
        })
    };
    Ok(vec![
        path("receive, two sockets of one port, a thread each", receivers)?,
        path("receive, packets lent, a receiver a thread", lenders)?,
        path("send + timestamp, bursts of 64, a socket a thread", senders)?,
    ])
}

/// Threads that work at the same time, each on its processor. The time of a chunk is what one of them takes in the
/// middle.
fn team(name: &'static str, processors: &[usize], makes: Vec<Make>) -> Result<Case, Failure> {
    let (count, gate) = (makes.len(), Arc::new(AtomicUsize::new(0)));
    let (answer, answers) = channel();
    let mut starts = Vec::new();
    for (make, processor) in makes.into_iter().zip(processors.iter().copied()) {
        let (start, started) = channel();
        let (gate, answer) = (Arc::clone(&gate), answer.clone());
        thread::spawn(move || member(processor, make, &started, &gate, &answer));
        starts.push(start);
    }
    for _ in 0..count {
        answers.recv()??;
    }
    let mut round = 0;
    Ok(Case::new(name, move || -> Chunk {
        round += count;
        for start in &starts {
            start.send(round).map_err(|_| "a thread has ended")?;
        }
        let (mut operations, mut took) = (0, Duration::ZERO);
        for _ in 0..count {
            let (done, time) = answers.recv().map_err(|_| "a thread has ended")??;
            operations += done;
            took += time / count as u32;
        }
        Ok((operations, took))
    }))
}

/// Answers once when it is ready, and once for each round.
fn member(
    processor: usize,
    make: Make,
    rounds: &Receiver<usize>,
    gate: &AtomicUsize,
    answer: &Sender<Chunk>,
) {
    let shown = |error: Failure| error.to_string();
    let made = pin(processor).and_then(|()| make());
    let mut job = match made {
        Ok(job) => job,
        Err(error) => return drop(answer.send(Err(shown(error)))),
    };
    let _ = answer.send(Ok((0, Duration::ZERO)));
    while let Ok(round) = rounds.recv() {
        let prepared = (job.prepare)().and_then(|()| pass(gate, round));
        let begun = processor_time();
        let worked = prepared.and_then(|()| (job.work)());
        let took = processor_time() - begun;
        let told = worked.map(|()| (job.operations, took)).map_err(shown);
        if answer.send(told).is_err() {
            return;
        }
    }
}

/// Waits, awake, until so many threads have come.
fn pass(gate: &AtomicUsize, round: usize) -> Result<(), Failure> {
    let begun = Instant::now();
    gate.fetch_add(1, Ordering::AcqRel);
    while gate.load(Ordering::Acquire) < round {
        if begun.elapsed() > PATIENCE {
            return Err("the other thread did not come".into());
        }
        spin_loop();
    }
    Ok(())
}

fn pin(processor: usize) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Of the calling thread.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn receivers(count: usize) -> Result<Vec<Make>, Failure> {
    let mut makes: Vec<Make> = Vec::new();
    for (socket, flow) in group(count)? {
        makes.push(Box::new(move || receiver(socket, flow)));
    }
    Ok(makes)
}

/// Sockets of one port, among which the kernel divides the flows, and a flow to each.
fn group(count: usize) -> Result<Vec<(UdpSocket, Plain)>, Failure> {
    let mut at = loopback();
    let mut members = Vec::new();
    for _ in 0..count {
        let member = sharing(at)?;
        at = member.local_addr()?;
        members.push((UdpSocket::adopt(member)?, None));
    }
    for (member, _) in &members {
        member.configure(Timestamping::OFF.receive())?;
    }
    let mut buffer = [0; 2_048];
    for _ in 0..FLOWS {
        let flow = sender(at)?;
        flow.send(&PAYLOAD)?;
        for (member, its_flow) in &mut members {
            if member.receive(&mut buffer, Duration::ZERO)?.is_some() && its_flow.is_none() {
                *its_flow = Some(flow.try_clone()?);
            }
        }
    }
    members
        .into_iter()
        .map(|(member, flow)| Ok((member, flow.ok_or("no flow came to one of the sockets")?)))
        .collect()
}

/// A socket whose port others may have too.
fn sharing(at: SocketAddr) -> Result<Plain, Failure> {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    setsockopt(&socket, sockopt::ReusePort, &true)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(at))?;
    Ok(Plain::from(socket))
}

/// Fills the socket's queue before.
fn filling(flow: Plain) -> Step {
    Box::new(move || {
        for _ in 0..WAITING {
            flow.send(&PAYLOAD)?;
        }
        Ok(())
    })
}

fn receiver(socket: UdpSocket, flow: Plain) -> Result<Job, Failure> {
    // for as long as the bench runs, so that the batch is made once
    let buffers: &'static mut [[u8; 2_048]] = Vec::leak(vec![[0; 2_048]; BATCH]);
    let mut incoming: Vec<_> = buffers
        .iter_mut()
        .map(|buffer| Incoming::new(buffer))
        .collect();
    let work = move || {
        let mut taken = 0;
        while taken < WAITING {
            let count = socket.receive_batch(&mut incoming, MonotonicTime::MIN)?;
            let timestamped = incoming[..count]
                .iter()
                .all(|one| one.received.timestamps.software.is_some());
            if count == 0 || !timestamped {
                return Err(format!("{taken} of {WAITING} came timestamped").into());
            }
            taken += count;
        }
        Ok(())
    };
    Ok(Job {
        operations: WAITING as u64,
        prepare: filling(flow),
        work: Box::new(work),
    })
}

fn lenders(count: usize) -> Result<Vec<Make>, Failure> {
    let mut makes: Vec<Make> = Vec::new();
    for _ in 0..count {
        makes.push(Box::new(lender));
    }
    Ok(makes)
}

fn lender() -> Result<Job, Failure> {
    let socket = UdpSocket::bind(loopback())?;
    socket.configure(Timestamping::OFF.receive())?;
    let flow = sender(socket.local_address()?)?;
    let mut receiver = PacketReceiver::new(1_472);
    receiver.add(Arc::new(socket))?;
    let work = move || {
        let mut taken = 0;
        while taken < WAITING {
            let packets = receiver.receive(LONG)?;
            if packets.len() == 0 {
                return Err(format!("{taken} of {WAITING} came").into());
            }
            for packet in packets {
                black_box(packet.payload);
                taken += usize::from(packet.received.timestamps.software.is_some());
            }
        }
        Ok(())
    };
    Ok(Job {
        operations: WAITING as u64,
        prepare: filling(flow),
        work: Box::new(work),
    })
}

fn senders(count: usize) -> Result<Vec<Make>, Failure> {
    let mut makes: Vec<Make> = Vec::new();
    for _ in 0..count {
        makes.push(Box::new(timestamping_sender));
    }
    Ok(makes)
}

fn timestamping_sender() -> Result<Job, Failure> {
    let setting = Setting::Loopback;
    let sink = setting.sink()?;
    let socket = UdpSocket::bind(setting.local())?;
    socket.connect(sink.address)?;
    socket.configure(Timestamping::OFF.transmit(256))?;
    let (mut next, mut records) = (0u32, [TransmitRecord::EMPTY; BATCH]);
    let work = move || {
        let _open = &sink;
        let outgoing: [_; BATCH] = std::array::from_fn(|place| {
            Outgoing::new(&PAYLOAD).id(TransmitId(next.wrapping_add(place as u32)))
        });
        next = next.wrapping_add(BATCH as u32);
        let (sent, mut timestamped) = (socket.send_batch(&outgoing)?, 0);
        while timestamped < sent {
            let count = socket.wait_transmit_timestamps(&mut records, LONG)?;
            let all = records[..count]
                .iter()
                .all(|record| matches!(record.outcome, TransmitOutcome::Timestamped(_)));
            if count == 0 || !all {
                return Err(format!("{timestamped} of {sent} were timestamped").into());
            }
            timestamped += count;
        }
        match sent {
            BATCH => Ok(()),
            _ => Err(format!("{sent} of {BATCH} were sent").into()),
        }
    };
    Ok(Job {
        operations: BATCH as u64,
        prepare: Box::new(|| Ok(())),
        work: Box::new(work),
    })
}
