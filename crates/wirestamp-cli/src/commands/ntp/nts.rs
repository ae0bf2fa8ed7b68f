//! Network Time Security (RFC 8915): keys and cookies by TLS, then packets that are authenticated. The packets' fields are
//! the crate `rusty_time-nts`'s, TLS is rustls'.

#[cfg(not(all(unix, feature = "nts")))]
mod absent;
#[cfg(all(unix, feature = "nts"))]
mod association;
#[cfg(all(unix, feature = "nts"))]
mod exchange;

#[cfg(not(all(unix, feature = "nts")))]
pub(super) use absent::{Association, Trust};
#[cfg(all(unix, feature = "nts"))]
pub(super) use {association::Association, exchange::Trust};

/// The port of the key exchange (RFC 8915 §6).
pub(super) const KEY_EXCHANGE_PORT: u16 = 4460;

/// What a key exchange gives.
pub(super) struct Agreed {
    pub(super) association: Association,
    /// The NTP server, if it is another than that of the key exchange.
    pub(super) server: Option<String>,
    pub(super) port: Option<u16>,
}

/// Why a response is not the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(all(unix, feature = "nts")),
    allow(dead_code, reason = "without NTS there are no responses")
)]
pub(super) enum Unauthentic {
    /// The server knows the cookie no longer, or somebody says so.
    Refused,
    /// It was forged, changed or is of another request.
    Forged,
}
