//! Where captured packets go: the terminal, or pcapng files with what was counted; and the summary at the end.

use super::clock::Clock;
use super::file::{Files, Rotation};
use super::live::STEP;
#[cfg(feature = "parquet")]
use super::parquet::Store;
use super::shown::Shown;
#[cfg(not(feature = "parquet"))]
use super::without_parquet::Store;
use crate::arguments::{self, Form};
use crate::failure::Failure;
use crate::output::{Output, Page, grouped, plural};
use serde::Serialize;
use std::time::Duration;
use wirestamp::capture::{CaptureBlock, CaptureStatistics, CapturedPacket, LinkType};
use wirestamp::time::Utc;
use wirestamp::{Capture, Estimate, Interface, MonotonicTime, Source, Span, TimestampSource};
use wirestamp_capture::note::{Known, Note};
use wirestamp_capture::pcapng::{Encoder, Head, Packet, Statistics};

/// Encoded packets are written in pieces of about this size.
pub(super) const PIECE: usize = 1 << 20;
/// At the end, packets that the kernel has counted are waited for so long.
pub(super) const LAST: Duration = Duration::from_millis(200);

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Summary {
    /// All of the capture.
    pub(super) summary: Captured,
}

#[derive(Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Captured {
    /// Name of the interface.
    pub(super) interface: String,
    /// The filter.
    filter: Option<String>,
    /// Whose clock was asked for.
    #[cfg_attr(feature = "schema", schemars(with = "TimestampSource"))]
    source: &'static str,
    /// What the NIC does not timestamp, in sentences: each packet has its clock.
    pub(super) warnings: Vec<&'static str>,
    /// How long the capture took.
    pub(super) duration_ns: u64,
    /// Packets captured.
    pub(super) packets: u64,
    /// Bytes that they had on the wire.
    pub(super) packets_bytes: u64,
    /// Packets that passed the filter, dropped ones included.
    received: u64,
    /// Packets that the kernel dropped because the buffer was full.
    dropped: u64,
    /// How often the buffer became full.
    freezes: u64,
    /// Packets whose timestamp could not be converted to UTC.
    pub(super) without_utc: u64,
    /// Packets that stand behind a later one.
    pub(super) out_of_order: u64,
    /// Packets that are no rows of the Parquet files: not IP, cut off, or between others.
    left_out: u64,
    /// Packets received and dropped by each queue, with --queues; otherwise empty.
    queues: Vec<Queue>,
    /// Complete files.
    files: Vec<String>,
    /// Whether a signal ended the run before --count or --for did.
    pub(super) interrupted: bool,
}

#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Queue {
    /// Packets in the files.
    packets: u64,
    /// Packets that passed the filter, dropped ones included.
    received: u64,
    /// Packets that the kernel dropped because the buffer was full.
    dropped: u64,
    /// How often the buffer became full.
    freezes: u64,
}

/// What a capture counted, and how many packets of it were written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    pub(super) kernel: CaptureStatistics,
    pub(super) written: u64,
}

/// How a capture ended: packets from before a failure are kept.
pub(super) struct Ended {
    /// Of each queue.
    pub(super) counted: Vec<Counted>,
    /// Why it could not go on.
    pub(super) failure: Option<Failure>,
}

/// The destination of packets.
pub(super) struct Sink<'a> {
    arguments: &'a arguments::Capture,
    pub(super) clock: Clock,
    /// When it was made.
    begun: MonotonicTime,
    /// When what waited was written last.
    written: MonotonicTime,
    encoder: Encoder,
    pub(super) files: Option<Files>,
    store: Option<Store>,
    pub(super) captured: Captured,
    file_begun: u64,
    /// The counts of each queue when it began.
    before: Vec<Counted>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(
        arguments: &'a arguments::Capture,
        interface: &Interface,
        filter: Option<String>,
        source: Source,
    ) -> Result<Self, Failure> {
        let rotation = Rotation {
            size: arguments.rotate_size,
            every: arguments.rotate_every,
            keep: arguments.files,
        };
        let files = arguments.write.as_deref();
        let files = files.map(|name| Files::new(name, rotation)).transpose()?;
        let clock = Clock::of(interface);
        let begun = clock.now();
        Ok(Self {
            arguments,
            begun,
            written: begun,
            clock,
            encoder: Encoder::new(),
            files,
            store: Store::open(arguments, interface.name())?,
            captured: Captured {
                interface: interface.name().to_owned(),
                filter,
                source: if source == Source::Software {
                    "software"
                } else {
                    "hardware"
                },
                ..Captured::default()
            },
            file_begun: 0,
            before: vec![Counted::default(); arguments.queues as usize],
        })
    }

    /// How many packets are still wanted.
    pub(super) fn wanted(&self) -> u64 {
        let count = self.arguments.count;
        count.map_or(u64::MAX, |count| count - self.captured.packets.min(count))
    }

    /// Whether packets are written, not shown.
    pub(super) fn is_recording(&self) -> bool {
        self.files.is_some() || self.store.is_some()
    }

    pub(super) fn is_full(&self) -> bool {
        let waiting = self.encoder.bytes().len();
        let files = self.files.as_ref();
        files.is_some_and(|files| files.is_full(waiting, self.clock.since(self.begun)))
    }

    /// Begins a file, if any is written.
    pub(super) fn begin(&mut self, link_type: LinkType) -> Result<(), Failure> {
        let Some(files) = &mut self.files else {
            return Ok(());
        };
        files.begin(self.clock.since(self.begun))?;
        self.encoder.head(&Head {
            program: concat!("wirestamp ", env!("CARGO_PKG_VERSION")),
            interface: &self.captured.interface,
            filter: self.captured.filter.as_deref(),
            link_type,
            snap_length: self.arguments.snaplen,
            queues: self.arguments.queues,
        });
        self.file_begun = self.clock.since_1970();
        self.write()
    }

    /// Ends it: `counted` of each queue since the capture began.
    pub(super) fn end(&mut self, counted: &[Counted]) -> Result<(), Failure> {
        if self.files.is_none() {
            return Ok(());
        }
        let ended = self.clock.since_1970();
        for ((queue, now), before) in (0..).zip(counted).zip(&mut self.before) {
            let (kernel, was) = (now.kernel, before.kernel);
            self.encoder.statistics(&Statistics {
                queue,
                counted: CaptureStatistics::new(
                    kernel.received.saturating_sub(was.received),
                    kernel.dropped.saturating_sub(was.dropped),
                    kernel.freezes.saturating_sub(was.freezes),
                ),
                packets: now.written.saturating_sub(before.written),
                begun: self.file_begun,
                ended,
            });
            *before = *now;
        }
        self.write()?;
        if let Some(files) = &mut self.files {
            files.finish()?;
        }
        Ok(())
    }

    /// Takes packets, `most` of them.
    pub(super) fn take(
        &mut self,
        block: &CaptureBlock<'_>,
        link_type: LinkType,
        most: u64,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let mut left = self.wanted().min(most);
        let mut page = Vec::new();
        for packet in block.packets() {
            if left == 0 {
                break;
            }
            left -= 1;
            self.captured.packets += 1;
            self.captured.packets_bytes += u64::from(packet.length());
            if let Some(store) = &mut self.store {
                store.packet(&packet, link_type)?;
                self.captured.left_out = store.left_out();
                if self.files.is_none() {
                    self.captured.without_utc += u64::from(packet.utc().is_err());
                }
            }
            if self.files.is_some() {
                let utc = encode(&packet, 0, &mut self.encoder);
                self.captured.without_utc += u64::from(utc.is_none());
                if self.encoder.bytes().len() >= PIECE {
                    self.write()?;
                }
            } else if self.store.is_none() {
                let shown = Shown::of(&packet, link_type);
                match output.form() {
                    Form::Table => page.push(shown.line()),
                    Form::Csv => output.row(&shown.packet)?,
                    Form::Json | Form::Ndjson => output.line(&shown)?,
                }
            }
        }
        if !page.is_empty() {
            output.now(|text| page.iter().for_each(|line| text.line(line)))?;
        }
        // whoever reads the file while it grows sees packets that come one by one, too
        if self.files.is_some() && self.clock.since(self.written) >= STEP {
            self.write()?;
        }
        self.store
            .as_mut()
            .map_or(Ok(()), |store| store.poll(self.clock.since_1970()))
            .map_err(Failure::from)
    }

    /// Writes what waits, while nothing comes.
    pub(super) fn wait(&mut self) -> Result<(), Failure> {
        if let Some(store) = &mut self.store {
            store.poll(self.clock.since_1970())?;
        }
        self.write()
    }

    /// Writes what is encoded.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        if let Some(files) = &mut self.files {
            files.write(self.encoder.bytes())?;
            self.written = self.clock.now();
        }
        self.encoder.clear();
        Ok(())
    }

    /// Takes what the kernel has `counted` and not yet handed over, so that each packet is there or among the dropped ones.
    pub(super) fn drain(
        &mut self,
        capture: &mut Capture,
        counted: CaptureStatistics,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let link_type = capture.link_type();
        let all = counted.received.saturating_sub(counted.dropped);
        while self.captured.packets < all && self.wanted() > 0 {
            let Some(block) = capture.next_block(LAST)? else {
                break;
            };
            let most = all - self.captured.packets;
            self.take(&block, link_type, most, output)?;
        }
        Ok(())
    }

    /// Completes the Parquet files; the summary of what was `counted` of each queue.
    pub(super) fn finish(mut self, counted: &[Counted]) -> Result<Summary, Failure> {
        let stored = self.store.take().map_or(Ok(()), Store::finish);
        self.files.as_mut().map_or(Ok(()), Files::settle)?;
        stored?;
        let queue = |counted: &Counted| Queue {
            packets: counted.written,
            received: counted.kernel.received,
            dropped: counted.kernel.dropped,
            freezes: counted.kernel.freezes,
        };
        let kernel = counted.iter().map(|one| one.kernel);
        let sum = kernel.fold(CaptureStatistics::default(), CaptureStatistics::plus);
        let told = &mut self.captured;
        (told.received, told.dropped, told.freezes) = (sum.received, sum.dropped, sum.freezes);
        if counted.len() > 1 {
            told.queues = counted.iter().map(queue).collect();
        }
        told.files = self.files.as_ref().map(Files::names).unwrap_or_default();
        Ok(Summary {
            summary: self.captured,
        })
    }
}

/// Encodes a packet for a file; returns its time in nanoseconds since 1970, if that is known.
pub(super) fn encode(
    packet: &CapturedPacket<'_>,
    queue: u32,
    encoder: &mut Encoder,
) -> Option<u64> {
    let time = packet.utc();
    let known = |time: &Estimate<Utc>| Known {
        bound: time.at.bound,
        generation: time.generation,
        utc_generation: match packet.clock() {
            TimestampSource::Hardware => packet.utc_generation().ok(),
            TimestampSource::Software => None,
        },
    };
    let utc = time.as_ref().ok();
    let utc = utc.map(|time| time.at.value.nanoseconds().cast_unsigned());
    encoder.packet(&Packet {
        queue,
        utc,
        data: packet.data(),
        length: packet.length(),
        vlan: packet.vlan(),
        direction: packet.direction(),
        note: Note {
            clock: packet.clock(),
            utc: time.as_ref().map(known).map_err(|reason| *reason),
        },
    });
    utc
}

impl Summary {
    pub(super) fn is_lossy(&self) -> bool {
        self.summary.dropped > 0
    }

    pub(super) fn print(&self, page: &mut Page) {
        let told = &self.summary;
        let time = Span::from(Duration::from_nanos(told.duration_ns));
        let interrupted = if told.interrupted {
            ", interrupted"
        } else {
            ""
        };
        page.heading(&format!(
            "captured {} on {} in {time}{interrupted}",
            plural(told.packets, "packet"),
            told.interface
        ));
        for warning in &told.warnings {
            page.field("timestamps", warning);
        }
        page.field("received", &grouped(told.received));
        let why = if told.dropped > 0 {
            ": the buffer was full; see --buffer, --snaplen, --queues"
        } else {
            ""
        };
        page.field("dropped", &format!("{}{why}", grouped(told.dropped)));
        for (number, queue) in told.queues.iter().enumerate() {
            let (received, dropped) = (grouped(queue.received), grouped(queue.dropped));
            let text = format!("received {received}, dropped {dropped}");
            page.field(&format!("queue {number}"), &text);
        }
        if told.without_utc > 0 {
            page.field("without UTC", &grouped(told.without_utc));
        }
        if told.left_out > 0 {
            let text = format!(
                "{}: not IP, cut off, or between others",
                grouped(told.left_out)
            );
            page.field("not in Parquet", &text);
        }
        if told.out_of_order > 0 {
            page.field("out of order", &grouped(told.out_of_order));
        }
        for file in &told.files {
            page.field("file", file);
        }
    }
}
