//! Counts the delays of a task in distributions, over all its runs: a sink between the task and the others.

use crate::delays::{Delays, Judged};
use crate::event::EventKind;
use crate::ptp_change::PtpChange;
use crate::reading::ClockReading;
use crate::recorded::Recorded;
use crate::sample::{Kind, Sample, Subject};
use crate::sink::{Known, Packet, Sink};
use crate::state::State;
use crate::task::Turn;
use std::collections::BTreeMap;
use wirestamp::latency::{PacketLatency, Progress};
use wirestamp::{Error, UtcTime};
use wirestamp_probe::session;

/// The distributions of delays, by segment.
#[derive(Debug, Default)]
pub(super) struct Distributions(BTreeMap<&'static str, Delays>);

impl Distributions {
    /// Serves a task, and counts what it yields meanwhile.
    pub(super) fn counting<T>(
        &mut self,
        turn: &mut Turn<'_>,
        serve: impl FnOnce(&mut Turn<'_>) -> T,
    ) -> T {
        let mut counting = Counting {
            distributions: self,
            sink: &mut *turn.sink,
        };
        serve(&mut Turn {
            now: turn.now,
            utc: turn.utc,
            moment: turn.moment,
            sink: &mut counting,
            is_ready: turn.is_ready,
            buffer: turn.buffer,
        })
    }

    fn count(&mut self, sample: &Sample<'_>) {
        // NTP and PTP have estimates instead of distributions
        if !matches!(sample.subject.kind, Kind::Stamp | Kind::Path) {
            return;
        }
        let judged = Judged {
            sequence: sample.sequence,
            at: sample.at,
            utc: sample.utc,
        };
        for (name, delay, bound) in sample.delays() {
            let delays = self.0.entry(name).or_default();
            delays.record_of(judged, delay, bound);
        }
    }

    pub(super) fn show(&self, into: &mut State) {
        into.set_delays(&self.0);
    }
}

/// Counts samples, and passes everything on.
struct Counting<'a> {
    distributions: &'a mut Distributions,
    sink: &'a mut dyn Sink,
}

impl Sink for Counting<'_> {
    fn sample(&mut self, sample: &Sample<'_>) {
        self.distributions.count(sample);
        self.sink.sample(sample);
    }

    fn begin(&mut self, subject: Subject<'_>) {
        self.sink.begin(subject);
    }

    fn event(&mut self, kind: EventKind, subject: &str, message: String) {
        self.sink.event(kind, subject, message);
    }

    fn estimate(&mut self, clock: &str, known: &Known) {
        self.sink.estimate(clock, known);
    }

    fn reading(&mut self, subject: Subject<'_>, reading: &ClockReading) {
        self.sink.reading(subject, reading);
    }

    fn unread(&mut self, subject: Subject<'_>, error: &Error) {
        self.sink.unread(subject, error);
    }

    fn recorded(&mut self, subject: Subject<'_>, recorded: &Recorded<'_>) {
        self.sink.recorded(subject, recorded);
    }

    fn followed(&mut self, subject: Subject<'_>, sample: &wirestamp_ptp::Sample) {
        self.sink.followed(subject, sample);
    }

    fn changed(&mut self, status: &wirestamp_ptp::Status, change: &PtpChange) {
        self.sink.changed(status, change);
    }

    fn judged(&mut self, subject: Subject<'_>, packet: &session::Sample) {
        self.sink.judged(subject, packet);
    }

    fn passed(&mut self, subject: Subject<'_>, packet: &PacketLatency) {
        self.sink.passed(subject, packet);
    }

    fn progress(&mut self, subject: Subject<'_>, progress: Progress) {
        self.sink.progress(subject, progress);
    }

    fn wants_packets(&self) -> bool {
        self.sink.wants_packets()
    }

    fn packet(&mut self, packet: &Packet<'_>, at: UtcTime) {
        self.sink.packet(packet, at);
    }
}
