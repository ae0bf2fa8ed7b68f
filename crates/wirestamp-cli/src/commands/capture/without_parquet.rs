//! What `--parquet` says in a program that was built without it.

use crate::arguments;
use wirestamp::capture::{CapturedPacket, LinkType};
use wirestamp::{Error, ErrorKind};

/// There is none.
pub(super) enum Store {}

impl Store {
    pub(super) fn open(
        arguments: &arguments::Capture,
        interface: &str,
    ) -> Result<Option<Self>, Error> {
        if arguments.parquet.is_none() {
            return Ok(None);
        }
        let cause = "this program was built without Parquet";
        let error = Error::new(ErrorKind::NotSupported, "capture", interface, cause);
        Err(error.with_remedy("build it with --features parquet"))
    }

    pub(super) fn packet(&mut self, _: &CapturedPacket<'_>, _: LinkType) -> Result<(), Error> {
        match *self {}
    }

    pub(super) fn poll(&mut self, _: u64) -> Result<(), Error> {
        match *self {}
    }

    pub(super) fn left_out(&self) -> u64 {
        match *self {}
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        match self {}
    }
}
