//! Metrics of PTP ports.

use super::{by, of_ns, ratio, seconds, truth};
use crate::metrics::families::Families;
use crate::snapshot::PtpState;
use std::fmt::Error;

pub(super) fn ports(ports: &[PtpState], into: &mut Families<'_>) -> Result<(), Error> {
    let each = |pick: fn(&PtpState) -> Option<f64>| {
        ports
            .iter()
            .map(move |port| (vec![("interface", port.interface.as_str())], pick(port)))
    };
    into.gauge(
        "wirestamp_ptp_offset",
        seconds(),
        "Offset of the clock that takes the timestamps from the timeTransmitter's clock, at the last Sync (see `wirestamp_ptp_age_seconds`); in holdover, or after some seconds without a Sync: now",
        each(|port| of_ns(port.offset_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_error_bound",
        seconds(),
        "Error bound of the offset from the timeTransmitter's clock",
        each(|port| of_ns(port.bound_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_system_offset",
        seconds(),
        "Offset of the real-time clock from the timeTransmitter's UTC, at the last Sync",
        each(|port| of_ns(port.system_offset_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_system_error_bound",
        seconds(),
        "Error bound of the real-time clock's offset from the timeTransmitter's UTC, at the last Sync",
        each(|port| of_ns(port.system_bound_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_path_delay",
        seconds(),
        "Mean path delay of both directions",
        each(|port| of_ns(port.path_delay_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_frequency_offset",
        ratio(),
        "Frequency offset from the timeTransmitter's clock (positive: the local clock runs fast)",
        each(|port| port.frequency_ppb.map(|ppb| ppb / 1e9)),
    )?;
    into.gauge(
        "wirestamp_ptp_age",
        seconds(),
        "Time since the last usable Sync; with hardware timestamps some seconds even in normal operation, because a sample becomes final only then",
        each(|port| of_ns(port.age_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_stale_after",
        seconds(),
        "Age from which a port's values are stale: 30 s, or eight intervals of Announce messages; absent while the port transmits time or is passive",
        each(|port| of_ns(port.stale_after_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_holdover",
        None,
        "1 if the clock no longer follows a timeTransmitter",
        each(|port| truth(port.holdover)),
    )?;
    into.gauge(
        "wirestamp_ptp_silent",
        None,
        "1 if the port has measured nothing for `stale_after`, or cannot measure; the page shows the reason, if it is known",
        each(|port| {
            let is_stale = |most| port.age_ns > Some(most);
            truth(port.error.is_some() || port.stale_after_ns.is_some_and(is_stale))
        }),
    )?;
    into.gauge(
        "wirestamp_ptp_agreement",
        None,
        "0 if sources of time contradict each other: the port then follows none; absent while it waits for the others",
        each(|port| truth(port.agreement != "disagree").filter(|_| port.agreement != "waiting")),
    )?;
    into.gauge(
        "wirestamp_ptp_warnings",
        None,
        "Settings of the port that work, but perhaps not as intended; the page and the log show them",
        each(|port| Some(port.warnings.len() as f64)),
    )?;
    into.gauge(
        "wirestamp_ptp_steps_removed",
        None,
        "Clocks between this one and the grandmaster",
        each(|port| Some(f64::from(port.steps_removed))),
    )?;
    let info = ports.iter().map(|port| {
        let transmitter = port.time_transmitter.as_deref().unwrap_or("none");
        vec![
            ("interface", port.interface.as_str()),
            ("state", port.state.as_str()),
            ("grandmaster", port.grandmaster.as_str()),
            ("time_transmitter", transmitter),
            ("source", port.source.as_str()),
        ]
    });
    into.info(
        "wirestamp_ptp_port",
        "State of the port, its timeTransmitter and grandmaster, the source of its timestamps",
        info,
    )?;
    into.counter(
        "wirestamp_ptp_samples",
        None,
        "Usable Syncs: those that gave an offset",
        ports.iter().map(|port| {
            (
                vec![("interface", port.interface.as_str())],
                port.samples as f64,
            )
        }),
    )?;
    let lost = ports.iter().flat_map(|port| {
        by(
            vec![("interface", port.interface.as_str())],
            "reason",
            &port.lost,
        )
    });
    into.counter(
        "wirestamp_ptp_lost",
        None,
        "Exchanges without a result, by reason",
        lost,
    )?;
    let ignored = ports.iter().flat_map(|port| {
        by(
            vec![("interface", port.interface.as_str())],
            "reason",
            &port.ignored,
        )
    });
    into.counter(
        "wirestamp_ptp_ignored",
        None,
        "Messages that are not for this clock, by reason",
        ignored,
    )
}
