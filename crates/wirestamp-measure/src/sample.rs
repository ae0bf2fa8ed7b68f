//! Samples, which measurements yield.

use wirestamp::{Bounded, MonotonicTime, Span, UtcTime};

/// A kind of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A NIC's clock.
    Clock,
    /// A send and receive path of this host.
    Path,
    /// A STAMP session.
    Stamp,
    /// The STAMP reflector.
    Reflector,
    /// An NTP server.
    Ntp,
    /// A PTP clock that measures.
    Ptp,
}

impl Kind {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Path => "path",
            Self::Stamp => "stamp",
            Self::Reflector => "reflector",
            Self::Ntp => "ntp",
            Self::Ptp => "ptp",
        }
    }
}

/// The subject of a sample: a clock, a session, a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject<'a> {
    /// The kind of measurement.
    pub kind: Kind,
    /// The name of the session, interface or server.
    pub name: &'a str,
}

impl<'a> Subject<'a> {
    /// The clock of an interface.
    pub(crate) const fn clock(name: &'a str) -> Self {
        let kind = Kind::Clock;
        Self { kind, name }
    }
}

/// The quantity that a value measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Segment {
    /// Round trip, including the time at the other end.
    RoundTrip,
    /// Path delay without the time at the other end: for STAMP and NTP of both directions together, for PTP their mean.
    Path,
    /// One-way delay to the other end.
    Forward,
    /// One-way delay from the other end.
    Backward,
    /// Residence time at the other end.
    Residence,
    /// Send path: in this host, until the packet left.
    SendPath,
    /// Receive path: in this host, from the packet's arrival until the program had it.
    ReceivePath,
    /// Wire: from transmit to receive timestamp on this host.
    Wire,
    /// Offset: this host's clock minus the other clock.
    Offset,
    /// Receive time minus transmit time of a packet to the other end, each by its own host's real-time clock.
    ForwardDifference,
    /// The same for a packet from the other end.
    BackwardDifference,
}

impl Segment {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundTrip => "round_trip",
            Self::Path => "path",
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Residence => "residence",
            Self::SendPath => "send_path",
            Self::ReceivePath => "receive_path",
            Self::Wire => "wire",
            Self::Offset => "offset",
            Self::ForwardDifference => "forward_difference",
            Self::BackwardDifference => "backward_difference",
        }
    }

    /// Returns whether it is a delay, which is never negative and has a meaningful distribution.
    pub const fn is_delay(self) -> bool {
        !matches!(
            self,
            Self::Offset | Self::ForwardDifference | Self::BackwardDifference
        )
    }
}

/// The time at which a packet left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// Its transmit time on the real-time clock.
    At(UtcTime),
    /// Its transmit timestamp is missing.
    Unknown,
    /// The system did not send it.
    NotSent,
}

/// A packet, an exchange or an estimate, with all values that were measured.
///
/// A packet that is lost is a sample without values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// The subject.
    pub subject: Subject<'a>,
    /// Number of the packet; 0 where packets have none.
    pub sequence: u32,
    /// When the sample was complete, on the monotonic clock.
    pub at: MonotonicTime,
    /// The same on the real-time clock.
    pub utc: UtcTime,
    /// When its packet left.
    pub left: Departure,
    /// Whether its packet, or the reply to it, arrived in time.
    pub has_arrived: bool,
    /// The values, each with its error bound.
    pub values: &'a [(Segment, Bounded<Span>)],
}

impl Sample<'_> {
    /// Returns one of its values.
    pub fn value(&self, segment: Segment) -> Option<Bounded<Span>> {
        let found = self.values.iter().find(|(known, _)| *known == segment);
        found.map(|(_, value)| *value)
    }

    /// Returns its delays by name, in nanoseconds: value and error bound.
    pub fn delays(&self) -> impl Iterator<Item = (&'static str, i64, i64)> {
        let delays = self.values.iter().filter(|(segment, _)| segment.is_delay());
        delays.map(|(segment, Bounded { value, bound })| {
            let (value, bound) = (
                value.saturating_nanoseconds(),
                bound.saturating_nanoseconds(),
            );
            (segment.name(), value, bound)
        })
    }
}
