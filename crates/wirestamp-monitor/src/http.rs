//! What is served over HTTP: the snapshot as JSON, events as a stream, metrics.
//!
//! | path | what |
//! |---|---|
//! | `/api/snapshot` | [`Snapshot`](crate::snapshot::Snapshot) as JSON |
//! | `/api/events` | events as they come (server-sent events); `?after=N`: those after event N first |
//! | `/metrics` | OpenMetrics text, or Prometheus' protobuf to those who ask for it |
//! | `/healthz` | 200 while the monitor measures |
//!
//! Connections, the length and time of requests, and the time for which a client may not read are limited.

mod access;
mod answer;
mod negotiate;
mod patient;
mod server;

pub use server::Server;
