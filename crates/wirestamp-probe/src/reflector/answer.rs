//! Detection of replies by their contents: two reflectors that took each other's replies for
//! requests would never stop.
//!
//! A request has zeros (or in TWAMP Light arbitrary padding) where a reply has T2 and the repeated
//! T1. Random padding looks like a reply once in 30 million packets.

use super::ReflectorConfiguration;
use crate::packet::{self, Mode, ReplyTimes};
use crate::timestamp::WireTimestamp;
use wirestamp_core::time::UtcTime;

/// The longest residence time in seconds; also at most one second negative, for a clock that is
/// stepped.
const RESIDENCE: i32 = 60;
/// The longest time in seconds until a reply comes back in an answer to it: a packet's maximum
/// lifetime (RFC 9293, section 3.4.1).
const LIFETIME: i32 = 120;

/// Returns whether a packet is a reflector's reply or the echo of one. `octets` must be valid for
/// `packet::Request::read`.
pub(super) fn is_reply(octets: &[u8], mode: Mode) -> bool {
    match mode {
        // holders of the key follow RFC 8762 and send zeros
        Mode::Authenticated => packet::has_reply_fields(octets),
        Mode::Open => {
            let ReplyTimes { sent, received, .. } = packet::reply_times(octets);
            received != WireTimestamp::NONE && is_after(sent, received, RESIDENCE)
        }
    }
}

/// Whether a packet that came at `now` answers a reply of ours: its T1 is a time at which we sent
/// one.
pub(super) fn answers_us(
    octets: &[u8],
    now: UtcTime,
    configuration: &ReflectorConfiguration,
) -> bool {
    let (format, tai_offset) = (configuration.format, configuration.tai_offset);
    let now = WireTimestamp::encode(now, format, tai_offset);
    let repeated = packet::reply_times(octets).repeated;
    repeated != WireTimestamp::NONE && is_after(now, repeated, LIFETIME)
}

/// Compares whole seconds, which are at the same position in both formats.
fn is_after(later: WireTimestamp, earlier: WireTimestamp, at_most: i32) -> bool {
    let seconds = later.seconds().wrapping_sub(earlier.seconds());
    (-1..=at_most).contains(&seconds.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timestamp::TimestampFormat;

    /// NTP's seconds restart at 0 in 2036; a request also has 0 in fields that repeat nothing.
    #[test]
    fn requests_are_requests_and_answers_are_answers_as_the_seconds_begin_again() {
        const ERA_END: i64 = 2_085_978_496;
        let configuration = ReflectorConfiguration {
            format: TimestampFormat::Ntp,
            ..Default::default()
        };
        for second in -3..LIFETIME + 3 {
            let at = |second: i32| {
                UtcTime::from_nanoseconds((ERA_END + i64::from(second)) * 1_000_000_000 + 1)
            };
            let mut octets = [0; 44];
            assert!(!answers_us(&octets, at(second), &configuration), "{second}");
            let repeated = WireTimestamp::encode(
                at(second - 2),
                configuration.format,
                configuration.tai_offset,
            );
            octets[28..36].copy_from_slice(&repeated.0);
            assert!(answers_us(&octets, at(second), &configuration), "{second}");
        }
    }
}
