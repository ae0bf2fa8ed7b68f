//! What the configuration asks for, as things that run in one loop: each is served in turn, and nothing waits.

mod clock;
mod ntp;
mod path;
pub(crate) mod ptp;
mod reflector;
mod stamp;

pub(crate) use clock::{ClockTask, Realtime};
pub(crate) use ntp::{NtpTask, compare};
pub(crate) use path::PathTask;
pub(crate) use ptp::PtpTask;
pub(crate) use reflector::ReflectorTask;
pub(crate) use stamp::StampTask;

use crate::delays::Packet;
use crate::events::Events;
use crate::history::{Record, Writer};
use crate::recording::Recording;
use crate::snapshot::{Reasons, Snapshot, TimestampCounts};
use wirestamp::{
    Error, ErrorKind, MissingReason, MonotonicTime, Result, Span, UdpSocket, UtcCrossTimestamp,
    UtcTime,
};

/// Something that runs. It never waits; the loop does.
pub(crate) trait Task {
    /// Does all that can be done now; returns when it has something to do even if nothing comes.
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime>;

    /// Its sockets, for the loop to wait on: when one of them has something, or at its own time, it is served.
    fn sockets<'a>(&'a self, into: &mut Vec<&'a UdpSocket>);

    /// Writes what it knows now.
    fn show(&self, moment: &Moment, into: &mut Snapshot);

    /// Whether the host that it asks has been silent for so long that its name may mean another address by now.
    fn is_silent(&self, _now: MonotonicTime) -> bool {
        false
    }

    /// Records what it knows of clocks now.
    fn record(&mut self, _moment: &Moment, _into: &mut Recording) {}
}

/// A host that has not answered for so long, or for as long as makes it stale, may be at another address.
const SILENT: Span = Span::from_seconds(60);

/// An instant on both of the system's clocks.
pub(crate) struct Moment {
    pub(crate) now: MonotonicTime,
    pub(crate) reading: UtcCrossTimestamp,
}

/// What a task has while it is served.
pub(crate) struct Turn<'a> {
    pub(crate) now: MonotonicTime,
    pub(crate) utc: UtcTime,
    pub(crate) moment: Moment,
    pub(crate) events: &'a mut Events,
    pub(crate) history: Option<&'a Writer>,
    pub(crate) recording: Option<&'a mut Recording>,
    /// Whether one of the task's sockets has something: otherwise only its time has come.
    pub(crate) is_ready: bool,
    /// Room for what is received, which no task keeps.
    pub(crate) buffer: &'a mut Vec<u8>,
}

impl Turn<'_> {
    /// A packet that is judged in this turn.
    pub(crate) fn packet(&self, sequence: u32) -> Packet {
        Packet {
            sequence,
            at: self.now,
            utc: self.utc,
        }
    }

    /// Keeps a record, if history is kept: `record` makes it, with the time of this turn.
    pub(crate) fn keep(&self, record: impl FnOnce(String) -> Record) {
        if let Some(history) = self.history {
            history.add(record(self.utc.rfc3339().to_string()));
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
        MissingReason::ALL.map(|reason| (reason.name().to_owned(), transmit.missing_for(reason)));
    TimestampCounts {
        requested: transmit.sent,
        transmitted: transmit.timestamped,
        pending: transmit.pending,
        missing: Reasons::from(missing),
        received: receive.datagrams,
        received_timestamped: receive.timestamped,
        queue_overflows: receive.dropped,
    }
}
