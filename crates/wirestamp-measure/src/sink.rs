//! The receiver of samples and events.

use crate::event::EventKind;
use crate::host_stamp::HostStamp;
use crate::ptp_change::PtpChange;
use crate::reading::ClockReading;
use crate::recorded::Recorded;
use crate::sample::{Sample, Subject};
use std::net::SocketAddr;
use wirestamp::latency::{PacketLatency, Progress};
use wirestamp::{Bounded, Error, Span, UtcTime};
use wirestamp_probe::session;

/// Receives samples, events and estimates. Only [`sample`](Self::sample) is required; a closure that takes a sample is
/// a sink, too.
///
/// Its methods run on the measuring thread and delay the measurements by their run time.
pub trait Sink {
    /// Takes a sample.
    fn sample(&mut self, sample: &Sample<'_>);

    /// A measurement begins, perhaps again. Packets that an earlier run left open are not reported any more.
    fn begin(&mut self, _subject: Subject<'_>) {}

    /// Takes an event: its kind, its subject and a sentence.
    fn event(&mut self, _kind: EventKind, _subject: &str, _message: String) {}

    /// Takes an estimate of a clock.
    fn estimate(&mut self, _clock: &str, _known: &Known) {}

    /// Takes a reading of an interface's clock.
    fn reading(&mut self, _subject: Subject<'_>, _reading: &ClockReading) {}

    /// Takes the error if an interface's clock could not be read; a later reading may succeed.
    fn unread(&mut self, _subject: Subject<'_>, _error: &Error) {}

    /// Takes one part of a recording of an interface's clock.
    fn recorded(&mut self, _subject: Subject<'_>, _recorded: &Recorded<'_>) {}

    /// Returns whether single packets are wanted.
    fn wants_packets(&self) -> bool {
        false
    }

    /// Takes a packet of a STAMP session, with all its values, once its timeout has passed and its timestamps are final: by a
    /// NIC, once a later reading of its clock has confirmed them. Where the clock turns out to have been changed, the session
    /// is withdrawn, and begins again if it has no end. One that was cut short yields what waits; its report says so.
    fn judged(&mut self, _subject: Subject<'_>, _packet: &session::Sample) {}

    /// Takes a packet of a path of this host, with all its values, once it is final; of a path that is measured once,
    /// only if packets are wanted.
    fn passed(&mut self, _subject: Subject<'_>, _packet: &PacketLatency) {}

    /// Takes a sample of a PTP clock, with all its values, once it is final.
    fn followed(&mut self, _subject: Subject<'_>, _sample: &wirestamp_ptp::Sample) {}

    /// Takes a change of a PTP clock, with its status. Most are events as well.
    fn changed(&mut self, _status: &wirestamp_ptp::Status, _change: &PtpChange) {}

    /// Takes the progress of a path that is measured once, from time to time.
    fn progress(&mut self, _subject: Subject<'_>, _progress: Progress) {}

    /// Takes a packet that passed at about this time, if packets are wanted.
    fn packet(&mut self, _packet: &Packet<'_>, _at: UtcTime) {}
}

impl<F: FnMut(&Sample<'_>)> Sink for F {
    fn sample(&mut self, sample: &Sample<'_>) {
        self(sample);
    }
}

/// A packet that was sent or received, with its timestamp.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// The interface on which it was sent or received; [`ANY`](Self::ANY) if that is not known.
    pub interface: &'a str,
    /// The local and the remote address.
    pub between: [SocketAddr; 2],
    /// Its sequence number.
    pub sequence: u32,
    /// Whether it was sent.
    pub is_sent: bool,
    /// Its timestamp, or why there is none.
    pub timestamp: Result<HostStamp, &'static str>,
}

impl Packet<'_> {
    /// The interface name for sockets that belong to none.
    pub const ANY: &'static str = "any";
    /// The reason for a missing receive timestamp.
    pub const NO_TIMESTAMP: &'static str = "no_timestamp";
}

/// An estimate of a clock, from one instant to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The instant from which it holds.
    pub from: UtcTime,
    /// The instant until which it holds.
    pub until: UtcTime,
    /// The clock's generation.
    pub generation: Option<u32>,
    /// The clock minus UTC at `from`, with an error bound that holds until `until`; or why that is not known.
    pub offset: Result<Bounded<Span>, &'static str>,
    /// If the offset comes from NTP servers: how many of them must be right for the error bound to hold.
    pub right_servers: Option<u64>,
    /// Its frequency offset to the monotonic clock in parts per 10^12; positive: it runs fast.
    pub frequency_ppt: Option<i64>,
}

impl Known {
    /// Returns an estimate without an offset, for this reason.
    pub const fn nothing(at: UtcTime, reason: &'static str) -> Self {
        Self {
            from: at,
            until: at,
            generation: None,
            offset: Err(reason),
            right_servers: None,
            frequency_ppt: None,
        }
    }
}
