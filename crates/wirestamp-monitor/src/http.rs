//! Serves a web page, the snapshot as JSON, events as a stream, the history and metrics over HTTP.
//!
//! | path | what |
//! |---|---|
//! | `/`, `/page/…` | the web page |
//! | `/api/snapshot` | [`Snapshot`](crate::snapshot::Snapshot) as JSON |
//! | `/api/events` | events as they come (server-sent events); `?after=ID`: those after this event first, `?after=0`: all |
//! | `/api/history` | what was measured between two instants, in bins that keep the extremes: `?from=TIME&to=TIME` (RFC 3339), `&show=offsets`, `delays` or `events`, `&points=N`, `&name=NAME`, `&segment=SEGMENT` |
//! | `/metrics` | Prometheus' text; OpenMetrics text and Prometheus' protobuf to those who ask for them |
//! | `/healthz` | 200 while the measuring loop turns; if not, starting the monitor again is what may help |
//! | `/readyz` | 200 while it turns and at least one task runs |
//!
//! Over TLS, if the configuration names a certificate (Unix). Connections, the length and time of requests, and the time
//! for which a client may not read are limited; each address has a fair share of the connections.

mod access;
mod answer;
mod connections;
mod negotiate;
mod page;
mod patient;
mod rendered;
mod server;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(unix)]
mod tls;
#[cfg(not(unix))]
#[path = "http/without_tls.rs"]
mod tls;

pub(crate) use access::token;
pub use server::{Listener, Prepared, Server};
pub(crate) use tls::Tls;
