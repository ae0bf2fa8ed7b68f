//! NTS in a build without it: every call is an error that says so.

use super::agreed::{Agreed, Unauthentic};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use wirestamp::{Error, ErrorKind};

/// There is none.
pub(crate) enum Trust {}

/// There is none.
pub(crate) enum Association {}

impl Trust {
    pub(crate) fn new(_: Option<&Path>) -> Result<Self, Error> {
        let (kind, cause) = (
            ErrorKind::NotSupported,
            "this program was built without NTS",
        );
        let error = Error::new(kind, "authenticate", "NTP servers", cause);
        Err(error.with_remedy(
            "on Linux, build it with --features nts; or leave --nts out, and trust the network",
        ))
    }

    pub(crate) fn exchange(
        &self,
        _: &str,
        _: SocketAddr,
        _: Duration,
    ) -> Result<Agreed<Association>, String> {
        match *self {}
    }
}

impl Association {
    pub(crate) fn protect(&mut self, _: &[u8; 48]) -> Result<Vec<u8>, Error> {
        match *self {}
    }

    pub(crate) fn has_cookie(&self) -> bool {
        match *self {}
    }

    pub(crate) fn verify(&mut self, _: &[u8]) -> Result<(), Unauthentic> {
        match *self {}
    }
}
