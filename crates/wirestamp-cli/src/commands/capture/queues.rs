//! `capture IFACE --queues N -w FILE`: the kernel divides the packets by flow among N rings; a thread for each encodes them, and this
//! one writes all into one file, in order of time.

use super::live::STEP;
use super::sink::{Counted, Ended, LAST, PIECE, Sink, encode, since_1970};
use crate::failure::Failure;
use crate::session::Session;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{Capture, CaptureBlock, CaptureStatistics, Error, ErrorKind, LinkType};
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
    end: Option<Instant>,
    session: &Session,
) -> Result<Ended, Failure> {
    let count = captures.len();
    let Some(link_type) = captures.first().map(Capture::link_type) else {
        return Ok(Ended {
            counted: Vec::new(),
            failure: None,
        });
    };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // it is gone before the threads are waited for, whatever fails: none of them waits for room in it for ever
        let (sender, receiver) = sync_channel(WAITING * count);
        for (queue, capture) in captures.into_iter().enumerate() {
            let (sender, stop) = (sender.clone(), &stop);
            let thread = thread::Builder::new().name(format!("capture {queue}"));
            let started = thread.spawn_scoped(scope, move || read(queue, capture, stop, &sender));
            if let Err(error) = started {
                stop.store(true, Ordering::Relaxed);
                let cause = "the system starts no more threads";
                let name = sink.captured.interface.as_str();
                let error = Error::new(ErrorKind::Busy, "capture", name, cause)
                    .with_code(error.raw_os_error().unwrap_or_default());
                return Err(error.with_remedy("ask for fewer --queues").into());
            }
        }
        drop(sender);
        sink.begin(link_type)?;
        let mut writer = Writer {
            merge: Merge::new(count),
            link_type,
            counted: vec![CaptureStatistics::default(); count],
            begun: Instant::now(),
            piece: Vec::with_capacity(2 * PIECE),
            failure: None,
        };
        let written = writer.write_all(sink, &receiver, end, session, &stop);
        stop.store(true, Ordering::Relaxed);
        written?;
        let counted = writer.counted();
        sink.end(&counted)?;
        Ok(Ended {
            counted,
            failure: writer.failure.map(Failure::from),
        })
    })
}

/// Puts together what the queues' threads hand over.
struct Writer {
    merge: Merge,
    link_type: LinkType,
    counted: Vec<CaptureStatistics>,
    begun: Instant,
    piece: Vec<u8>,
    /// Why one of the queues could not go on: what all have is written, and nothing more is taken.
    failure: Option<Error>,
}

impl Writer {
    fn write_all(
        &mut self,
        sink: &mut Sink<'_>,
        receiver: &Receiver<Message>,
        end: Option<Instant>,
        session: &Session,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        loop {
            let left = end.map_or(STEP, |end| end.saturating_duration_since(Instant::now()));
            let is_over = left.is_zero() || session.is_interrupted() || sink.wanted() == 0;
            if is_over && !stop.swap(true, Ordering::Relaxed) {
                sink.captured.interrupted = session.is_interrupted();
            }
            match receiver.recv_timeout(STEP.min(left.max(TURN))) {
                Ok(Err(error)) => {
                    stop.store(true, Ordering::Relaxed);
                    self.failure.get_or_insert(error);
                }
                Ok(Ok(told)) => {
                    self.counted[told.queue] = told.counted;
                    let now = self.begun.elapsed();
                    self.merge.put(told.queue, told.batch, told.until, now);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.write(sink),
            }
            self.write(sink)?;
            if sink.is_full() {
                sink.end(&self.counted())?;
                sink.begin(self.link_type)?;
            }
        }
    }

    /// Writes what is due.
    fn write(&mut self, sink: &mut Sink<'_>) -> Result<(), Failure> {
        while sink.wanted() > 0 {
            let (wanted, now) = (sink.wanted(), self.begun.elapsed());
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
fn read(queue: usize, capture: Capture, stop: &AtomicBool, to: &SyncSender<Message>) {
    let mut reader = Reader {
        queue,
        encoder: Encoder::new(),
        marks: Vec::new(),
        time: 0,
        packets: 0,
    };
    if let Err(error) = reader.read(capture, stop, to) {
        drop(to.send(Err(error))); // nobody is there who would want to know
    }
}

struct Reader {
    queue: usize,
    encoder: Encoder,
    marks: Vec<Mark>,
    /// Of the last packet.
    time: u64,
    packets: u64,
}

impl Reader {
    fn read(
        &mut self,
        mut capture: Capture,
        stop: &AtomicBool,
        to: &SyncSender<Message>,
    ) -> Result<(), Error> {
        let mut ended = Ok(());
        while ended.is_ok() && !stop.load(Ordering::Relaxed) {
            let asked = since_1970();
            let until = match capture.next_block(TURN) {
                Ok(Some(block)) => {
                    self.encode(&block, u64::MAX);
                    self.time.saturating_sub(JUMBLED)
                }
                Ok(None) => asked.saturating_sub(HELD),
                Err(error) => {
                    // what it has is taken below
                    ended = Err(error);
                    continue;
                }
            };
            let counted = capture.statistics()?;
            if self.tell(to, until, counted).is_break() {
                return Ok(());
            }
        }
        let counted = capture.statistics()?;
        let all = counted.received.saturating_sub(counted.dropped);
        while self.packets < all {
            let Some(block) = capture.next_block(LAST)? else {
                break;
            };
            self.encode(&block, all - self.packets);
            let until = self.time.saturating_sub(JUMBLED);
            if self.tell(to, until, counted).is_break() {
                return Ok(());
            }
        }
        let _ = self.tell(to, u64::MAX, counted);
        ended
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

    /// `Break`: nobody listens any more.
    fn tell(
        &mut self,
        to: &SyncSender<Message>,
        until: u64,
        counted: CaptureStatistics,
    ) -> ControlFlow<()> {
        let batch = Batch {
            bytes: self.encoder.take(),
            marks: std::mem::take(&mut self.marks),
        };
        let queue = self.queue;
        let told = Told {
            queue,
            batch,
            until,
            counted,
        };
        if to.send(Ok(told)).is_err() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
