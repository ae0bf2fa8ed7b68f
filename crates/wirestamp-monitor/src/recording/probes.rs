//! The windows of STAMP sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use wirestamp::Span;
use wirestamp_measure::{Departure, Sample, Segment, Stamp};
use wirestamp_probe::session::{Departed, Window, Windows};

/// The windows that are open, by session.
#[derive(Default)]
pub(super) struct Probes {
    sessions: HashMap<String, Session>,
}

struct Session {
    /// What its peer is called.
    peer: Arc<str>,
    windows: Option<Windows>,
}

impl Probes {
    /// Goes over to these sessions, and windows of this length, if there are any. A window that is open has no row if the length changes.
    pub(super) fn set(&mut self, sessions: &[Stamp], length: Option<Duration>) {
        let mut before = std::mem::take(&mut self.sessions);
        for stamp in sessions {
            let known = before.remove(stamp.name());
            let windows = known.and_then(|session| session.windows);
            let session = Session {
                peer: stamp.peer_name().into(),
                windows: windows.filter(|windows| Some(windows.length()) == length.map(Span::from)),
            };
            self.sessions.insert(stamp.name().to_owned(), session);
        }
    }

    /// Another run of a session may be of another host: a window that is open has no row.
    pub(super) fn begin(&mut self, session: &str) {
        if let Some(session) = self.sessions.get_mut(session) {
            session.windows = None;
        }
    }

    /// Takes a packet. Returns the window before it and its peer, if that is over.
    pub(super) fn add(
        &mut self,
        sample: &Sample<'_>,
        length: Duration,
    ) -> Option<(Arc<str>, Window)> {
        let session = self.sessions.get_mut(sample.subject.name)?;
        let windows = session.windows.get_or_insert_with(|| Windows::new(length));
        let window = windows.add(departed(sample))?;
        Some((Arc::clone(&session.peer), window))
    }
}

fn departed(sample: &Sample<'_>) -> Departed {
    let value = |segment| sample.value(segment).map(|known| known.value);
    Departed {
        left: match sample.left {
            Departure::At(left) => Some(left),
            Departure::Unknown | Departure::NotSent => None,
        },
        is_sent: sample.left != Departure::NotSent,
        forward: value(Segment::ForwardDifference),
        backward: value(Segment::BackwardDifference),
    }
}
