//! The files of a measurement of offsets to other clocks, as `ptp` and `ntp` write them: `--plot` as SVG, `--html` as a
//! report with plots that can be zoomed, `--histogram` as an interval log.

mod course;
mod log;
mod picture;
mod report;

pub(super) use course::Course;

use crate::output::drafts::{Asked, Drafts};
use crate::output::html::Grid;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use wirestamp::Error;

pub(super) type Files<'a> = Drafts<Shown<'a>>;

/// Opens those that were asked for.
pub(super) fn files<'a>(
    [plot, html, histogram]: [&Option<PathBuf>; 3],
) -> Result<Files<'a>, Error> {
    let asked: [Asked<'_, Shown<'a>>; 3] = [
        (plot, "write the plot", |shown, _| shown.picture()),
        (html, "write the report", Shown::html),
        (histogram, "write the histograms", |shown, _| shown.log()),
    ];
    Files::create(asked)
}

/// A measurement that is over.
pub(super) struct Shown<'a> {
    /// The command that measured.
    pub(super) command: &'static str,
    pub(super) title: String,
    /// A sentence or two for the report.
    pub(super) summary: &'static str,
    /// When the measurement began.
    pub(super) begun: SystemTime,
    pub(super) tables: Vec<Grid>,
    /// To how many clocks offsets were asked for: some may have given none.
    pub(super) asked: usize,
    /// One at least.
    pub(super) clocks: Vec<Clock<'a>>,
    /// Duration of the measurement.
    pub(super) took: Duration,
}

/// Another clock.
pub(super) struct Clock<'a> {
    /// `the timeTransmitter`.
    pub(super) name: String,
    /// Name of the path delay: `mean path delay`.
    pub(super) delay: &'static str,
    /// Of which directions: `mean of both directions`.
    pub(super) delay_is: &'static str,
    pub(super) course: &'a Course,
}

impl Clock<'_> {
    /// Name of the axis of offsets.
    fn offset(&self) -> String {
        let name = &self.name;
        match self.course.from() {
            None => format!("this clock - {name}"),
            Some(from) => format!("this clock - {name} - ({from})"),
        }
    }
}
