//! The recording that runs, and those of earlier configurations, which still write what they have.

use super::probes::Probes;
use super::{Recording, Said};
use crate::configuration::Configuration;
use crate::events::{self, Events};
use crate::snapshot::{NtpState, RecordingState};
use std::time::Instant;
use wirestamp::Result;
use wirestamp::clock::utc_error_bound;
use wirestamp_measure::{Kind, Moment, Sample, Subject};

/// The recording that a configuration asks for, if it does.
pub(crate) struct Recordings {
    current: Option<Recording>,
    ending: Vec<Recording>,
    probes: Probes,
    is_simulated: bool,
    /// How fast what NTP servers say becomes less certain.
    ntp_ppm: u32,
    /// The state that was reported last.
    state: String,
}

impl Recordings {
    pub(crate) fn start(
        configuration: &Configuration,
        is_simulated: bool,
        moment: &Moment,
    ) -> Result<Self> {
        let mut new = Self {
            current: None,
            ending: Vec::new(),
            probes: Probes::default(),
            is_simulated,
            ntp_ppm: 0,
            state: String::new(),
        };
        new.reload(configuration, moment)?;
        Ok(new)
    }

    /// Goes over to another configuration. The old recording writes what it has meanwhile, in the same folder or another.
    pub(crate) fn reload(&mut self, configuration: &Configuration, moment: &Moment) -> Result<()> {
        let (wanted, host) = (configuration.recording.as_ref(), configuration.host_name());
        let is_same = match &self.current {
            Some(current) => current.is_of(wanted, &host),
            None => wanted.is_none(),
        };
        if !is_same {
            let before = || self.current.iter().chain(&self.ending);
            let start =
                |wanted| Recording::start(wanted, host, self.is_simulated, moment, before());
            let new = wanted.map(start).transpose()?;
            self.close();
            self.current = new;
            self.state.clear();
        }
        let length = self.current.as_ref().and_then(Recording::window);
        self.probes.set(&configuration.stamp, length);
        let drifts = configuration.ntp.iter().map(|ntp| ntp.max_drift_ppm);
        self.ntp_ppm = drifts.max().unwrap_or(0);
        Ok(())
    }

    /// Waits a while until it is known who writes into the folder.
    ///
    /// # Errors
    /// `Busy` if another monitor does, as the same host.
    pub(crate) fn claim(&self) -> Result<()> {
        self.current.as_ref().map_or(Ok(()), Recording::claim)
    }

    pub(crate) fn current(&mut self) -> Option<&mut Recording> {
        self.current.as_mut()
    }

    pub(crate) fn wants_packets(&self) -> bool {
        self.current.as_ref().is_some_and(Recording::wants_packets)
    }

    /// Another run of something begins.
    pub(crate) fn begin(&mut self, subject: Subject<'_>) {
        if subject.kind == Kind::Stamp {
            self.probes.begin(subject.name);
        }
    }

    /// Takes a sample: those of STAMP sessions are grouped by windows.
    pub(crate) fn sample(&mut self, sample: &Sample<'_>) {
        let Some(current) = &mut self.current else {
            return;
        };
        if let (Kind::Stamp, Some(length)) = (sample.subject.kind, current.window())
            && let Some((peer, window)) = self.probes.add(sample, length)
        {
            current.probe(&peer, &window);
        }
    }

    pub(crate) fn show(&self) -> Option<RecordingState> {
        self.current.as_ref().map(Recording::show)
    }

    /// Takes no more rows. What it has is written meanwhile.
    pub(crate) fn close(&mut self) {
        if let Some(mut current) = self.current.take() {
            current.close();
            self.ending.push(current);
        }
    }

    /// Writes what all of them have, those of earlier configurations as well. Waits for their disks until then.
    pub(crate) fn end(&mut self, until: Instant) {
        self.close();
        for mut recording in self.ending.drain(..) {
            recording.end(until);
        }
    }

    /// Once a second: notes what is said of the real-time clock. Returns whether the clocks are to be estimated now.
    pub(crate) fn look(&mut self, moment: &Moment, ntp: Option<&NtpState>) -> bool {
        self.ending.retain_mut(|recording| !recording.is_over());
        let Some(current) = &mut self.current else {
            return false;
        };
        // a simulation's clock is none of the kernel's
        let kernel = || utc_error_bound().filter(|_| !self.is_simulated);
        current.look(moment, Said::by(ntp, self.ntp_ppm, kernel))
    }

    /// Hands over what is recorded, and notes whether it is written.
    pub(crate) fn hand_over(&mut self, events: &Events) {
        let Some(current) = &mut self.current else {
            return;
        };
        current.hand_over();
        let shown = current.show();
        let before = std::mem::replace(&mut self.state, shown.state);
        let is_news = self.state == "failed" || before == "failed";
        if is_news && before != self.state {
            let message = match shown.error {
                Some(error) => format!("recordings fail: {error}"),
                None => "recordings succeed again".to_owned(),
            };
            events.add(events::RECORDING, "recording", message);
        }
    }
}
