//! What `--parquet` says in a program that was built without it.

use crate::arguments;
use wirestamp::{CrossTimestamp, Error, ErrorKind, Interface};
use wirestamp_measure::{FinalTime, Known};

/// There is none.
pub(super) enum Store {}

impl Store {
    pub(super) fn open(
        arguments: &arguments::Record,
        interface: &Interface,
    ) -> Result<Option<Self>, Error> {
        if arguments.parquet.is_none() {
            return Ok(None);
        }
        let cause = "this program was built without Parquet";
        let error = Error::new(ErrorKind::NotSupported, "record", interface.name(), cause);
        Err(error.with_remedy("build it with --features parquet"))
    }

    pub(super) fn readings(&mut self, _: &[CrossTimestamp]) -> Result<(), Error> {
        match *self {}
    }

    pub(super) fn time(&mut self, _: &FinalTime) -> Result<(), Error> {
        match *self {}
    }

    pub(super) fn estimate(&mut self, _: &Known) -> Result<(), Error> {
        match *self {}
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        match self {}
    }
}
