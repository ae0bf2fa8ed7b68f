//! Samples that no later reading of the NIC's clock can contradict.

use crate::provisional::Provisional;
use wirestamp_ntp::{Client, LocalTime};

/// A client's measurement, and the moment of its last sample.
pub(super) type Measured = (Client, Option<LocalTime>);

/// Measurements with times that are final, and the next one.
#[derive(Default)]
pub(super) struct Confirmed {
    measured: Option<Measured>,
    /// The next one, and how many times had been noted by then: it waits for all of them.
    next: Option<(Measured, usize)>,
    /// Whether a sample came after that.
    is_behind: bool,
}

impl Confirmed {
    /// Another sample came.
    pub(super) fn note(&mut self) {
        self.is_behind = true;
    }

    /// Goes over to newer samples whose times are final. Those of the newest may wait for seconds, in which others come.
    pub(super) fn follow(&mut self, times: &Provisional, newest: impl FnOnce() -> Measured) {
        let is_final = |noted| times.are_final_until(noted);
        if let Some((measured, _)) = self.next.take_if(|(_, noted)| is_final(*noted)) {
            self.measured = Some(measured);
        }
        if self.next.is_none() && std::mem::take(&mut self.is_behind) {
            let noted = times.noted();
            match is_final(noted) {
                true => self.measured = Some(newest()),
                false => self.next = Some((newest(), noted)),
            }
        }
    }

    /// Forgets the drift of measurements if the client has found it wrong since.
    pub(super) fn distrust(&mut self, client: &Client) {
        let found = |client: &Client| client.counts().drift_contradictions;
        let next = self.next.as_mut().map(|(measured, _)| measured);
        for (known, _) in self.measured.iter_mut().chain(next) {
            if found(known) != found(client) {
                known.forget_drift();
            }
        }
    }

    /// Returns the newest final measurement; `None` if there is none, or this client has seen a clock stepped since.
    pub(super) fn measured(&self, client: &Client) -> Option<&Measured> {
        let steps = |client: &Client| {
            let counts = client.counts();
            (counts.local_steps, counts.contradictions)
        };
        let measured = self.measured.as_ref()?;
        (steps(&measured.0) == steps(client)).then_some(measured)
    }
}
