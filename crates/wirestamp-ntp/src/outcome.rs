//! The outcome of a received packet, and the counts of outcomes.

use crate::exchange::Sample;
use crate::packet::Malformed;
use std::fmt;

/// The outcome of a received packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// A valid response that completed four timestamps.
    Sample(Sample),
    /// A valid response that gave no sample.
    NoSample(NoSample),
    /// The server denies service, or asks for fewer requests.
    Kiss(Kiss),
    /// The packet is not a response to the open request. Nothing changes; the response may still
    /// arrive.
    Ignored(Ignored),
}

/// The reason why a valid response gave no sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoSample {
    /// The server states that its clock is not synchronised: leap indicator 3, or a stratum other than 1 to 15.
    Unsynchronized,
    /// One of our timestamps is missing.
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
    /// Poll less often: at half the rate or slower.
    Rate,
    /// Access denied: stop.
    Deny,
    /// Access restricted: stop.
    Restrict,
    /// Another code of four letters, which asks for nothing: INIT and STEP, for example.
    Other([u8; 4]),
}

/// The reason why a packet was ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ignored {
    /// It has another source address or port than the server's.
    OtherSource,
    /// It is truncated or malformed.
    Malformed(Malformed),
    /// It is not a server's response: it has another mode (such as our own request, reflected) or
    /// version.
    NotAnAnswer,
    /// It repeats the last response.
    Duplicate,
    /// It answers no open request: a late, replayed or forged response.
    Unasked,
}

/// The server asked us to stop (kiss code DENY or RSTR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped(pub Kiss);

impl Kiss {
    /// Returns whether it means that the server's clock is not synchronised yet: INIT before the
    /// first synchronisation, STEP after a step of its clock (RFC 5905 §7.4).
    #[must_use]
    pub const fn is_unsynchronized(self) -> bool {
        matches!(
            self,
            Self::Other([b'I', b'N', b'I', b'T'] | [b'S', b'T', b'E', b'P'])
        )
    }

    /// Returns the four letters of the code.
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

impl fmt::Display for Kiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match self {
            Self::Rate => "it wants to be asked less often",
            Self::Deny | Self::Restrict => "it refuses to answer",
            Self::Other(letters) => match letters {
                b"INIT" => "it is not synchronized yet",
                b"STEP" => "its clock was stepped, and it is not synchronized again yet",
                b"NKEY" | b"CRYP" | b"AUTH" => "it does not accept the request's key",
                _ => "it sends no time and gives this code as the reason",
            },
        };
        write!(f, "{said} ({})", self.code())
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server refuses to answer ({})", self.0.code())
    }
}

impl std::error::Error for Stopped {}

/// Counts of requests and of the outcomes of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Requests made.
    pub requests: u64,
    /// Valid responses, kisses included.
    pub responses: u64,
    /// Valid responses in interleaved mode.
    pub interleaved: u64,
    /// Samples.
    pub samples: u64,
    /// Kiss-o'-death packets.
    pub kisses: u64,
    /// Valid responses of a server whose clock is not synchronised.
    pub unsynchronized: u64,
    /// Valid responses without a sample, because one of our timestamps is missing.
    pub missing_timestamps: u64,
    /// Valid responses whose timestamps contradict each other.
    pub implausible: u64,
    /// Steps of the local real-time clock.
    pub local_steps: u64,
    /// Contradictions between samples: the server's clock was stepped, or drifts more than assumed.
    pub contradictions: u64,
    /// Samples that contradict the learnt drift: the server's frequency changed by more than
    /// assumed, or its clock was stepped by less than the allowed drift could explain.
    pub drift_contradictions: u64,
    /// Packets from other addresses or ports.
    pub other_source: u64,
    /// Malformed packets.
    pub malformed: u64,
    /// Packets in another mode or version.
    pub not_an_answer: u64,
    /// Repeated responses.
    pub duplicates: u64,
    /// Packets that do not answer an open request.
    pub unasked: u64,
}

impl Counts {
    /// Returns the number of ignored packets.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.other_source + self.malformed + self.not_an_answer + self.duplicates + self.unasked
    }

    /// Returns the counts of responses without a sample and of ignored packets, each with a short, stable name of the
    /// reason.
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
            NoSample::LocalStep => {} // counted where it is detected
        }
        Outcome::NoSample(why)
    }
}
