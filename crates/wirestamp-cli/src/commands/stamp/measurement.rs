//! What `latency --peer` reports.

use crate::arguments::LimitedPath;
use crate::commands::limits;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use wirestamp::Span;
use wirestamp::latency::Summary;
use wirestamp_measure::PathMtu;
use wirestamp_probe::session::{Clocks, DelayVariation, Delays, Losses, Rejected, SessionReport};

#[derive(Serialize)]
pub(super) struct Measurement {
    pub(super) peer: SocketAddr,
    pub(super) interface: Option<String>,
    pub(super) authenticated: bool,
    /// Whose timestamps count.
    pub(super) source: &'static str,
    /// How many there are, of packets and replies.
    pub(super) stamps: u64,
    pub(super) size_bytes: usize,
    /// `None`: with --interval.
    pub(super) rate_pps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) interval_ns: Option<i64>,
    pub(super) timeout_ns: i64,
    pub(super) packets: u64,
    pub(super) answered: u64,
    pub(super) lost: Lost,
    pub(super) duplicated: Directions,
    pub(super) reordered: Directions,
    pub(super) rejected: BTreeMap<&'static str, u64>,
    pub(super) refused_by_system: u64,
    pub(super) path_mtu: Mtu,
    /// "same", "utc" or "unrelated".
    pub(super) clocks: &'static str,
    /// Why there are no delays of one direction; `None`: there are.
    pub(super) unknown_offset: Option<&'static str>,
    pub(super) round_trip_ns: Figures,
    pub(super) path_delay_ns: Figures,
    pub(super) forward_ns: Figures,
    pub(super) backward_ns: Figures,
    pub(super) residence_ns: Figures,
    /// Until just before it sends: its receive path, and what it does with the packet.
    pub(super) residence_as_written_ns: Figures,
    pub(super) reflector_send_path_ns: Figures,
    pub(super) send_path_ns: Figures,
    pub(super) receive_path_ns: Figures,
    pub(super) round_trip_variation: Option<Variation>,
    pub(super) forward_variation: Option<Variation>,
    pub(super) backward_variation: Option<Variation>,
    /// The reflector's clock less ours.
    pub(super) offset_ns: Option<[i64; 2]>,
    pub(super) clock_steps: u64,
    pub(super) contradictions: u64,
    pub(super) missing_transmit_timestamps: u64,
    pub(super) missing_transmit_reasons: BTreeMap<&'static str, u64>,
    pub(super) missing_receive_timestamps: u64,
    pub(super) reflector: Reflector,
    pub(super) hops: Hops,
    pub(super) dscp_changed: Directions,
    pub(super) ecn_changed_forward: u64,
    pub(super) interrupted: bool,
    /// A change of the NIC's clock in the last seconds would not show.
    pub(super) unconfirmed: bool,
    /// By how much the values of each histogram of the file are shifted; `None` if none is written.
    pub(super) histogram_offset_ns: Option<BTreeMap<&'static str, u64>>,
    /// Those of the command line.
    pub(super) limits: Vec<limits::Judged>,
}

#[derive(Serialize)]
pub(super) struct Lost {
    pub(super) packets: u64,
    pub(super) forward: Option<u64>,
    pub(super) backward: Option<u64>,
    pub(super) undecided: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct Directions {
    pub(super) forward: u64,
    pub(super) backward: u64,
}

/// Whole IP packets, in bytes.
#[derive(Serialize)]
pub(super) struct Mtu {
    /// `None`: the system does not say.
    pub(super) bytes: Option<u32>,
    /// The interface's, or what a router reported earlier.
    pub(super) bytes_at_first: Option<u32>,
    pub(super) packet_bytes: usize,
    pub(super) too_large: u64,
}

#[derive(Serialize)]
pub(super) struct Hops {
    pub(super) forward: Option<u8>,
    pub(super) backward: Option<u8>,
}

/// What the reflector says of itself. None of it is verified.
#[derive(Serialize)]
pub(super) struct Reflector {
    pub(super) advertised_error_ns: Option<i64>,
    pub(super) synchronized: bool,
    pub(super) format: Option<&'static str>,
    pub(super) clock_source: Option<&'static str>,
    pub(super) receive_method: Option<&'static str>,
    pub(super) extensions: bool,
    pub(super) followed_up: u64,
    pub(super) followed_up_by_hardware: u64,
    pub(super) not_followed_up: u64,
    pub(super) sends_utc_in_ptp_format: bool,
}

#[derive(Serialize)]
pub(super) struct Variation {
    pub(super) jitter_ns: i64,
    pub(super) p50_ns: i64,
    pub(super) p99_ns: i64,
    pub(super) max_ns: i64,
}

/// Nothing measured: null, never 0.
#[derive(Serialize)]
pub(super) struct Figures {
    pub(super) count: u64,
    pub(super) min: Option<i64>,
    pub(super) p50: Option<i64>,
    pub(super) p90: Option<i64>,
    pub(super) p99: Option<i64>,
    pub(super) p99_9: Option<i64>,
    pub(super) max: Option<i64>,
    pub(super) mean: Option<i64>,
    pub(super) error_bound: Option<i64>,
}

impl Measurement {
    /// In nanoseconds; `None`: not measured.
    pub(super) fn figure(&self, path: LimitedPath, figure: limits::Figure) -> Option<i64> {
        let figures = match path {
            LimitedPath::SendPath => &self.send_path_ns,
            LimitedPath::RoundTrip => &self.round_trip_ns,
            LimitedPath::ReceivePath => &self.receive_path_ns,
            LimitedPath::Forward => &self.forward_ns,
            LimitedPath::Backward => &self.backward_ns,
            LimitedPath::Wire => return None,
        };
        match figure {
            "p50" => figures.p50,
            "p90" => figures.p90,
            "p99" => figures.p99,
            _ => figures.p99_9,
        }
    }

    pub(super) fn of(peer: SocketAddr, report: &SessionReport, clocks: Clocks) -> Self {
        let Losses { sent, answered, .. } = report.losses;
        let losses = &report.losses;
        let by = losses.by_direction;
        let rejected = Rejected::ALL
            .map(|reason| (reason.name(), report.rejected_for(reason)))
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        Self {
            peer,
            interface: None,
            authenticated: false,
            source: "",
            stamps: 0,
            size_bytes: 0,
            rate_pps: None,
            interval_ns: None,
            timeout_ns: 0,
            packets: sent,
            answered,
            lost: Lost {
                packets: losses.lost(),
                forward: by.map(|by| by.forward),
                backward: by.map(|by| by.backward),
                undecided: by.map(|by| by.undecided),
            },
            duplicated: Directions {
                forward: losses.duplicated_forward,
                backward: losses.duplicated_backward,
            },
            reordered: Directions {
                forward: losses.reordered_forward,
                backward: losses.reordered_backward,
            },
            rejected,
            refused_by_system: 0,
            path_mtu: Mtu {
                bytes: None,
                bytes_at_first: None,
                packet_bytes: 0,
                too_large: 0,
            },
            clocks: match clocks {
                Clocks::Same => "same",
                Clocks::Synchronized(_) => "utc",
                Clocks::Unrelated => "unrelated",
            },
            unknown_offset: unknown_offset(report, clocks),
            round_trip_ns: Figures::of(&report.round_trip),
            path_delay_ns: Figures::of(&report.path_delay),
            forward_ns: Figures::of(&report.forward),
            backward_ns: Figures::of(&report.backward),
            residence_ns: Figures::of(&report.residence),
            residence_as_written_ns: Figures::of(&report.residence_as_written),
            reflector_send_path_ns: Figures::of(&report.reflector_send_path),
            send_path_ns: Figures::of(&report.send_path),
            receive_path_ns: Figures::of(&report.receive_path),
            round_trip_variation: report.round_trip_variation.as_ref().map(Variation::of),
            forward_variation: report.forward_variation.as_ref().map(Variation::of),
            backward_variation: report.backward_variation.as_ref().map(Variation::of),
            offset_ns: report
                .offset
                .map(|offset| [offset.low, offset.high].map(Span::saturating_nanoseconds)),
            clock_steps: report.clock_steps + report.stepped_in_flight,
            contradictions: report.contradictions,
            missing_transmit_timestamps: report.missing_transmit_timestamps.total(),
            missing_transmit_reasons: report
                .missing_transmit_timestamps
                .reasons()
                .map(|(reason, count)| (reason.name(), count))
                .collect(),
            missing_receive_timestamps: report.missing_receive_timestamps,
            reflector: Reflector::of(report),
            hops: Hops {
                forward: report.forward_hops,
                backward: report.backward_hops,
            },
            dscp_changed: Directions {
                forward: report.forward_dscp_changed,
                backward: report.backward_dscp_changed,
            },
            ecn_changed_forward: report.forward_ecn_changed,
            interrupted: false,
            unconfirmed: false,
            histogram_offset_ns: None,
            limits: Vec::new(),
        }
    }
}

fn unknown_offset(report: &SessionReport, clocks: Clocks) -> Option<&'static str> {
    match clocks {
        _ if report.forward.histogram().is_some() => None,
        _ if report.contradictions > 0 => Some(
            "delays would be negative or below --least-delay: the clocks are not related as said",
        ),
        Clocks::Synchronized(_) => {
            Some("the reflector does not say that its clock is synchronised")
        }
        Clocks::Unrelated => Some("nothing relates the two clocks"),
        Clocks::Same => Some("timestamps are missing"),
    }
}

impl Reflector {
    fn of(report: &SessionReport) -> Self {
        let information = report.information;
        Self {
            advertised_error_ns: report
                .largest_error_estimate
                .map(Span::saturating_nanoseconds),
            synchronized: report.synchronized > 0,
            format: report
                .reflector_format
                .map(wirestamp_probe::TimestampFormat::name),
            clock_source: information.and_then(|information| Some(information.source_in?.name())),
            receive_method: information.and_then(|information| Some(information.method_in?.name())),
            extensions: report.knows_extensions,
            followed_up: report.followed_up_hardware + report.followed_up_software,
            followed_up_by_hardware: report.followed_up_hardware,
            not_followed_up: report.not_followed_up,
            sends_utc_in_ptp_format: report.sends_utc_in_ptp_format,
        }
    }
}

impl Mtu {
    pub(super) fn of(path: &PathMtu) -> Self {
        Self {
            bytes: path.last,
            bytes_at_first: path.first,
            packet_bytes: path.packet_bytes(),
            too_large: path.too_large,
        }
    }
}

impl Variation {
    fn of(variation: &DelayVariation) -> Self {
        Self {
            jitter_ns: variation.jitter.saturating_nanoseconds(),
            p50_ns: variation.median.saturating_nanoseconds(),
            p99_ns: variation.p99.saturating_nanoseconds(),
            max_ns: variation.largest.saturating_nanoseconds(),
        }
    }
}

impl Figures {
    fn of(delays: &Delays) -> Self {
        let summary = delays.histogram().and_then(Summary::of);
        let figure = |of: fn(&Summary) -> Span| {
            summary
                .as_ref()
                .map(|summary| of(summary).saturating_nanoseconds())
        };
        Self {
            count: summary.as_ref().map_or(0, |summary| summary.count),
            min: figure(|summary| summary.minimum),
            p50: figure(|summary| summary.p50),
            p90: figure(|summary| summary.p90),
            p99: figure(|summary| summary.p99),
            p99_9: figure(|summary| summary.p99_9),
            max: figure(|summary| summary.maximum),
            mean: figure(|summary| summary.mean),
            error_bound: delays.largest_bound().map(Span::saturating_nanoseconds),
        }
    }
}
