//! What comes of a packet, and how often.

use crate::exchange::Sample;
use crate::packet::Malformed;
use std::fmt;

/// What came of a received packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// A valid response that completed four timestamps.
    Sample(Sample),
    /// A valid response that gave no sample.
    NoSample(NoSample),
    /// The server refuses to answer, or to answer so often.
    Kiss(Kiss),
    /// No response to our request: nothing has changed, the response may still come.
    Ignored(Ignored),
}

/// Why a valid response gave no sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoSample {
    /// The server says that its clock is not synchronised.
    Unsynchronized,
    /// A timestamp of ours is missing.
    MissingTimestamp,
    /// The local real-time clock was stepped during the exchange.
    LocalStep,
    /// The timestamps contradict each other or the RFC: received before sent, sent back before received, a root
    /// distance of 16 s and more.
    Implausible,
}

impl fmt::Display for NoSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsynchronized => "its clock is not synchronised",
            Self::MissingTimestamp => "a timestamp of ours is missing",
            Self::LocalStep => "this machine's clock was stepped meanwhile",
            Self::Implausible => {
                "its timestamps contradict each other, or it is off by seconds as it says"
            }
        })
    }
}

/// A kiss-o'-death packet (RFC 5905 §7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kiss {
    /// Ask less often: at half the rate or slower.
    Rate,
    /// Access denied: stop.
    Deny,
    /// Access restricted: stop.
    Restrict,
    /// Another code of four letters, which asks for nothing.
    Other([u8; 4]),
}

/// Why a packet was ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ignored {
    /// It came from another address or port than the server's.
    OtherSource,
    /// It is cut, or its parts do not fit.
    Malformed(Malformed),
    /// It is no server's answer: another mode (such as our own request, reflected) or version.
    NotAnAnswer,
    /// It is the last response once more.
    Duplicate,
    /// It answers no request that is open: a late or replayed response, or a forged one.
    Unasked,
}

/// The server asked us to stop (kiss code DENY or RSTR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped(pub Kiss);

impl Kiss {
    /// Returns its four letters.
    #[must_use]
    pub fn code(self) -> String {
        let letters = match self {
            Self::Rate => *b"RATE",
            Self::Deny => *b"DENY",
            Self::Restrict => *b"RSTR",
            Self::Other(letters) => letters,
        };
        letters.map(char::from).iter().collect()
    }

    pub(crate) fn of(letters: [u8; 4]) -> Self {
        match &letters {
            b"RATE" => Self::Rate,
            b"DENY" => Self::Deny,
            b"RSTR" => Self::Restrict,
            _ => Self::Other(letters),
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server refuses to answer ({})", self.0.code())
    }
}

impl std::error::Error for Stopped {}

/// How often what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Requests that were made.
    pub requests: u64,
    /// Valid responses, kisses included.
    pub responses: u64,
    /// Valid responses in interleaved mode.
    pub interleaved: u64,
    /// Samples.
    pub samples: u64,
    /// Kiss-o'-death packets.
    pub kisses: u64,
    /// Valid responses of a server that is not synchronised.
    pub unsynchronized: u64,
    /// Valid responses without a sample because a timestamp of ours is missing.
    pub missing_timestamps: u64,
    /// Valid responses whose timestamps contradict each other.
    pub implausible: u64,
    /// How often the local real-time clock was seen to be stepped.
    pub local_steps: u64,
    /// How often samples contradicted each other: the server's clock was stepped, or drifts more than assumed.
    pub contradictions: u64,
    /// Packets from other addresses or ports.
    pub other_source: u64,
    /// Packets that could not be read.
    pub malformed: u64,
    /// Packets in another mode or version.
    pub not_an_answer: u64,
    /// Responses that came once more.
    pub duplicates: u64,
    /// Packets that answer no open request.
    pub unasked: u64,
}

impl Counts {
    /// Returns how many packets were ignored.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.other_source + self.malformed + self.not_an_answer + self.duplicates + self.unasked
    }

    /// Returns what gave no sample, by a short, stable name of the reason: valid responses, and packets that were ignored.
    #[must_use]
    pub fn without_sample(&self) -> [(&'static str, u64); 9] {
        [
            ("from_elsewhere", self.other_source),
            ("malformed", self.malformed),
            ("not_an_answer", self.not_an_answer),
            ("duplicate", self.duplicates),
            ("late_or_unasked", self.unasked),
            ("unsynchronized", self.unsynchronized),
            ("implausible", self.implausible),
            ("without_timestamp", self.missing_timestamps),
            ("kiss", self.kisses),
        ]
    }

    pub(crate) fn ignore(&mut self, why: Ignored) -> Outcome {
        let count = match why {
            Ignored::OtherSource => &mut self.other_source,
            Ignored::Malformed(_) => &mut self.malformed,
            Ignored::NotAnAnswer => &mut self.not_an_answer,
            Ignored::Duplicate => &mut self.duplicates,
            Ignored::Unasked => &mut self.unasked,
        };
        *count += 1;
        Outcome::Ignored(why)
    }

    pub(crate) fn no_sample(&mut self, why: NoSample) -> Outcome {
        match why {
            NoSample::Unsynchronized => self.unsynchronized += 1,
            NoSample::MissingTimestamp => self.missing_timestamps += 1,
            NoSample::Implausible => self.implausible += 1,
            NoSample::LocalStep => {} // counted where it is seen
        }
        Outcome::NoSample(why)
    }
}
