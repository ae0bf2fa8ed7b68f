//! `ptp status`: asks a running clock and prints its answer.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::quantity::{beside, signed};
use crate::output::{Output, Page, Report, Rows};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use serde::Serialize;
use serde_json::Value;
use wirestamp::{Error, ErrorKind, Span};

/// What the clock said, as it said it.
#[derive(Serialize)]
#[serde(transparent)]
struct Answer(Value);

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<wirestamp_ptp::Status>("ptp-status", "Output of `wirestamp ptp status --json`")
        .row::<wirestamp_ptp::PortStatus>()
}

pub(super) fn run(interface: Option<&str>, output: &mut Output) -> Result<Exit, Failure> {
    let text = wirestamp_ptp::ask(interface)?;
    let answer: Value = serde_json::from_str(&text).map_err(|error| {
        let target = interface.unwrap_or("its status socket");
        Error::new(
            ErrorKind::Io,
            "read a PTP clock's answer",
            target,
            error.to_string(),
        )
    })?;
    output.report(&Answer(answer))?;
    Ok(Exit::Success)
}

impl Report for Answer {
    fn rows(&self, rows: &mut Rows) {
        let ports = self.0["ports"].as_array().into_iter().flatten();
        ports.for_each(|port| rows.row(port));
    }

    fn print(&self, page: &mut Page) {
        let text = |value: &Value| value.as_str().unwrap_or("nobody").to_owned();
        let time = |value: &Value| {
            value.as_i64().map_or_else(
                || "-".to_owned(),
                |ns| Span::from_nanoseconds(ns.into()).to_string(),
            )
        };
        page.heading(&format!("PTP clock {}", text(&self.0["identity"])));
        page.field("follows", &text(&self.0["time_transmitter"]));
        page.field("grandmaster", &text(&self.0["grandmaster"]));
        for port in self.0["ports"].as_array().into_iter().flatten() {
            page.line(&format!(
                "port {} on {}",
                port["port"],
                text(&port["interface"])
            ));
            page.field(
                "state",
                &format!(
                    "{}, {} timestamps",
                    text(&port["state"]),
                    text(&port["source"])
                ),
            );
            let estimate = &port["estimate"];
            if !estimate.is_null() {
                let (offset, bound) = (
                    estimate["offset_ns"].as_i64(),
                    estimate["error_bound_ns"].as_i64(),
                );
                let offset = offset.zip(bound).map_or_else(
                    || "-".to_owned(),
                    |(offset, bound)| {
                        format!(
                            "{} ±{}",
                            signed(offset, bound),
                            beside(bound, offset, bound)
                        )
                    },
                );
                let age = time(&estimate["age_ns"]);
                page.field("offset", &format!("{offset}, {age} after the last Sync"));
                page.field("path delay", &time(&estimate["mean_path_delay_ns"]));
            }
            let lost = port["lost"].as_object().map(|lost| {
                lost.iter()
                    .map(|(name, count)| format!("{name} {count}"))
                    .collect::<Vec<_>>()
            });
            page.field(
                "lost exchanges",
                &lost
                    .filter(|lost| !lost.is_empty())
                    .map_or_else(|| "none".to_owned(), |lost| lost.join(", ")),
            );
        }
    }
}
