//! The run at full rate: bursts of timestamped datagrams, one after the other, beside a second
//! sender on the same device, where the order of timestamps is not that of the sends. Every id must
//! be timestamped, at a time within its own burst.

use super::receiving::RING;
use super::sockets::{BATCH, PAYLOAD, Setting, with_tun};
use std::error::Error;
use std::io::{Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::socket::{Engine, IoUringState};
use wirestamp::{
    MonotonicTime, Outgoing, Timestamping, TransmitId, TransmitOutcome, TransmitRecord, UdpSocket,
};

type Failure = Box<dyn Error>;

const LONG: Duration = Duration::from_secs(2);

/// Runs both engines in both settings, `length` each, and prints what came of it.
///
/// # Errors
/// An id that was lost, or that got another datagram's timestamp.
pub(super) fn run(length: Duration) -> Result<(), Failure> {
    for engine in [Engine::Calls, RING] {
        tell(
            "loopback",
            engine,
            run_one(Setting::Loopback, engine, length)?,
        )?;
        let on_tun = || run_one(Setting::Tun, engine, length).map_err(|error| error.to_string());
        match with_tun(None, on_tun)? {
            Some(sent) => tell("TUN", engine, sent)?,
            None => writeln!(stdout(), "TUN: skipped, it takes CAP_NET_ADMIN")?,
        }
    }
    Ok(())
}

fn tell(setting: &str, engine: Engine, (sent, took): (u64, Duration)) -> Result<(), Failure> {
    let rate = sent as f64 / took.as_secs_f64() / 1_000.0;
    writeln!(
        stdout(),
        "{setting}, {engine:?}: {sent} ids, all timestamped, none wrong; {rate:.0} thousand a second"
    )?;
    Ok(())
}

fn run_one(setting: Setting, engine: Engine, length: Duration) -> Result<(u64, Duration), Failure> {
    let sink = setting.sink()?;
    let socket = UdpSocket::bind(setting.local())?;
    socket.connect(sink.address)?;
    let granted = socket.configure(Timestamping::OFF.transmit(256).engine(engine))?;
    if let IoUringState::Refused(refusal) = granted.transmit_ring {
        writeln!(stdout(), "calls instead of completions: {refusal}")?;
    }
    let second = setting.sender(setting.sink()?.address)?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let _ = second.send(&PAYLOAD); // refused by nobody who listens: no matter
            }
        });
        let outcome = bursts(&socket, length);
        over.store(true, Ordering::Relaxed);
        outcome
    })
}

fn bursts(socket: &UdpSocket, length: Duration) -> Result<(u64, Duration), Failure> {
    let mut records = [TransmitRecord::EMPTY; BATCH];
    let (begun, mut next, mut sent) = (Instant::now(), 0u32, 0u64);
    while begun.elapsed() < length {
        let outgoing: [_; BATCH] = std::array::from_fn(|place| {
            Outgoing::new(&PAYLOAD).id(TransmitId(next.wrapping_add(place as u32)))
        });
        let before = socket.now();
        let went = socket.send_batch(&outgoing)?;
        let mut seen = 0u64; // a bit for each
        let mut ended = 0;
        while ended < went {
            let count = socket.wait_transmit_timestamps(&mut records, LONG)?;
            if count == 0 {
                return Err(format!(
                    "{} of {went} ids have not ended within {LONG:?}",
                    went - ended
                )
                .into());
            }
            for record in &records[..count] {
                let place = record.id.0.wrapping_sub(next);
                if place as usize >= went || seen >> place & 1 == 1 {
                    return Err(format!("id {} ended, and it was not awaited", record.id).into());
                }
                seen |= 1 << place;
                check(record, before, socket.now())?;
            }
            ended += count;
        }
        next = next.wrapping_add(went as u32);
        sent += went as u64;
    }
    let counters = socket.counters();
    let unexpected =
        counters.missing_in_all() + counters.stray + counters.late + counters.duplicate;
    if counters.timestamped != sent || unexpected != 0 {
        return Err(format!("{sent} were sent: {counters:?}").into());
    }
    Ok((sent, begun.elapsed()))
}

/// A timestamp from outside of the burst is another datagram's.
fn check(
    record: &TransmitRecord,
    before: MonotonicTime,
    after: MonotonicTime,
) -> Result<(), Failure> {
    let TransmitOutcome::Timestamped(timestamps) = record.outcome else {
        return Err(format!("id {}: {:?}", record.id, record.outcome).into());
    };
    let timestamp = timestamps.software.ok_or("no software timestamp")?;
    if timestamp.at.value + timestamp.at.bound < before
        || timestamp.at.value - timestamp.at.bound > after
    {
        return Err(format!(
            "id {} has a timestamp from {:?}, not within {before:?} to {after:?}",
            record.id, timestamp.at.value
        )
        .into());
    }
    Ok(())
}
