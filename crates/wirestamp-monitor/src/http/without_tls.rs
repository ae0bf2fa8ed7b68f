//! TLS on systems without it: the configuration rejects certificates.

use std::path::Path;
use wirestamp::{Error, ErrorKind, Result};

/// There is none.
#[derive(Debug, Clone)]
pub(crate) enum Tls {}

impl Tls {
    pub(crate) fn read(certificate: &Path, _key: &Path) -> Result<Self> {
        Err(Error::new(
            ErrorKind::NotSupported,
            "read the files for TLS",
            certificate.display().to_string(),
            "there is no TLS on this system".to_owned(),
        ))
    }

    pub(crate) async fn accept<S>(&self, _stream: S) -> std::io::Result<S> {
        match *self {}
    }
}
