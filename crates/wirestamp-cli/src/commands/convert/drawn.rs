//! The files of `convert --plot` and `--html`.

use crate::arguments;
use crate::commands::residuals::Plot;
use crate::output::drafts::{Asked, Drafts};
use crate::output::html::{Grid, Html};
use crate::output::made::Made;
use crate::output::{grouped, plural};
use std::error::Error as StdError;
use wirestamp::events::{Header, Summary};
use wirestamp::time::Frequency;
use wirestamp::{Error, Span};

/// A report with more generations lists the first ones.
const MOST_GENERATIONS: usize = 100;

pub(super) type Files = Drafts<Shown>;

/// Opens the files to be written besides the rows.
pub(super) fn files(arguments: &arguments::Convert) -> Result<Files, Error> {
    let asked: [Asked<'_, Shown>; 2] = [
        (&arguments.plot, "write the plot", |shown, _| {
            shown.picture()
        }),
        (&arguments.html, "write the report", Shown::html),
    ];
    Files::create(asked)
}

/// A recording that was converted.
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) header: Header,
    pub(super) plot: Plot,
    pub(super) summary: Summary,
}

impl Shown {
    fn picture(&self) -> Result<String, Box<dyn StdError>> {
        let generations = self.summary.generations.iter();
        let first: Vec<_> = generations.map(|generation| generation.first).collect();
        self.plot.picture(&first)
    }

    fn html(&self, made: &Made) -> Result<String, Box<dyn StdError>> {
        let summary = &self.summary;
        let html = Html {
            title: format!("Timestamps of {}", self.name),
            summary: format!(
                "{} of {} converted with {} of both clocks; {}",
                grouped(summary.converted),
                plural(summary.timestamps, "timestamp"),
                plural(summary.readings, "reading"),
                plural(
                    summary.generations.len() as u64 + summary.generations_left_out,
                    "clock generation"
                ),
            ),
            tables: vec![counts(self.header, summary), generations(summary)],
            plots: vec![self.plot.interactive()],
            picture: self.picture()?,
        };
        Ok(html.into_text(made)?)
    }
}

fn counts(header: Header, summary: &Summary) -> Grid {
    let hertz = |frequency: Option<Frequency>| {
        frequency.map_or_else(
            || "unknown".to_owned(),
            |known| format!("{} Hz", known.hertz()),
        )
    };
    let counted = [
        ("readings", summary.readings),
        ("of them older than the one before", summary.outdated),
        ("of them invalid", summary.invalid),
        ("batches of readings", summary.batches),
        ("notifications", summary.notifications),
        ("timestamps", summary.timestamps),
        ("converted", summary.converted),
    ];
    let clocks = [
        ("monotonic clock, nominal", hertz(Some(header.system))),
        ("hardware clock, nominal", hertz(header.hardware)),
    ];
    let rows = clocks
        .into_iter()
        .map(|(what, value)| vec![what.to_owned(), value])
        .chain(counted.map(|(what, count)| vec![what.to_owned(), grouped(count)]))
        .chain(summary.errors.by_reason().map(|(reason, count)| {
            vec![
                format!("not converted: {}", reason.name()),
                count.to_string(),
            ]
        }))
        .chain(summary.withdrawn.by_reason().map(|(reason, count)| {
            vec![
                format!("of them withdrawn: {}", reason.name()),
                count.to_string(),
            ]
        }));
    Grid {
        caption: "Recording".to_owned(),
        columns: Vec::new(),
        rows: rows.collect(),
    }
}

fn generations(summary: &Summary) -> Grid {
    let head = ["generation", "opened by", "lasted", "readings", "frequency"];
    let rows = summary
        .generations
        .iter()
        .take(MOST_GENERATIONS)
        .map(|generation| {
            let lasted = generation
                .last
                .nanoseconds()
                .saturating_sub(generation.first.nanoseconds());
            vec![
                generation.generation.0.to_string(),
                generation.cause.name().to_owned(),
                Span::from_nanoseconds(lasted.into()).to_string(),
                generation.readings.to_string(),
                generation.frequency.map_or_else(
                    || "unknown".to_owned(),
                    |rate| format!("{:.3} Hz", rate.hertz),
                ),
            ]
        });
    Grid {
        caption: "Clock generations: uninterrupted runs of the hardware clock".to_owned(),
        columns: head.map(str::to_owned).into(),
        rows: rows.collect(),
    }
}
