//! Results of a key exchange, and of verifying a response with its keys.

/// What a key exchange gives: keys and cookies, and where to ask.
pub(crate) struct Agreed<A> {
    pub(crate) association: A,
    /// The NTP server, if it is another than that of the key exchange.
    pub(crate) server: Option<String>,
    pub(crate) port: Option<u16>,
}

/// Why a response is not the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(all(unix, feature = "nts")),
    allow(dead_code, reason = "without NTS there are no responses")
)]
pub(crate) enum Unauthentic {
    /// The server knows the cookie no longer, or somebody says so.
    Refused,
    /// It was forged, changed or is of another request.
    Forged,
}
