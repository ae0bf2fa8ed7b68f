//! The trait of measurements: one loop serves each in turn, and none of them waits.

use crate::moment::Moment;
use crate::report::Report;
use crate::sink::{Known, Sink};
use crate::state::{State, TimestampCounts};
use wirestamp::{Error, ErrorKind, MissingReason, MonotonicTime, Result, Span, UdpSocket, UtcTime};
use wirestamp_ptp::Node;

/// Something that runs. It never waits; the loop does.
pub(crate) trait Task {
    /// Does all that can be done now; returns when it has something to do even if nothing comes.
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime>;

    /// Its sockets, for the loop to wait on: when one of them has something, or at its own time, it is served.
    fn sockets<'a>(&'a self, into: &mut Vec<&'a UdpSocket>);

    /// Writes what it knows now.
    fn show(&self, moment: &Moment, into: &mut State);

    /// Whether the host that it asks has been silent for so long that its name may mean another address by now.
    fn is_silent(&self, _now: MonotonicTime) -> bool {
        false
    }

    /// Whether there is nothing more to measure.
    fn is_over(&self) -> bool {
        false
    }

    /// Ends once what it has yielded is confirmed; one that needs nothing for that runs on.
    fn finish(&mut self) {}

    /// When its newest sample was made; `None`: it has none that can be evaluated later.
    fn newest(&self) -> Option<Moment> {
        None
    }

    /// Judges what is left, and reports; `None`: it has no report. Nothing is to be measured after that.
    fn report(&mut self, _sink: &mut dyn Sink) -> Option<Result<Report>> {
        None
    }

    /// Lets a PTP clock be asked, and what its user may not want; others leave it.
    fn ask_ptp(&self, _ask: &mut dyn FnMut(&Node<'_>)) {}

    /// What it knows of its clock now; `None`: it has none.
    fn estimate(&mut self, _moment: &Moment) -> Option<Known> {
        None
    }
}

/// A host that has not answered for so long, or for as long as makes it stale, may be at another address.
pub(crate) const SILENT: Span = Span::from_seconds(60);

/// What a task has while it is served.
pub(crate) struct Turn<'a> {
    pub(crate) now: MonotonicTime,
    pub(crate) utc: UtcTime,
    pub(crate) moment: Moment,
    /// Takes what it yields.
    pub(crate) sink: &'a mut dyn Sink,
    /// Whether one of the task's sockets has something: otherwise only its time has come.
    pub(crate) is_ready: bool,
    /// Room for what is received, which no task keeps.
    pub(crate) buffer: &'a mut Vec<u8>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(moment: Moment, sink: &'a mut dyn Sink, buffer: &'a mut Vec<u8>) -> Self {
        Self {
            now: moment.now,
            utc: moment.utc(),
            moment,
            sink,
            is_ready: false,
            buffer,
        }
    }
}

/// `Err` for a socket that is of no use any more: its interface went away, and may come back under another number. Other errors are of one packet, or of the
/// answer to an earlier one.
pub(crate) fn is_no_end(error: Error) -> Result<()> {
    match error.kind() {
        ErrorKind::NoSuchDevice | ErrorKind::Closed => Err(error),
        _ => Ok(()),
    }
}

/// What a socket's counters say.
pub(crate) fn counts(socket: &UdpSocket) -> TimestampCounts {
    let (transmit, receive) = (socket.counters(), socket.receive_counters());
    let missing =
        |reason: &MissingReason| (reason.name().to_owned(), transmit.missing_for(*reason));
    TimestampCounts {
        requested: transmit.sent,
        transmitted: transmit.timestamped,
        pending: transmit.pending,
        missing: MissingReason::ALL.iter().map(missing).collect(),
        received: receive.datagrams,
        received_timestamped: receive.timestamped,
        queue_overflows: receive.dropped,
    }
}
