//! A captured packet as people and programs see it live.

use crate::output::json;
use serde::Serialize;
use wirestamp::TimestampSource;
use wirestamp::capture::{CapturedDirection, CapturedPacket, LinkType};
use wirestamp_capture::packet::describe;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Shown {
    /// A packet.
    pub(super) packet: Facts,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Facts {
    /// When, in UTC as the system's clock shows it; null: not known.
    #[serde(serialize_with = "json::some_time")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Utc>"))]
    time: Option<i64>,
    /// Error bound of the time, relative to that clock.
    error_bound_ns: Option<i64>,
    /// Whose clock made the timestamp.
    clock: TimestampSource,
    /// Which uninterrupted run of that clock.
    generation: Option<u32>,
    /// Why there is no UTC: a stable word.
    no_utc: Option<&'static str>,
    /// Which way it went.
    direction: CapturedDirection,
    /// Bytes on the wire, without a VLAN tag.
    length_bytes: u32,
    /// Bytes captured.
    captured_bytes: usize,
    /// Number of its VLAN.
    vlan: Option<u16>,
    /// The packet, for people.
    summary: String,
}

impl Shown {
    pub(super) fn of(packet: &CapturedPacket<'_>, link_type: LinkType) -> Self {
        let utc = packet.utc();
        let known = utc.as_ref().ok();
        Self {
            packet: Facts {
                time: known.map(|time| time.at.value.nanoseconds()),
                error_bound_ns: known.map(|time| time.at.bound.saturating_nanoseconds()),
                clock: packet.clock(),
                generation: known.map(|time| time.generation.0),
                no_utc: utc.err().map(wirestamp::ConversionError::name),
                direction: packet.direction(),
                length_bytes: packet.length(),
                captured_bytes: packet.data().len(),
                vlan: packet.vlan().map(|(_, tag)| tag.vlan()),
                summary: describe(link_type, packet.data()),
            },
        }
    }

    /// `09:26:53.589793238 ±1ns  in  UDP 192.0.2.1:7 > 192.0.2.2:9 64 bytes`.
    pub(super) fn line(&self) -> String {
        let Facts { summary, .. } = &self.packet;
        let time = match (self.packet.time, self.packet.error_bound_ns) {
            (Some(at), Some(bound)) => format!("{} ±{bound}ns", time_of_day(at)),
            _ => format!("no UTC ({})", self.packet.no_utc.unwrap_or_default()),
        };
        let way = match self.packet.direction {
            CapturedDirection::Sent => "out",
            CapturedDirection::Others => "oth",
            _ => "in ",
        };
        let vlan = match self.packet.vlan {
            Some(vlan) => format!(" VLAN {vlan}"),
            None => String::new(),
        };
        let hardware = match self.packet.clock {
            TimestampSource::Hardware => " hw",
            TimestampSource::Software => "",
        };
        format!("{time}{hardware}  {way} {summary}{vlan}")
    }
}

/// UTC.
fn time_of_day(nanoseconds: i64) -> String {
    let (seconds, fraction) = (
        nanoseconds.div_euclid(SECOND),
        nanoseconds.rem_euclid(SECOND),
    );
    let of_day = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{hour:02}:{minute:02}:{second:02}.{fraction:09}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_has_nine_digits_behind_the_point() {
        assert_eq!(time_of_day(1_790_000_000_000_000_001), "14:13:20.000000001");
        assert_eq!(time_of_day(-1), "23:59:59.999999999");
    }
}
