//! The rows of `latency --format ndjson` and `csv`: a packet each. Measures nothing.

use crate::output::{Output, json};
use serde::Serialize;
use std::io;
use std::time::{Duration, Instant};
use wirestamp::latency::{LatencyOptions, NotMeasured, PacketLatency};
use wirestamp::{Bounded, Span};

/// Rows are written in pieces of about so many bytes,
const PIECE: usize = 1 << 16;
/// and at least so often.
const OFTEN: Duration = Duration::from_millis(500);

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Packet {
    /// Number of the packet, from 1; rows are not in its order.
    packet: u64,
    /// The monotonic clock just before the send call.
    #[serde(serialize_with = "json::digits")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Digits"))]
    sent_monotonic_ns: i64,
    /// From just before the send call to the transmit timestamp.
    send_path_ns: Option<i64>,
    /// Error bound of `send_path_ns`.
    send_path_error_bound_ns: Option<i64>,
    #[serde(flatten)]
    queue: Option<Queue>,
    /// From the transmit timestamp to the receive timestamp; null with an echo service.
    wire_ns: Option<i64>,
    /// Error bound of `wire_ns`.
    wire_error_bound_ns: Option<i64>,
    /// From the transmit timestamp to the receive timestamp, there and back; null without an echo service.
    round_trip_ns: Option<i64>,
    /// Error bound of `round_trip_ns`.
    round_trip_error_bound_ns: Option<i64>,
    /// From the receive timestamp to just after the receive call.
    receive_path_ns: Option<i64>,
    /// Error bound of `receive_path_ns`.
    receive_path_error_bound_ns: Option<i64>,
    /// The first thing that is missing; null: nothing.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = missing_names())))]
    missing: Option<&'static str>,
    /// Why the transmit timestamp is missing or the conversion failed.
    reason: Option<&'static str>,
}

/// The names of what can be missing, and null.
#[cfg(feature = "schema")]
fn missing_names() -> Vec<Option<&'static str>> {
    use wirestamp::{ConversionError, MissingReason};
    let all = [
        NotMeasured::NotArrived,
        NotMeasured::Late,
        NotMeasured::TransmitTimestamp(MissingReason::Deadline),
        NotMeasured::NotTimestamped,
        NotMeasured::Conversion(ConversionError::NotReady),
    ];
    let names = all.map(NotMeasured::name).map(Some);
    names.into_iter().chain([None]).collect()
}

/// With --queue: the parts of the send path.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Queue {
    /// With --queue: from just before the send call to the entry into the queueing discipline.
    to_queue_ns: Option<i64>,
    /// Error bound of `to_queue_ns`.
    to_queue_error_bound_ns: Option<i64>,
    /// With --queue: from the queueing discipline to the transmit timestamp.
    from_queue_ns: Option<i64>,
    /// Error bound of `from_queue_ns`.
    from_queue_error_bound_ns: Option<i64>,
}

/// Rows on their way out.
pub(super) struct Rows {
    is_round_trip: bool,
    has_queue: bool,
    text: String,
    written: Instant,
}

impl Rows {
    pub(super) fn new(options: &LatencyOptions) -> Self {
        Self {
            is_round_trip: options.peer.is_some(),
            has_queue: options.queueing,
            text: String::new(),
            written: Instant::now(),
        }
    }

    /// Takes what has been measured, and writes it now and then: not so often that it disturbs.
    pub(super) fn take(
        &mut self,
        packets: impl Iterator<Item = PacketLatency>,
        output: &mut Output,
    ) -> io::Result<()> {
        for packet in packets {
            let mut row = Packet::of(&packet, self.is_round_trip);
            row.queue = self.has_queue.then(|| Queue::of(&packet));
            self.text.push_str(&output.row_text(&row)?);
        }
        if self.text.len() > PIECE || self.written.elapsed() >= OFTEN {
            self.write(output)?;
        }
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn write(&mut self, output: &mut Output) -> io::Result<()> {
        self.written = Instant::now();
        let written = output.raw(&self.text);
        self.text.clear();
        written
    }
}

impl Packet {
    fn of(packet: &PacketLatency, is_round_trip: bool) -> Self {
        let wire = packet.wire.filter(|_| !is_round_trip);
        let round_trip = packet.wire.filter(|_| is_round_trip);
        Self {
            packet: packet.number,
            sent_monotonic_ns: packet.sent.nanoseconds(),
            send_path_ns: time(packet.send_path),
            send_path_error_bound_ns: bound(packet.send_path),
            queue: None,
            wire_ns: time(wire),
            wire_error_bound_ns: bound(wire),
            round_trip_ns: time(round_trip),
            round_trip_error_bound_ns: bound(round_trip),
            receive_path_ns: time(packet.receive_path),
            receive_path_error_bound_ns: bound(packet.receive_path),
            missing: packet.missing.map(NotMeasured::name),
            reason: packet.missing.and_then(NotMeasured::reason),
        }
    }
}

impl Queue {
    fn of(packet: &PacketLatency) -> Self {
        Self {
            to_queue_ns: time(packet.to_queue),
            to_queue_error_bound_ns: bound(packet.to_queue),
            from_queue_ns: time(packet.from_queue),
            from_queue_error_bound_ns: bound(packet.from_queue),
        }
    }
}

fn time(path: Option<Bounded<Span>>) -> Option<i64> {
    Some(path?.value.saturating_nanoseconds())
}

fn bound(path: Option<Bounded<Span>>) -> Option<i64> {
    Some(path?.bound.saturating_nanoseconds())
}
