//! Files that a command writes when it is over. A file that cannot be written is known before anything is measured.

use super::made::Made;
use super::{Draft, Target};
use std::error::Error as StdError;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use wirestamp::{Error, ErrorKind};

/// How one is made of what is shown.
pub(crate) type Draw<S> = fn(&S, &Made) -> Result<String, Box<dyn StdError>>;

/// One that may have been asked for: its path, the operation for an error, how it is made.
pub(crate) type Asked<'a, S> = (&'a Option<PathBuf>, &'static str, Draw<S>);

/// Those that were asked for.
pub(crate) struct Drafts<S> {
    files: Vec<(Place, Draw<S>)>,
    made: Option<Made>,
}

enum Place {
    Checked(Target),
    Opened(Draft, String),
}

impl<S> Drafts<S> {
    pub(crate) fn create<'a>(asked: impl IntoIterator<Item = Asked<'a, S>>) -> Result<Self, Error>
    where
        S: 'a,
    {
        let asked = asked.into_iter();
        let asked =
            asked.filter_map(|(path, operation, draw)| Some((path.as_deref()?, operation, draw)));
        let checked = asked.map(|(path, operation, draw)| {
            let target = Target::check(path, operation)?;
            Ok((Place::Checked(target), draw))
        });
        let files = checked.collect::<Result<Vec<_>, Error>>()?;
        // host and system are read now: a sandbox may deny it later
        let made = (!files.is_empty()).then(Made::here);
        Ok(Self { files, made })
    }

    /// Opens them now: inside a sandbox no file can be opened.
    pub(crate) fn open(self) -> Result<Self, Error> {
        let open = |(place, draw)| {
            let opened = match place {
                Place::Checked(target) => {
                    let name = target.name().to_owned();
                    Place::Opened(target.start()?, name)
                }
                opened @ Place::Opened(..) => opened,
            };
            Ok((opened, draw))
        };
        let files = self.files.into_iter().map(open);
        Ok(Self {
            files: files.collect::<Result<_, Error>>()?,
            made: self.made,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Where they take their places.
    pub(crate) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.files.iter().filter_map(|(place, _)| match place {
            Place::Opened(draft, _) => draft.folder(),
            Place::Checked(_) => None,
        });
        folders.map(Path::to_owned)
    }

    /// Writes each of them, whatever becomes of the others; returns the first error.
    pub(crate) fn write(self, shown: &S) -> Result<(), Error> {
        let Some(made) = self.made else {
            return Ok(());
        };
        let write = |(place, draw): (Place, Draw<S>)| place.write(draw(shown, &made));
        let written: Vec<_> = self.files.into_iter().map(write).collect();
        written.into_iter().collect()
    }
}

impl Place {
    fn write(self, text: Result<String, Box<dyn StdError>>) -> Result<(), Error> {
        let not_drawn = |name: &str, error: Box<dyn StdError>| {
            Error::new(ErrorKind::Io, "draw", name, error.to_string())
        };
        match self {
            Self::Checked(target) => {
                let text = text.map_err(|error| not_drawn(target.name(), error))?;
                target.write(text.as_bytes())
            }
            Self::Opened(mut draft, name) => {
                let text = text.map_err(|error| not_drawn(&name, error))?;
                let written = draft.write_all(text.as_bytes());
                written.map_err(|error| draft.failed(&error))?;
                draft.finish()
            }
        }
    }
}
