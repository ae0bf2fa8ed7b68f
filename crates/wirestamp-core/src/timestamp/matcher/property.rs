//! The matcher compared with a plain model: without a window or entries, by linear search.

use super::mark::Mark;
use super::*;
use crate::time::{Bounded, HardwareTicks};
use crate::timestamp::{
    HardwareTimestamp, SoftwareTimestamp, Timestamps, TransmitAnswer, TransmitOutcome,
    TransmitRecord,
};
use proptest::prelude::*;
use std::collections::HashMap;
use std::vec; // `prop_oneof` of many takes it
use std::vec::Vec;

#[derive(Debug, Clone)]
enum Step {
    Begin(u32),
    Cancel(u32),
    /// Timestamps of the n-th datagram from the end, software, hardware or both.
    Deliver(usize, bool, bool),
    Lost(u32),
    /// The n-th datagram from the end entered the queueing discipline of the n-th device on its
    /// path.
    Queue(usize, i64),
    Overflow,
    Pass(i64),
    Fetch(u32),
    Batch(usize),
    Configure(Option<u16>, Source, Option<i64>, bool),
    Reset,
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let id = || 0u32..6;
    let source = prop::sample::select(
        &[
            Source::Software,
            Source::Hardware,
            Source::HardwareElseSoftware,
            Source::Both,
        ][..],
    );
    prop_oneof![
        8 => id().prop_map(Step::Begin),
        1 => id().prop_map(Step::Cancel),
        8 => (0usize..6, any::<bool>(), any::<bool>()).prop_map(|(n, s, h)| Step::Deliver(n, s, h)),
        1 => id().prop_map(Step::Lost),
        6 => (0usize..6, 0i64..3).prop_map(|(n, layer)| Step::Queue(n, layer)),
        1 => Just(Step::Overflow),
        4 => prop_oneof![0i64..60, 0i64..5_000].prop_map(Step::Pass),
        4 => id().prop_map(Step::Fetch),
        2 => (0usize..4).prop_map(Step::Batch),
        1 => (prop::option::weighted(0.9, 0u16..4), source, prop::option::of(20i64..80), any::<bool>())
            .prop_map(|(capacity, source, deadline, queueing)| Step::Configure(capacity, source, deadline, queueing)),
        1 => prop_oneof![20 => Just(Step::Reset), 1 => Just(Step::Close)],
    ]
}

/// One use of an ID in the model.
#[derive(Debug, Clone)]
struct Use {
    /// The datagram's number, from 0: determines its true timestamps.
    datagram: usize,
    begun: MonotonicTime,
    timestamps: Timestamps,
    queued: Option<SoftwareTimestamp>,
    complete: bool,
    end: Option<End>,
    told: bool,
}

#[derive(Debug, Clone, Copy)]
struct End {
    order: usize,
    at: MonotonicTime,
    outcome: Option<MissingReason>,
    certain: bool,
}

/// The outcome of an ID's last use, and the timestamps of the use before.
#[derive(Debug, Clone, Default)]
struct Known {
    last: Option<Use>,
    earlier: Mark,
}

#[derive(Default)]
struct Model {
    capacity: Option<u16>,
    source: Source,
    queueing: bool,
    deadline: Option<Span>,
    closed: bool,
    /// In microseconds.
    now: i64,
    ids: HashMap<u32, Known>,
    delay: TimestampDelay,
    observed: bool,
    /// Datagrams before this one were sent before an overflow.
    overflowed: usize,
    /// Begin time, ID, and failure of the send, for each datagram.
    sent: Vec<(MonotonicTime, u32, bool)>,
    ends: usize,
    counters: TransmitCounters,
}

impl Model {
    fn time(&self) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(self.now * 1_000)
    }

    /// The true timestamps of a datagram: all are distinct.
    fn truth(&self, datagram: usize, software: bool, hardware: bool) -> Timestamps {
        let at = self.sent[datagram].0 + Span::from_nanoseconds(datagram as i128 + 1);
        let soft = SoftwareTimestamp {
            at: Bounded::new(at, Span::ZERO),
            utc: None,
            clock_stepped: false,
        };
        let hard = HardwareTimestamp {
            ticks: HardwareTicks::new(datagram as u64 + 1),
            interface: None,
            read_at: self.time(),
        };
        Timestamps {
            software: software.then_some(soft),
            hardware: hardware.then_some(hard),
        }
    }

    /// The time at which a datagram entered a queue: within the microsecond in which it was sent,
    /// and distinct from all others.
    fn queue_time(&self, datagram: usize, layer: i64) -> SoftwareTimestamp {
        let after = Span::from_nanoseconds(i128::from(layer + 1) * 100);
        SoftwareTimestamp::new(Bounded::new(self.sent[datagram].0 + after, Span::ZERO))
    }

    fn queue(&mut self, id: u32, queued: SoftwareTimestamp) {
        let used = self.ids.get_mut(&id).and_then(|known| known.last.as_mut());
        let Some(used) = used.filter(|used| self.queueing && used.end.is_none()) else {
            return;
        };
        let first = used.queued.map_or(queued.at.value, |first| first.at.value);
        if queued.at.value >= used.begun && queued.at.value <= first {
            used.queued = Some(queued);
        }
    }

    fn complete(&self, timestamps: &Timestamps) -> bool {
        let (soft, hard) = (timestamps.software.is_some(), timestamps.hardware.is_some());
        match self.source {
            Source::Software => soft,
            Source::Hardware => hard,
            Source::HardwareElseSoftware => soft || hard,
            Source::Both => soft && hard,
        }
    }

    fn open(&self, used: &Use) -> bool {
        let end = used.end.expect("ended");
        !end.certain && !used.complete && self.time() - end.at < ABANDONED_FOR
    }

    fn begin(&mut self, id: u32) -> Result<(), Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        if self.capacity.is_none() {
            return Err(Refused::NotEnabled);
        }
        let mut known = self.ids.get(&id).cloned().unwrap_or_default();
        if let Some(last) = known.last {
            if last.end.is_none() || !last.told || self.open(&last) {
                return Err(Refused::Duplicate);
            }
            let mark = Mark::of(&last.timestamps);
            known.earlier = if mark.is_none() { known.earlier } else { mark };
        }
        let datagram = self.sent.len();
        self.sent.push((self.time(), id, false));
        known.last = Some(Use {
            datagram,
            begun: self.time(),
            timestamps: Timestamps::NONE,
            queued: None,
            complete: false,
            end: None,
            told: false,
        });
        self.ids.insert(id, known);
        self.counters.sent += 1;
        self.counters.pending += 1;
        Ok(())
    }

    fn cancel(&mut self, id: u32) {
        let Some(known) = self.ids.get_mut(&id) else {
            return;
        };
        let Some(last) = known.last.take_if(|last| !last.told) else {
            return;
        };
        match last.end {
            None => self.counters.pending -= 1,
            Some(End { outcome: None, .. }) => self.counters.timestamped -= 1,
            Some(End {
                outcome: Some(reason),
                ..
            }) => self.counters.missing[reason as usize] -= 1,
        }
        self.counters.sent -= 1;
        self.sent[last.datagram].2 = true;
        if known.earlier.is_none() {
            self.ids.remove(&id);
        }
    }

    fn waiting(&self) -> usize {
        let uses = self.ids.values().filter_map(|known| known.last.as_ref());
        uses.filter(|used| !used.told && used.end.is_some_and(|end| end.outcome.is_none()))
            .count()
    }

    /// Ends an awaited ID.
    fn end(&mut self, id: u32, reason: MissingReason, certain: bool) {
        let full = self.waiting() >= usize::from(self.capacity.unwrap_or(0));
        let used = self
            .ids
            .get(&id)
            .and_then(|known| known.last.clone())
            .expect("awaited");
        let outcome = match (used.timestamps.is_none(), full) {
            (true, _) => Some(reason),
            (false, true) => Some(MissingReason::BufferFull),
            (false, false) => None,
        };
        self.ends += 1;
        let end = End {
            order: self.ends,
            at: self.time(),
            outcome,
            certain: certain && used.timestamps.is_none(),
        };
        self.ids.get_mut(&id).expect("known").last = Some(Use {
            end: Some(end),
            ..used
        });
        self.counters.pending -= 1;
        match outcome {
            None => self.counters.timestamped += 1,
            Some(reason) => self.counters.missing[reason as usize] += 1,
        }
    }

    fn awaited(&self) -> Vec<(usize, u32)> {
        let uses = self
            .ids
            .iter()
            .filter_map(|(id, known)| Some((*id, known.last.as_ref()?)));
        let mut awaited: Vec<_> = uses
            .filter(|(_, used)| used.end.is_none())
            .map(|(id, u)| (u.datagram, id))
            .collect();
        awaited.sort_unstable();
        awaited
    }

    fn end_all(&mut self, reason: MissingReason) {
        for (_, id) in self.awaited() {
            self.end(id, reason, false);
        }
    }

    fn expire(&mut self) {
        let deadline = self.deadline.unwrap_or_else(|| self.delay.deadline());
        for (datagram, id) in self.awaited() {
            if self.sent[datagram].0 + deadline <= self.time() {
                let reason = match (datagram < self.overflowed, self.observed) {
                    (true, _) => MissingReason::BufferFull,
                    (false, true) => MissingReason::Deadline,
                    (false, false) => MissingReason::NeverGenerated,
                };
                self.end(id, reason, false);
            }
        }
    }

    /// Returns the timestamps if they are late.
    fn deliver(&mut self, id: u32, timestamps: Timestamps) -> Option<Timestamps> {
        let wanted = Timestamps {
            software: timestamps
                .software
                .filter(|_| self.source != Source::Hardware),
            hardware: timestamps
                .hardware
                .filter(|_| self.source != Source::Software),
        };
        if wanted.is_none() {
            return None;
        }
        let known = self.ids.get(&id).cloned().unwrap_or_default();
        let again = known.earlier.shares(Mark::of(&wanted));
        let Some(mut used) = known.last else {
            *(if again {
                &mut self.counters.duplicate
            } else {
                &mut self.counters.stray
            }) += 1;
            return None;
        };
        let preceded = wanted
            .software
            .is_some_and(|timestamp| timestamp.at.value < used.begun);
        if again || preceded || used.complete || !used.timestamps.merge(wanted) {
            self.counters.duplicate += 1;
            return None;
        }
        if used
            .end
            .is_none_or(|end| end.outcome != Some(MissingReason::Reset))
        {
            self.delay.observe(self.time() - used.begun);
            self.observed = true;
        }
        used.complete = self.complete(&used.timestamps);
        let complete = used.complete;
        let (end, told) = (used.end, used.told);
        self.ids.get_mut(&id).expect("known").last = Some(used);
        match end {
            None if complete => self.end(id, MissingReason::BufferFull, true),
            None => {}
            Some(End { outcome: None, .. }) if !told => {}
            Some(_) => {
                self.counters.late += 1;
                return Some(wanted);
            }
        }
        None
    }

    fn configure(&mut self, capacity: Option<u16>, source: Source, deadline: Option<Span>) {
        self.end_all(MissingReason::Reset);
        (self.capacity, self.source, self.deadline) = (capacity, source, deadline);
        (self.delay, self.observed) = (TimestampDelay::new(), false);
        let now = self.time();
        let mut timestamped: Vec<_> = self
            .ids
            .values_mut()
            .filter_map(|known| known.last.as_mut())
            .collect();
        timestamped.retain(|used| !used.told && used.end.is_some_and(|end| end.outcome.is_none()));
        timestamped.sort_unstable_by_key(|used| used.end.expect("ended").order);
        for used in timestamped.into_iter().skip(capacity.unwrap_or(0).into()) {
            self.ends += 1;
            let outcome = Some(MissingReason::BufferFull);
            used.end = Some(End {
                order: self.ends,
                at: now,
                outcome,
                certain: true,
            });
            self.counters.timestamped -= 1;
            self.counters.missing[MissingReason::BufferFull as usize] += 1;
        }
    }

    fn tell(&mut self, id: u32) -> TransmitOutcome {
        let used = self
            .ids
            .get_mut(&id)
            .and_then(|known| known.last.as_mut())
            .expect("known");
        used.told = true;
        used.end.expect("ended").outcome.map_or(
            TransmitOutcome::Timestamped(used.timestamps),
            TransmitOutcome::Missing,
        )
    }

    fn fetch(&mut self, id: u32) -> TransmitAnswer {
        self.expire();
        match self.ids.get(&id).and_then(|known| known.last.as_ref()) {
            Some(used) if used.end.is_none() => TransmitAnswer::Pending,
            Some(used) if !used.told => TransmitAnswer::Resolved(self.tell(id)),
            _ if self.capacity.is_none() => TransmitAnswer::NotEnabled,
            _ => TransmitAnswer::Unknown,
        }
    }

    fn fetch_batch(&mut self, count: usize) -> Vec<TransmitRecord> {
        self.expire();
        let uses = self
            .ids
            .iter()
            .filter_map(|(id, known)| Some((*id, known.last.as_ref()?)));
        let mut ended: Vec<_> = uses
            .filter(|(_, u)| !u.told)
            .filter_map(|(id, u)| Some((u.end?.order, id)))
            .collect();
        ended.sort_unstable();
        ended.truncate(count);
        ended
            .into_iter()
            .map(|(_, id)| {
                let queued = self.ids[&id].last.as_ref().and_then(|used| used.queued);
                TransmitRecord::new(TransmitId(id), self.tell(id)).with_queued(queued)
            })
            .collect()
    }

    /// Whether a hardware timestamp of this datagram can arrive now. The timestamp does not show
    /// for which use of an ID it was made, so only the operating systems' behaviour protects
    /// against a wrong match.
    fn hardware_may_come(&self, datagram: usize) -> bool {
        let (_, id, failed) = self.sent[datagram];
        let last = self.ids.get(&id).and_then(|known| known.last.as_ref());
        let current = last.is_some_and(|last| last.datagram == datagram);
        let settled = last.is_some_and(|last| last.end.is_some_and(|end| end.certain));
        let again = self.ids.get(&id).is_some_and(|known| {
            known
                .earlier
                .shares(Mark::of(&self.truth(datagram, false, true)))
        });
        !failed && ((current && !settled) || again)
    }
}

fn check_truth(model: &Model, matcher_says: &TransmitAnswer, id: u32) -> Result<(), TestCaseError> {
    let TransmitAnswer::Resolved(TransmitOutcome::Timestamped(timestamps)) = matcher_says else {
        return Ok(());
    };
    let datagram = model.ids[&id].last.as_ref().expect("known").datagram;
    let truth = Mark::of(&model.truth(
        datagram,
        timestamps.software.is_some(),
        timestamps.hardware.is_some(),
    ));
    prop_assert_eq!(
        Mark::of(timestamps),
        truth,
        "a timestamp of another datagram"
    );
    Ok(())
}

/// The time in the record, whatever the outcome, is the datagram's own.
fn check_queue_time(model: &Model, record: &TransmitRecord) -> Result<(), TestCaseError> {
    let Some(queued) = record.queued else {
        return Ok(());
    };
    let used = model.ids[&record.id.0].last.as_ref().expect("known");
    let after = queued.at.value - model.sent[used.datagram].0;
    prop_assert!(
        after > Span::ZERO && after < Span::from_microseconds(1),
        "another datagram's"
    );
    Ok(())
}

fn apply(step: &Step, model: &mut Model, matcher: &mut Matcher) -> Result<(), TestCaseError> {
    model.now += 1; // a timestamp is made before the next call, so times tell uses apart
    let now = model.time();
    matcher.advance(now);
    match *step {
        Step::Begin(id) => prop_assert_eq!(matcher.begin(TransmitId(id), now), model.begin(id)),
        Step::Cancel(id) => {
            matcher.cancel(TransmitId(id));
            model.cancel(id);
        }
        Step::Deliver(back, software, hardware) => {
            let Some(datagram) = model.sent.len().checked_sub(back + 1) else {
                return Ok(());
            };
            let timestamps = model.truth(
                datagram,
                software,
                hardware && model.hardware_may_come(datagram),
            );
            let id = model.sent[datagram].1;
            matcher.timestamped(TransmitId(id), &timestamps);
            let mut late = [LateTimestamp::EMPTY; 2];
            let expected = model
                .deliver(id, timestamps)
                .map(|timestamps| LateTimestamp {
                    id: TransmitId(id),
                    timestamps,
                });
            let count = matcher.late(&mut late);
            prop_assert_eq!((count > 0).then_some(late[0]), expected);
        }
        Step::Lost(id) => {
            matcher.lost(TransmitId(id), MissingReason::NeverGenerated);
            match model.ids.get_mut(&id).and_then(|known| known.last.as_mut()) {
                Some(used) if used.end.is_none() => {
                    model.end(id, MissingReason::NeverGenerated, true);
                }
                Some(Use {
                    end: Some(end),
                    told: true,
                    ..
                }) => end.certain = true,
                _ => {}
            }
        }
        Step::Queue(back, layer) => {
            let Some(datagram) = model.sent.len().checked_sub(back + 1) else {
                return Ok(());
            };
            let (id, queued) = (model.sent[datagram].1, model.queue_time(datagram, layer));
            matcher.queued(TransmitId(id), &queued);
            model.queue(id, queued);
        }
        Step::Overflow => {
            matcher.overflowed();
            model.overflowed = model.sent.len();
        }
        Step::Pass(milliseconds) => {
            model.now += milliseconds * 1_000;
            matcher.advance(model.time());
        }
        Step::Fetch(id) => {
            let answer = matcher.fetch(TransmitId(id), now);
            check_truth(model, &answer, id)?;
            prop_assert_eq!(answer, model.fetch(id));
        }
        Step::Batch(count) => {
            let mut out = vec![TransmitRecord::EMPTY; count];
            let fetched = matcher.fetch_batch(now, &mut out);
            out.truncate(fetched);
            for record in &out {
                check_truth(
                    model,
                    &TransmitAnswer::Resolved(record.outcome),
                    record.id.0,
                )?;
                check_queue_time(model, record)?;
            }
            prop_assert_eq!(out, model.fetch_batch(count));
        }
        Step::Configure(capacity, source, milliseconds, queueing) => {
            let transmit_deadline = milliseconds.map(Span::from_milliseconds);
            let wanted = Timestamping {
                transmit: capacity,
                source,
                transmit_deadline,
                queueing,
                ..Timestamping::OFF
            };
            matcher.configure(&wanted, now);
            model.queueing = queueing;
            model.configure(capacity, source, transmit_deadline);
        }
        Step::Reset => {
            matcher.reset(now);
            model.end_all(MissingReason::Reset);
        }
        Step::Close => {
            matcher.close(now);
            model.end_all(MissingReason::SocketClosed);
            model.closed = true;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn every_id_ends_exactly_once_with_its_own_timestamp(
        capacity in 0u16..4,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let (mut model, mut matcher) = (Model::default(), Matcher::new());
        apply(&Step::Configure(Some(capacity), Source::Both, Some(50), true), &mut model, &mut matcher)?;
        for step in &steps {
            apply(step, &mut model, &mut matcher)?;
            let counters = matcher.counters();
            prop_assert_eq!(counters, model.counters);
            prop_assert_eq!(counters.sent, counters.pending + counters.timestamped + counters.missing_in_all());
            prop_assert_eq!(matcher.awaited() as u64, counters.pending);
            prop_assert!(matcher.waiting() <= usize::from(model.capacity.unwrap_or(0)));
        }
    }
}
