//! A thing that the configuration asks for: opened, run, and opened again when it failed.

use crate::carried::Carried;
use crate::configuration::{Configuration, Ntp, Path, Ptp, Reflector, Stamp};
use crate::key;
use crate::place::Place;
use crate::recording::{Known, Recording};
use crate::snapshot::{Snapshot, TaskState};
use crate::task::ptp::recorded_as;
use crate::task::{
    ClockTask, Moment, NtpTask, PathTask, PtpTask, ReflectorTask, StampTask, Task, Turn,
};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path as FilePath;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use wirestamp::{Error, ErrorKind, MonotonicTime, Result, Span};

const STAMP_PORT: u16 = 862;
const NTP_PORT: u16 = 123;
/// How soon a failed task is tried again, at first and at most.
const RETRY: (Span, Span) = (Span::from_seconds(2), Span::from_seconds(60));
/// So many STAMP sessions send at the same time, the next ones later by [`APART`]: a burst of all of them would measure itself.
const TOGETHER: usize = 8;
const APART: Span = Span::from_milliseconds(5);
/// How often it is asked whether a name is resolved.
const RESOLVING: Span = Span::from_milliseconds(50);
/// Why nothing is known of a clock: its task starts, or failed and is tried again.
const NOT_RUNNING: &str = "not_running";

/// One thing that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wanted {
    Clock { interface: String, tai_offset: i32 },
    Path(Path),
    Stamp(Stamp),
    Reflector(Reflector),
    Ntp(Ntp),
    Ptp(Box<Ptp>),
}

impl Wanted {
    /// All that a configuration asks for; `clocks` are the interfaces that have one.
    pub(crate) fn of(configuration: &Configuration, clocks: &[String]) -> Vec<Self> {
        let tai_offset = configuration.clocks.tai_offset;
        let clocks = configuration
            .clocks
            .interfaces
            .as_deref()
            .unwrap_or(clocks)
            .iter();
        let mut wanted: Vec<_> = clocks
            .map(|interface| Self::Clock {
                interface: interface.clone(),
                tai_offset,
            })
            .collect();
        wanted.extend(configuration.reflector.iter().cloned().map(Self::Reflector));
        wanted.extend(
            configuration
                .ptp
                .iter()
                .cloned()
                .map(Box::new)
                .map(Self::Ptp),
        );
        wanted.extend(configuration.ntp.iter().cloned().map(Self::Ntp));
        wanted.extend(configuration.path.iter().cloned().map(Self::Path));
        wanted.extend(configuration.stamp.iter().cloned().map(Self::Stamp));
        wanted
    }

    /// Returns whether it is a STAMP session: [`of`](Self::of) names them last.
    pub(crate) fn is_session(&self) -> bool {
        matches!(self, Self::Stamp(_))
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Clock { .. } => "clock",
            Self::Path(_) => "path",
            Self::Stamp(_) => "stamp",
            Self::Reflector(_) => "reflector",
            Self::Ntp(_) => "ntp",
            Self::Ptp(_) => "ptp",
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Clock { interface, .. } => interface,
            Self::Path(path) => &path.interface,
            Self::Stamp(stamp) => stamp.name(),
            Self::Reflector(_) => "reflector",
            Self::Ntp(ntp) => &ntp.server,
            Self::Ptp(ptp) => &ptp.interface,
        }
    }

    fn key_file(&self) -> Option<&FilePath> {
        match self {
            Self::Stamp(stamp) => stamp.key_file.as_deref(),
            Self::Reflector(reflector) => reflector.key_file.as_deref(),
            Self::Clock { .. } | Self::Path(_) | Self::Ntp(_) | Self::Ptp(_) => None,
        }
    }

    /// The host that must be found first, and its port.
    fn host(&self) -> Option<(&str, u16)> {
        match self {
            Self::Stamp(stamp) => Some((&stamp.peer, STAMP_PORT)),
            Self::Ntp(ntp) => Some((&ntp.server, NTP_PORT)),
            Self::Clock { .. } | Self::Path(_) | Self::Reflector(_) | Self::Ptp(_) => None,
        }
    }
}

/// A task, or what becomes one.
pub(crate) struct Slot {
    pub(crate) wanted: Wanted,
    state: State,
    retry: Span,
    has_failed: bool,
    /// How often it has failed.
    failures: u64,
    /// Of its earlier runs.
    carried: Option<Box<Carried>>,
    /// Whether one of its sockets has something.
    pub(crate) is_ready: bool,
    /// Of a session: its place among them.
    pub(crate) number: usize,
    /// Of the key file that it was opened with.
    key: Option<u64>,
}

enum State {
    Starting,
    Resolving(Receiver<Result<SocketAddr>>),
    Running {
        task: Box<dyn Task>,
        due: MonotonicTime,
        since: MonotonicTime,
    },
    Failed {
        error: String,
        retry_at: MonotonicTime,
    },
}

impl Slot {
    pub(crate) fn new(wanted: Wanted, number: usize) -> Self {
        Self {
            wanted,
            state: State::Starting,
            retry: RETRY.0,
            has_failed: false,
            failures: 0,
            carried: None,
            is_ready: false,
            number,
            key: None,
        }
    }

    /// Returns whether the key file has another key than it runs with.
    pub(crate) fn has_old_key(&self) -> bool {
        let now = self.wanted.key_file().and_then(key::mark);
        now.is_some() && now != self.key
    }

    /// Serves the task; returns when there is something to do even if nothing comes.
    pub(crate) fn serve(&mut self, place: &Place, turn: &mut Turn<'_>) -> MonotonicTime {
        let is_ready = std::mem::take(&mut self.is_ready);
        turn.is_ready = is_ready;
        match &mut self.state {
            State::Running { due, .. } if *due > turn.now && !is_ready => *due,
            State::Running { task, due, since } => match task.serve(turn) {
                Ok(next) => {
                    *due = next;
                    next
                }
                Err(error) => {
                    if turn.now - *since > RETRY.1 {
                        self.retry = RETRY.0;
                    }
                    self.fail(&error, turn)
                }
            },
            State::Failed { retry_at, .. } if *retry_at > turn.now => *retry_at,
            State::Failed { .. } | State::Starting => match self.find() {
                Ok(Some(resolving)) => {
                    self.state = State::Resolving(resolving);
                    turn.now + RESOLVING
                }
                Ok(None) => self.open(None, place, turn),
                Err(error) => self.fail(&error, turn),
            },
            State::Resolving(receiver) => match receiver.try_recv() {
                Ok(Ok(address)) => self.open(Some(address), place, turn),
                Ok(Err(error)) => self.fail(&error, turn),
                Err(TryRecvError::Empty) => turn.now + RESOLVING,
                Err(TryRecvError::Disconnected) => self.fail(
                    &unresolved(self.wanted.name(), "the search ended".into()),
                    turn,
                ),
            },
        }
    }

    /// Looks a name up on a thread of its own: it may take long.
    fn find(&self) -> Result<Option<Receiver<Result<SocketAddr>>>> {
        let Some((host, port)) = self.wanted.host() else {
            return Ok(None);
        };
        let (sender, receiver) = channel();
        if let Some(address) = literal(host, port) {
            let _ = sender.send(Ok(address));
            return Ok(Some(receiver));
        }
        let host = host.to_owned();
        let search = move || {
            let _ = sender.send(resolve(&host, port));
        };
        let started = thread::Builder::new()
            .name("wirestamp-resolve".into())
            .spawn(search);
        started.map_err(|error| unresolved(self.wanted.name(), error.to_string()))?;
        Ok(Some(receiver))
    }

    fn open(
        &mut self,
        address: Option<SocketAddr>,
        place: &Place,
        turn: &mut Turn<'_>,
    ) -> MonotonicTime {
        self.key = self.wanted.key_file().and_then(key::mark);
        match self.opened(address, place) {
            Ok(task) => {
                if std::mem::take(&mut self.has_failed) {
                    turn.events.add(
                        "task_running",
                        self.wanted.name(),
                        format!("the {} task runs again", self.wanted.kind()),
                    );
                }
                self.state = State::Running {
                    task,
                    due: turn.now,
                    since: turn.now,
                };
                turn.now
            }
            Err(error) => self.fail(&error, turn),
        }
    }

    fn fail(&mut self, error: &Error, turn: &mut Turn<'_>) -> MonotonicTime {
        let (kind, name) = (self.wanted.kind(), self.wanted.name());
        turn.events.add(
            "task_failed",
            name,
            format!("the {kind} task failed: {error}"),
        );
        let retry_at = turn.now + self.retry;
        self.retry = (self.retry + self.retry).min(RETRY.1);
        self.has_failed = true;
        self.failures += 1;
        if let Some(shown) = self.shown(&turn.moment) {
            self.carried = Some(Box::new(Carried::new(shown, turn.now)));
        }
        self.state = State::Failed {
            error: error.to_string(),
            retry_at,
        };
        retry_at
    }

    fn opened(&self, address: Option<SocketAddr>, place: &Place) -> Result<Box<dyn Task>> {
        let found = || address.ok_or_else(|| unresolved(self.wanted.name(), "no address".into()));
        Ok(match &self.wanted {
            Wanted::Clock {
                interface,
                tai_offset,
            } => Box::new(ClockTask::open(interface, *tai_offset, place)?),
            Wanted::Path(path) => Box::new(PathTask::open(path, place)?),
            Wanted::Stamp(stamp) => {
                let after = APART.nanoseconds() * (self.number / TOGETHER) as i128;
                let after = after % Span::from(stamp.interval).nanoseconds().max(1);
                Box::new(StampTask::open(
                    stamp,
                    found()?,
                    place,
                    Span::from_nanoseconds(after),
                )?)
            }
            Wanted::Reflector(reflector) => Box::new(ReflectorTask::open(reflector, place)?),
            Wanted::Ntp(ntp) => Box::new(NtpTask::open(ntp, found()?, place)?),
            Wanted::Ptp(ptp) => Box::new(PtpTask::open(ptp, place)?),
        })
    }

    pub(crate) fn task(&self) -> Option<&dyn Task> {
        match &self.state {
            State::Running { task, .. } => Some(task.as_ref()),
            State::Starting | State::Resolving(_) | State::Failed { .. } => None,
        }
    }

    /// Writes what it knows now, with what its earlier runs counted.
    pub(crate) fn show(&self, moment: &Moment, into: &mut Snapshot) {
        match (&self.state, &self.carried) {
            (State::Running { task, .. }, None) => task.show(moment, into),
            (State::Running { .. }, Some(_)) => {
                if let Some(shown) = self.shown(moment) {
                    into.append(shown);
                }
            }
            (State::Failed { error, .. }, Some(carried)) => {
                into.append(carried.show(moment.now, Some(error)));
            }
            (_, Some(carried)) => into.append(carried.show(moment.now, None)),
            (_, None) => {}
        }
    }

    /// What the task shows by itself, with what its earlier runs counted; `None` if it does not run.
    fn shown(&self, moment: &Moment) -> Option<Snapshot> {
        let mut shown = Snapshot::default();
        self.task()?.show(moment, &mut shown);
        if let Some(carried) = &self.carried {
            carried.add_to(&mut shown);
        }
        Some(shown)
    }

    /// Records what it knows of clocks; a task that does not run knows nothing.
    pub(crate) fn record(&mut self, moment: &Moment, into: &mut Recording) {
        let nothing = Known::nothing(moment.reading.utc, NOT_RUNNING);
        match (&mut self.state, &self.wanted) {
            (State::Running { task, .. }, _) => task.record(moment, into),
            (_, Wanted::Clock { interface, .. }) => into.estimate(interface, &nothing),
            (_, Wanted::Ptp(ptp)) => into.estimate(&recorded_as(&ptp.interface), &nothing),
            _ => {}
        }
    }

    pub(crate) fn is_ntp(&self) -> bool {
        matches!(self.wanted, Wanted::Ntp(_))
    }

    pub(crate) fn state(&self) -> TaskState {
        let (state, error) = match &self.state {
            State::Running { .. } => ("running", None),
            State::Starting | State::Resolving(_) => ("starting", None),
            State::Failed { error, .. } => ("failed", Some(error.clone())),
        };
        TaskState {
            kind: self.wanted.kind().to_owned(),
            name: self.wanted.name().to_owned(),
            state: state.to_owned(),
            error,
            failures: self.failures,
        }
    }
}

/// An address needs no search.
fn literal(host: &str, port: u16) -> Option<SocketAddr> {
    let with_port = host.parse().ok();
    with_port.or_else(|| {
        Some(SocketAddr::new(
            host.trim_start_matches('[')
                .trim_end_matches(']')
                .parse()
                .ok()?,
            port,
        ))
    })
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') => match digits.parse() {
            Ok(port) => (name, port),
            Err(_) => return Err(unresolved(host, format!("{digits} is no port"))),
        },
        _ => (host, port),
    };
    let mut found = (name, port)
        .to_socket_addrs()
        .map_err(|error| unresolved(host, error.to_string()))?;
    found
        .next()
        .ok_or_else(|| unresolved(host, "the name has no address".into()))
}

fn unresolved(host: &str, cause: String) -> Error {
    Error::new(
        ErrorKind::Unreachable,
        "find the host",
        host.to_owned(),
        cause,
    )
    .with_remedy("name one that can be resolved, or an address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_no_search_and_keep_their_port() {
        let shown = |host| literal(host, 862).map(|address| address.to_string());
        assert_eq!(shown("192.0.2.1").as_deref(), Some("192.0.2.1:862"));
        assert_eq!(shown("192.0.2.1:5").as_deref(), Some("192.0.2.1:5"));
        assert_eq!(shown("2001:db8::1").as_deref(), Some("[2001:db8::1]:862"));
        assert_eq!(shown("[2001:db8::1]").as_deref(), Some("[2001:db8::1]:862"));
        assert_eq!(shown("[2001:db8::1]:5").as_deref(), Some("[2001:db8::1]:5"));
        assert_eq!(shown("host"), None);
        assert!(
            resolve("host:port", 1)
                .expect_err("no port")
                .to_string()
                .contains("port is no port")
        );
    }
}
