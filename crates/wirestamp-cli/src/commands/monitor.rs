//! `monitor`: starts the monitor and its server, and notifies systemd.

mod check;
mod log;
mod more;
mod reload;

use crate::arguments::Monitor;
use crate::exit::Exit;
use crate::failure::{Failure, told};
use crate::output::{Output, Page};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::Session;
use crate::signals;
use check::Checked;
use more::More;
use reload::{Outside, bind};
use serde::Serialize;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind, file};
use wirestamp_monitor::otlp::Pusher;
use wirestamp_monitor::{Configuration, Service};

const OPERATION: &str = "run the monitor";
/// How soon a signal is noticed.
const STEP: Duration = Duration::from_millis(200);

/// A line when everything is open.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Ready {
    /// Address and port where it is served; null: nowhere.
    listening: Option<String>,
    /// Where a browser finds it, https:// if it is encrypted; null: nowhere.
    address: Option<String>,
}

/// Of what it prints and serves.
#[cfg(all(test, feature = "schema"))]
pub(super) fn schemas() -> [Document; 5] {
    let ready = "The line that `wirestamp monitor --json` prints when everything is open";
    let snapshot = "Answer of `/api/snapshot` of `wirestamp monitor`, and output of `wirestamp top --once --json`. \
        An unknown value is null, never 0. `#/$defs/event` is the data of an event of `/api/events`";
    let history = "Answer of `/api/history` of `wirestamp monitor`";
    let configuration = "The configuration of `wirestamp monitor` (TOML)";
    [
        Document::of::<Ready>("monitor-ready", ready),
        check::schema(),
        Document::of::<wirestamp_monitor::snapshot::Snapshot>("monitor", snapshot),
        Document::made("history", history, wirestamp_monitor::history::schema),
        // a monitor steers no clock
        Document::read::<Configuration>("monitor-configuration", configuration)
            .narrowed("/$defs/PtpOptions/properties/clock", &["measure"]),
    ]
}

pub(super) fn run(
    arguments: &Monitor,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if arguments.schema {
        output.raw(Configuration::SCHEMA)?;
        return Ok(Exit::Success);
    }
    let configuration = read(arguments.config.as_deref(), session)?;
    if arguments.check {
        output.report(&Checked::new(&configuration)?)?;
        return Ok(Exit::Success);
    }
    output.use_lines();
    log::start(arguments.log);
    warn_of(&configuration);
    signals::listen_for_reloads();
    let place = session.place_named(None)?;
    // a second start fails here, before it touches what the first one writes
    let listener = bind(&configuration)?;
    let service = Service::start(configuration.clone(), place)?;
    let handle = service.handle();
    let server = listener.map(|listener| listener.serve(handle.clone()));
    let server = server.transpose()?;
    let pusher = Pusher::start(&configuration, handle)?;
    let ready = Ready {
        listening: server.as_ref().map(|server| server.address().to_string()),
        address: server.as_ref().map(|server| {
            let scheme = if server.is_encrypted() {
                "https"
            } else {
                "http"
            };
            format!("{scheme}://{}/", server.address())
        }),
    };
    output.line(&ready)?;
    output.now(|page| ready.print(page))?;
    if arguments.config.is_none() {
        let path = configuration.path.first();
        let path = path.map(|path| path.interface.clone());
        let nic = has_clock(session);
        let more = More { path, nic };
        output.now(|page| more.print(page))?;
    }
    system::ready();
    let outside = Outside {
        configuration,
        server,
        pusher,
    };
    let ended = attend(arguments, session, &service, outside);
    system::stopping();
    ended
}

/// Waits for the end: reloads on request, and notifies systemd while the measuring loop turns.
fn attend(
    arguments: &Monitor,
    session: &Session,
    service: &Service,
    mut outside: Outside,
) -> Result<Exit, Failure> {
    let (begun, handle) = (Instant::now(), service.handle());
    let mut watchdog = system::Watchdog::new();
    let is_over = || {
        arguments
            .duration
            .is_some_and(|duration| begun.elapsed() >= duration)
    };
    while !signals::is_stopping() && !is_over() {
        if !service.is_running() {
            let error = Error::new(ErrorKind::Io, OPERATION, "its measuring thread", "it ended");
            return Err(error.with_remedy("see the log above").into());
        }
        if signals::takes_reload() {
            system::reloading();
            match read(arguments.config.as_deref(), session) {
                Ok(new) => match outside.reload(new, &handle) {
                    Ok(()) => warn_of(&outside.configuration),
                    Err(error) => tracing::error!("not reloaded: {error}"),
                },
                Err(error) => drop(handle.refuse_reload(error.to_string())),
            }
            system::ready();
        }
        watchdog.feed(handle.turns());
        thread::sleep(STEP);
    }
    Ok(Exit::Success)
}

fn warn_of(configuration: &Configuration) {
    if configuration.http.lacks_names() {
        tracing::warn!("{}", check::UNNAMED);
    }
    for path in configuration.exposed_files() {
        tracing::warn!("{}: {}", path.display(), check::EXPOSED);
    }
}

/// The longest configuration that is read: it names some hundred thousand peers.
const LONGEST: u64 = 16 << 20;

/// Without a file: the clocks of all NICs, and the path of packets from this host to itself.
fn usual(session: &Session) -> Result<Configuration, Error> {
    let Ok(interface) = session.interface(None) else {
        return Ok(Configuration::default());
    };
    Configuration::from_toml(&more::path_of(interface.name()))
}

/// The first NIC that has a PTP hardware clock.
fn has_clock(session: &Session) -> Option<String> {
    let all = session.interfaces(None).ok()?;
    let mut clocks = all
        .iter()
        .filter(|one| one.description().hardware_clock.is_some());
    clocks.next().map(|one| one.name().to_owned())
}

pub(super) fn read(path: Option<&Path>, session: &Session) -> Result<Configuration, Error> {
    let Some(path) = path else {
        return usual(session);
    };
    let mut configuration = of_file(path)?;
    configuration.answered = session.is_simulated();
    Ok(configuration)
}

fn of_file(path: &Path) -> Result<Configuration, Error> {
    let shown = path.display().to_string();
    let text = file::read_text(path, LONGEST).map_err(|error| {
        told(
            ErrorKind::InvalidInput,
            "read the monitor's configuration",
            &shown,
            &error,
        )
    })?;
    Configuration::from_toml(&text).map_err(|error| {
        let target = if error.target() == "the file" {
            shown
        } else {
            format!("{shown}: {}", error.target())
        };
        Error::new(
            error.kind(),
            error.operation().to_owned(),
            target,
            error.cause().to_owned(),
        )
        .with_remedy(error.remedy().to_owned())
    })
}

impl Ready {
    fn print(&self, page: &mut Page) {
        page.line(&match &self.address {
            Some(address) => format!("monitoring: {address}"),
            None => "monitoring".to_owned(),
        });
    }
}

/// systemd's notifications: sd_notify(3).
#[cfg(target_os = "linux")]
mod system {
    use sd_notify::{NotifyState, notify};
    use std::time::{Duration, Instant};

    pub(super) fn ready() {
        let _ = notify(&[NotifyState::Ready]);
    }

    pub(super) fn stopping() {
        let _ = notify(&[NotifyState::Stopping]);
    }

    pub(super) fn reloading() {
        let _ = notify(&[NotifyState::Reloading]);
    }

    /// Feeds the watchdog while the measuring loop turns, and not longer.
    pub(super) struct Watchdog {
        every: Option<Duration>,
        fed: Instant,
        turns: u64,
    }

    impl Watchdog {
        pub(super) fn new() -> Self {
            Self {
                every: sd_notify::watchdog_enabled().map(|time| time / 2),
                fed: Instant::now(),
                turns: 0,
            }
        }

        pub(super) fn feed(&mut self, turns: u64) {
            if self.every.is_some_and(|every| self.fed.elapsed() >= every) && turns > self.turns {
                let _ = notify(&[NotifyState::Watchdog]);
                self.fed = Instant::now();
                self.turns = turns;
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn ready() {}
    pub(super) fn stopping() {}
    pub(super) fn reloading() {}

    /// There is none.
    pub(super) struct Watchdog;

    impl Watchdog {
        pub(super) fn new() -> Self {
            Self
        }

        pub(super) fn feed(&mut self, _turns: u64) {}
    }
}
