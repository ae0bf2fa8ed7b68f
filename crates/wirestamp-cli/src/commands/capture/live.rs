//! `capture IFACE`: packets as they come, to the terminal or to files.

use super::sink::{Counted, Ended, Sink};
use super::{queues, simulated};
use crate::arguments::{self, Source as Wanted, limited};
use crate::exit::Exit;
use crate::failure::{Failure, and_also};
use crate::output::Output;
use crate::session::Session;
use std::path::Path;
use std::time::Duration;
use wirestamp::capture::{CaptureOptions, Fanout};
use wirestamp::{
    Capture, ErrorKind, HardwareGuard, HardwareRequest, Interface, MonotonicTime, Source, Span,
};

/// Of a NIC with no filter for all packets.
const PTP_ONLY: &str = "of received packets this NIC timestamps PTP messages only: the others have the kernel's timestamps";
const NO_HARDWARE: &str =
    "a capture needs those of received packets: without them, --source software";

/// How soon a signal, the end or a rotation is noticed while nothing comes.
pub(super) const STEP: Duration = Duration::from_millis(100);

pub(super) fn run(
    arguments: &arguments::Capture,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = Interface::find(arguments.interface.as_deref().unwrap_or_default())?;
    let is_simulated = interface.description().simulated;
    let sends = if is_simulated {
        Some(simulated::prepare(arguments, &interface)?)
    } else {
        None
    };
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
    let (_guard, limit) = switched_on(&interface, source)?;
    sink.captured.warnings.extend(limit);
    let mut captures = if arguments.queues > 1 {
        interface.capture_queues(&options, arguments.queues as usize, Fanout::Flow)?
    } else {
        vec![interface.capture(&options)?]
    };
    session.listen_to_interrupts();
    let begun = sink.clock.now();
    let end = End {
        at: limited(arguments.duration).and_then(|time| begun.checked_add(Span::from(time))),
        quiet: (is_simulated && limited(arguments.duration).is_none())
            .then_some(simulated::LONGEST),
        last: begun,
    };
    let ended = match &mut captures[..] {
        [capture] => {
            announce(&sink, sends, output)?;
            alone(&mut sink, capture, end, session, output)
        }
        _ if is_simulated => queues::run_in_turn(&mut sink, captures, end, session),
        _ => queues::run(&mut sink, captures, end, session),
    };
    let Ended { counted, failure } = match ended {
        Ok(ended) => ended,
        Err(failure) => {
            // the Parquet files need not fail with the other ones
            let _ = sink.finish(&[]);
            return Err(failure);
        }
    };
    let time = sink.clock.since(begun);
    sink.captured.duration_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let has_end = limited(arguments.duration).is_some() || arguments.count.is_some();
    sink.captured.interrupted &= has_end;
    let summary = sink.finish(&counted)?;
    if arguments.write.as_deref() != Some(Path::new("-")) {
        output.line(&summary)?;
        output.now(|page| summary.print(page))?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    Ok(if summary.is_lossy() {
        Exit::Lossy
    } else {
        Exit::Success
    })
}

/// When a capture ends by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    at: Option<MonotonicTime>,
    /// After so long without a packet.
    quiet: Option<Duration>,
    /// When the last packet came.
    last: MonotonicTime,
}

impl End {
    /// How long it still captures, at `now`.
    pub(super) fn left(&self, now: MonotonicTime) -> Option<Duration> {
        let quiet = self
            .quiet
            .and_then(|time| self.last.checked_add(Span::from(time)));
        let ends = [self.at, quiet].into_iter().flatten().min();
        ends.map(|end| (end - now).to_duration())
    }

    /// Packets came.
    pub(super) fn came(&mut self, now: MonotonicTime) {
        self.last = now;
    }
}

/// Says what is shown, unless it is written; in a simulation also who `sends`.
fn announce(sink: &Sink<'_>, sends: Option<&str>, output: &mut Output) -> Result<(), Failure> {
    if sink.is_recording() {
        return Ok(());
    }
    let name = sink.captured.interface.as_str();
    let text = match sends {
        Some(sends) => format!("capturing on {name} in virtual time; {sends}"),
        None => format!("capturing on {name}, until Ctrl-C unless --for or --count"),
    };
    Ok(output.now(|page| {
        page.quiet(&text);
        sink.captured
            .warnings
            .iter()
            .for_each(|why| page.quiet(why));
    })?)
}

/// Captures in this thread.
fn alone(
    sink: &mut Sink<'_>,
    capture: &mut Capture,
    end: End,
    session: &Session,
    output: &mut Output,
) -> Result<Ended, Failure> {
    if !sink.is_recording() {
        output.write_behind();
    }
    sink.begin(capture.link_type())?;
    let failure = until_end(sink, capture, end, session, output).err();
    sink.captured.interrupted = session.is_interrupted();
    match rest(sink, capture, output) {
        Ok((counted, failed)) => Ok(Ended {
            counted: vec![counted],
            failure: failure.or(failed),
        }),
        Err(failed) => Err(failure.unwrap_or(failed)),
    }
}

/// Takes packets as they come.
fn until_end(
    sink: &mut Sink<'_>,
    capture: &mut Capture,
    mut end: End,
    session: &Session,
    output: &mut Output,
) -> Result<(), Failure> {
    let link_type = capture.link_type();
    while !session.is_interrupted() && sink.wanted() > 0 {
        let left = end.left(sink.clock.now()).unwrap_or(STEP);
        if left.is_zero() {
            break;
        }
        match capture.next_block(left.min(STEP))? {
            Some(block) => {
                sink.take(&block, link_type, u64::MAX, output)?;
                end.came(sink.clock.now());
            }
            None => sink.wait()?,
        }
        if sink.is_full() {
            let kernel = capture.statistics()?;
            let written = sink.captured.packets;
            sink.end(&[Counted { kernel, written }])?;
            sink.begin(link_type)?;
        }
    }
    Ok(())
}

/// Takes what the kernel still has, and completes the file, also where the kernel hands over no more.
fn rest(
    sink: &mut Sink<'_>,
    capture: &mut Capture,
    output: &mut Output,
) -> Result<(Counted, Option<Failure>), Failure> {
    let kernel = capture.statistics()?;
    let failed = sink.drain(capture, kernel, output).err();
    let written = sink.captured.packets;
    let counted = Counted { kernel, written };
    sink.end(&[counted])?;
    Ok((counted, failed))
}

/// The clock that can be had.
fn source(wanted: Wanted, interface: &Interface) -> Source {
    let timestamps_all = || {
        let configuration = interface.configuration().ok();
        configuration.is_some_and(|now| now.receive == wirestamp::interface::ReceiveFilter::All)
    };
    match wanted {
        Wanted::Software => Source::Software,
        Wanted::Auto if !timestamps_all() => Source::Software,
        Wanted::Auto | Wanted::Hardware => Source::HardwareElseSoftware,
    }
}

/// Has the NIC timestamp what is received, until the guard is dropped: every packet, else PTP messages; a capture needs no more.
/// Says what it is if it is not everything: each packet has the clock that made its timestamp.
fn switched_on(
    interface: &Interface,
    source: Source,
) -> Result<(Option<HardwareGuard>, Option<&'static str>), Failure> {
    if source == Source::Software {
        return Ok((None, None));
    }
    let refused = match interface.enable_hardware(HardwareRequest::Received) {
        Ok(guard) => return Ok((Some(guard), None)),
        Err(error) => error,
    };
    if !matches!(
        refused.kind(),
        ErrorKind::NotSupported | ErrorKind::InvalidInput
    ) {
        return Err(refused.into());
    }
    match interface.enable_hardware(HardwareRequest::ReceivedPtp) {
        Ok(guard) => Ok((Some(guard), Some(PTP_ONLY))),
        Err(_) => Err(and_also(refused, NO_HARDWARE).into()),
    }
}
