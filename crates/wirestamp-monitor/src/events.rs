//! What happened: a bounded list of events, for the snapshot and for streams.

use crate::snapshot::Event;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use wirestamp::UtcTime;

/// So many are kept.
const KEPT: usize = 1_000;
/// So many are part of a snapshot.
pub(crate) const SHOWN: usize = 100;

/// The newest events. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    kept: Arc<Mutex<VecDeque<Event>>>,
    newest: Arc<watch::Sender<u64>>,
    utc: UtcTime,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self {
            kept: Arc::default(),
            newest: Arc::new(watch::Sender::new(0)),
            utc: UtcTime::from_nanoseconds(0),
        }
    }

    /// What the real-time clock shows: the time of the events that follow.
    pub(crate) fn set_time(&mut self, utc: UtcTime) {
        self.utc = utc;
    }

    /// Adds one, and logs it.
    pub(crate) fn add(&self, kind: &str, subject: &str, message: String) {
        match kind {
            "task_failed" => tracing::warn!(kind, subject, "{message}"),
            _ => tracing::info!(kind, subject, "{message}"),
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let id = kept.back().map_or(0, |event| event.id) + 1;
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Event {
            id,
            time: self.utc.rfc3339().to_string(),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            message,
        });
        drop(kept);
        self.newest.send_replace(id);
    }

    /// Those after the one with this number, oldest first, at most so many of the newest.
    pub(crate) fn after(&self, id: u64, most: usize) -> Vec<Event> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let first = kept.partition_point(|event| event.id <= id);
        let first = first.max(kept.len().saturating_sub(most));
        kept.range(first..).cloned().collect()
    }

    /// Tells the number of the newest, and when there is a newer one.
    pub(crate) fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_numbered() {
        let events = Events::new();
        for number in 1..=(KEPT as u64 + 5) {
            events.add("reload", "test", format!("{number}"));
        }
        let shown = events.after(0, 3);
        let ids: Vec<_> = shown.iter().map(|event| event.id).collect();
        let last = KEPT as u64 + 5;
        assert_eq!(ids, [last - 2, last - 1, last]);
        assert_eq!(events.after(last - 1, 10).len(), 1);
        assert_eq!(events.after(0, usize::MAX).len(), KEPT);
        assert_eq!(*events.newest().borrow(), last);
    }
}
