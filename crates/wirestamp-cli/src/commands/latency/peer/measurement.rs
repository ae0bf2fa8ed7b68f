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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Measurement {
    /// Address and port of the reflector.
    pub(super) peer: SocketAddr,
    /// Name of the interface; null: the system chose.
    pub(super) interface: Option<String>,
    /// Whether packets are authenticated.
    pub(super) authenticated: bool,
    /// Whose timestamps count, hardware or software: a packet that has none of these has none.
    pub(super) source: &'static str,
    /// Timestamps of that source, of packets and replies.
    pub(super) stamps: u64,
    /// Payload of a packet.
    pub(super) size_bytes: usize,
    /// Packets a second; null with --interval.
    pub(super) rate_pps: Option<u32>,
    /// With --interval: from one packet to the next, instead of rate_pps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub(super) interval_ns: Option<i64>,
    /// A packet whose reply takes longer is lost.
    pub(super) timeout_ns: i64,
    /// Packets sent.
    pub(super) packets: u64,
    /// Packets with a reply.
    pub(super) answered: u64,
    /// Packets without a reply.
    pub(super) lost: Lost,
    /// Duplicated packets.
    pub(super) duplicated: Directions,
    /// Reordered packets.
    pub(super) reordered: Directions,
    /// Replies that were not taken, by reason.
    pub(super) rejected: BTreeMap<&'static str, u64>,
    /// Packets that the system did not send.
    pub(super) refused_by_system: u64,
    /// The path's MTU, and packets that did not fit. Bytes of whole IP packets.
    pub(super) path_mtu: Mtu,
    /// How the clocks are related: same, utc or unrelated.
    pub(super) clocks: &'static str,
    /// Why there are no delays of one direction; null: there are some.
    pub(super) unknown_offset: Option<&'static str>,
    /// From the transmit timestamp to the reply's receive timestamp.
    pub(super) round_trip_ns: Figures,
    /// The round trip less the time in the reflector.
    pub(super) path_delay_ns: Figures,
    /// From this host to the reflector.
    pub(super) forward_ns: Figures,
    /// From the reflector to this host.
    pub(super) backward_ns: Figures,
    /// The time in the reflector, by its timestamps.
    pub(super) residence_ns: Figures,
    /// In the reflector, until just before it sent the reply: its receive path and its processing.
    pub(super) residence_as_written_ns: Figures,
    /// In the reflector, from just before it sent the reply until that left, where it reported when.
    pub(super) reflector_send_path_ns: Figures,
    /// From just before the send call to the transmit timestamp.
    pub(super) send_path_ns: Figures,
    /// From the receive timestamp to just after the receive call.
    pub(super) receive_path_ns: Figures,
    /// Packet delay variation of the round trip (RFC 5481); null: too few.
    pub(super) round_trip_variation: Option<Variation>,
    /// Packet delay variation from this host to the reflector (RFC 5481); null: too few.
    pub(super) forward_variation: Option<Variation>,
    /// Packet delay variation from the reflector to this host (RFC 5481); null: too few.
    pub(super) backward_variation: Option<Variation>,
    /// The interval that the reflector's clock less ours lies in; null: unknown.
    pub(super) offset_ns: Option<[i64; 2]>,
    /// How often a clock was stepped.
    pub(super) clock_steps: u64,
    /// Packets whose times contradict each other.
    pub(super) contradictions: u64,
    /// Missing transmit timestamps.
    pub(super) missing_transmit_timestamps: u64,
    /// Packets without a transmit timestamp, by reason.
    pub(super) missing_transmit_reasons: BTreeMap<&'static str, u64>,
    /// Missing receive timestamps.
    pub(super) missing_receive_timestamps: u64,
    /// The reflector's own report.
    pub(super) reflector: Reflector,
    /// Routers on the way.
    pub(super) hops: Hops,
    /// Packets whose DSCP was changed on the way.
    pub(super) dscp_changed: Directions,
    /// Packets whose ECN was changed on the way there.
    pub(super) ecn_changed_forward: u64,
    /// Whether a signal ended the run early.
    pub(super) interrupted: bool,
    /// Whether it ended before readings of the NIC's clock had confirmed the last timestamps: a change of that clock in
    /// the last seconds would not show.
    pub(super) unconfirmed: bool,
    /// Added to the values of a path in the file of histograms; values far below the others have a histogram of their own, with
    /// another tag. Null: none was written.
    pub(super) histogram_offset_ns: Option<BTreeMap<&'static str, u64>>,
    /// Limits of the command line (--max-p99 and the like).
    pub(super) limits: Vec<limits::Judged>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Lost {
    /// Lost packets of both directions.
    pub(super) packets: u64,
    /// Lost on the way there; null: unknown.
    pub(super) forward: Option<u64>,
    /// Lost on the way back; null: unknown.
    pub(super) backward: Option<u64>,
    /// Lost in an unknown direction.
    pub(super) undecided: Option<u64>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Directions {
    /// On the way there.
    pub(super) forward: u64,
    /// On the way back.
    pub(super) backward: u64,
}

/// Whole IP packets, in bytes.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Mtu {
    /// At the end; null: the system does not say.
    pub(super) bytes: Option<u32>,
    /// Before anything was sent: the interface's, or one that a router reported earlier.
    pub(super) bytes_at_first: Option<u32>,
    /// Size of a packet that is measured.
    pub(super) packet_bytes: usize,
    /// Packets that the system did not send because they are larger.
    pub(super) too_large: u64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Hops {
    /// Routers on the way to the reflector; null: unknown.
    pub(super) forward: Option<u8>,
    /// Routers on the way back; null: unknown.
    pub(super) backward: Option<u8>,
}

/// What the reflector says of itself. None of it is verified.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Reflector {
    /// Its Error Estimate.
    pub(super) advertised_error_ns: Option<i64>,
    /// Whether it claims to follow UTC.
    pub(super) synchronized: bool,
    /// ntp or ptp.
    pub(super) format: Option<&'static str>,
    /// The source that its clock follows.
    pub(super) clock_source: Option<&'static str>,
    /// How it timestamps.
    pub(super) receive_method: Option<&'static str>,
    /// Whether it knows RFC 8972.
    pub(super) extensions: bool,
    /// Replies whose transmit timestamp came with the next reply.
    pub(super) followed_up: u64,
    /// Replies whose transmit timestamp, which came with the next reply, is of a NIC.
    pub(super) followed_up_by_hardware: u64,
    /// Replies whose transmit timestamp did not come with the next reply.
    pub(super) not_followed_up: u64,
    /// Whether it writes UTC where TAI belongs.
    pub(super) sends_utc_in_ptp_format: bool,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Variation {
    /// Mean difference from one packet to the next (RFC 3550).
    pub(super) jitter_ns: i64,
    /// The median.
    pub(super) p50_ns: i64,
    /// 99 % are at most this.
    pub(super) p99_ns: i64,
    /// The largest.
    pub(super) max_ns: i64,
}

/// Nothing measured: null, never 0.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Figures {
    /// How many packets have this value.
    pub(super) count: u64,
    /// The smallest.
    pub(super) min: Option<i64>,
    /// The median.
    pub(super) p50: Option<i64>,
    /// 90 % are at most this.
    pub(super) p90: Option<i64>,
    /// 99 % are at most this.
    pub(super) p99: Option<i64>,
    /// 99.9 % are at most this.
    pub(super) p99_9: Option<i64>,
    /// The largest.
    pub(super) max: Option<i64>,
    /// The mean.
    pub(super) mean: Option<i64>,
    /// Each value is wrong by at most this.
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
