//! Files that a command writes when it is over. They are opened before anything is measured: the sandbox opens none, and a
//! file that cannot be written is known at once.

use super::made::made;
use super::{Draft, Target};
use std::error::Error as StdError;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use wirestamp::{Error, ErrorKind};

/// How one is made of what is shown.
pub(crate) type Draw<S> = fn(&S) -> Result<String, Box<dyn StdError>>;

/// One that may have been asked for: its path, the operation for an error, how it is made.
pub(crate) type Asked<'a, S> = (&'a Option<PathBuf>, &'static str, Draw<S>);

pub(crate) struct Drafts<S>(Vec<(Draft, String, Draw<S>)>);

impl<S> Drafts<S> {
    pub(crate) fn create<'a>(asked: impl IntoIterator<Item = Asked<'a, S>>) -> Result<Self, Error>
    where
        S: 'a,
    {
        made();
        let asked = asked.into_iter();
        let asked =
            asked.filter_map(|(path, operation, draw)| Some((path.as_deref()?, operation, draw)));
        let opened = asked.map(|(path, operation, draw)| {
            let draft = Target::check(path, operation)?.start()?;
            Ok((draft, path.display().to_string(), draw))
        });
        opened.collect::<Result<_, Error>>().map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where they take their places.
    pub(crate) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.0.iter().filter_map(|(draft, ..)| draft.folder());
        folders.map(Path::to_owned)
    }

    /// Writes each of them, whatever becomes of the others; returns the first error.
    pub(crate) fn write(self, shown: &S) -> Result<(), Error> {
        let write = |(mut draft, name, draw): (Draft, String, Draw<S>)| {
            let text = draw(shown)
                .map_err(|error| Error::new(ErrorKind::Io, "draw", name, error.to_string()))?;
            draft
                .write_all(text.as_bytes())
                .map_err(|error| draft.failed(&error))?;
            draft.finish()
        };
        let written: Vec<_> = self.0.into_iter().map(write).collect();
        written.into_iter().collect()
    }
}
