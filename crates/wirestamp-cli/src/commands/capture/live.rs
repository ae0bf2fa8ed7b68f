//! `capture IFACE`: packets as they come, to the terminal or to files.

use super::file::{Files, Rotation};
use super::shown::Shown;
use crate::arguments::{self, Form, Source as Wanted};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, grouped, plural};
use crate::session::Session;
use serde::Serialize;
use std::time::{Duration, Instant, SystemTime};
use wirestamp::{
    Capture, CaptureBlock, CaptureOptions, CaptureStatistics, HardwareGuard, HardwareRequest,
    Interface, Source, Span,
};
use wirestamp_capture::note::{Known, Note};
use wirestamp_capture::pcapng::{Encoder, Head, Packet};

/// How soon a signal, the end or a rotation is noticed while nothing comes.
const STEP: Duration = Duration::from_millis(100);
/// What is encoded is written in pieces of about this size.
const PIECE: usize = 1 << 20;
/// At the end, packets that the kernel has counted are waited for so long.
const LAST: Duration = Duration::from_millis(200);

#[derive(Serialize)]
struct Summary {
    summary: Captured,
}

#[derive(Default, Serialize)]
struct Captured {
    interface: String,
    filter: Option<String>,
    source: &'static str,
    duration_ns: u64,
    packets: u64,
    packets_bytes: u64,
    received: u64,
    dropped: u64,
    freezes: u64,
    without_utc: u64,
    files: Vec<String>,
    interrupted: bool,
}

/// What is done with packets.
struct Sink<'a> {
    arguments: &'a arguments::Capture,
    encoder: Encoder,
    files: Option<Files>,
    captured: Captured,
    /// Of the file that is written.
    in_file: u64,
    file_begun: u64,
    /// What was counted when it began.
    counted: CaptureStatistics,
}

pub(super) fn run(
    arguments: &arguments::Capture,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = Interface::find(arguments.interface.as_deref().unwrap_or_default())?;
    output.use_lines();
    let source = source(arguments.source, &interface);
    let filter = arguments.filter.join(" ");
    let filter = Some(filter).filter(|filter| !filter.trim().is_empty());
    let mut options = CaptureOptions::new()
        .snap_length(arguments.snaplen)
        .buffer((arguments.buffer as usize) << 20)
        .source(source);
    options.filter.clone_from(&filter);
    options.promiscuous = arguments.promiscuous;
    let mut sink = Sink::new(arguments, &interface, filter, source)?;
    let _guard = switched_on(&interface, source)?;
    let mut capture = interface.capture(&options)?;
    session.listen_to_interrupts();
    if sink.files.is_none() {
        output.write_behind();
        let name = interface.name().to_owned();
        output.now(|page| {
            page.quiet(&format!(
                "capturing on {name}, until Ctrl-C unless --for or --count"
            ));
        })?;
    }
    let begun = Instant::now();
    sink.begin(&capture)?;
    let end = arguments.duration.and_then(|time| begun.checked_add(time));
    while !session.is_interrupted() && !sink.has_enough() {
        let left = end.map_or(STEP, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            break;
        }
        let link_type = capture.link_type();
        match capture.next_block(left.min(STEP))? {
            Some(block) => sink.take(&block, link_type, u64::MAX, output)?,
            None => sink.write()?,
        }
        if sink.is_full() {
            let counted = capture.statistics()?;
            sink.end(counted)?;
            sink.begin(&capture)?;
        }
    }
    sink.captured.interrupted =
        session.is_interrupted() && (end.is_some() || arguments.count.is_some());
    let counted = sink.drain(&mut capture, output)?;
    sink.end(counted)?;
    sink.captured.duration_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    (
        sink.captured.received,
        sink.captured.dropped,
        sink.captured.freezes,
    ) = (counted.received, counted.dropped, counted.freezes);
    sink.captured.files = sink.files.as_ref().map(Files::names).unwrap_or_default();
    let to_standard = arguments.write.as_deref() == Some(std::path::Path::new("-"));
    let summary = Summary {
        summary: sink.captured,
    };
    if !to_standard {
        output.line(&summary)?;
        output.now(|page| summary.print(page))?;
    }
    Ok(if counted.dropped > 0 {
        Exit::Lossy
    } else {
        Exit::Success
    })
}

/// The clock that can be had.
fn source(wanted: Wanted, interface: &Interface) -> Source {
    let timestamps_all = || {
        let configuration = interface.configuration().ok();
        configuration.is_some_and(|now| now.receive == wirestamp::ReceiveFilter::All)
    };
    match wanted {
        Wanted::Software => Source::Software,
        Wanted::Auto if !timestamps_all() => Source::Software,
        Wanted::Auto | Wanted::Hardware => Source::HardwareElseSoftware,
    }
}

/// Has the NIC timestamp every packet, until it is dropped.
fn switched_on(interface: &Interface, source: Source) -> Result<Option<HardwareGuard>, Failure> {
    if source == Source::Software {
        return Ok(None);
    }
    Ok(Some(
        interface.enable_hardware(HardwareRequest::AllPackets)?,
    ))
}

impl<'a> Sink<'a> {
    fn new(
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
        Ok(Self {
            arguments,
            encoder: Encoder::new(),
            files,
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
            in_file: 0,
            file_begun: 0,
            counted: CaptureStatistics::default(),
        })
    }

    fn has_enough(&self) -> bool {
        self.arguments
            .count
            .is_some_and(|count| self.captured.packets >= count)
    }

    fn is_full(&self) -> bool {
        let waiting = self.encoder.bytes().len();
        self.files
            .as_ref()
            .is_some_and(|files| files.is_full(waiting))
    }

    /// Begins a file, if any is written.
    fn begin(&mut self, capture: &Capture) -> Result<(), Failure> {
        let Some(files) = &mut self.files else {
            return Ok(());
        };
        files.begin()?;
        self.encoder.head(&Head {
            program: concat!("wirestamp ", env!("CARGO_PKG_VERSION")),
            interface: &self.captured.interface,
            filter: self.captured.filter.as_deref(),
            link_type: capture.link_type(),
            snap_length: self.arguments.snaplen,
        });
        (self.in_file, self.file_begun) = (0, since_1970());
        self.write()
    }

    /// Ends it: `counted` since the capture began.
    fn end(&mut self, counted: CaptureStatistics) -> Result<(), Failure> {
        if self.files.is_none() {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.counted, counted);
        let in_file = CaptureStatistics::new(
            counted.received.saturating_sub(before.received),
            counted.dropped.saturating_sub(before.dropped),
            counted.freezes.saturating_sub(before.freezes),
        );
        self.encoder
            .statistics(in_file, self.in_file, self.file_begun, since_1970());
        self.write()?;
        if let Some(files) = &mut self.files {
            files.finish()?;
        }
        Ok(())
    }

    /// Takes packets, `most` of them.
    fn take(
        &mut self,
        block: &CaptureBlock<'_>,
        link_type: wirestamp::LinkType,
        most: u64,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let mut left = self
            .arguments
            .count
            .map_or(u64::MAX, |count| count - self.captured.packets.min(count))
            .min(most);
        let mut page = Vec::new();
        for packet in block.packets() {
            if left == 0 {
                break;
            }
            left -= 1;
            self.captured.packets += 1;
            self.captured.packets_bytes += u64::from(packet.length());
            if self.files.is_some() {
                self.encode(&packet);
                if self.encoder.bytes().len() >= PIECE {
                    self.write()?;
                }
            } else {
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
        Ok(())
    }

    fn encode(&mut self, packet: &wirestamp::CapturedPacket<'_>) {
        let utc = packet.utc();
        if utc.is_err() {
            self.captured.without_utc += 1;
        }
        let known = |time: &wirestamp::Estimate<wirestamp::Utc>| Known {
            bound: time.bound,
            generation: time.generation,
        };
        self.in_file += 1;
        self.encoder.packet(&Packet {
            utc: utc
                .as_ref()
                .ok()
                .map(|time| time.at.nanoseconds().cast_unsigned()),
            data: packet.data(),
            length: packet.length(),
            vlan: packet.vlan(),
            direction: packet.direction(),
            note: Note {
                clock: packet.clock(),
                utc: utc.as_ref().map(known).map_err(|reason| *reason),
            },
        });
    }

    fn write(&mut self) -> Result<(), Failure> {
        if let Some(files) = &mut self.files {
            files.write(self.encoder.bytes())?;
        }
        self.encoder.clear();
        Ok(())
    }

    /// Takes what the kernel has counted and not yet handed over, so that each packet is there or among the dropped ones.
    fn drain(
        &mut self,
        capture: &mut Capture,
        output: &mut Output,
    ) -> Result<CaptureStatistics, Failure> {
        let counted = capture.statistics()?;
        let link_type = capture.link_type();
        let all = counted.received.saturating_sub(counted.dropped);
        while self.captured.packets < all && !self.has_enough() {
            let Some(block) = capture.next_block(LAST)? else {
                break;
            };
            let most = all - self.captured.packets;
            self.take(&block, link_type, most, output)?;
        }
        Ok(counted)
    }
}

fn since_1970() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Summary {
    fn print(&self, page: &mut Page) {
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
        page.field("received", &grouped(told.received));
        let why = if told.dropped > 0 {
            ": the buffer was full; see --buffer, --snaplen"
        } else {
            ""
        };
        page.field("dropped", &format!("{}{why}", grouped(told.dropped)));
        if told.without_utc > 0 {
            page.field("without UTC", &grouped(told.without_utc));
        }
        for file in &told.files {
            page.field("file", file);
        }
    }
}
