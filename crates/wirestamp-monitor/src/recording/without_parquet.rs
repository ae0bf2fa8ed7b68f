//! Recording in a program that was built without it: such a configuration is rejected before.

use super::Said;
use crate::configuration::Recording as Configuration;
use crate::snapshot::RecordingState;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wirestamp::{CrossTimestamp, Error, ErrorKind, Result, UtcTime};
use wirestamp_measure::{Known, Moment, Packet};
use wirestamp_probe::session::Window;

/// There is none.
pub(crate) enum Recording {}

impl Recording {
    pub(crate) fn start<'a>(
        configuration: &Configuration,
        _: String,
        _: bool,
        _: &Moment,
        _: impl IntoIterator<Item = &'a Self>,
    ) -> Result<Self> {
        let target = configuration.directory.display().to_string();
        let cause = "this program is built without it";
        Err(Error::new(ErrorKind::NotSupported, "record", target, cause))
    }

    pub(crate) fn claim(&self) -> Result<()> {
        match *self {}
    }

    pub(crate) fn is_of(&self, _: Option<&Configuration>, _: &str) -> bool {
        match *self {}
    }

    pub(crate) fn window(&self) -> Option<Duration> {
        match *self {}
    }

    pub(crate) fn probe(&mut self, _: &Arc<str>, _: &Window) {
        match *self {}
    }

    pub(crate) fn estimate(&mut self, _: &str, _: &Known) {
        match *self {}
    }

    pub(crate) fn cross(&mut self, _: &str, _: &CrossTimestamp, _: UtcTime) {
        match *self {}
    }

    pub(crate) fn wants_packets(&self) -> bool {
        match *self {}
    }

    pub(crate) fn packet(&mut self, _: &Packet<'_>, _: UtcTime) {
        match *self {}
    }

    pub(crate) fn look(&mut self, _: &Moment, _: Option<Said>) -> bool {
        match *self {}
    }

    pub(crate) fn hand_over(&mut self) {
        match *self {}
    }

    pub(crate) fn close(&mut self) {
        match *self {}
    }

    pub(crate) fn is_over(&mut self) -> bool {
        match *self {}
    }

    pub(crate) fn end(&mut self, _: Instant) -> u64 {
        match *self {}
    }

    pub(crate) fn show(&self) -> RecordingState {
        match *self {}
    }
}
