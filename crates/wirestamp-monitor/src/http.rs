//! What is served over HTTP: a web page, the snapshot as JSON, events as a stream, the history, metrics.
//!
//! | path | what |
//! |---|---|
//! | `/`, `/page/…` | the web page |
//! | `/api/snapshot` | [`Snapshot`](crate::snapshot::Snapshot) as JSON |
//! | `/api/events` | events as they come (server-sent events); `?after=N`: those after event N first |
//! | `/api/history` | what was measured between two instants, in bins that keep the extremes: `?from=TIME&to=TIME` (RFC 3339), `&show=offsets`, `delays` or `events`, `&points=N`, `&name=NAME`, `&segment=SEGMENT` |
//! | `/metrics` | OpenMetrics text, or Prometheus' protobuf to those who ask for it |
//! | `/healthz` | 200 while the monitor measures |
//!
//! Over TLS, if the configuration names a certificate (Unix). Connections, the length and time of requests, and the time for which a client may not read are limited.

mod access;
mod answer;
mod negotiate;
mod page;
mod patient;
mod server;
mod settings;
#[cfg(unix)]
mod tls;
#[cfg(not(unix))]
#[path = "http/without_tls.rs"]
mod tls;

pub(crate) use access::token;
pub use server::Server;
pub(crate) use tls::Tls;
