//! The files of `convert --plot` and `--html`.

use super::plot::Plot;
use crate::arguments;
use crate::output::html::{Grid, Html};
use crate::output::{Target, grouped, plural};
use std::error::Error as StdError;
use wirestamp::events::{Header, Summary};
use wirestamp::time::Frequency;
use wirestamp::{Error, ErrorKind, Span};

/// A report with more generations lists the first ones.
const MOST_GENERATIONS: usize = 100;

/// The files written besides the rows, on request: they are checked before anything is converted.
pub(super) struct Targets {
    plot: Option<Target>,
    html: Option<Target>,
}

impl Targets {
    pub(super) fn of(arguments: &arguments::Convert) -> Result<Self, Error> {
        let check = |path: &Option<_>, operation| {
            let path: Option<&std::path::PathBuf> = path.as_ref();
            path.map(|path| Target::check(path, operation)).transpose()
        };
        Ok(Self {
            plot: check(&arguments.plot, "write the plot")?,
            html: check(&arguments.html, "write the report")?,
        })
    }

    pub(super) fn is_some(&self) -> bool {
        self.plot.is_some() || self.html.is_some()
    }

    pub(super) fn write(
        self,
        name: &str,
        header: Header,
        plot: &Plot,
        summary: &Summary,
    ) -> Result<(), Error> {
        let write = |target: Target, text: Result<String, Box<dyn StdError>>| {
            let text = text.map_err(|error| {
                Error::new(ErrorKind::Io, "draw", target.name(), error.to_string())
            })?;
            target.write(text.as_bytes())
        };
        if let Some(target) = self.plot {
            write(target, plot.picture(summary))?;
        }
        if let Some(target) = self.html {
            write(target, report(name, header, plot, summary))?;
        }
        Ok(())
    }
}

fn report(
    name: &str,
    header: Header,
    plot: &Plot,
    summary: &Summary,
) -> Result<String, Box<dyn StdError>> {
    let html = Html {
        title: format!("Timestamps of {name}"),
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
        tables: vec![counts(header, summary), generations(summary)],
        plots: vec![plot.interactive()],
        picture: plot.picture(summary)?,
    };
    Ok(html.into_text()?)
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
