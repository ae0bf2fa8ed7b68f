//! Metrics of NTP servers.

use super::{by, of_ns, seconds, truth};
use crate::metrics::families::Families;
use crate::snapshot::NtpServerState;
use std::fmt::Error;

pub(super) fn servers(servers: &[NtpServerState], into: &mut Families<'_>) -> Result<(), Error> {
    let label = |server: &'_ NtpServerState| -> String { server.name.clone() };
    let names: Vec<String> = servers.iter().map(label).collect();
    let each = |pick: fn(&NtpServerState) -> Option<f64>| {
        servers
            .iter()
            .zip(&names)
            .map(move |(server, name)| (vec![("server", name.as_str())], pick(server)))
            .collect::<Vec<_>>()
    };
    let count = |pick: fn(&NtpServerState) -> u64| {
        servers
            .iter()
            .zip(&names)
            .map(move |(server, name)| (vec![("server", name.as_str())], pick(server) as f64))
            .collect::<Vec<_>>()
    };
    into.gauge(
        "wirestamp_ntp_offset",
        seconds(),
        "Offset of the real-time clock from the server's clock, local minus server",
        each(|server| of_ns(server.offset_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_error_bound",
        seconds(),
        "Error bound of the offset, relative to the server's clock",
        each(|server| of_ns(server.bound_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_utc_error_bound",
        seconds(),
        "Error bound of the offset, relative to UTC: includes the root distance that the server states",
        each(|server| of_ns(server.utc_bound_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_path_delay",
        seconds(),
        "Smallest path delay, the sum of both directions",
        each(|server| of_ns(server.path_delay_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_age",
        seconds(),
        "Time since the last sample; it keeps growing while the task is down",
        each(|server| of_ns(server.age_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_stale_after",
        seconds(),
        "Age from which a sample is stale: four intervals, at least 10 s",
        each(|server| of_ns(server.stale_after_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_stratum",
        None,
        "Stratum that the server states",
        each(|server| server.stratum.map(f64::from)),
    )?;
    into.gauge(
        "wirestamp_ntp_root_delay",
        seconds(),
        "Round trip between the server and its reference clock, as the server states",
        each(|server| of_ns(server.root_delay_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_root_dispersion",
        seconds(),
        "The remaining error of the server's clock, as the server states",
        each(|server| of_ns(server.root_dispersion_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_falseticker",
        None,
        "1 if the server contradicts the majority: it is wrong provided those that agree are right",
        each(|server| truth(server.falseticker)),
    )?;
    into.info(
        "wirestamp_ntp_server",
        "Address of the server",
        servers.iter().map(|server| {
            vec![
                ("server", server.name.as_str()),
                ("address", server.address.as_str()),
            ]
        }),
    )?;
    into.counter(
        "wirestamp_ntp_requests",
        None,
        "Requests sent",
        count(|server| server.requests),
    )?;
    into.counter(
        "wirestamp_ntp_responses",
        None,
        "Valid responses",
        count(|server| server.responses),
    )?;
    into.counter(
        "wirestamp_ntp_samples",
        None,
        "Samples: responses with four timestamps",
        count(|server| server.samples),
    )?;
    into.counter(
        "wirestamp_ntp_unanswered",
        None,
        "Requests without a response before the timeout",
        count(|server| server.unanswered),
    )?;
    let rejected = servers.iter().flat_map(|server| {
        by(
            vec![("server", server.name.as_str())],
            "reason",
            &server.rejected,
        )
    });
    into.counter(
        "wirestamp_ntp_rejected",
        None,
        "Responses that gave no sample, and packets that were no responses, by reason",
        rejected,
    )?;
    let steps = servers.iter().flat_map(|server| {
        by(
            vec![("server", server.name.as_str())],
            "clock",
            &server.steps,
        )
    });
    into.counter(
        "wirestamp_ntp_steps",
        None,
        "Steps of the `local` or the `server` clock that the exchanges show; `drift`: a sample contradicted the learnt drift",
        steps,
    )
}
