//! A bounded list of events, for the snapshot and for streams.

use crate::snapshot::Event;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use wirestamp::UtcTime;
use wirestamp_measure::EventKind;

/// The configuration was read again, or could not be.
pub(crate) const RELOAD: &str = "reload";
/// The history can no longer be read or written, or can again.
pub(crate) const HISTORY: &str = "history";
/// Recordings can no longer be written, or can again.
pub(crate) const RECORDING: &str = "recording";

/// The kinds of events, for the schemas.
#[cfg(feature = "schema")]
pub(crate) fn kinds() -> Vec<&'static str> {
    let measured = EventKind::ALL.iter().map(|kind| kind.name());
    measured.chain([RELOAD, HISTORY, RECORDING]).collect()
}

/// The most events that are kept.
const KEPT: usize = 1_000;
/// The most events in a snapshot.
pub(crate) const SHOWN: usize = 100;

/// The number up to which a reader has the events of this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Since(pub(crate) u64);

impl Since {
    /// Before the first.
    pub(crate) const ALL: Self = Self(0);
}

/// The newest events. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    /// The id of this run of the monitor: each run numbers its events anew.
    run: Arc<str>,
    kept: Arc<Mutex<VecDeque<Event>>>,
    newest: Arc<watch::Sender<u64>>,
    utc: UtcTime,
}

impl Events {
    /// `begun`: when this run began, on the real-time clock.
    pub(crate) fn new(begun: UtcTime) -> Self {
        Self {
            run: format!("{:x}", begun.nanoseconds()).into(),
            kept: Arc::default(),
            newest: Arc::new(watch::Sender::new(0)),
            utc: UtcTime::from_nanoseconds(0),
        }
    }

    /// The time on the real-time clock for the events that follow.
    pub(crate) fn set_time(&mut self, utc: UtcTime) {
        self.utc = utc;
    }

    /// Adds an event and logs it.
    pub(crate) fn add(&self, kind: &str, subject: &str, message: String) {
        match kind {
            _ if kind == EventKind::TaskFailed.name() => tracing::warn!(kind, subject, "{message}"),
            _ => tracing::info!(kind, subject, "{message}"),
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let id = kept.back().map_or(0, |event| event.id) + 1;
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Event {
            run: self.run.to_string(),
            id,
            time: self.utc.rfc3339().to_string(),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            message,
        });
        drop(kept);
        self.newest.send_replace(id);
    }

    /// Returns which events a reader has whose last one has this id: none of this run if the id is of another run. `0`
    /// is before the first event; `None` if it is not an id.
    pub(crate) fn since(&self, id: &str) -> Option<Since> {
        if id == "0" {
            return Some(Since::ALL);
        }
        let (run, number) = id.rsplit_once('-')?;
        let number = number.parse().ok()?;
        let is_of_this = *run == *self.run && number <= self.now().0;
        Some(if is_of_this {
            Since(number)
        } else {
            Since::ALL
        })
    }

    /// Up to the newest.
    pub(crate) fn now(&self) -> Since {
        Since(*self.newest.borrow())
    }

    /// Returns the events that a reader lacks, oldest first, at most this many of the newest.
    pub(crate) fn after(&self, Since(id): Since, most: usize) -> Vec<Event> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let first = kept.partition_point(|event| event.id <= id);
        let first = first.max(kept.len().saturating_sub(most));
        kept.range(first..).cloned().collect()
    }

    /// Returns a receiver of the newest event's number, which reports each newer one.
    pub(crate) fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_numbered() {
        let events = Events::new(UtcTime::from_nanoseconds(1));
        for number in 1..=(KEPT as u64 + 5) {
            events.add("reload", "test", format!("{number}"));
        }
        let shown = events.after(Since::ALL, 3);
        let ids: Vec<_> = shown.iter().map(|event| event.id).collect();
        let last = KEPT as u64 + 5;
        assert_eq!(ids, [last - 2, last - 1, last]);
        assert_eq!(events.after(Since(last - 1), 10).len(), 1);
        assert_eq!(events.after(Since::ALL, usize::MAX).len(), KEPT);
        assert_eq!(*events.newest().borrow(), last);
    }

    #[test]
    fn an_id_of_another_run_is_before_all_of_this_one() {
        let [before, events] = [1, 2].map(|at| Events::new(UtcTime::from_nanoseconds(at)));
        for number in 0..5 {
            before.add("reload", "test", format!("{number}"));
            events.add("reload", "test", format!("{number}"));
        }
        let id = |events: &Events, number: u64| format!("{}-{number}", events.run);
        for (id, since) in [
            ("0".to_owned(), Some(Since::ALL)),
            (id(&events, 3), Some(Since(3))),
            (id(&before, 3), Some(Since::ALL)),
            (id(&events, 6), Some(Since::ALL)),
            ("3".to_owned(), None),
            (id(&events, 3) + "x", None),
            (String::new(), None),
        ] {
            assert_eq!(events.since(&id), since, "{id}");
        }
    }
}
