//! `capture IFACE --queues N -w FILE`: the kernel divides the packets by flow among N rings; a thread for each encodes them, and this
//! one writes all into one file, in order of time. In a simulation, where threads would race for the time, this one does it in turn.

use super::clock::Clock;
use super::live::{End, STEP};
use super::sink::{Counted, Ended, LAST, PIECE, Sink, encode};
use crate::failure::Failure;
use crate::session::Session;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use wirestamp::capture::{CaptureBlock, CaptureStatistics, LinkType};
use wirestamp::{Capture, Error, ErrorKind, MonotonicTime};
use wirestamp_capture::merge::{Batch, Mark, Merge};
use wirestamp_capture::pcapng::Encoder;

/// How often a queue without packets says so: the others' packets wait for that.
const TURN: Duration = Duration::from_millis(20);
/// The kernel hands packets over this long after their timestamps, at most: it holds blocks for 20 ms, and its timer may be late.
const HELD: u64 = 100_000_000;
/// Timestamps in one queue are this far from being in order: those of two processors.
const JUMBLED: u64 = 1_000_000;
/// Batches of one queue that wait for the file. Beyond, packets wait in the kernel's buffer, which counts those for which it has no room.
const WAITING: usize = 8;

/// What a queue's thread hands over.
struct Told {
    queue: usize,
    batch: Batch,
    /// Earlier packets don't come any more.
    until: u64,
    counted: CaptureStatistics,
}

type Message = Result<Told, Error>;

/// Writes until the end.
pub(super) fn run(
    sink: &mut Sink<'_>,
    captures: Vec<Capture>,
    end: End,
    session: &Session,
) -> Result<Ended, Failure> {
    let mut writer = Writer::new(&captures, sink);
    let count = captures.len();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // it is gone before the threads are waited for, whatever fails: none of them waits for room in it for ever
        let (sender, receiver) = sync_channel(WAITING * count);
        for (queue, capture) in captures.into_iter().enumerate() {
            let (sender, stop) = (sender.clone(), &stop);
            let reader = Reader::new(queue, &sink.clock);
            let thread = thread::Builder::new().name(format!("capture {queue}"));
            let started = thread.spawn_scoped(scope, move || read(reader, capture, stop, &sender));
            if let Err(error) = started {
                stop.store(true, Ordering::Relaxed);
                let cause = "the system starts no more threads";
                let name = sink.captured.interface.as_str();
                let error = Error::new(ErrorKind::Busy, "capture", name, cause).with_system(&error);
                return Err(error.with_remedy("ask for fewer --queues").into());
            }
        }
        drop(sender);
        sink.begin(writer.link_type)?;
        let written = writer.write_all(sink, &receiver, end, session, &stop);
        stop.store(true, Ordering::Relaxed);
        written?;
        writer.end(sink)
    })
}

/// The same in a simulation.
pub(super) fn run_in_turn(
    sink: &mut Sink<'_>,
    captures: Vec<Capture>,
    mut end: End,
    session: &Session,
) -> Result<Ended, Failure> {
    let mut writer = Writer::new(&captures, sink);
    sink.begin(writer.link_type)?;
    let with_reader = |(queue, capture)| (Reader::new(queue, &sink.clock), capture);
    let mut queues: Vec<_> = captures.into_iter().enumerate().map(with_reader).collect();
    while writer.failure.is_none() && !session.is_interrupted() && sink.wanted() > 0 {
        let left = end.left(sink.clock.now()).unwrap_or(TURN);
        if left.is_zero() {
            break;
        }
        // time passes at the first one, for all
        let mut wait = TURN.min(left);
        for (reader, capture) in &mut queues {
            loop {
                match reader.turn(capture, wait) {
                    Ok(told) if told.batch.marks.is_empty() => {
                        writer.put(told, sink);
                        break;
                    }
                    Ok(told) => {
                        writer.put(told, sink);
                        end.came(sink.clock.now());
                    }
                    Err(error) => {
                        writer.failure.get_or_insert(error);
                        break;
                    }
                }
                wait = Duration::ZERO;
            }
            wait = Duration::ZERO;
        }
        writer.write(sink)?;
        writer.rotate(sink)?;
    }
    sink.captured.interrupted = session.is_interrupted();
    for (reader, capture) in &mut queues {
        let rest = reader.rest(capture, |told| {
            writer.put(told, sink);
            ControlFlow::Continue(())
        });
        if let Err(error) = rest {
            writer.failure.get_or_insert(error);
        }
    }
    writer.write(sink)?;
    writer.end(sink)
}

/// Puts together what the queues' threads hand over.
struct Writer {
    merge: Merge,
    link_type: LinkType,
    counted: Vec<CaptureStatistics>,
    begun: MonotonicTime,
    piece: Vec<u8>,
    /// Why one of the queues could not go on: what all have is written, and nothing more is taken.
    failure: Option<Error>,
}

impl Writer {
    fn new(captures: &[Capture], sink: &Sink<'_>) -> Self {
        let count = captures.len();
        Self {
            merge: Merge::new(count),
            link_type: captures
                .first()
                .map_or(LinkType::Ethernet, Capture::link_type),
            counted: vec![CaptureStatistics::default(); count],
            begun: sink.clock.now(),
            piece: Vec::with_capacity(2 * PIECE),
            failure: None,
        }
    }

    fn write_all(
        &mut self,
        sink: &mut Sink<'_>,
        receiver: &Receiver<Message>,
        end: End,
        session: &Session,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        loop {
            let left = end.left(sink.clock.now()).unwrap_or(STEP);
            let is_over = left.is_zero() || session.is_interrupted() || sink.wanted() == 0;
            if is_over && !stop.swap(true, Ordering::Relaxed) {
                sink.captured.interrupted = session.is_interrupted();
            }
            match receiver.recv_timeout(STEP.min(left.max(TURN))) {
                Ok(Err(error)) => {
                    stop.store(true, Ordering::Relaxed);
                    self.failure.get_or_insert(error);
                }
                Ok(Ok(told)) => self.put(told, sink),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.write(sink),
            }
            self.write(sink)?;
            self.rotate(sink)?;
        }
    }

    fn put(&mut self, told: Told, sink: &Sink<'_>) {
        self.counted[told.queue] = told.counted;
        let now = sink.clock.since(self.begun);
        self.merge.put(told.queue, told.batch, told.until, now);
    }

    /// Begins the next file, if it is due.
    fn rotate(&self, sink: &mut Sink<'_>) -> Result<(), Failure> {
        if sink.is_full() {
            sink.end(&self.counted())?;
            sink.begin(self.link_type)?;
        }
        Ok(())
    }

    /// Completes the file.
    fn end(self, sink: &mut Sink<'_>) -> Result<Ended, Failure> {
        let counted = self.counted();
        sink.end(&counted)?;
        Ok(Ended {
            counted,
            failure: self.failure.map(Failure::from),
        })
    }

    /// Writes what is due.
    fn write(&mut self, sink: &mut Sink<'_>) -> Result<(), Failure> {
        while sink.wanted() > 0 {
            let (wanted, now) = (sink.wanted(), sink.clock.since(self.begun));
            let has_more = self.merge.take(&mut self.piece, wanted, PIECE, now);
            let totals = self.merge.totals();
            let told = &mut sink.captured;
            (told.packets, told.packets_bytes) = (totals.packets, totals.packets_bytes);
            (told.without_utc, told.out_of_order) = (totals.without_utc, totals.out_of_order);
            if let Some(files) = &mut sink.files {
                files.write(&self.piece)?;
            }
            self.piece.clear();
            if !has_more {
                break;
            }
        }
        Ok(())
    }

    fn counted(&self) -> Vec<Counted> {
        let all = self.counted.iter().enumerate();
        all.map(|(queue, kernel)| Counted {
            kernel: *kernel,
            written: self.merge.given(queue),
        })
        .collect()
    }
}

/// Encodes the packets of one queue until it is to stop, and then what the kernel has counted until then.
fn read(mut reader: Reader, mut capture: Capture, stop: &AtomicBool, to: &SyncSender<Message>) {
    let give = |message| match to.send(message) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()), // nobody listens any more
    };
    let mut failure = None;
    while failure.is_none() && !stop.load(Ordering::Relaxed) {
        match reader.turn(&mut capture, TURN) {
            Ok(told) => {
                if give(Ok(told)).is_break() {
                    return;
                }
            }
            Err(error) => failure = Some(error),
        }
    }
    let rest = reader.rest(&mut capture, |told| give(Ok(told)));
    if let Some(error) = failure.or(rest.err()) {
        let _ = give(Err(error));
    }
}

struct Reader {
    queue: usize,
    clock: Clock,
    encoder: Encoder,
    marks: Vec<Mark>,
    /// Of the last packet.
    time: u64,
    packets: u64,
}

impl Reader {
    fn new(queue: usize, clock: &Clock) -> Self {
        Self {
            queue,
            clock: clock.clone(),
            encoder: Encoder::new(),
            marks: Vec::new(),
            time: 0,
            packets: 0,
        }
    }

    /// Takes a block, if one comes in time.
    fn turn(&mut self, capture: &mut Capture, wait: Duration) -> Result<Told, Error> {
        let asked = self.clock.since_1970();
        let until = match capture.next_block(wait)? {
            Some(block) => {
                self.encode(&block, u64::MAX);
                self.time.saturating_sub(JUMBLED)
            }
            None => asked.saturating_sub(HELD),
        };
        let counted = capture.statistics()?;
        Ok(self.told(until, counted))
    }

    /// Takes what the kernel has counted and not yet handed over.
    fn rest(
        &mut self,
        capture: &mut Capture,
        mut give: impl FnMut(Told) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let counted = capture.statistics()?;
        let all = counted.received.saturating_sub(counted.dropped);
        while self.packets < all {
            let Some(block) = capture.next_block(LAST)? else {
                break;
            };
            self.encode(&block, all - self.packets);
            let until = self.time.saturating_sub(JUMBLED);
            drop(block);
            if give(self.told(until, counted)).is_break() {
                return Ok(());
            }
        }
        let _ = give(self.told(u64::MAX, counted));
        Ok(())
    }

    fn encode(&mut self, block: &CaptureBlock<'_>, most: u64) {
        let queue = self.queue as u32;
        for packet in block
            .packets()
            .take(usize::try_from(most).unwrap_or(usize::MAX))
        {
            let utc = encode(&packet, queue, &mut self.encoder);
            self.time = utc.unwrap_or(self.time);
            self.packets += 1;
            self.marks.push(Mark {
                time: self.time,
                end: self.encoder.bytes().len(),
                length: packet.length(),
                has_utc: utc.is_some(),
            });
        }
    }

    /// What it has encoded.
    fn told(&mut self, until: u64, counted: CaptureStatistics) -> Told {
        Told {
            queue: self.queue,
            batch: Batch {
                bytes: self.encoder.take(),
                marks: std::mem::take(&mut self.marks),
            },
            until,
            counted,
        }
    }
}
