//! `capabilities`: supported, active and observed side by side. Switches nothing on.

use super::masks;
use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows};
use crate::probe::{self, Probe};
use crate::session::Session;
use serde::{Serialize, Serializer};
use wirestamp::interface::{Direction, KernelMasks};
use wirestamp::socket::AddressFamily;
use wirestamp::{Capabilities, CrossTimestamp, Error, ErrorKind, Interface};

mod short;
mod text;

/// A list of named answers, in this order.
#[derive(Debug)]
pub(super) struct Flags(pub(super) Vec<(&'static str, bool)>);

#[derive(Serialize)]
struct Several {
    interfaces: Vec<Entry>,
}

/// One interface.
#[derive(Serialize)]
struct Entry {
    interface: String,
    index: u32,
    simulated: bool,
    hardware_clock: Option<u32>,
    /// `None`: the system does not report it.
    af_xdp: Option<AfXdp>,
    /// `None`: the system does not report it; the error says why.
    supported: Option<Side>,
    supported_error: Option<String>,
    active: Option<Side>,
    active_error: Option<String>,
    observed: Seen,
    /// Whether people see every flag.
    #[serde(skip)]
    all: bool,
}

/// What the driver can do with AF_XDP.
#[derive(Serialize)]
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "drivers tell on Linux")
)]
struct AfXdp {
    driver: bool,
    zero_copy: bool,
    hardware_receive: bool,
    hardware_transmit: bool,
}

/// The supported features, or the active ones.
#[derive(Serialize)]
struct Side {
    ptp_verdict: &'static str,
    ptp_matrix: Flags,
    nominal_frequency_hz: Option<u64>,
    cross_timestamp: bool,
    hardware: Flags,
    software: Flags,
    kernel_masks: Option<Masks>,
}

#[derive(Serialize)]
struct Masks {
    so_timestamping: Mask,
    transmit_types: Mask,
    receive_filters: Mask,
}

#[derive(Serialize)]
struct Mask {
    value: u32,
    hex: String,
    names: Vec<String>,
}

/// What really came. `None`: not probed.
#[derive(Serialize)]
struct Seen {
    probed: bool,
    probe_error: Option<String>,
    cross_timestamp: Option<bool>,
    cross_timestamp_method: Option<&'static str>,
    hardware_receive: Option<bool>,
    hardware_transmit: Option<bool>,
    software_receive: Option<bool>,
    software_transmit: Option<bool>,
}

pub(super) fn run(
    arguments: &arguments::Capabilities,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let found = session.interfaces(arguments.interface.as_deref())?;
    if let (Some(_), [interface]) = (&arguments.interface, found.as_slice()) {
        let probe = match arguments.probe {
            Some(peer) => Some(probe::toward(interface, peer)),
            None => probe_if_harmless(interface),
        };
        output.report(&Entry::of(interface, probe, arguments.all))?;
    } else {
        let interfaces = found
            .iter()
            .map(|interface| Entry::of(interface, probe_if_harmless(interface), arguments.all))
            .collect();
        output.report(&Several { interfaces })?;
    }
    Ok(Exit::Success)
}

fn probe_if_harmless(interface: &Interface) -> Option<Result<Probe, Error>> {
    let description = interface.description();
    (description.loopback || description.simulated).then(|| probe::itself(interface))
}

impl Entry {
    fn of(interface: &Interface, probe: Option<Result<Probe, Error>>, all: bool) -> Self {
        let description = interface.description();
        let (supported, active) = (interface.supported(), interface.active());
        Self {
            interface: description.name.clone(),
            index: description.index.get(),
            simulated: description.simulated,
            hardware_clock: description.hardware_clock,
            af_xdp: af_xdp(interface),
            supported_error: supported.as_ref().err().map(ToString::to_string),
            supported: supported.ok().as_ref().map(Side::of),
            active_error: active.as_ref().err().map(ToString::to_string),
            active: active.ok().as_ref().map(Side::of),
            observed: Seen::of(probe, cross(interface)),
            all,
        }
    }
}

#[cfg(target_os = "linux")]
fn af_xdp(interface: &Interface) -> Option<AfXdp> {
    let features = interface.xdp_features().ok()?;
    Some(AfXdp {
        driver: features.driver,
        zero_copy: features.zero_copy,
        hardware_receive: features.receive_timestamp,
        hardware_transmit: features.transmit_timestamp,
    })
}

#[cfg(not(target_os = "linux"))]
fn af_xdp(_: &Interface) -> Option<AfXdp> {
    None
}

/// One reading of the clock, if there is one that may be read.
fn cross(interface: &Interface) -> Option<Result<CrossTimestamp, Error>> {
    match interface.hardware_clock() {
        Ok(clock) => Some(clock.cross_timestamp()),
        Err(error) if error.kind() == ErrorKind::NotSupported => None,
        Err(error) => Some(Err(error)),
    }
}

impl Seen {
    fn of(
        probe: Option<Result<Probe, Error>>,
        cross: Option<Result<CrossTimestamp, Error>>,
    ) -> Self {
        let (probe, probe_error) = match probe {
            Some(Ok(probe)) => (Some(probe), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        let observed = probe.map(|probe| probe.observed);
        // where nothing arrived, nothing is known of the timestamps of what arrives
        let answered = probe
            .filter(|probe| probe.arrived > 0)
            .map(|probe| probe.observed);
        Self {
            probed: observed.is_some(),
            probe_error,
            cross_timestamp: cross.as_ref().map(Result::is_ok),
            cross_timestamp_method: cross
                .and_then(Result::ok)
                .map(|reading| reading.method().name()),
            hardware_receive: answered.map(|seen| seen.receive_hardware),
            hardware_transmit: observed.map(|seen| seen.transmit_hardware),
            software_receive: answered.map(|seen| seen.receive_software),
            software_transmit: observed.map(|seen| seen.transmit_software),
        }
    }
}

impl Side {
    fn of(capabilities: &Capabilities) -> Self {
        Self {
            ptp_verdict: capabilities.ptp_verdict().name(),
            ptp_matrix: matrix(capabilities),
            nominal_frequency_hz: capabilities
                .nominal_frequency
                .map(wirestamp::time::Frequency::hertz),
            cross_timestamp: capabilities.cross_timestamp,
            hardware: hardware(capabilities),
            software: software(capabilities),
            kernel_masks: capabilities.kernel_masks.as_ref().map(Masks::of),
        }
    }
}

/// Which PTPv2 event messages are timestamped, per direction and family: what the verdict hides.
pub(super) fn matrix(capabilities: &Capabilities) -> Flags {
    use AddressFamily::{Ipv4, Ipv6};
    use Direction::{Receive, Transmit};
    let hardware = |direction, family| {
        capabilities
            .hardware
            .timestamps_ptp_events(direction, family)
    };
    Flags(vec![
        ("hardware_receive_ipv4", hardware(Receive, Ipv4)),
        ("hardware_receive_ipv6", hardware(Receive, Ipv6)),
        ("hardware_transmit_ipv4", hardware(Transmit, Ipv4)),
        ("hardware_transmit_ipv6", hardware(Transmit, Ipv6)),
        (
            "software_receive",
            capabilities.software.timestamps(Receive),
        ),
        (
            "software_transmit",
            capabilities.software.timestamps(Transmit),
        ),
    ])
}

/// The specification's 11 flags.
fn hardware(capabilities: &Capabilities) -> Flags {
    let flags = &capabilities.hardware;
    Flags(vec![
        (
            "ptp_v2_over_udp_ipv4_event_message_receive",
            flags.ptp_v2_over_udp_ipv4_event_message_receive,
        ),
        (
            "ptp_v2_over_udp_ipv4_all_message_receive",
            flags.ptp_v2_over_udp_ipv4_all_message_receive,
        ),
        (
            "ptp_v2_over_udp_ipv4_event_message_transmit",
            flags.ptp_v2_over_udp_ipv4_event_message_transmit,
        ),
        (
            "ptp_v2_over_udp_ipv4_all_message_transmit",
            flags.ptp_v2_over_udp_ipv4_all_message_transmit,
        ),
        (
            "ptp_v2_over_udp_ipv6_event_message_receive",
            flags.ptp_v2_over_udp_ipv6_event_message_receive,
        ),
        (
            "ptp_v2_over_udp_ipv6_all_message_receive",
            flags.ptp_v2_over_udp_ipv6_all_message_receive,
        ),
        (
            "ptp_v2_over_udp_ipv6_event_message_transmit",
            flags.ptp_v2_over_udp_ipv6_event_message_transmit,
        ),
        (
            "ptp_v2_over_udp_ipv6_all_message_transmit",
            flags.ptp_v2_over_udp_ipv6_all_message_transmit,
        ),
        (ALL_RECEIVE, flags.all_receive),
        (ALL_TRANSMIT, flags.all_transmit),
        (TAGGED_TRANSMIT, flags.tagged_transmit),
    ])
}

/// The specification's 3 flags.
fn software(capabilities: &Capabilities) -> Flags {
    let flags = &capabilities.software;
    Flags(vec![
        (ALL_RECEIVE, flags.all_receive),
        (ALL_TRANSMIT, flags.all_transmit),
        (TAGGED_TRANSMIT, flags.tagged_transmit),
    ])
}

const ALL_RECEIVE: &str = "all_receive";
const ALL_TRANSMIT: &str = "all_transmit";
const TAGGED_TRANSMIT: &str = "tagged_transmit";

impl Serialize for Flags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

impl Masks {
    fn of(masks: &KernelMasks) -> Self {
        let mask = |value, known| Mask {
            value,
            hex: format!("{value:#x}"),
            names: masks::names(value, known),
        };
        Self {
            so_timestamping: mask(masks.so_timestamping, masks::SO_TIMESTAMPING),
            transmit_types: mask(masks.transmit_types, masks::TRANSMIT_TYPES),
            receive_filters: mask(masks.receive_filters, masks::RECEIVE_FILTERS),
        }
    }
}

impl Report for Several {
    fn print(&self, page: &mut Page) {
        for (place, entry) in self.interfaces.iter().enumerate() {
            if place > 0 {
                page.gap();
            }
            entry.print(page);
        }
    }

    fn rows(&self, rows: &mut Rows) {
        self.interfaces.iter().for_each(|entry| entry.rows(rows));
    }
}
