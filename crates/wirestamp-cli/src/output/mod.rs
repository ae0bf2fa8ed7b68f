//! The program's output: reports to standard output as text or JSON, errors, progress.

mod behind;
pub(crate) mod cell;
pub(crate) mod colour;
pub(crate) mod drafts;
mod file;
pub(crate) mod graph;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod made;
mod page;
pub(crate) mod picture;
pub(crate) mod quantity;
mod rows;
mod table;
pub(crate) mod thinned;
pub(crate) mod width;
mod words;

pub(crate) use file::{Draft, PARTIAL, Target};
pub(crate) use page::Page;
pub(crate) use rows::Rows;
pub(crate) use table::{Column, Table};
pub(crate) use words::{grouped, interrupted, plural};

use crate::arguments::{Color, Form, Global};
use crate::signals;
use anstream::{AutoStream, ColorChoice};
use behind::Behind;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::{self, Stderr, Stdout, Write};
use wirestamp::Error;

/// Something that a command found out.
pub(crate) trait Report: Serialize {
    /// Writes it for a person.
    fn print(&self, page: &mut Page);

    /// Writes its rows, for `--format ndjson` and `csv`.
    fn rows(&self, rows: &mut Rows);
}

/// Where everything that the program says goes.
pub(crate) struct Output {
    standard: AutoStream<Stdout>,
    error: AutoStream<Stderr>,
    form: Form,
    is_form_asked_for: bool,
    /// What the schema of the command's objects is called.
    schema: &'static str,
    /// Of the command that prints them one by one.
    rows: Option<Rows>,
    ascii: bool,
    /// Objects stand on a line each; an error does too, then.
    lines: bool,
    /// Whoever read standard output has closed it.
    unread: bool,
    choice: ColorChoice,
    /// Writes to standard output instead of this thread.
    behind: Option<Behind>,
}

/// A line that says that the reader missed some.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Dropped {
    /// Lines that were dropped.
    dropped_output: u64,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let choice = match global.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::AlwaysAnsi,
            Color::Never => ColorChoice::Never,
        };
        Self {
            standard: AutoStream::new(io::stdout(), choice),
            error: AutoStream::new(io::stderr(), choice),
            form: global.form(),
            is_form_asked_for: global.json || global.format.is_some(),
            schema: json::ERROR,
            rows: None,
            ascii: global.ascii,
            lines: false,
            unread: false,
            choice,
            behind: None,
        }
    }

    /// From now on nothing that is written makes the command wait for its reader: what a reader who pauses for long
    /// misses is counted. [`settle`](Self::settle) waits.
    pub(crate) fn write_behind(&mut self) {
        self.behind = Behind::start(self.choice).ok();
    }

    /// Waits until everything is written.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        let Some(behind) = self.behind.take() else {
            return Ok(());
        };
        match behind.end() {
            Err(error) => self.left_or_failed(error),
            Ok(0) => Ok(()),
            Ok(dropped) => {
                self.line(&Dropped {
                    dropped_output: dropped,
                })?;
                self.now(|page| {
                    page.line(&format!(
                        "{dropped} pieces of output were dropped: nobody read them"
                    ));
                })
            }
        }
    }

    /// What the schema of the objects that follow is called: the command's name.
    pub(crate) fn use_schema(&mut self, schema: &'static str) {
        self.schema = schema;
    }

    /// Writes what a command found out, in the form that was asked for.
    pub(crate) fn report(&mut self, report: &impl Report) -> io::Result<()> {
        match self.form {
            Form::Table => self.page(|page| report.print(page)),
            Form::Json => self.write(&json::pretty(self.schema, report)?),
            Form::Ndjson | Form::Csv => {
                let mut rows = self.rows.take().unwrap_or_else(|| self.new_rows());
                report.rows(&mut rows);
                self.write(&rows.take()?)
            }
        }
    }

    /// Writes text at once, for those who watch; nothing for programs.
    pub(crate) fn now(&mut self, write: impl FnOnce(&mut Page)) -> io::Result<()> {
        if self.form == Form::Table {
            self.page(write)
        } else {
            Ok(())
        }
    }

    /// The form that was asked for.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Writes what programs read in any form.
    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.write(text)
    }

    /// The form of this command if none was asked for.
    pub(crate) fn use_form(&mut self, form: Form) {
        if !self.is_form_asked_for {
            self.form = form;
        }
    }

    /// From now on every object stands on a line of its own.
    pub(crate) fn use_lines(&mut self) {
        self.lines = true;
    }

    /// Writes one of many objects, on a line of its own; nothing as text or CSV.
    pub(crate) fn line(&mut self, object: &impl Serialize) -> io::Result<()> {
        if self.is_json() {
            self.write(&json::line(self.schema, object)?)
        } else {
            Ok(())
        }
    }

    /// Writes a row as it comes, with `--format ndjson` and `csv`.
    pub(crate) fn row(&mut self, row: &impl Serialize) -> io::Result<()> {
        if !self.has_rows() {
            return Ok(());
        }
        let text = self.row_text(row)?;
        self.write(&text)
    }

    /// A row as it would be written, for commands that write many at a time.
    pub(crate) fn row_text(&mut self, row: &impl Serialize) -> io::Result<String> {
        let mut rows = self.rows.take().unwrap_or_else(|| self.new_rows());
        rows.row(row);
        let text = rows.take();
        self.rows = Some(rows);
        text
    }

    /// Writes one of many measured objects: a line, or a row of CSV.
    pub(crate) fn sample(&mut self, object: &impl Serialize) -> io::Result<()> {
        if self.form == Form::Csv {
            self.row(object)
        } else {
            self.line(object)
        }
    }

    /// Whether rows are written as they come.
    pub(crate) fn has_rows(&self) -> bool {
        matches!(self.form, Form::Ndjson | Form::Csv)
    }

    fn is_json(&self) -> bool {
        matches!(self.form, Form::Json | Form::Ndjson)
    }

    fn new_rows(&self) -> Rows {
        let form = if self.form == Form::Csv {
            rows::Form::Csv
        } else {
            rows::Form::Lines
        };
        Rows::new(form, self.schema)
    }

    /// Whether what is written can be written over.
    pub(crate) fn is_live(&self) -> bool {
        self.form == Form::Table && self.standard.is_terminal()
    }

    /// Goes back up so many lines, for writing over them.
    pub(crate) fn back(&mut self, lines: usize) -> io::Result<()> {
        if lines == 0 {
            Ok(())
        } else {
            self.write(&format!("\u{1b}[{lines}A\u{1b}[J"))
        }
    }

    /// Writes an error where the reader of this form expects it.
    pub(crate) fn failure(&mut self, error: &Error) -> io::Result<()> {
        let failed = json::Failed { error };
        if self.form == Form::Ndjson || (self.form == Form::Json && self.lines) {
            return self.write(&json::line(json::ERROR, &failed)?);
        }
        if self.form == Form::Json {
            return self.write(&json::pretty(json::ERROR, &failed)?);
        }
        writeln!(
            self.error,
            "{} {error}",
            colour::paint(colour::BAD, "error:")
        )?;
        self.error.flush()
    }

    /// Says something beside rows, on standard error.
    pub(crate) fn warn(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.error, "{text}")?;
        self.error.flush()
    }

    /// A progress bar on standard error; invisible unless that is a terminal.
    pub(crate) fn progress(&self, length: u64, unit: &str) -> ProgressBar {
        let bar = ProgressBar::new(length);
        let template = format!("{{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{eta}} left");
        let style = ProgressStyle::with_template(&template)
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(if self.ascii {
            style.progress_chars("##.")
        } else {
            style
        });
        bar
    }

    fn page(&mut self, write: impl FnOnce(&mut Page)) -> io::Result<()> {
        let mut page = Page::new(self.ascii);
        write(&mut page);
        self.write(&page.into_text())
    }

    /// Whether somebody may still read what is written.
    pub(crate) fn is_read(&self) -> bool {
        !self.unread
    }

    /// Once nobody reads any more, nothing is written, and a run without end ends. The command
    /// comes to its own end all the same: what it found decides the exit code, not who reads it.
    fn write(&mut self, text: &str) -> io::Result<()> {
        if self.unread {
            return Ok(());
        }
        if let Some(behind) = &mut self.behind {
            return if behind.write(text) {
                Ok(())
            } else {
                self.settle()
            };
        }
        let written = self
            .standard
            .write_all(text.as_bytes())
            .and_then(|()| self.standard.flush());
        written.or_else(|error| self.left_or_failed(error))
    }

    /// A reader who left is no failure.
    fn left_or_failed(&mut self, error: io::Error) -> io::Result<()> {
        if error.kind() != io::ErrorKind::BrokenPipe {
            return Err(error);
        }
        self.unread = true;
        signals::stop();
        Ok(())
    }
}
