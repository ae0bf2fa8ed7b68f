//! Passes samples to events, history and recordings.

use crate::events::Events;
use crate::history::{Record, Writer};
use crate::recording::Recordings;
use wirestamp::UtcTime;
use wirestamp_measure::{ClockReading, EventKind, Known, Packet, Sample, Sink, Subject};

/// The stores that a configuration asks for.
pub(crate) struct Stores<'a> {
    pub(crate) events: &'a Events,
    pub(crate) history: Option<&'a Writer>,
    pub(crate) recordings: &'a mut Recordings,
}

impl Sink for Stores<'_> {
    fn sample(&mut self, sample: &Sample<'_>) {
        if let Some(history) = self.history
            && let Some(record) = Record::of(sample)
        {
            history.add(record);
        }
        self.recordings.sample(sample);
    }

    fn begin(&mut self, subject: Subject<'_>) {
        self.recordings.begin(subject);
    }

    fn event(&mut self, kind: EventKind, subject: &str, message: String) {
        self.events.add(kind.name(), subject, message);
    }

    fn estimate(&mut self, clock: &str, known: &Known) {
        if let Some(recording) = self.recordings.current() {
            recording.estimate(clock, known);
        }
    }

    fn reading(&mut self, subject: Subject<'_>, reading: &ClockReading) {
        if let Some(recording) = self.recordings.current() {
            recording.cross(subject.name, &reading.cross, reading.utc());
        }
    }

    fn wants_packets(&self) -> bool {
        self.recordings.wants_packets()
    }

    fn packet(&mut self, packet: &Packet<'_>, at: UtcTime) {
        if let Some(recording) = self.recordings.current() {
            recording.packet(packet, at);
        }
    }
}
