//! The files of `latency`, with `--peer` and without: `--histogram`, `--plot`, `--html`. That they can be written is known before anything is measured.

use super::export::Export;
use super::picture::Shown;
use crate::arguments;
use crate::output::drafts::{Asked, Drafts};
use std::time::Duration;
use wirestamp::Error;
use wirestamp::latency::Histogram;

/// Files that can be written.
pub(in crate::commands) struct Files<'a> {
    export: Option<Export>,
    pictures: Drafts<Shown<'a>>,
}

impl<'a> Files<'a> {
    /// Measuring begins now.
    pub(in crate::commands) fn create(arguments: &arguments::Latency) -> Result<Self, Error> {
        let export = arguments.histogram.as_deref().map(Export::create);
        let asked: [Asked<'_, Shown<'a>>; 2] = [
            (&arguments.plot, "write the plot", |shown, _| {
                shown.picture()
            }),
            (&arguments.html, "write the report", Shown::html),
        ];
        Ok(Self {
            export: export.transpose()?,
            pictures: Drafts::create(asked)?,
        })
    }

    /// Measuring is over, and has taken so long: writes the histograms of these paths.
    pub(in crate::commands) fn export(
        &mut self,
        paths: &[(&'static str, &Histogram)],
        took: Duration,
    ) -> Result<(), Error> {
        self.export
            .take()
            .map_or(Ok(()), |export| export.write(paths, took))
    }

    pub(in crate::commands) fn draw(self, shown: &Shown<'a>) -> Result<(), Error> {
        self.pictures.write(shown)
    }
}
