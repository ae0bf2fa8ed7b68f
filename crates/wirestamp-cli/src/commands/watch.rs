//! `watch`: prints changes as they come, with what the interface is like afterwards.
//! What counts as a change is the library's affair.

use crate::arguments::{self, Form, limited};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows, json, plural};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::{self, Session};
use serde::Serialize;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};
use wirestamp::interface::ChangeEvent;
use wirestamp::{Error, Interface, InterfaceIndex, Simulation, Span, Watch};

/// How often what has come is printed.
const STEP: Duration = Duration::from_millis(50);
/// So many changes are printed at the end with `--json`.
const MOST_CHANGES: usize = 100_000;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Watched {
    /// Name of the interface; null: all of them.
    interface: Option<String>,
    /// Whether it is a simulated NIC.
    simulated: bool,
    /// How long the run took.
    duration_ns: u64,
    /// One object a change: the first 100,000.
    changes: Vec<Noticed>,
    /// Changes beyond the limit of the list.
    left_out: u64,
    #[serde(skip)]
    count: u64,
    /// Whether a signal ended the run early.
    interrupted: bool,
}

#[derive(Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Noticed {
    /// When it was noticed, UTC; null on simulated interfaces.
    #[serde(serialize_with = "json::some_time")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Utc>"))]
    time: Option<i64>,
    /// From the start of watching, to the precision of 50 ms.
    after_ns: u64,
    /// Index of the interface; `None`: any of them.
    index: Option<u32>,
    /// Name of the interface; `None` if it is gone or any is meant.
    name: Option<String>,
    /// Which kind: a stable word.
    kind: &'static str,
    /// up or down, now; `None` if the interface is gone or any is meant.
    state: Option<&'static str>,
    /// Whether sent packets are timestamped now; `None`: not known.
    transmit: Option<bool>,
    /// Which received packets are timestamped now; `None`: not known.
    receive: Option<&'static str>,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Watched>("watch", "Output of `wirestamp watch --json`").row::<Noticed>()
}

pub(super) fn run(
    arguments: &arguments::Watch,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = arguments
        .interface
        .as_deref()
        .map(Interface::find)
        .transpose()?;
    let simulated = interface.as_ref().map_or(session.is_simulated(), |found| {
        found.description().simulated
    });
    if simulated && limited(arguments.duration).is_none() {
        let target = interface.as_ref().map_or("the simulation", Interface::name);
        return Err(session::endless("watch", target).into());
    }
    session.listen_to_interrupts();
    let (_watch, changes) = register(interface.as_ref(), simulated)?;
    let name = interface
        .as_ref()
        .map(|interface| interface.name().to_owned());
    output.now(|page| announce(page, name.as_deref(), limited(arguments.duration)))?;
    let (mut passed, mut all, mut count) = (Duration::ZERO, Vec::new(), 0);
    let end = limited(arguments.duration).unwrap_or(Duration::MAX);
    while passed < end && !session.is_interrupted() {
        let step = STEP.min(end - passed);
        session.pass(step, simulated)?;
        passed += step;
        for event in changes.try_iter() {
            let noticed = Noticed::of(&event, passed, simulated);
            output.now(|page| noticed.print(page))?;
            count += 1;
            output.row(&noticed)?;
            // text and rows are printed as they come, and a watch may run for years
            if output.form() == Form::Json && all.len() < MOST_CHANGES {
                all.push(noticed);
            }
        }
    }
    let watched = Watched {
        interface: name,
        simulated,
        duration_ns: u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX),
        left_out: if output.form() == Form::Json {
            count - all.len() as u64
        } else {
            0
        },
        count,
        changes: all,
        interrupted: passed < end && limited(arguments.duration).is_some(),
    };
    output.report(&watched)?;
    Ok(Exit::Success)
}

/// Changes come on a thread of the library's.
fn register(
    interface: Option<&Interface>,
    simulated: bool,
) -> Result<(Watch, Receiver<ChangeEvent>), Error> {
    let (sender, changes) = channel();
    let callback = move |event: &ChangeEvent| {
        // once nobody listens any more, nobody wants to know
        let _ = sender.send(*event);
    };
    let watch = match interface {
        Some(interface) => interface.watch(callback)?,
        None if simulated => Simulation::default_of_process()?.watch(callback)?,
        None => Watch::register(callback)?,
    };
    Ok((watch, changes))
}

fn announce(page: &mut Page, name: Option<&str>, duration: Option<Duration>) {
    let whom = name.unwrap_or("all interfaces");
    let how_long = duration.map_or_else(
        || "until Ctrl-C".to_owned(),
        |time| format!("for {}", Span::from(time)),
    );
    page.heading(&format!("watching {whom} {how_long}"));
}

impl Noticed {
    fn of(event: &ChangeEvent, passed: Duration, simulated: bool) -> Self {
        let now = event.interface.and_then(|index| look_up(index, simulated));
        let configuration = now
            .as_ref()
            .and_then(|interface| interface.configuration().ok());
        Self {
            time: (!simulated).then(now_utc).flatten(),
            after_ns: u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX),
            index: event.interface.map(InterfaceIndex::get),
            name: now.as_ref().map(|interface| interface.name().to_owned()),
            kind: event.kind.name(),
            state: now
                .as_ref()
                .map(|interface| interface.description().state.name()),
            transmit: configuration.map(|configuration| configuration.transmit),
            receive: configuration.map(|configuration| configuration.receive.name()),
        }
    }

    fn print(&self, page: &mut Page) {
        let who = match (&self.name, self.index) {
            (Some(name), _) => name.clone(),
            (None, Some(index)) => format!("interface {index}"),
            (None, None) => "any interface".to_owned(),
        };
        let mut now = self
            .state
            .map_or_else(|| "gone".to_owned(), |state| format!("now {state}"));
        if self.index.is_none() {
            now = "look again".to_owned();
        }
        if let (Some(transmit), Some(receive)) = (self.transmit, self.receive) {
            now = format!(
                "{now}, hardware transmit {}, receive {receive}",
                if transmit { "on" } else { "off" }
            );
        }
        let after = Span::from(Duration::from_nanos(self.after_ns)).to_string();
        page.line(&format!("{after:>9}  {who}: {} ({now})", self.kind));
    }
}

fn now_utc() -> Option<i64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.ok()?.as_nanos()).ok()
}

/// As it is now; real and simulated interfaces can share a number.
fn look_up(index: InterfaceIndex, simulated: bool) -> Option<Interface> {
    let all = Interface::list().ok()?;
    all.into_iter()
        .find(|found| found.index() == index && found.description().simulated == simulated)
}

impl Report for Watched {
    fn print(&self, page: &mut Page) {
        page.quiet(&format!(
            "{} in {}",
            plural(self.count, "change"),
            Span::from(Duration::from_nanos(self.duration_ns))
        ));
    }

    /// They are printed as they come.
    fn rows(&self, _: &mut Rows) {}
}
