//! Where samples go.

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

/// Takes what is measured. Only [`sample`](Self::sample) must be there; a closure that takes a sample is a sink as well.
///
/// It is called while measurements are served, and they are late by as long as it takes.
pub trait Sink {
    /// Takes a sample.
    fn sample(&mut self, sample: &Sample<'_>);

    /// A measurement begins, perhaps not for the first time: what an earlier run of it left open is over.
    fn begin(&mut self, _subject: Subject<'_>) {}

    /// Takes what happened: what kind of event, to what, and a sentence about it.
    fn event(&mut self, _kind: EventKind, _subject: &str, _message: String) {}

    /// Takes what is known of a clock.
    fn estimate(&mut self, _clock: &str, _known: &Known) {}

    /// Takes a reading of an interface's clock.
    fn reading(&mut self, _subject: Subject<'_>, _reading: &ClockReading) {}

    /// Takes why an interface's clock could not be read; a later reading may succeed.
    fn unread(&mut self, _subject: Subject<'_>, _error: &Error) {}

    /// Takes what a recording of an interface's clock consists of.
    fn recorded(&mut self, _subject: Subject<'_>, _recorded: &Recorded<'_>) {}

    /// Returns whether single packets are wanted.
    fn wants_packets(&self) -> bool {
        false
    }

    /// Takes everything that is known of a packet of a STAMP session, whose timeout has passed. A NIC's timestamps are not final by
    /// then: where its clock turns out to have been changed, the session is withdrawn and begins again.
    fn judged(&mut self, _subject: Subject<'_>, _packet: &session::Sample) {}

    /// Takes everything that is known of a packet of a path of this host, once it is final. Of a path that is measured once, if packets are wanted.
    fn passed(&mut self, _subject: Subject<'_>, _packet: &PacketLatency) {}

    /// Takes everything that is known of a sample of a PTP clock, once it is final.
    fn followed(&mut self, _subject: Subject<'_>, _sample: &wirestamp_ptp::Sample) {}

    /// Takes a change of a PTP clock, with its status. Most are events as well.
    fn changed(&mut self, _status: &wirestamp_ptp::Status, _change: &PtpChange) {}

    /// Takes how far a path is that is measured once, now and then.
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
    /// The interface that it passed; [`ANY`](Self::ANY) if that is not known.
    pub interface: &'a str,
    /// This host's end and the other one.
    pub between: [SocketAddr; 2],
    /// The number that it carries.
    pub sequence: u32,
    /// Whether it was sent.
    pub is_sent: bool,
    /// Its timestamp, or why there is none.
    pub timestamp: Result<HostStamp, &'static str>,
}

impl Packet<'_> {
    /// The interface of sockets that belong to none.
    pub const ANY: &'static str = "any";
    /// Why there is no receive timestamp.
    pub const NO_TIMESTAMP: &'static str = "no_timestamp";
}

/// An estimate of a clock, from one instant to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// When it begins to hold.
    pub from: UtcTime,
    /// Until when it holds.
    pub until: UtcTime,
    /// The clock's generation.
    pub generation: Option<u32>,
    /// By how much it is ahead of UTC at `from`, with an error bound that holds until `until`; or why that is not known.
    pub offset: Result<Bounded<Span>, &'static str>,
    /// Where NTP servers say so: the offset and its error bound hold if so many of them are right.
    pub right_servers: Option<u64>,
    /// How much faster it runs than the monotonic clock, in parts per 10^12.
    pub frequency_ppt: Option<i64>,
}

impl Known {
    /// Returns that nothing is known, for this reason.
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
