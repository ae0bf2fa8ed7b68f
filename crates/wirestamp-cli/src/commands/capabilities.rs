//! `capabilities`: supported, active and observed side by side. Switches nothing on.

use super::masks;
use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Page, Report, Rows};
use crate::probe::{self, Probe};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Several {
    /// One object an interface.
    interfaces: Vec<Entry>,
}

/// One interface.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Entry {
    /// Name of the interface.
    interface: String,
    /// Index of the interface.
    index: u32,
    /// Whether it is a simulated NIC.
    simulated: bool,
    /// Number of its PTP hardware clock: N of /dev/ptpN; `None`: it has none.
    hardware_clock: Option<u32>,
    /// The driver's AF_XDP capabilities (Linux 6.3); null: the system does not report them.
    af_xdp: Option<AfXdp>,
    /// What the NIC supports; `None`: the system does not report it, and supported_error says why.
    supported: Option<Side>,
    /// Why the system does not report it; `None`: it does.
    supported_error: Option<String>,
    /// The timestamps that are switched on; `None`: the system does not report it, and active_error says why.
    active: Option<Side>,
    /// Why the system does not report it; `None`: it does.
    active_error: Option<String>,
    /// What really came.
    observed: Seen,
    /// Whether people see every flag.
    #[serde(skip)]
    all: bool,
}

/// What the driver can do with AF_XDP.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "drivers tell on Linux")
)]
struct AfXdp {
    /// Whether the driver itself hands packets over; otherwise the kernel does, with a copy.
    driver: bool,
    /// Whether the NIC writes packets into the program's memory.
    zero_copy: bool,
    /// Whether received packets have the NIC's timestamp.
    hardware_receive: bool,
    /// Whether sent packets have the NIC's timestamp.
    hardware_transmit: bool,
}

/// The supported features, or the active ones.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Side {
    /// What a PTPv2 application gets: a stable word.
    ptp_verdict: &'static str,
    /// Which PTPv2 event messages are timestamped, for each direction and address family.
    #[cfg_attr(feature = "schema", schemars(schema_with = "matrix_schema"))]
    ptp_matrix: Flags,
    /// Nominal ticks a second of the NIC's clock; `None`: not reported.
    nominal_frequency_hz: Option<u64>,
    /// Whether the NIC's clock can be read together with the monotonic clock.
    cross_timestamp: bool,
    /// Which packets the NIC timestamps.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "wirestamp::interface::HardwareCapabilities")
    )]
    hardware: Flags,
    /// Which packets the system timestamps.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "wirestamp::interface::SoftwareCapabilities")
    )]
    software: Flags,
    /// What the kernel reports, bit by bit; `None` on other systems than Linux.
    kernel_masks: Option<Masks>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Masks {
    /// Flags of SO_TIMESTAMPING.
    so_timestamping: Mask,
    /// Values of HWTSTAMP_TX.
    transmit_types: Mask,
    /// Values of HWTSTAMP_FILTER.
    receive_filters: Mask,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Mask {
    /// The mask as a number.
    value: u32,
    /// The mask in hexadecimal digits.
    hex: String,
    /// The names of its bits.
    names: Vec<String>,
}

/// What really came. `None`: not probed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Seen {
    /// Whether packets were sent to find out.
    probed: bool,
    /// Why the packets gave no answer; `None`: they did, or none were sent.
    probe_error: Option<String>,
    /// Whether the NIC's clock could be read; `None`: it has none.
    cross_timestamp: Option<bool>,
    /// How it was read: precise, extended, basic or driver.
    cross_timestamp_method: Option<&'static str>,
    /// Whether a received packet had a hardware timestamp; `None`: not probed, or nothing arrived.
    hardware_receive: Option<bool>,
    /// Whether a sent packet had a hardware timestamp; `None`: not probed.
    hardware_transmit: Option<bool>,
    /// Whether a received packet had a software timestamp; `None`: not probed, or nothing arrived.
    software_receive: Option<bool>,
    /// Whether a sent packet had a software timestamp; `None`: not probed.
    software_transmit: Option<bool>,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::lines("capabilities", "Output of `wirestamp capabilities --json`")
        .line::<Entry>("Of one interface")
        .line::<Several>("Of several interfaces")
        .row::<text::FlagRow<'_>>()
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

/// The names of the matrix, each with a flag.
#[cfg(feature = "schema")]
fn matrix_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let Flags(flags) = matrix(&Capabilities::default());
    crate::schema::each(flags.iter().map(|(name, _)| *name), "boolean")
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
