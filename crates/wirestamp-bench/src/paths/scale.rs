//! The case of many sockets on one thread: what a datagram costs when it comes to any of them.

use super::Path;
use super::report::Goal;
use super::sockets::{BATCH, PAYLOAD, Runtime, loopback};
use super::timing::Case;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::cell::Cell;
use std::error::Error;
use std::net::UdpSocket;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;
use wirestamp::tokio::AsyncUdpSocket;
use wirestamp::{PacketReceiver, Timestamping};

type Failure = Box<dyn Error>;

const MANY: usize = 1_000;
const ALL: &str = "1,000 sockets";
const FEW: &str = "64 sockets";
/// A socket has five while tokio watches it.
const DESCRIPTORS: u64 = 6 * MANY as u64;

pub(crate) fn paths(runtime: &Runtime) -> Result<Vec<Path>, Failure> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(
        Resource::RLIMIT_NOFILE,
        soft.max(DESCRIPTORS.min(hard)),
        hard,
    )?;
    let goals = || {
        vec![Goal {
            peer: FEW,
            at_most: 1.20,
        }]
    };
    Ok(vec![
        Path {
            name: "receive, many sockets on one thread, one receiver",
            cases: vec![receiver_case(ALL, MANY)?, receiver_case(FEW, BATCH)?],
            goals: goals(),
        },
        Path {
            name: "receive, many sockets on one thread, a task each",
            cases: vec![case(ALL, MANY, runtime)?, case(FEW, BATCH, runtime)?],
            goals: goals(),
        },
    ])
}

/// Sends to 64 of the sockets in turn and receives what came.
fn receiver_case(name: &'static str, count: usize) -> Result<Case, Failure> {
    let mut receiver = PacketReceiver::new(1_472);
    let mut addresses = Vec::new();
    for _ in 0..count {
        let socket = wirestamp::UdpSocket::bind(loopback())?;
        socket.configure(Timestamping::OFF.receive())?;
        addresses.push(socket.local_address()?);
        receiver.add(Arc::new(socket))?;
    }
    let from = UdpSocket::bind(loopback())?;
    let mut next = 0;
    Ok(Case::new(name, move || {
        let begun = Instant::now();
        for _ in 0..BATCH {
            from.send_to(&PAYLOAD, addresses[next])
                .map_err(|error| error.to_string())?;
            next = (next + 1) % count;
        }
        let mut received = 0;
        while received < BATCH {
            let packets = receiver
                .receive(Duration::from_secs(1))
                .map_err(|error| error.to_string())?;
            if packets.len() == 0 {
                return Err(format!("{received} of {BATCH} came"));
            }
            received += packets
                .filter(|packet| packet.received.timestamps.software.is_some())
                .count();
        }
        Ok((BATCH as u64, begun.elapsed()))
    }))
}

/// Sends to 64 of the sockets in turn and waits until each has received its datagram.
fn case(name: &'static str, count: usize, runtime: &Runtime) -> Result<Case, Failure> {
    let (runtime, tasks, received) = (runtime.clone(), LocalSet::new(), Rc::new(Cell::new(0)));
    let mut addresses = Vec::new();
    let _inside = runtime.enter();
    for _ in 0..count {
        let socket = wirestamp::UdpSocket::bind(loopback())?;
        socket.configure(Timestamping::OFF.receive())?;
        addresses.push(socket.local_address()?);
        let (socket, received) = (AsyncUdpSocket::new(socket)?, Rc::clone(&received));
        tasks.spawn_local(async move {
            let mut buffer = [0; 2_048];
            while let Ok(one) = socket.receive(&mut buffer).await {
                received.set(received.get() + usize::from(one.timestamps.software.is_some()));
            }
        });
    }
    drop(_inside);
    let from = UdpSocket::bind(loopback())?;
    let mut next = 0;
    Ok(Case::new(name, move || {
        let begun = Instant::now();
        received.set(0);
        for _ in 0..BATCH {
            from.send_to(&PAYLOAD, addresses[next])
                .map_err(|error| error.to_string())?;
            next = (next + 1) % count;
        }
        let all = async {
            for _ in 0..1_000_000 {
                if received.get() == BATCH {
                    return Ok(());
                }
                tokio::task::yield_now().await;
            }
            Err(format!("{} of {BATCH} came", received.get()))
        };
        runtime.block_on(tasks.run_until(all))?;
        Ok((BATCH as u64, begun.elapsed()))
    }))
}
