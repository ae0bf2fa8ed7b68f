//! The list of metrics: name, unit, help, and the source of the values. `guide/monitor-metrics.md` explains each.

mod clocks;
mod ntp;
mod own;
mod packets;
mod ptp;
mod stamp;

use super::families::{Families, Labels};
use crate::snapshot::{Reasons, Snapshot};
use prometheus_client::registry::Unit;
use std::collections::BTreeMap;
use std::fmt::Error;

/// The unit of differences of frequency: 1e-9 is one part per billion.
fn ratio() -> Option<&'static Unit> {
    static UNIT: Unit = Unit::Ratios;
    Some(&UNIT)
}

fn seconds() -> Option<&'static Unit> {
    static UNIT: Unit = Unit::Seconds;
    Some(&UNIT)
}

/// Nanoseconds in seconds.
fn of_ns(nanoseconds: Option<i64>) -> Option<f64> {
    nanoseconds.map(|nanoseconds| nanoseconds as f64 / 1e9)
}

fn truth(is_true: bool) -> Option<f64> {
    Some(f64::from(u8::from(is_true)))
}

/// A series for each reason.
fn by<'a>(
    labels: Labels<'a>,
    name: &'static str,
    reasons: &'a Reasons,
) -> impl Iterator<Item = (Labels<'a>, f64)> {
    reasons.iter().map(move |(reason, count)| {
        let mut labels = labels.clone();
        labels.push((name, reason));
        (labels, *count as f64)
    })
}

/// A series for each segment.
fn segments<'a>(
    label: &'static str,
    name: &'a str,
    delays: &'a BTreeMap<String, crate::Delays>,
) -> impl Iterator<Item = (Labels<'a>, &'a crate::Delays)> {
    delays
        .iter()
        .map(move |(segment, delays)| (vec![(label, name), ("segment", segment.as_str())], delays))
}

/// Writes all metrics.
pub(super) fn write(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    into.info(
        "wirestamp_monitor",
        "Version and host of the monitor",
        [vec![
            ("version", env!("CARGO_PKG_VERSION")),
            ("host", snapshot.host.as_str()),
        ]],
    )?;
    into.gauge(
        "wirestamp_monitor_uptime",
        seconds(),
        "Time since the monitor started",
        [(vec![], of_ns(Some(snapshot.uptime_ns)))],
    )?;
    own::tasks(snapshot, into)?;
    clocks::clocks(&snapshot.clocks, into)?;
    if let Some(ntp) = &snapshot.ntp {
        into.gauge(
            "wirestamp_ntp_agreement",
            None,
            "1 if more than half of the NTP servers agree, else 0; absent until one has answered",
            // where no server has answered yet, none disagrees
            [(
                vec![],
                truth(ntp.offset_ns.is_some()).filter(|_| ntp.agreement != "none"),
            )],
        )?;
        into.gauge(
            "wirestamp_ntp_right_servers",
            None,
            "How many NTP servers must be right for the agreed bound, and so for the recorded claim about UTC, to hold",
            [(vec![], ntp.right_servers.map(|count| count as f64))],
        )?;
        ntp::servers(&ntp.servers, into)?;
    }
    ptp::ports(&snapshot.ptp, into)?;
    stamp::peers(&snapshot.peers, into)?;
    stamp::reflector(snapshot, into)?;
    packets::paths(&snapshot.paths, into)?;
    packets::timestamps(snapshot, into)?;
    packets::used(snapshot, into)?;
    own::interfaces(snapshot, into)?;
    own::history(snapshot, into)?;
    own::recording(snapshot, into)?;
    own::own(snapshot, into)
}
