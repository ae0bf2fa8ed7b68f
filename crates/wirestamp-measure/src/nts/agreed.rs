//! Results of a key exchange, and of verifying a response with its keys.

/// The result of a key exchange: keys, cookies, and the NTP server to ask.
pub(crate) struct Agreed<A> {
    pub(crate) association: A,
    /// The NTP server, if it differs from the key exchange server.
    pub(crate) server: Option<String>,
    pub(crate) port: Option<u16>,
}

/// The reasons for which a response is not the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(all(unix, feature = "nts")),
    allow(dead_code, reason = "without NTS there are no responses")
)]
pub(crate) enum Unauthentic {
    /// The server, or somebody in its name, reports that it no longer knows the cookie.
    Refused,
    /// It was forged or changed, or answers another request.
    Forged,
}
