//! What a measurement yields.

use wirestamp::{Bounded, MonotonicTime, Span, UtcTime};

/// What kind of thing is measured.
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

/// What a sample is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject<'a> {
    /// What kind of thing.
    pub kind: Kind,
    /// Which one: the name of a session or an interface, a server.
    pub name: &'a str,
}

impl<'a> Subject<'a> {
    /// The clock of an interface.
    pub(crate) const fn clock(name: &'a str) -> Self {
        let kind = Kind::Clock;
        Self { kind, name }
    }
}

/// Which quantity a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Segment {
    /// From leaving to the reply's arrival, with the time at the other end.
    RoundTrip,
    /// Without the time at the other end: of STAMP and NTP both ways together, of PTP their mean.
    Path,
    /// To the other end.
    Forward,
    /// From the other end.
    Backward,
    /// At the other end.
    Residence,
    /// In this host, until the packet left.
    SendPath,
    /// In this host, from the packet's arrival until the program had it.
    ReceivePath,
    /// From leaving to arrival, on this host.
    Wire,
    /// This host's clock minus the other one.
    Offset,
    /// Receive time minus transmit time of a packet to the other end, each by its own host's real-time clock.
    ForwardDifference,
    /// The same of a packet from the other end.
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

    /// Returns whether it is a delay: it is never negative, and a distribution of it means something.
    pub const fn is_delay(self) -> bool {
        !matches!(
            self,
            Self::Offset | Self::ForwardDifference | Self::BackwardDifference
        )
    }
}

/// When a packet left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// Then, by the real-time clock.
    At(UtcTime),
    /// Its transmit timestamp is missing.
    Unknown,
    /// The system did not send it.
    NotSent,
}

/// One thing that was measured: a packet, an exchange or an estimate, with all that it says.
///
/// A packet that is lost is a sample without values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// What it is of.
    pub subject: Subject<'a>,
    /// Number of the packet; 0 where packets have none.
    pub sequence: u32,
    /// When it was known.
    pub at: MonotonicTime,
    /// The same by the real-time clock.
    pub utc: UtcTime,
    /// When its packet left.
    pub left: Departure,
    /// Whether its packet, or the reply to it, came in time.
    pub has_arrived: bool,
    /// What it says.
    pub values: &'a [(Segment, Bounded<Span>)],
}

impl Sample<'_> {
    /// Returns a value of it.
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
