//! The loop that serves all tasks: one thread, one wait.

use crate::configuration::Configuration;
use crate::events::{Events, SHOWN};
use crate::history::{Record, Writer};
use crate::interfaces::Interfaces;
use crate::own::Own;
use crate::patience::PATIENCE;
use crate::place::Place;
use crate::recording::Recordings;
use crate::slot::{Slot, Wanted};
use crate::snapshot::{HistoryState, Snapshot};
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
    recordings: Recordings,
    /// The newest event that history has.
    kept: u64,
    /// When history is to have the clocks again.
    clocks_due: MonotonicTime,
    /// When servers are compared and the history's state is looked at.
    look_at: MonotonicTime,
    history_state: String,
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
    /// `InvalidInput` as [`Configuration::check`]; `Io` if the system gives no socket.
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
        Ok(Self {
            host: configuration.host_name(),
            started: clock.now(),
            realtime: Realtime::new(configuration.clocks.tai_offset),
            slots,
            events: Events::new(),
            own: Own::default(),
            buffer: vec![0; BUFFER],
            agreement: String::new(),
            history: configuration
                .history
                .as_ref()
                .map(Writer::start)
                .transpose()?,
            recordings: Recordings::start(&configuration, place.is_simulated(), &moment)?,
            kept: 0,
            clocks_due: MonotonicTime::MIN,
            look_at: MonotonicTime::MIN,
            history_state: String::new(),
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
        for slot in &mut self.slots {
            next = next.min(slot.serve(&self.place, &mut turn));
        }
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
        next.min(self.look_at)
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
        // before the first attempt there is neither an error nor a record
        let tried = |shown: &HistoryState| shown.state == "recording" || shown.error.is_some();
        if let Some(shown) = self.history.as_ref().map(Writer::show).filter(tried) {
            let before = std::mem::replace(&mut self.history_state, shown.state);
            if !before.is_empty() && before != self.history_state {
                let cause = shown
                    .error
                    .map_or(String::new(), |error| format!(": {error}"));
                let message = format!(
                    "history: {before} before, now {}{cause}",
                    self.history_state
                );
                self.events.add("history", "history", message);
            }
        }
    }

    fn keep_events(&mut self) {
        if let Some(history) = &self.history {
            for event in self.events.after(self.kept, usize::MAX) {
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
        self.own.plan(until.max(now));
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
    /// `InvalidInput` as [`Configuration::check`]; nothing has changed then.
    pub fn reload(&mut self, configuration: Configuration) -> Result<()> {
        if let Err(error) = configuration.check() {
            self.refuse_reload(&error.to_string());
            return Err(error);
        }
        if configuration.history.as_ref() != self.history.as_ref().map(Writer::configuration) {
            // the folder may be the same: the old one is closed first
            drop(self.history.take());
            self.history = configuration
                .history
                .as_ref()
                .map(Writer::start)
                .transpose()?;
        }
        self.recordings
            .reload(&configuration, &moment(&self.clock))?;
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
        snapshot.events = self.events.after(0, SHOWN);
        snapshot
    }
}

/// Ends what writes to disks, which share the time that there is for it.
impl Drop for Monitor {
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE;
        // it writes while history is waited for
        self.recordings.close();
        if let Some(history) = &mut self.history {
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
}
