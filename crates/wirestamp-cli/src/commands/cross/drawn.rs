//! The files of `cross`: `--plot` as SVG, `--html` as a report with a plot that can be zoomed, `--histogram` as an interval
//! log.

use super::report::Cross;
use crate::arguments;
use crate::commands::latency::export::interval_log;
use crate::commands::residuals::Plot;
use crate::output::drafts::{Asked, Drafts};
use crate::output::html::{Grid, Html};
use crate::output::made::Made;
use crate::output::plural;
use std::error::Error as StdError;
use std::time::{Duration, SystemTime};
use wirestamp::correlator::Correlation;
use wirestamp::{CrossTimestamp, Error, MonotonicTime};

pub(super) type Files<'a> = Drafts<Shown<'a>>;

pub(super) fn files<'a>(arguments: &arguments::Cross) -> Result<Files<'a>, Error> {
    let asked: [Asked<'_, Shown<'a>>; 3] = [
        (&arguments.plot, "write the plot", |shown, _| {
            shown.picture()
        }),
        (&arguments.html, "write the report", Shown::html),
        (&arguments.histogram, "write the histogram", |shown, _| {
            shown.log()
        }),
    ];
    Files::create(asked)
}

/// What the files need of each reading.
pub(super) struct Drawn {
    plot: Plot,
    /// The first reading of each clock generation.
    generations: Vec<MonotonicTime>,
    begun: SystemTime,
}

impl Drawn {
    pub(super) fn begin() -> Self {
        Self {
            plot: Plot::default(),
            generations: Vec::new(),
            begun: SystemTime::now(),
        }
    }

    /// Before the reading is taken in.
    pub(super) fn compare(&mut self, correlation: &Correlation, reading: &CrossTimestamp) {
        self.plot.compare(correlation, reading);
    }

    /// After that.
    pub(super) fn note(&mut self, generation: u32, reading: &CrossTimestamp) {
        let is_drawn = self.generations.len() < MOST_GENERATIONS;
        if is_drawn && generation as usize >= self.generations.len() {
            self.generations.push(reading.middle());
        }
    }
}

/// The first ones of more are drawn.
const MOST_GENERATIONS: usize = 1_000;

/// Readings that are over.
pub(super) struct Shown<'a> {
    pub(super) drawn: &'a Drawn,
    pub(super) cross: &'a Cross,
    pub(super) took: Duration,
}

impl Shown<'_> {
    fn picture(&self) -> Result<String, Box<dyn StdError>> {
        self.drawn.plot.picture(&self.drawn.generations)
    }

    fn html(&self, made: &Made) -> Result<String, Box<dyn StdError>> {
        let readings = plural(self.cross.count, "cross timestamp");
        let html = Html {
            title: format!("{readings} of {}", self.cross.interface),
            summary: "A cross timestamp reads the NIC's clock between two readings of the system's: the bracket."
                .to_owned(),
            tables: vec![Grid::of_values("The clock", self.cross.values())],
            plots: vec![self.drawn.plot.interactive()],
            picture: self.picture()?,
        };
        Ok(html.into_text(made)?)
    }

    fn log(&self) -> Result<String, Box<dyn StdError>> {
        let paths = [("bracket", &self.cross.widths)];
        let heading = "wirestamp cross, nanoseconds";
        let log = interval_log(heading, &paths, self.drawn.begun, self.took)?;
        Ok(String::from_utf8(log)?)
    }
}
