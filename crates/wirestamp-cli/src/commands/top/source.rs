//! Where values come from: a running monitor, or one in this program. A thread asks again and again.

use super::ask::Asker;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind};
use wirestamp_monitor::Service;
use wirestamp_monitor::snapshot::Snapshot;

/// Values, or why there are none.
pub(super) type Answer = Result<Arc<Snapshot>, String>;

/// Who is asked.
#[derive(Debug)]
pub(super) enum Source {
    Monitor(Asker),
    Own(Service),
}

impl Source {
    /// Asks for the snapshot, and waits for the answer.
    pub(super) fn ask(&self) -> Answer {
        match self {
            Self::Monitor(asker) => asker
                .ask()
                .map(Arc::from)
                .map_err(|none| none.why().to_owned()),
            Self::Own(service) => service
                .handle()
                .wait_snapshot()
                .map_err(|ended| ended.to_string()),
        }
    }

    /// Asks from now on, `interval` after each answer's question, on a thread of its own, which ends when nobody listens.
    pub(super) fn listen(self, interval: Duration) -> Result<Receiver<Answer>, Error> {
        let (sender, answers) = sync_channel(1);
        thread::Builder::new()
            .name("wirestamp-top".into())
            .spawn(move || ask_again(&self, &sender, interval))
            .map_err(|error| {
                let cause = error.to_string();
                Error::new(ErrorKind::Io, "ask the monitor", "a thread", cause)
            })?;
        Ok(answers)
    }
}

fn ask_again(source: &Source, sender: &SyncSender<Answer>, interval: Duration) {
    loop {
        let begun = Instant::now();
        let answer = source.ask();
        // a monitor of this program that ended never returns
        let is_last = answer.is_err() && matches!(source, Source::Own(_));
        // whoever does not take an answer gets a newer one later
        if let (_, Err(TrySendError::Disconnected(_))) | (true, _) =
            (is_last, sender.try_send(answer))
        {
            return;
        }
        thread::sleep(interval.saturating_sub(begun.elapsed()));
    }
}
