//! What `latency --peer --parquet` says in a program that was built without it.

use crate::arguments;
use wirestamp::{Error, ErrorKind};
use wirestamp_probe::session::Sample;

/// There are none.
pub(super) enum Probes {}

impl Probes {
    pub(super) fn open(arguments: &arguments::Stamp, peer: &str) -> Result<Option<Self>, Error> {
        if arguments.parquet.is_none() {
            return Ok(None);
        }
        let cause = "this program was built without Parquet";
        let error = Error::new(ErrorKind::NotSupported, super::run::OPERATION, peer, cause);
        Err(error.with_remedy("build it with --features parquet"))
    }

    pub(super) fn has_failed(&self) -> bool {
        match *self {}
    }

    pub(super) fn add(&mut self, _: &Sample) {
        match *self {}
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        match self {}
    }
}
