//! The files of `latency`, with `--peer` and without: `--histogram`, `--plot`, `--html`. That they can be written is known before anything is measured.

use super::export::Export;
use super::picture::Shown;
use crate::arguments;
use crate::output::Target;
use crate::output::made::Made;
use std::error::Error as StdError;
use std::path::PathBuf;
use wirestamp::latency::Histogram;
use wirestamp::{Error, ErrorKind};

/// How a picture of the measurement is made.
type Draw = for<'a> fn(&Shown<'a>, &Made) -> Result<String, Box<dyn StdError>>;

/// Files that can be written.
pub(in crate::commands) struct Files {
    export: Option<Export>,
    pictures: Vec<(Target, Draw)>,
}

impl Files {
    /// Measuring begins now.
    pub(in crate::commands) fn create(arguments: &arguments::Latency) -> Result<Self, Error> {
        let export = arguments.histogram.as_deref().map(Export::create);
        let wanted: [(&Option<PathBuf>, &'static str, Draw); 2] = [
            (&arguments.plot, "write the plot", |shown, _| {
                shown.picture()
            }),
            (&arguments.html, "write the report", |shown, made| {
                shown.html(made)
            }),
        ];
        let pictures = wanted
            .into_iter()
            .filter_map(|(path, operation, draw)| Some((path.as_deref()?, operation, draw)))
            .map(|(path, operation, draw)| Ok((Target::check(path, operation)?, draw)));
        Ok(Self {
            export: export.transpose()?,
            pictures: pictures.collect::<Result<_, Error>>()?,
        })
    }

    /// Measuring is over: writes the histograms of these paths.
    pub(in crate::commands) fn export(
        &mut self,
        paths: &[(&'static str, &Histogram)],
    ) -> Result<(), Error> {
        self.export
            .take()
            .map_or(Ok(()), |export| export.write(paths))
    }

    pub(in crate::commands) fn draw(self, shown: &Shown<'_>) -> Result<(), Error> {
        if self.pictures.is_empty() {
            return Ok(());
        }
        let made = Made::here();
        for (target, draw) in self.pictures {
            let text = draw(shown, &made).map_err(|error| {
                Error::new(ErrorKind::Io, "draw", target.name(), error.to_string())
            })?;
            target.write(text.as_bytes())?;
        }
        Ok(())
    }
}
