//! Runs measurements for ever and passes their samples to the stores.

use crate::configuration::Configuration;
use crate::events::{self, Events, SHOWN, Since};
use crate::history::{Record, Writer};
use crate::own::Own;
use crate::patience::PATIENCE;
use crate::recording::Recordings;
use crate::snapshot::{NtpState, Snapshot};
use crate::stores::Stores;
use std::time::Instant;
use wirestamp::{MonotonicTime, Result, Span, UdpSocket};
use wirestamp_measure::{Engine, EventKind, Exchanged, Moment, Place, State};

/// The interval at which the clocks are written into the history.
const KEEP_CLOCKS: Span = Span::from_seconds(1);
/// How often is noted what no measurement sees.
const LOOK: Span = Span::from_seconds(1);
const SCHEMA: &str = "wirestamp.monitor/1";

/// Runs everything that a configuration asks for, on one thread.
pub struct Monitor {
    configuration: Configuration,
    engine: Engine,
    host: String,
    started: MonotonicTime,
    events: Events,
    own: Own,
    agreement: String,
    history: Option<Writer>,
    /// Those of earlier configurations, which still write what they have.
    ended: Vec<Writer>,
    recordings: Recordings,
    /// The newest event that history has.
    kept: u64,
    /// When history is to have the clocks again.
    clocks_due: MonotonicTime,
    /// When servers are compared and the history's state is looked at.
    look_at: MonotonicTime,
    history_state: String,
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor")
            .field("configuration", &self.configuration)
            .finish_non_exhaustive()
    }
}

impl Monitor {
    /// Prepares what the configuration asks for. A measurement that cannot be opened is tried again while the monitor
    /// runs.
    ///
    /// # Errors
    /// `InvalidInput` as [`Configuration::check`]; `Busy` if another monitor writes the same history or recordings;
    /// `Io` if the system cannot open a socket or start a thread.
    pub fn new(configuration: Configuration, place: Place) -> Result<Self> {
        configuration.check()?;
        let engine = Engine::new(configuration.measurements(), place)?;
        let moment = engine.moment();
        let history = configuration.history.as_ref();
        let history = history.map(|wanted| Writer::start(wanted, None));
        let history = history.transpose()?;
        history.as_ref().map_or(Ok(()), Writer::claim)?;
        let recordings = Recordings::start(&configuration, engine.is_simulated(), &moment)?;
        recordings.claim()?;
        Ok(Self {
            host: configuration.host_name(),
            started: engine.now(),
            events: Events::new(moment.utc()),
            own: Own::default(),
            agreement: String::new(),
            history,
            ended: Vec::new(),
            recordings,
            kept: 0,
            clocks_due: MonotonicTime::MIN,
            look_at: MonotonicTime::MIN,
            history_state: String::new(),
            configuration,
            engine,
        })
    }

    pub(crate) fn events(&self) -> Events {
        self.events.clone()
    }

    pub(crate) fn is_simulated(&self) -> bool {
        self.engine.is_simulated()
    }

    pub(crate) fn clock(&self) -> &UdpSocket {
        self.engine.clock()
    }

    /// Returns the current configuration.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Returns the monotonic clock, of the system or of the simulation.
    pub fn now(&self) -> MonotonicTime {
        self.engine.now()
    }

    /// Does all work that is due, without waiting. Returns the time of the next work that needs no packet.
    pub fn serve(&mut self) -> MonotonicTime {
        let moment = self.engine.moment();
        let now = moment.now;
        self.own.turn(now);
        self.events.set_time(moment.utc());
        let mut stores = Stores {
            events: &self.events,
            history: self.history.as_ref(),
            recordings: &mut self.recordings,
        };
        let next = self.engine.serve(&moment, &mut stores);
        if now >= self.look_at {
            self.look_at = now + LOOK;
            self.look(&moment);
        }
        self.keep_events();
        self.keep_clocks(&moment);
        let next = next.min(self.look_at);
        // what follows the turn, such as an answer, must not make the next one late
        self.own.plan(next.max(self.now()));
        next
    }

    /// Returns how many tasks ran at the last turn, and how many there are.
    pub(crate) fn running(&self) -> (usize, usize) {
        self.engine.running()
    }

    /// Notes what no measurement sees: whether the NTP servers agree, and whether history and recordings are written.
    fn look(&mut self, moment: &Moment) {
        let ntp = self.engine.ntp_at(moment);
        if let Some(ntp) = &ntp {
            self.look_at_servers(ntp);
        }
        if self.recordings.look(moment, ntp.as_ref()) {
            let mut stores = Stores {
                events: &self.events,
                history: None,
                recordings: &mut self.recordings,
            };
            self.engine.estimate(moment, &mut stores);
        }
        self.recordings.hand_over(&self.events);
        self.look_at_history();
    }

    fn look_at_servers(&mut self, ntp: &NtpState) {
        let before = std::mem::replace(&mut self.agreement, ntp.agreement.clone());
        if !before.is_empty() && before != self.agreement {
            let message = format!("the NTP servers: {before} before, now {}", self.agreement);
            self.events.add(EventKind::Agreement.name(), "ntp", message);
        }
    }

    fn look_at_history(&mut self) {
        self.ended.retain(|writer| !writer.is_over());
        let Some(history) = &self.history else {
            return;
        };
        for note in history.notes() {
            self.events.add(events::HISTORY, "history", note);
        }
        let shown = history.show();
        // before the first attempt there is neither an error nor a record
        if shown.state != "recording" && shown.error.is_none() {
            return;
        }
        let before = std::mem::replace(&mut self.history_state, shown.state);
        let is_first = before.is_empty();
        if before == self.history_state || (is_first && shown.error.is_none()) {
            return;
        }
        let cause = shown
            .error
            .map_or(String::new(), |error| format!(": {error}"));
        let before = if is_first { "nothing" } else { &before };
        let message = format!(
            "history: {before} before, now {}{cause}",
            self.history_state
        );
        self.events.add(events::HISTORY, "history", message);
    }

    fn keep_events(&mut self) {
        if let Some(history) = &self.history {
            for event in self.events.after(Since(self.kept), usize::MAX) {
                self.kept = event.id;
                history.add(Record::Event(event));
            }
        }
    }

    fn keep_clocks(&mut self, moment: &Moment) {
        let Some(history) = self
            .history
            .as_ref()
            .filter(|_| moment.now >= self.clocks_due)
        else {
            return;
        };
        self.clocks_due = moment.now + KEEP_CLOCKS;
        // the turn may have taken a while, and clocks are read now
        let moment = self.engine.moment();
        let time = moment.utc().rfc3339().to_string();
        let servers = self.engine.ntp_at(&moment).unwrap_or_default().servers;
        let servers = servers
            .into_iter()
            .filter_map(|server| Record::of_server(time.clone(), server));
        servers.for_each(|record| history.add(record));
        let clocks = self.engine.clocks_at(&moment).into_iter();
        let clocks = clocks.filter_map(|clock| Record::of_clock(time.clone(), clock));
        clocks.for_each(|record| history.add(record));
    }

    /// Waits for packets, until `until` and at most a second.
    ///
    /// # Errors
    /// `Io` if the system refuses to wait.
    pub fn wait(&mut self, until: MonotonicTime) -> Result<()> {
        self.engine.wait(until)
    }

    /// Serves and waits, until `until`.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn run_until(&mut self, until: MonotonicTime) -> Result<()> {
        while self.now() < until {
            let next = self.serve();
            self.wait(next.min(until))?;
        }
        Ok(())
    }

    /// Applies another configuration. Measurements in both run on with their counts; one with a key restarts if the key
    /// in its file changed.
    ///
    /// # Errors
    /// `InvalidInput` as [`Configuration::check`]; `Io` if the system cannot start a thread. Nothing has changed then,
    /// and an event reports it.
    pub fn reload(&mut self, configuration: Configuration) -> Result<()> {
        let checked = configuration.check();
        let kept = checked.and_then(|()| self.reload_kept(&configuration));
        if let Err(error) = kept {
            self.refuse_reload(&error.to_string());
            return Err(error);
        }
        *self.own.reloads.entry("done".to_owned()).or_default() += 1;
        let exchanged = self.engine.exchange(configuration.measurements());
        self.host = configuration.host_name();
        self.configuration = configuration;
        let Exchanged {
            kept,
            opened,
            ended,
        } = exchanged;
        let message = format!("reloaded: {kept} tasks run on, {opened} start, {ended} ended");
        self.events.add(events::RELOAD, "configuration", message);
        Ok(())
    }

    /// Has history and recordings go over to another configuration. What may fail comes first.
    fn reload_kept(&mut self, configuration: &Configuration) -> Result<()> {
        let new = match (&self.history, &configuration.history) {
            (None, Some(wanted)) => {
                // one that is not over holds the folder
                let mut same = self.ended.iter_mut();
                let before = same.rfind(|old| old.configuration().directory == wanted.directory);
                Some(Writer::start(
                    wanted,
                    before.and_then(Writer::take_closing),
                )?)
            }
            _ => None,
        };
        self.recordings
            .reload(configuration, &self.engine.moment())?;
        match (&self.history, &configuration.history) {
            (Some(history), Some(wanted)) => history.change(wanted),
            (Some(_), None) => {
                // its disk may be slow: it is not waited for
                self.ended.extend(self.history.take());
                self.ended.iter_mut().for_each(Writer::close);
            }
            (None, _) => {
                self.history = new;
                self.history_state.clear();
            }
        }
        Ok(())
    }

    /// Adds an event that a new configuration could not be read; the old one stays.
    pub fn refuse_reload(&mut self, why: &str) {
        *self.own.reloads.entry("refused".to_owned()).or_default() += 1;
        self.events.add(
            events::RELOAD,
            "configuration",
            format!("not reloaded, the old one runs on: {why}"),
        );
    }

    /// Returns all results now: estimates, error bounds and ages are of this instant.
    pub fn snapshot(&mut self) -> Snapshot {
        let moment = self.engine.moment();
        let State {
            clocks,
            peers,
            reflector,
            ntp,
            ptp,
            paths,
            ..
        } = self.engine.state_at(&moment);
        Snapshot {
            schema: SCHEMA.to_owned(),
            host: self.host.clone(),
            time: moment.utc().rfc3339().to_string(),
            uptime_ns: (moment.now - self.started).saturating_nanoseconds(),
            simulated: self.engine.is_simulated(),
            tasks: self.engine.tasks(),
            interfaces: self.engine.interfaces(),
            clocks,
            peers,
            reflector,
            ntp,
            ptp,
            paths,
            events: self.events.after(Since::ALL, SHOWN),
            own: self.own.show(),
            history: self.history.as_ref().map(Writer::show),
            recording: self.recordings.show(),
        }
    }
}

/// Ends the writers to disks, which share one time limit.
impl Drop for Monitor {
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE;
        // it writes while history is waited for
        self.recordings.close();
        for history in self.history.iter_mut().chain(&mut self.ended) {
            history.end(until);
        }
        self.recordings.end(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one that asks for history and recordings in folders, and a host of this name.
    fn kept(folder: &std::path::Path, host: &str) -> Configuration {
        let place = folder.display();
        let recording = match cfg!(feature = "parquet") {
            true => format!("[recording]\ndirectory = '{place}/recording'\n"),
            false => String::new(),
        };
        let text = format!(
            "host = '{host}'\n[http]\nenabled = false\n[history]\ndirectory = '{place}/history'\n{recording}"
        );
        Configuration::from_toml(&text).expect("it is right")
    }

    /// A system without threads lets the old configuration run on as a whole, and an event says so.
    #[test]
    fn a_reload_that_fails_changes_nothing_and_is_an_event() {
        let folder = tempfile::tempdir().expect("a folder");
        let simulation = wirestamp::Simulation::preset("igc", 1).expect("a preset");
        let none = Configuration::from_toml("host = 'old'\n[http]\nenabled = false\n");
        let place = Place::Simulation(simulation);
        let mut monitor = Monitor::new(none.expect("it is right"), place).expect("it starts");
        let names: &[&str] = match cfg!(feature = "parquet") {
            true => &["wirestamp-history", "wirestamp-record"],
            false => &["wirestamp-history"],
        };
        for (name, refused) in names.iter().zip(1..) {
            crate::patience::refused::NAME.set((*name).to_owned());
            let error = monitor.reload(kept(folder.path(), "new"));
            error.expect_err("there is no thread");
            crate::patience::refused::NAME.take();
            let snapshot = monitor.snapshot();
            assert_eq!(
                (snapshot.host.as_str(), snapshot.own.reloads["refused"]),
                ("old", refused)
            );
            assert!(
                snapshot.history.is_none() && snapshot.recording.is_none(),
                "{name}"
            );
            let last = snapshot.events.last().expect("an event");
            assert!(last.message.starts_with("not reloaded"), "{last:?}");
        }
        monitor
            .reload(kept(folder.path(), "new"))
            .expect("it is right");
        let snapshot = monitor.snapshot();
        assert!(snapshot.host == "new" && snapshot.history.is_some());

        // the one that runs is not given up for one that cannot start
        #[cfg(feature = "parquet")]
        {
            crate::patience::refused::NAME.set("wirestamp-record".to_owned());
            let mut other = kept(folder.path(), "newer");
            other.history = None;
            monitor.reload(other).expect_err("there is no thread");
            crate::patience::refused::NAME.take();
            let snapshot = monitor.snapshot();
            assert!(snapshot.host == "new" && snapshot.history.is_some());
            assert!(snapshot.recording.is_some());
        }
    }
}
