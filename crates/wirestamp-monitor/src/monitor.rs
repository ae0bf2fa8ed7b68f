//! The loop that serves all tasks: one thread, one wait.

use crate::configuration::Configuration;
use crate::events::{Events, SHOWN, Since};
use crate::history::{Record, Writer};
use crate::interfaces::Interfaces;
use crate::own::Own;
use crate::patience::PATIENCE;
use crate::place::Place;
use crate::recording::Recordings;
use crate::slot::{Slot, Wanted};
use crate::snapshot::Snapshot;
use crate::task::{Moment, Realtime, Turn, compare};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;
use wirestamp::{MonotonicTime, Result, Span, UdpSocket, UtcCrossTimestamp};

/// The longest wait: names that are being resolved and requests of a simulation's readers are looked at so often.
const LONGEST_WAIT: Span = Span::from_seconds(1);
/// More than any packet that a task takes.
const BUFFER: usize = 9_216;
/// With more sockets than these, what comes is gathered for [`GATHER`] before it is served.
const FEW: usize = 128;
const GATHER: Span = Span::from_milliseconds(1);
/// How often the clocks are kept in the history.
const KEEP_CLOCKS: Span = Span::from_seconds(1);
/// How often is noted what no task sees.
const LOOK: Span = Span::from_seconds(1);
const SCHEMA: &str = "wirestamp.monitor/1";

/// Everything that a configuration asks for, running. It stays on one thread.
pub struct Monitor {
    configuration: Configuration,
    place: Place,
    host: String,
    started: MonotonicTime,
    /// Reads the clocks, and is what a reader wakes the loop through.
    clock: UdpSocket,
    slots: Vec<Slot>,
    realtime: Realtime,
    interfaces: Interfaces,
    events: Events,
    own: Own,
    buffer: Vec<u8>,
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
    /// Tasks that ran at the last turn.
    running: usize,
    /// For which sockets the last wait ended.
    ready: Vec<usize>,
    /// Whether a reader woke the loop.
    is_woken: bool,
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor")
            .field("configuration", &self.configuration)
            .finish_non_exhaustive()
    }
}

impl Monitor {
    /// Prepares what the configuration asks for. What cannot be opened is tried again while it runs.
    ///
    /// # Errors
    /// `InvalidInput` as [`Configuration::check`]; `Busy` if another monitor writes the same history or recordings; `Io` if the system gives no
    /// socket or thread.
    pub fn new(configuration: Configuration, place: Place) -> Result<Self> {
        configuration.check()?;
        let loopback: SocketAddr = match place {
            Place::System => (Ipv4Addr::LOCALHOST, 0).into(),
            Place::Simulation(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        };
        let clock = place.bind(None, loopback)?;
        let interfaces = Interfaces::new(&place)?;
        let wanted = Wanted::of(&configuration, &interfaces.with_clocks());
        let mut slots = Vec::new();
        exchange(&mut slots, wanted);
        let moment = moment(&clock);
        let history = configuration.history.as_ref().map(Writer::start);
        let history = history.transpose()?;
        history.as_ref().map_or(Ok(()), Writer::claim)?;
        let recordings = Recordings::start(&configuration, place.is_simulated(), &moment)?;
        recordings.claim()?;
        Ok(Self {
            host: configuration.host_name(),
            started: clock.now(),
            realtime: Realtime::new(configuration.clocks.tai_offset),
            slots,
            events: Events::new(moment.reading.utc),
            own: Own::default(),
            buffer: vec![0; BUFFER],
            agreement: String::new(),
            history,
            ended: Vec::new(),
            recordings,
            kept: 0,
            clocks_due: MonotonicTime::MIN,
            look_at: MonotonicTime::MIN,
            history_state: String::new(),
            running: 0,
            ready: Vec::new(),
            is_woken: false,
            configuration,
            place,
            clock,
            interfaces,
        })
    }

    pub(crate) fn events(&self) -> Events {
        self.events.clone()
    }

    pub(crate) fn is_simulated(&self) -> bool {
        self.place.is_simulated()
    }

    pub(crate) fn clock(&self) -> &UdpSocket {
        &self.clock
    }

    /// Returns the configuration that runs.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Returns the monotonic clock, of the system or of the simulation.
    pub fn now(&self) -> MonotonicTime {
        self.clock.now()
    }

    /// Does all that can be done now; returns when there is something to do even if nothing comes. Does not wait.
    pub fn serve(&mut self) -> MonotonicTime {
        let reading = self.clock.utc_cross_timestamp();
        let now = reading.after;
        self.own.turn(now);
        self.events.set_time(reading.utc);
        let mut turn = Turn {
            now,
            utc: reading.utc,
            moment: Moment { now, reading },
            events: &mut self.events,
            history: self.history.as_ref(),
            recording: self.recordings.current(),
            is_ready: false,
            buffer: &mut self.buffer,
        };
        let mut next = self.realtime.look(reading, &mut turn);
        if self.interfaces.serve(&self.place, &mut turn) {
            let wanted = Wanted::of(&self.configuration, &self.interfaces.with_clocks());
            exchange(&mut self.slots, wanted);
        }
        let mut running = 0;
        for slot in &mut self.slots {
            next = next.min(slot.serve(&self.place, &mut turn));
            running += usize::from(slot.task().is_some());
        }
        self.running = running;
        if now >= self.look_at {
            self.look_at = now + LOOK;
            self.look(reading);
        }
        self.keep_events();
        self.keep_clocks(&Moment { now, reading });
        if std::mem::take(&mut self.is_woken) {
            let mut wakes = [0; 16];
            while let Ok(Some(_)) = self.clock.receive(&mut wakes, std::time::Duration::ZERO) {}
        }
        let next = next.min(self.look_at);
        // what follows the turn, such as an answer, must not make the next one late
        self.own.plan(next.max(self.clock.now()));
        next
    }

    /// Returns how many tasks ran at the last turn, and how many there are.
    pub(crate) fn running(&self) -> (usize, usize) {
        (self.running, self.slots.len())
    }

    /// Notes what no task sees: whether the NTP servers agree, and whether history is written.
    fn look(&mut self, reading: UtcCrossTimestamp) {
        let moment = Moment {
            now: reading.after,
            reading,
        };
        let mut servers = Snapshot::default();
        let ntp = self.slots.iter().filter(|slot| slot.is_ntp());
        ntp.for_each(|slot| slot.show(&moment, &mut servers));
        if let Some(ntp) = &mut servers.ntp {
            compare(ntp);
            let before = std::mem::replace(&mut self.agreement, ntp.agreement.clone());
            if !before.is_empty() && before != self.agreement {
                self.events.add(
                    "agreement",
                    "ntp",
                    format!("the NTP servers: {before} before, now {}", self.agreement),
                );
            }
        }
        let ntp = servers.ntp.as_ref();
        self.recordings
            .look(&moment, ntp, &mut self.slots, &self.events);
        self.look_at_history();
    }

    fn look_at_history(&mut self) {
        self.ended.retain(|writer| !writer.is_over());
        let Some(history) = &self.history else {
            return;
        };
        for note in history.notes() {
            self.events.add("history", "history", note);
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
        self.events.add("history", "history", message);
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
        let mut known = Snapshot::default();
        // the real-time clock's offset is that of NTP or PTP
        let sources = self.slots.iter().filter(|slot| {
            matches!(
                slot.wanted,
                Wanted::Clock { .. } | Wanted::Ntp(_) | Wanted::Ptp(_)
            )
        });
        sources.for_each(|slot| slot.show(moment, &mut known));
        if let Some(ntp) = &mut known.ntp {
            compare(ntp);
        }
        self.realtime.show(moment, &mut known);
        for clock in known.clocks {
            if let Some(bound_ns) = clock.utc_bound_ns {
                history.add(Record::Clock {
                    time: moment.reading.utc.rfc3339().to_string(),
                    clock: clock.name,
                    offset_ns: clock.utc_offset_ns,
                    bound_ns,
                });
            }
        }
    }

    /// Waits until something comes or `until`, at most a second.
    ///
    /// # Errors
    /// `Io` if the system refuses to wait.
    pub fn wait(&mut self, until: MonotonicTime) -> Result<()> {
        let now = self.now();
        let until = until.min(now + LONGEST_WAIT);
        let (mut sockets, mut owners) = (Vec::new(), Vec::new());
        for (owner, slot) in self.slots.iter().enumerate() {
            if let Some(task) = slot.task() {
                task.sockets(&mut sockets);
                owners.resize(sockets.len(), owner);
            }
        }
        let gathers = sockets.len() > FEW;
        if self.place.is_simulated() {
            // nobody wakes this loop, and its own socket may be of a NIC that is gone
            if gathers {
                self.clock.sleep_until(until.min(now + GATHER));
            }
            if sockets.is_empty() {
                self.clock.sleep_until(until);
                return Ok(());
            }
        } else {
            if gathers {
                UdpSocket::wait_any(&[&self.clock], until.min(now + GATHER))?;
            }
            sockets.push(&self.clock);
        }
        UdpSocket::wait_ready(&sockets, until, &mut self.ready)?;
        for place in &self.ready {
            match owners.get(*place) {
                Some(owner) => self.slots[*owner].is_ready = true,
                None => self.is_woken = true,
            }
        }
        Ok(())
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

    /// Goes over to another configuration: what both ask for runs on, with its counts. What is signed with a key begins anew if its file has
    /// another one.
    ///
    /// # Errors
    /// `InvalidInput` as [`Configuration::check`]; `Io` if the system gives no thread. Nothing has changed then, and an event says so.
    pub fn reload(&mut self, configuration: Configuration) -> Result<()> {
        let checked = configuration.check();
        let kept = checked.and_then(|()| self.reload_kept(&configuration));
        if let Err(error) = kept {
            self.refuse_reload(&error.to_string());
            return Err(error);
        }
        *self.own.reloads.entry("done".to_owned()).or_default() += 1;
        let before = self.slots.len();
        self.slots.retain(|slot| !slot.has_old_key());
        let rekeyed = before - self.slots.len();
        let wanted = Wanted::of(&configuration, &self.interfaces.with_clocks());
        let (kept, opened, ended) = exchange(&mut self.slots, wanted);
        let ended = ended + rekeyed;
        self.realtime
            .set_tai_offset(configuration.clocks.tai_offset);
        self.host = configuration.host_name();
        self.configuration = configuration;
        self.events.add(
            "reload",
            "configuration",
            format!("reloaded: {kept} tasks run on, {opened} start, {ended} ended"),
        );
        Ok(())
    }

    /// Has history and recordings go over to another configuration. What may fail comes first.
    fn reload_kept(&mut self, configuration: &Configuration) -> Result<()> {
        let new = match (&self.history, &configuration.history) {
            (None, Some(wanted)) => Some(Writer::start(wanted)?),
            _ => None,
        };
        self.recordings
            .reload(configuration, &moment(&self.clock))?;
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

    /// Notes that a new configuration could not be read; the old one runs on.
    pub fn refuse_reload(&mut self, why: &str) {
        *self.own.reloads.entry("refused".to_owned()).or_default() += 1;
        self.events.add(
            "reload",
            "configuration",
            format!("not reloaded, the old one runs on: {why}"),
        );
    }

    /// Returns what is known now: estimates, error bounds and ages are of this instant.
    pub fn snapshot(&mut self) -> Snapshot {
        let moment = moment(&self.clock);
        let reading = moment.reading;
        let mut snapshot = Snapshot {
            schema: SCHEMA.to_owned(),
            host: self.host.clone(),
            time: reading.utc.rfc3339().to_string(),
            uptime_ns: (moment.now - self.started).saturating_nanoseconds(),
            simulated: self.place.is_simulated(),
            tasks: self.slots.iter().map(Slot::state).collect(),
            interfaces: self.interfaces.show(),
            own: self.own.show(),
            history: self.history.as_ref().map(Writer::show),
            recording: self.recordings.show(),
            ..Snapshot::default()
        };
        self.slots
            .iter()
            .for_each(|slot| slot.show(&moment, &mut snapshot));
        if let Some(ntp) = &mut snapshot.ntp {
            compare(ntp);
        }
        self.realtime.show(&moment, &mut snapshot);
        snapshot.events = self.events.after(Since::ALL, SHOWN);
        snapshot
    }
}

/// Ends what writes to disks, which share the time that there is for it.
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

fn moment(clock: &UdpSocket) -> Moment {
    let reading = clock.utc_cross_timestamp();
    Moment {
        now: reading.after,
        reading,
    }
}

/// Keeps the slots of what is still wanted; returns how many run on, are new and ended.
fn exchange(slots: &mut Vec<Slot>, wanted: Vec<Wanted>) -> (usize, usize, usize) {
    let before = slots.len();
    // sessions are numbered by themselves: they are the last
    let others = wanted.iter().take_while(|one| !one.is_session()).count();
    let mut old: Vec<_> = std::mem::take(slots).into_iter().map(Some).collect();
    let mut missing = Vec::new();
    let mut places = Vec::new();
    for one in wanted {
        match old
            .iter_mut()
            .find(|slot| slot.as_ref().is_some_and(|slot| slot.wanted == one))
            .and_then(Option::take)
        {
            Some(slot) => places.push(Some(slot)),
            None => {
                places.push(None);
                missing.push(one);
            }
        }
    }
    // what ends gives up its ports before others open theirs
    drop(old);
    let opened = missing.len();
    let mut missing = missing.into_iter();
    slots.extend(
        places
            .into_iter()
            .enumerate()
            .filter_map(|(number, place)| {
                let number = number.saturating_sub(others);
                place.or_else(|| Some(Slot::new(missing.next()?, number)))
            }),
    );
    let kept = slots.len() - opened;
    (kept, opened, before - kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_numbered_by_themselves_whatever_else_is_measured() {
        let wanted = |text: &str| {
            let configuration = Configuration::from_toml(text).expect("it is right");
            Wanted::of(&configuration, &["eth0".to_owned()])
        };
        let numbers = |slots: &[Slot]| -> Vec<usize> {
            let sessions = slots.iter().filter(|slot| slot.wanted.is_session());
            sessions.map(|slot| slot.number).collect()
        };
        let ntp = "[[ntp]]\nserver = \"192.0.2.1\"\n";
        let stamp = |peer: u8| format!("[[stamp]]\npeer = \"192.0.2.{peer}\"\n");
        let mut slots = Vec::new();
        exchange(&mut slots, wanted(&[stamp(1), stamp(2)].concat()));
        assert_eq!(numbers(&slots), [0, 1]);
        let more = [ntp.to_owned(), stamp(1), stamp(3), stamp(2)].concat();
        exchange(&mut slots, wanted(&more));
        assert_eq!(numbers(&slots), [0, 1, 1], "who runs on keeps its number");
    }

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
