//! Shows the rest of row 16: once sockets are configured and buffers made, nothing is
//! allocated per packet: not by sending, not by receiving, not by fetching transmit timestamps.
//!
//! On this machine's loopback interface; what the simulator allocates for its own records is
//! no concern of a user's. A binary of its own, because it replaces the allocator.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use allocation_counter::measure;
use nix::sched::{CloneFlags, unshare};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;
use wirestamp::socket::Identification;
use wirestamp::xdp::{XdpSendOptions, XdpSender};
use wirestamp::{
    Incoming, Interface, Outgoing, Received, Result, Source, Span, Timestamping, TransmitAnswer,
    TransmitId, TransmitRecord, UdpSocket,
};

/// Larger than one system call takes.
const BATCH: usize = 100;
const PATIENCE: Duration = Duration::from_secs(2);
/// Until everything that grows once has grown.
const WARM_UP: u32 = 3;

struct Pair {
    sender: UdpSocket,
    receiver: UdpSocket,
    to: SocketAddr,
}

fn pair(local: SocketAddr, sending: Timestamping) -> Result<Pair> {
    let loopback = Interface::loopback()?;
    let (sender, receiver) = (loopback.bind(local)?, loopback.bind(local)?);
    sender.configure(sending)?;
    receiver.configure(Timestamping::OFF.receive().source(sending.source))?;
    let to = receiver.local_address()?;
    Ok(Pair {
        sender,
        receiver,
        to,
    })
}

/// Sends, receives and fetches a batch; returns how many of each.
fn run_batch(
    pair: &Pair,
    batch: &[Outgoing<'_>],
    room: &mut [Incoming<'_>],
    records: &mut [TransmitRecord],
) -> Result<[usize; 3]> {
    let mut counts = [0; 3];
    while counts[0] < batch.len() {
        counts[0] += pair.sender.send_batch(&batch[counts[0]..])?;
    }
    while counts[1] < batch.len() {
        counts[1] += pair
            .receiver
            .receive_batch(room, pair.receiver.now() + Span::from(PATIENCE))?;
    }
    while counts[2] < batch.len() {
        counts[2] += pair.sender.wait_transmit_timestamps(records, PATIENCE)?;
    }
    Ok(counts)
}

fn batches_allocate_nothing(local: SocketAddr, sending: Timestamping) -> Result<()> {
    let pair = pair(local, sending)?;
    let mut storage = vec![0; BATCH * 64];
    let mut room: Vec<_> = storage.chunks_mut(64).map(Incoming::new).collect();
    let mut records = [TransmitRecord::EMPTY; BATCH];
    let batches: Vec<Vec<_>> = (0..20u32)
        .map(|number| number * BATCH as u32)
        .map(|first| first..first + BATCH as u32)
        .map(|ids| {
            ids.map(|id| Outgoing::new(b"x").to(pair.to).id(TransmitId(id)))
                .collect()
        })
        .collect();
    for (number, batch) in (0u32..).zip(&batches) {
        let mut counts = Ok([0; 3]);
        let allocations = measure(|| counts = run_batch(&pair, batch, &mut room, &mut records));
        assert_eq!(counts?, [BATCH; 3]);
        assert!(
            number < WARM_UP || allocations.count_total == 0,
            "batch {number}: {allocations:?}"
        );
    }
    let counters = pair.sender.counters();
    assert_eq!(
        (counters.timestamped, counters.missing_in_all()),
        (20 * BATCH as u64, 0),
        "{counters:?}"
    );
    Ok(())
}

/// One packet: there, and its timestamp.
fn run_one(pair: &Pair, id: u32, buffer: &mut [u8]) -> Result<(Option<Received>, TransmitAnswer)> {
    pair.sender.send_to(b"x", pair.to, Some(TransmitId(id)))?;
    let received = pair.receiver.receive(buffer, PATIENCE)?;
    Ok((
        received,
        pair.sender
            .wait_transmit_timestamp(TransmitId(id), PATIENCE)?,
    ))
}

fn single_packets_allocate_nothing(local: SocketAddr, sending: Timestamping) -> Result<()> {
    let pair = pair(local, sending)?;
    let mut buffer = [0; 64];
    for id in 0..500 {
        let mut outcome = Ok((None, TransmitAnswer::Unknown));
        let allocations = measure(|| outcome = run_one(&pair, id, &mut buffer));
        let (received, answer) = outcome?;
        assert!(
            received.is_some() && matches!(answer, TransmitAnswer::Resolved(_)),
            "{received:?} {answer:?}"
        );
        assert!(
            id < WARM_UP || allocations.count_total == 0,
            "packet {id}: {allocations:?}"
        );
    }
    Ok(())
}

const IPV4: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const IPV6: SocketAddr = SocketAddr::new(std::net::IpAddr::V6(Ipv6Addr::LOCALHOST), 0);
const CARRIED: Timestamping = Timestamping::OFF.transmit(1_000);
const COUNTED: Timestamping = CARRIED.identification(Identification::Counter);

#[test]
fn batches_with_carried_ids() -> Result<()> {
    batches_allocate_nothing(IPV4, CARRIED)?;
    batches_allocate_nothing(IPV6, CARRIED)
}

#[test]
fn batches_with_their_times_in_the_queue() -> Result<()> {
    batches_allocate_nothing(IPV4, CARRIED.queueing())?;
    batches_allocate_nothing(IPV4, COUNTED.queueing())
}

#[test]
fn batches_with_counted_ids() -> Result<()> {
    batches_allocate_nothing(IPV4, COUNTED)
}

#[test]
fn batches_with_both_sources() -> Result<()> {
    batches_allocate_nothing(IPV4, CARRIED.source(Source::HardwareElseSoftware))
}

#[test]
fn single_packets_with_carried_ids() -> Result<()> {
    single_packets_allocate_nothing(IPV4, CARRIED)?;
    single_packets_allocate_nothing(IPV6, CARRIED)
}

#[test]
fn single_packets_with_counted_ids() -> Result<()> {
    single_packets_allocate_nothing(IPV4, COUNTED)
}

/// Waits that really wait: for a datagram, for a timestamp, for any timestamp.
#[test]
fn waits() -> Result<()> {
    const MOMENT: Duration = Duration::from_millis(2);
    let silent = CARRIED
        .source(Source::Hardware)
        .transmit_deadline(Span::from_seconds(100));
    let pair = pair(IPV4, silent)?;
    pair.sender.send_to(b"x", pair.to, Some(TransmitId(1)))?;
    let (mut buffer, mut records) = ([0; 64], [TransmitRecord::EMPTY; 4]);
    for round in 0..10 {
        let mut answer = Ok(TransmitAnswer::Unknown);
        let allocations = measure(|| {
            answer = pair.sender.receive(&mut buffer, MOMENT).and_then(|_| {
                pair.sender.wait_transmit_timestamps(&mut records, MOMENT)?;
                pair.sender.wait_transmit_timestamp(TransmitId(1), MOMENT)
            });
        });
        assert_eq!(answer?, TransmitAnswer::Pending);
        assert!(
            round < WARM_UP || allocations.count_total == 0,
            "round {round}: {allocations:?}"
        );
    }
    Ok(())
}

/// Frames by AF_XDP, on a pair of veth interfaces in a network namespace of the thread.
#[test]
fn frames_by_af_xdp() -> Result<()> {
    if let Err(missing) = unshare(CloneFlags::CLONE_NEWNET) {
        assert!(std::env::var_os("WIRESTAMP_NO_SKIP").is_none(), "{missing}");
        eprintln!("skipped: a network namespace: {missing}");
        return Ok(());
    }
    for line in [
        "link add xdp0 type veth peer name xdp1",
        "link set xdp1 up",
        "link set xdp0 up",
    ] {
        let status = Command::new("ip").args(line.split(' ')).status();
        assert!(status.expect("iproute2").success(), "ip {line}");
    }
    let options = XdpSendOptions::new().frames(64);
    let mut sender = Interface::find("xdp0")?.send_xdp(&options)?;
    let mut records = [TransmitRecord::EMPTY; BATCH];
    // until as many ids without a timestamp are remembered as there is room for: 2,176
    let warm_up = 22;
    for number in 0..60 {
        let mut count = Ok(0);
        let allocations = measure(|| count = send_frames(&mut sender, number, &mut records));
        assert_eq!(count?, BATCH);
        assert!(
            number < warm_up || allocations.count_total == 0,
            "batch {number}: {allocations:?}"
        );
    }
    Ok(())
}

/// More than there are frames; returns how many ids resolved.
fn send_frames(
    sender: &mut XdpSender,
    number: u32,
    records: &mut [TransmitRecord],
) -> Result<usize> {
    for id in 0..BATCH as u32 {
        let mut frame = sender.frame(PATIENCE).expect("a frame is free");
        frame.data()[..60].fill(0xff);
        frame.queue(60, TransmitId(number * BATCH as u32 + id))?;
    }
    let mut resolved = 0;
    loop {
        match sender.wait_transmit_timestamps(records, PATIENCE) {
            0 => return Ok(resolved),
            count => resolved += count,
        }
    }
}

/// What PLATFORM.md says of the memory of a socket: the heap; rings are mapped beside it.
#[test]
fn memory_is_bounded_by_the_capacity() -> Result<()> {
    let loopback = Interface::loopback()?;
    for (capacity, most) in [
        (None, 48 << 10),
        (Some(16), 192 << 10),
        (Some(64), 256 << 10),
        (Some(256), 512 << 10),
        (Some(u16::MAX), 64 << 20),
    ] {
        let mut timestamping = Timestamping::OFF.receive();
        timestamping.transmit = capacity;
        let mut socket = None;
        let allocations = measure(|| {
            socket = Some(
                loopback
                    .bind(IPV4)
                    .and_then(|socket| socket.configure(timestamping).map(|_| socket)),
            );
        });
        drop(socket.expect("it was made")?);
        assert!(
            allocations.bytes_current <= most,
            "{capacity:?}: {allocations:?}"
        );
    }
    Ok(())
}

/// Shows that the measurement would notice.
#[test]
fn an_allocation_is_noticed() {
    assert_eq!(measure(|| drop(Vec::<u8>::with_capacity(1))).count_total, 1);
}
