//! `top`: what a monitor knows, live in a terminal. Asks a running one, or measures itself.

mod ask;
mod columns;
mod detail;
mod draw;
mod help;
mod model;
mod page;
mod screen;
mod sections;
mod series;
mod source;
mod style;
#[cfg(test)]
mod tests;
mod text;

use super::monitor;
use crate::arguments::{Color, EVER, Form, Global, Top, limited};
use crate::exit::Exit;
use crate::failure::{Failure, told};
use crate::output::{Output, width};
use crate::session::Session;
use ask::{Asker, Unanswered};
use model::Model;
use source::Source;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;
use style::Palette;
use wirestamp::{Error, ErrorKind};
use wirestamp_monitor::Service;
use wirestamp_monitor::snapshot::Snapshot;

const OPERATION: &str = "show a monitor";
/// Asking more often would be a load of its own.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// So long is measured before `--once` prints.
const MEASURED: Duration = Duration::from_secs(3);

pub(super) fn run(
    arguments: &Top,
    global: &Global,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    check(arguments, session, output)?;
    session.listen_to_interrupts();
    let (source, name) = choose(arguments, session)?;
    let palette = Palette {
        coloured: is_coloured(global.color),
        ascii: global.ascii,
    };
    if arguments.once {
        if let Source::Own(_) = source {
            session.pass(limited(arguments.duration).unwrap_or(MEASURED), false)?;
        }
        let snapshot = source
            .ask()
            .map_err(|why| Error::new(ErrorKind::Unreachable, OPERATION, name.as_str(), why))?;
        print(snapshot, name, &palette, output)?;
        return Ok(Exit::Success);
    }
    let answers = source.listen(arguments.interval)?;
    let shown = screen::show(
        Model::new(name),
        &answers,
        &palette,
        limited(arguments.duration),
    );
    match shown.map_err(|error| told(ErrorKind::Io, OPERATION, "the terminal", &error))? {
        false => Ok(Exit::Success),
        true => {
            let error = Error::new(
                ErrorKind::Io,
                OPERATION,
                "the thread that measures",
                "it ended",
            );
            Err(error.into())
        }
    }
}

/// What contradicts itself, and what needs a terminal where there is none.
fn check(arguments: &Top, session: &Session, output: &Output) -> Result<(), Error> {
    let wrong = |target: &str, cause: &str, remedy: &str| {
        let error = Error::new(ErrorKind::InvalidInput, OPERATION, target, cause.to_owned());
        Err(error.with_remedy(remedy.to_owned()))
    };
    if arguments.interval < LEAST_INTERVAL {
        return wrong("--interval", "below 100ms", "ask less often");
    }
    if session.is_simulated() && arguments.address.is_some() {
        let cause = "a monitor that is asked has its own interfaces";
        return wrong("--sim", cause, "leave out --sim or the address");
    }
    if arguments.once && arguments.duration == Some(EVER) {
        let remedy = "name a time, such as 10s, or leave --once out";
        return wrong("--for ever", "--once prints when it has measured", remedy);
    }
    if arguments.once {
        return match output.form() {
            Form::Csv => wrong("--format csv", "a snapshot is no table", "use --json"),
            _ => Ok(()),
        };
    }
    if output.form() != Form::Table {
        let remedy = "add --once, or read /api/snapshot of a running monitor";
        return wrong(
            "--format",
            "what is drawn in a terminal has no other form",
            remedy,
        );
    }
    let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    if is_dumb || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let remedy =
            "add --once for one page of text; programs read /api/snapshot of wirestamp monitor";
        return wrong("the terminal", "there is none to draw in", remedy);
    }
    Ok(())
}

/// Who is asked, and what that is called.
fn choose(arguments: &Top, session: &Session) -> Result<(Source, String), Failure> {
    let is_own = arguments.own || session.is_simulated();
    if is_own {
        let name = "measured by this program".to_owned();
        return Ok((own(arguments, session)?, name));
    }
    let address = arguments.address.as_deref().unwrap_or(ask::USUAL);
    let asker = Asker::new(address, arguments.token_file.as_deref())?;
    let name = asker.name();
    match asker.ask() {
        Ok(_) => Ok((Source::Monitor(asker), name)),
        Err(Unanswered::Nobody(_)) if arguments.address.is_none() => {
            let shown = format!("measured by this program: no monitor on {name}");
            Ok((own(arguments, session)?, shown))
        }
        Err(Unanswered::Nobody(why)) => {
            let error = Error::new(ErrorKind::Unreachable, "ask the monitor", name, why);
            Err(error
                .with_remedy("start one: wirestamp monitor; or measure here: wirestamp top --self")
                .into())
        }
        Err(Unanswered::Refused(kind, why)) => {
            let error = Error::new(kind, "ask the monitor", name, why);
            Err(error
                .with_remedy("its token is in the file of --token-file")
                .into())
        }
    }
}

/// A monitor in this program, which serves nothing and keeps nothing on disk.
fn own(arguments: &Top, session: &Session) -> Result<Source, Error> {
    let mut configuration = monitor::read(arguments.config.as_deref(), session)?;
    // two that write there would harm it
    configuration.history = None;
    configuration.recording = None;
    let place = session.place_named(None)?;
    Ok(Source::Own(Service::start(configuration, place)?))
}

fn is_coloured(color: Color) -> bool {
    let says_no = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => !says_no(),
    }
}

/// Everything once: as text without an end, or as the monitor serves it.
fn print(
    snapshot: Arc<Snapshot>,
    name: String,
    palette: &Palette,
    output: &mut Output,
) -> Result<(), Failure> {
    let json = |text: Result<String, serde_json::Error>| text.map_err(std::io::Error::from);
    let text = match output.form() {
        Form::Json => json(serde_json::to_string_pretty(&*snapshot))? + "\n",
        Form::Ndjson | Form::Csv => json(serde_json::to_string(&*snapshot))? + "\n",
        Form::Table => {
            let mut model = Model::new(name);
            model.take(Ok(snapshot), Duration::ZERO);
            page_text(&model, width::columns(), palette)
        }
    };
    output.raw(&text)?;
    Ok(())
}

/// The whole page, however long.
fn page_text(model: &Model, columns: usize, palette: &Palette) -> String {
    let page = page::of(model, columns, Duration::ZERO, palette);
    let mut text = String::new();
    for line in page.header.into_iter().chain(page.body) {
        let line: String = line
            .spans
            .iter()
            .map(|span| span.content.as_ref())
            .collect();
        text.push_str(columns::cut(&line, columns).trim_end());
        text.push('\n');
    }
    text
}
