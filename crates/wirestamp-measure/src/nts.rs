//! Network Time Security (RFC 8915): keys and cookies by TLS (rustls), then authenticated packets, whose fields are
//! from the crate `rusty_time-nts`.

#[cfg(not(all(unix, feature = "nts")))]
mod absent;
mod agreed;
#[cfg(all(unix, feature = "nts"))]
mod association;
#[cfg(all(unix, feature = "nts"))]
mod deadline;
#[cfg(all(unix, feature = "nts"))]
mod exchange;
#[cfg(all(unix, feature = "nts"))]
mod records;

#[cfg(not(all(unix, feature = "nts")))]
pub(crate) use absent::{Association, Trust};
pub(crate) use agreed::{Agreed, Unauthentic};
#[cfg(all(test, unix, feature = "nts"))]
pub(crate) use association::tests::{answer, association};
#[cfg(all(unix, feature = "nts"))]
pub(crate) use {association::Association, exchange::Trust};

use std::path::Path;
use wirestamp::Result;

/// The port of the key exchange (RFC 8915 §6).
pub(crate) const KEY_EXCHANGE_PORT: u16 = 4460;

/// Reads the certificate authorities to trust: those in a file (PEM), or the system's.
///
/// # Errors
/// `InvalidInput` if there is no usable certificate; `NotSupported` in a program that was built without NTS.
pub fn check(authorities: Option<&Path>) -> Result<()> {
    Trust::new(authorities).map(drop)
}
