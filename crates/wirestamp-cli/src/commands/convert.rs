//! Owns `convert`: reads a file of events, has its stamps converted, prints rows or a summary.
//! What is converted how is the library's affair.

mod plot;
mod summary;

use crate::arguments;
use crate::exit::Exit;
use crate::failure::{Failure, told};
use crate::output::Output;
use plot::Plot;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use summary::Converted;
use wirestamp::events::{Event, Header, Reader, Replay, Row};
use wirestamp::{Error, ErrorKind};

/// Rows are written in pieces of about so many bytes.
const PIECE: usize = 1 << 16;

pub(super) fn run(arguments: &arguments::Convert, output: &mut Output) -> Result<Exit, Failure> {
    let (header, events) = read(&arguments.events)?;
    let mut replay = if arguments.later { Replay::later(header) } else { Replay::online(header) };
    let mut plot = arguments.plot.as_ref().map(|_| Plot::default());
    let mut rows = Vec::new();
    for event in events {
        if let (Some(plot), Event::Cross(reading)) = (&mut plot, &event) {
            plot.compare(replay.correlation(), reading);
        }
        replay.take(event, &mut rows);
    }
    let summary = replay.finish(&mut rows);
    if let (Some(plot), Some(path)) = (plot, &arguments.plot) {
        plot.draw(path, &summary)?;
    }
    if output.is_json() {
        output.report(&Converted::of(header, arguments.later, &summary, &rows))?;
        return Ok(Exit::Success);
    }
    let mut text = format!("{}\n", Row::COLUMNS);
    for row in &rows {
        // a string takes everything
        let _ = writeln!(text, "{row}");
        if text.len() > PIECE {
            output.raw(&text)?;
            text.clear();
        }
    }
    output.raw(&text)?;
    Ok(Exit::Success)
}

/// All events, or what is wrong with the first line that is none.
fn read(path: &Path) -> Result<(Header, Vec<Event>), Error> {
    if path == Path::new("-") {
        return events("standard input", io::stdin().lock());
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| told(ErrorKind::InvalidInput, "read events", &name, &error))?;
    events(&name, BufReader::new(file))
}

fn events(name: &str, input: impl BufRead) -> Result<(Header, Vec<Event>), Error> {
    let reader = Reader::new(name, input)?;
    Ok((reader.header(), reader.collect::<Result<_, _>>()?))
}
