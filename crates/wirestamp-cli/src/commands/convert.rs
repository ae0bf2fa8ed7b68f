//! `convert`: reads events, has the timestamps among them converted as they come, and prints rows or a summary.
//! Holds no more of a recording than the library does: memory does not grow with its length.

mod drawn;
mod summary;

use super::residuals::Plot;
use crate::arguments::{self, Form};
use crate::distribution::Distribution;
use crate::exit::Exit;
use crate::failure::{Failure, told};
use crate::output::{Output, json};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use drawn::{Files, Shown};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use summary::Converted;
use wirestamp::events::{Event, Reader, Replay, Row};
use wirestamp::{ConversionError, ErrorKind};

/// Rows are written in pieces of about so many bytes.
const PIECE: usize = 1 << 16;

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Converted>("convert", "Output of `wirestamp convert --json`").row::<Line>()
}

pub(super) fn run(arguments: &arguments::Convert, output: &mut Output) -> Result<Exit, Failure> {
    output.use_form(Form::Csv);
    let files = drawn::files(arguments)?;
    if arguments.events == Path::new("-") {
        return convert(
            "standard input",
            io::stdin().lock(),
            arguments,
            files,
            output,
        );
    }
    let name = arguments.events.display().to_string();
    let file = File::open(&arguments.events)
        .map_err(|error| told(ErrorKind::InvalidInput, "read events", &name, &error))?;
    convert(&name, BufReader::new(file), arguments, files, output)
}

fn convert(
    name: &str,
    input: impl BufRead,
    arguments: &arguments::Convert,
    files: Files,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let reader = Reader::new(name, input)?;
    let header = reader.header();
    let mut replay = if arguments.later {
        Replay::later(header)
    } else {
        Replay::online(header)
    }
    .confirmed();
    let mut plot = (!files.is_empty()).then(Plot::default);
    let (mut rows, mut bounds) = (Vec::new(), Distribution::default());
    let mut table = Table::default();
    for event in reader {
        let event = match event {
            Ok(event) => event,
            Err(wrong) => {
                let _ = replay.finish(&mut rows);
                table.take(&mut rows, &mut bounds, output)?;
                table.finish(false, output)?; // what stands before the wrong line is right
                return Err(wrong.into());
            }
        };
        if let (Some(plot), Event::Cross(reading)) = (&mut plot, &event) {
            plot.compare(replay.correlation(), reading);
        }
        replay.take(event, &mut rows);
        table.take(&mut rows, &mut bounds, output)?;
    }
    let summary = replay.finish(&mut rows);
    table.take(&mut rows, &mut bounds, output)?;
    table.finish(true, output)?;
    if !output.has_rows() {
        output.report(&Converted::of(header, arguments.later, &summary, &bounds))?;
    }
    if let Some(plot) = plot {
        files.write(&Shown {
            name: name.to_owned(),
            header,
            plot,
            summary,
        })?;
    }
    Ok(Exit::Success)
}

/// A row of `--format ndjson`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Line {
    /// Ticks of the NIC's clock.
    #[serde(serialize_with = "json::digits")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Digits"))]
    hardware: u64,
    /// The middle of the tick on the monotonic clock, to the picosecond; null: conversion error.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = "^-?[0-9]+[.][0-9]{3}$")))]
    monotonic_ns: Option<String>,
    /// Error bound: the truth lies within ± this.
    error_bound_ns: Option<f64>,
    /// Clock generation; null before the first reading.
    generation: Option<u32>,
    /// The conversion error; null: none.
    error: Option<&'static str>,
}

impl Line {
    fn of(row: &Row) -> Self {
        let estimate = row.answer.as_ref().ok();
        let digits = |picoseconds: i128| {
            let (whole, part) = (picoseconds.div_euclid(1_000), picoseconds.rem_euclid(1_000));
            format!("{whole}.{part:03}")
        };
        Self {
            hardware: row.hardware.raw(),
            monotonic_ns: estimate.map(|estimate| digits(estimate.total_picoseconds())),
            error_bound_ns: estimate.map(|estimate| estimate.bound_picoseconds as f64 / 1e3),
            generation: row.generation.map(|generation| generation.0),
            error: row.answer.err().map(ConversionError::name),
        }
    }
}

/// Rows on their way out.
#[derive(Default)]
struct Table {
    text: String,
    is_headed: bool,
}

impl Table {
    /// Takes what was converted; for a summary only its bounds.
    fn take(
        &mut self,
        rows: &mut Vec<Row>,
        bounds: &mut Distribution,
        output: &mut Output,
    ) -> io::Result<()> {
        for row in rows.drain(..) {
            match output.form() {
                Form::Table | Form::Json => {
                    let estimates = row.answer.iter();
                    estimates.for_each(|estimate| bounds.record(estimate.bound_picoseconds.into()));
                }
                _ if !output.is_read() => {}
                Form::Csv => {
                    self.head();
                    // a string takes everything
                    let _ = writeln!(self.text, "{row}");
                }
                Form::Ndjson => self.text.push_str(&output.row_text(&Line::of(&row))?),
            }
            if self.text.len() > PIECE {
                self.write(output)?;
            }
        }
        Ok(())
    }

    /// Nothing follows. `complete`: without rows, there are their headings.
    fn finish(&mut self, complete: bool, output: &mut Output) -> io::Result<()> {
        if complete && output.form() == Form::Csv {
            self.head();
        }
        self.write(output)
    }

    fn head(&mut self) {
        if !std::mem::replace(&mut self.is_headed, true) {
            self.text = format!("{}\n", Row::COLUMNS);
        }
    }

    fn write(&mut self, output: &mut Output) -> io::Result<()> {
        let written = output.raw(&self.text);
        self.text.clear();
        written
    }
}
