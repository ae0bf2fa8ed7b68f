//! The values of a packet of a session: its delays by segment.

use crate::sample::{Departure, Sample, Segment, Subject};
use wirestamp::{Bounded, MonotonicTime, Span, UtcTime};
use wirestamp_probe::Missing;
use wirestamp_probe::session;

/// The most values of a packet.
const MOST: usize = 9;

/// The values that are known of a packet.
pub(super) struct Segments {
    values: [(Segment, Bounded<Span>); MOST],
    known: usize,
}

impl Segments {
    /// Nothing of a packet that is lost.
    pub(super) fn of(sample: &session::Sample) -> Self {
        let mut new = Self {
            values: [(Segment::RoundTrip, Bounded::exact(Span::ZERO)); MOST],
            known: 0,
        };
        if sample.is_answered {
            new.fill(sample);
        }
        new
    }

    fn fill(&mut self, sample: &session::Sample) {
        for (segment, measured) in [
            (Segment::RoundTrip, sample.round_trip),
            (Segment::Path, sample.path_delay),
            (Segment::Forward, sample.forward),
            (Segment::Backward, sample.backward),
            (Segment::Residence, sample.residence),
            (Segment::SendPath, sample.send_path),
            (Segment::ReceivePath, sample.receive_path),
            (Segment::ForwardDifference, sample.forward_difference),
            (Segment::BackwardDifference, sample.backward_difference),
        ] {
            if let Some(measured) = measured {
                self.values[self.known] = (segment, measured);
                self.known += 1;
            }
        }
    }

    pub(super) fn sample<'a>(
        &'a self,
        subject: Subject<'a>,
        sample: &session::Sample,
        at: MonotonicTime,
        utc: UtcTime,
    ) -> Sample<'a> {
        Sample {
            subject,
            sequence: sample.sequence,
            at,
            utc,
            left: match sample.sent {
                Ok(sent) => Departure::At(sent.utc),
                Err(Missing::NotSent) => Departure::NotSent,
                Err(_) => Departure::Unknown,
            },
            has_arrived: sample.is_answered,
            values: &self.values[..self.known],
        }
    }
}
