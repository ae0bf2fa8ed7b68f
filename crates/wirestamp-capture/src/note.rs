//! The comment about a packet's timestamp, which is readable in Wireshark and by programs.
//!
//! The text is `wirestamp: CLOCK clock, error bound N ns, generation N`. CLOCK is `software` (the
//! kernel's timestamp, on the real-time clock) or `hardware` (the NIC's). With a hardware
//! timestamp, `, UTC generation N` follows: the generation of the real-time clock. If the timestamp
//! could not be converted to UTC, the text is `wirestamp: CLOCK clock, no UTC: REASON`, and the
//! packet's time is 0, which is 1970.

use crate::run::ClockRun;
use std::fmt;
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::correlate::{ClockGeneration, ConversionError};
use wirestamp_core::time::Span;

/// The source and the quality of a packet's timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// The source of the timestamp.
    pub clock: TimestampSource,
    /// The quality of the time in UTC, or the reason why there is none.
    pub utc: Result<Known, ConversionError>,
}

/// The error bound and the clock generations of a time in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The error bound.
    pub bound: Span,
    /// The generation of the clock that made the timestamp.
    pub generation: ClockGeneration,
    /// For a hardware timestamp: the generation of the real-time clock for its time in UTC.
    pub utc_generation: Option<ClockGeneration>,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = match self.clock {
            TimestampSource::Software => "software",
            TimestampSource::Hardware => "hardware",
        };
        write!(f, "wirestamp: {clock} clock, ")?;
        match self.utc {
            Ok(known) => {
                let (bound, generation) = (known.bound.nanoseconds(), known.generation.0);
                write!(f, "error bound {bound} ns, generation {generation}")?;
                match known.utc_generation {
                    Some(ClockGeneration(generation)) => {
                        write!(f, ", UTC generation {generation}")
                    }
                    None => Ok(()),
                }
            }
            Err(reason) => write!(f, "no UTC: {}", reason.name()),
        }
    }
}

/// Parses the error bound in nanoseconds from a comment; `None` if the comment is not a note, or
/// has no error bound.
pub fn bound(comment: &str) -> Option<u64> {
    let rest = comment.strip_prefix("wirestamp: ")?;
    let (_, rest) = rest.split_once(" clock, error bound ")?;
    let (bound, _) = rest.split_once(" ns, generation ")?;
    bound.parse().ok()
}

/// Parses the generation of the real-time clock from a comment; `None` if it has none. (With a
/// hardware timestamp the first generation is that of the NIC's clock; files of newer versions have
/// the real-time clock's after it.)
pub fn clock_run(comment: &str) -> Option<ClockRun> {
    let rest = comment.strip_prefix("wirestamp: ")?;
    let (clock, rest) = rest.split_once(" clock, error bound ")?;
    let (_, generations) = rest.split_once(" ns, generation ")?;
    let (counter, generation) = match (clock, generations.split_once(", UTC generation ")) {
        ("hardware", Some((_, generation))) => (TimestampSource::Hardware, generation),
        (_, Some((_, generation))) => (TimestampSource::Software, generation),
        ("software", None) => (TimestampSource::Software, generations),
        _ => return None,
    };
    let generation = generation.parse().ok()?;
    Some(ClockRun {
        counter,
        generation,
    })
}

/// Returns whether a comment states that the packet has no UTC.
pub fn is_without_utc(comment: &str) -> bool {
    comment.starts_with("wirestamp: ") && comment.contains(" clock, no UTC: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(counter: TimestampSource, generation: u32) -> Option<ClockRun> {
        Some(ClockRun {
            counter,
            generation,
        })
    }

    #[test]
    fn a_note_reads_back_and_other_comments_are_none() {
        let known = Known {
            bound: Span::from_nanoseconds(830),
            generation: ClockGeneration(2),
            utc_generation: None,
        };
        let mut note = Note {
            clock: TimestampSource::Hardware,
            utc: Ok(known),
        };
        let text = note.to_string();
        assert_eq!(
            text,
            "wirestamp: hardware clock, error bound 830 ns, generation 2"
        );
        assert_eq!((bound(&text), is_without_utc(&text)), (Some(830), false));
        assert_eq!(clock_run(&text), None, "the NIC's alone");
        note.utc = Ok(Known {
            utc_generation: Some(ClockGeneration(3)),
            ..known
        });
        let text = note.to_string();
        assert_eq!(
            text,
            "wirestamp: hardware clock, error bound 830 ns, generation 2, UTC generation 3"
        );
        assert_eq!(
            (bound(&text), clock_run(&text)),
            (Some(830), run(TimestampSource::Hardware, 3))
        );
        note.clock = TimestampSource::Software;
        note.utc = Ok(known);
        assert_eq!(
            clock_run(&note.to_string()),
            run(TimestampSource::Software, 2)
        );
        note.clock = TimestampSource::Hardware;
        note.utc = Err(ConversionError::Stale);
        let text = note.to_string();
        assert_eq!(text, "wirestamp: hardware clock, no UTC: stale");
        assert_eq!((bound(&text), is_without_utc(&text)), (None, true));
        for other in [
            "",
            "hello",
            "wirestamp: ",
            "wirestamp: software clock, error bound -1 ns, generation 0",
        ] {
            assert_eq!(
                (bound(other), is_without_utc(other)),
                (None, false),
                "{other}"
            );
        }
    }
}
