//! The trait of measurements. One loop serves them in turn; none of them waits.

use crate::moment::Moment;
use crate::report::Report;
use crate::sink::{Known, Sink};
use crate::state::{State, TimestampCounts};
use wirestamp::socket::AnySocket;
use wirestamp::{Error, ErrorKind, MissingReason, MonotonicTime, Result, Span, UdpSocket, UtcTime};
use wirestamp_ptp::Node;

/// A running measurement. It never waits; the loop does.
pub(crate) trait Task {
    /// Does all work that is due. Returns the time of its next work that needs no packet.
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime>;

    /// Adds its sockets, for the loop to wait on. It is served when one of them is ready, or at its own time.
    fn sockets<'a>(&'a self, into: &mut Vec<AnySocket<'a>>);

    /// Writes its state.
    fn show(&self, moment: &Moment, into: &mut State);

    /// Returns whether its host has been silent for so long that the name may have another address by now.
    fn is_silent(&self, _now: MonotonicTime) -> bool {
        false
    }

    /// Returns whether there is nothing more to measure.
    fn is_over(&self) -> bool {
        false
    }

    /// Makes it end once its samples are confirmed; one that needs no confirmation runs on.
    fn finish(&mut self) {}

    /// Returns when its newest sample was made; `None` if it has none that can be evaluated later.
    fn newest(&self) -> Option<Moment> {
        None
    }

    /// Judges the remaining packets and returns its report, if it has one. Nothing is measured after that.
    fn report(&mut self, _sink: &mut dyn Sink) -> Option<Result<Report>> {
        None
    }

    /// Calls `ask` with the PTP clock; other measurements ignore it.
    fn ask_ptp(&self, _ask: &mut dyn FnMut(&Node<'_>)) {}

    /// Returns the estimate of its clock now; `None` if it has none.
    fn estimate(&mut self, _moment: &Moment) -> Option<Known> {
        None
    }
}

/// The time without an answer after which a host may be at another address, unless it takes longer to become stale.
pub(crate) const SILENT: Span = Span::from_seconds(60);

/// The arguments of a task while it is served.
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
