//! The fields of a NIC in a scenario file, their defaults and their names.

use super::cross::Cross;
use super::filter::Filter;
use super::length::{Delay, Positive, Probability};
use super::program::Program;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The packets that a NIC's hardware timestamps on transmit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TransmitTimestamps {
    None,
    #[default]
    Tagged,
    All,
}

/// One NIC.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Nic {
    pub(crate) mtu: u32,
    /// Whether kernel or driver timestamp sent packets in software.
    pub(crate) software_transmit: bool,
    pub(crate) software_receive: bool,
    pub(crate) hardware_transmit: TransmitTimestamps,
    /// Which receive filters are advertised.
    pub(crate) receive_filters: Vec<Filter>,
    /// Granted receive filters where they differ from the requested ones.
    pub(crate) grants: BTreeMap<Filter, Filter>,
    /// Whether PTP over IPv6 is recognised too.
    pub(crate) ptp_over_ipv6: bool,
    /// Whether programs can switch hardware timestamping at all.
    pub(crate) configurable: bool,
    /// Whether switching restarts the NIC, its counter included.
    pub(crate) restarts_when_configured: bool,
    /// How hardware timestamping is switched when the simulation starts.
    pub(crate) transmit_at_start: bool,
    pub(crate) receive_at_start: Filter,
    /// Whether the driver timestamps at all; if not, every timestamp is zero.
    pub(crate) active: bool,
    /// Whether transmit timestamps never come, of either clock.
    pub(crate) transmit_silent: bool,
    /// Whether hardware timestamps are advertised and never come.
    pub(crate) hardware_silent: bool,
    /// Whether a datagram that asks for a hardware timestamp takes the unit while timestamping is off: it gets
    /// neither timestamp.
    pub(crate) reserves_when_off: bool,
    /// The system's answers to the capability queries; 0: they work.
    pub(crate) supported_code: i32,
    pub(crate) active_code: i32,
    pub(crate) clock: Clock,
    pub(crate) cross: Cross,
    pub(crate) program: Program,
    pub(crate) transmit: TransmitUnit,
    pub(crate) path: Path,
    pub(crate) faults: Faults,
}

impl Default for Nic {
    fn default() -> Self {
        Self {
            mtu: 1_500,
            software_transmit: true,
            software_receive: true,
            hardware_transmit: TransmitTimestamps::Tagged,
            receive_filters: vec![Filter::NONE, Filter::ALL],
            grants: BTreeMap::new(),
            ptp_over_ipv6: true,
            configurable: true,
            restarts_when_configured: false,
            transmit_at_start: false,
            receive_at_start: Filter::NONE,
            active: true,
            transmit_silent: false,
            hardware_silent: false,
            reserves_when_off: false,
            supported_code: 0,
            active_code: 0,
            clock: Clock::default(),
            cross: Cross::default(),
            program: Program::default(),
            transmit: TransmitUnit::default(),
            path: Path::default(),
            faults: Faults::default(),
        }
    }
}

/// A NIC's counter and its oscillator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Clock {
    pub(crate) present: bool,
    /// Nominal frequency.
    pub(crate) hertz: u64,
    /// Whether the driver reports the nominal frequency.
    pub(crate) report_frequency: bool,
    /// By how many ticks the counter moves at a time.
    pub(crate) step: u32,
    /// How often the shown value is renewed; 0: at each tick.
    pub(crate) renewal_hertz: u64,
    pub(crate) frequency_error_ppb: i32,
    /// Random walk of the frequency, per square root of a second.
    pub(crate) wander_ppb: f64,
    /// Slow swing of the frequency, a triangle of this height and period.
    pub(crate) swing_ppb: f64,
    pub(crate) swing_period: Positive,
    /// The counter when the simulation starts; a negative value counts from the counter's wrap.
    pub(crate) start: i64,
    pub(crate) adjustment: Adjustment,
}

/// The driver's reaction to an adjustment beyond its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Beyond {
    /// Rejects it, as Linux does for hardware clocks.
    #[default]
    Refuse,
    /// Takes the limit instead and reports success, as Linux does for the system clock.
    Clamp,
}

/// How the clock takes a frequency adjustment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Adjustment {
    /// The largest one (`max_adj`).
    pub(crate) limit_ppb: u32,
    pub(crate) beyond: Beyond,
    /// Whether programs can read the limit.
    pub(crate) report_limit: bool,
    /// The hardware rounds to a multiple of this; 0: it does not.
    pub(crate) step_ppb: f64,
}

impl Default for Adjustment {
    fn default() -> Self {
        // igc: 62,499,999 ppb
        Self {
            limit_ppb: 62_499_999,
            beyond: Beyond::default(),
            report_limit: true,
            step_ppb: 0.0,
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            present: true,
            hertz: 1_000_000_000,
            report_frequency: true,
            step: 1,
            renewal_hertz: 0,
            frequency_error_ppb: 12_345,
            wander_ppb: 0.1,
            swing_ppb: 0.0,
            swing_period: Positive::from_nanoseconds(0),
            start: 1_700_000_000_000_000_000,
            adjustment: Adjustment::default(),
        }
    }
}

/// The NIC's unit that timestamps sent packets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TransmitUnit {
    /// How many timestamps can be under way; a packet that finds none free gets no hardware timestamp.
    pub(crate) slots: u16,
    /// From the timestamp until it can be collected.
    pub(crate) collection: Delay,
}

impl Default for TransmitUnit {
    fn default() -> Self {
        Self {
            slots: 256,
            collection: Delay::jittery(20_000, 5_000),
        }
    }
}

/// Where time goes inside the host and the NIC.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Path {
    /// From the application's call to the software timestamp.
    pub(crate) send: Delay,
    /// From there to the hardware timestamp.
    pub(crate) transmit_hardware: Delay,
    /// From the hardware timestamp on receive to the software timestamp.
    pub(crate) receive_hardware: Delay,
    /// From there until the application can have it.
    pub(crate) receive: Delay,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            send: Delay::jittery(640, 40),
            transmit_hardware: Delay::constant(0),
            receive_hardware: Delay::constant(0),
            receive: Delay::jittery(950, 80),
        }
    }
}

/// Faults of a NIC, as probabilities per packet.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Faults {
    /// Transmit timestamp lost without a trace.
    pub(crate) lost: Probability,
    /// Transmit timestamp late, evenly between the two.
    pub(crate) late: Probability,
    pub(crate) late_from: Positive,
    pub(crate) late_to: Positive,
    /// Transmit timestamp overtaken by later ones.
    pub(crate) reordered: Probability,
    pub(crate) reordered_by: Positive,
    pub(crate) duplicated: Probability,
    /// Transmit timestamp of value zero.
    pub(crate) zero: Probability,
    /// A timestamp comes for a send that failed.
    pub(crate) for_failed_send: Probability,
    /// The kernel's count of timestamped sends is off by so many.
    pub(crate) miscounted_by: u32,
    /// Send fails, perhaps counted all the same: a firewall.
    pub(crate) not_permitted: Probability,
    /// Send fails, perhaps counted all the same: a full queue.
    pub(crate) no_buffers: Probability,
    /// Send finds the socket's buffer full, and would have to wait.
    pub(crate) no_room: Probability,
    /// A zero-copy notice comes with the timestamp.
    pub(crate) zero_copy_notice: Probability,
    /// Receive timestamp of value zero.
    pub(crate) receive_zero: Probability,
    /// Received datagram overtaken by later ones (several receive queues).
    pub(crate) receive_reordered: Probability,
    pub(crate) receive_reordered_by: Positive,
    /// Control data cut.
    pub(crate) control_truncated: Probability,
}

impl Default for Faults {
    fn default() -> Self {
        let never = Probability::default();
        Self {
            lost: never,
            late: never,
            late_from: Positive::from_nanoseconds(1_000),
            late_to: Positive::from_nanoseconds(1_000_000_000),
            reordered: never,
            reordered_by: Positive::from_nanoseconds(50_000),
            duplicated: never,
            zero: never,
            for_failed_send: never,
            miscounted_by: 0,
            not_permitted: never,
            no_buffers: never,
            no_room: never,
            zero_copy_notice: never,
            receive_zero: never,
            receive_reordered: never,
            receive_reordered_by: Positive::from_nanoseconds(20_000),
            control_truncated: never,
        }
    }
}
