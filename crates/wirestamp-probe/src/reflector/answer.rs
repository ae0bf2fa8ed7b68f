//! Distinguishes answers from requests by their contents: two reflectors that take each other's replies for requests never stop.
//!
//! A sender has zeros, or in TWAMP Light padding of its choice, where a reflector writes T2 and repeats T1. Random padding looks like an answer
//! once in 30 million packets.

use super::ReflectorConfiguration;
use crate::packet::{self, Mode, ReplyTimes};
use crate::timestamp::WireTimestamp;
use wirestamp_core::time::UtcTime;

/// A reply leaves so many seconds after its request came, at most; and no more than one before, as a clock that is stepped has it.
const RESIDENCE: i32 = 60;
/// So many seconds pass until our reply comes back in the answer to it, at most: a packet's maximum lifetime (RFC 9293, section 3.4.1).
const LIFETIME: i32 = 120;

/// Returns whether a packet is a reflector's reply, or the echo of one. `octets` are those that `packet::Request::read` takes.
pub(super) fn is_reply(octets: &[u8], mode: Mode) -> bool {
    match mode {
        // who has the key follows RFC 8762: zeros
        Mode::Authenticated => packet::has_reply_fields(octets),
        Mode::Open => {
            let ReplyTimes { sent, received, .. } = packet::reply_times(octets);
            received != WireTimestamp::NONE && is_after(sent, received, RESIDENCE)
        }
    }
}

/// Whether a packet repeats as T1 a time at which we sent a reply: it answers that. `now`: when it came.
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

/// By whole seconds, which stand at the same place in both formats.
fn is_after(later: WireTimestamp, earlier: WireTimestamp, at_most: i32) -> bool {
    let seconds = later.seconds().wrapping_sub(earlier.seconds());
    (-1..=at_most).contains(&seconds.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timestamp::TimestampFormat;

    /// NTP's seconds begin again at 0 in 2036, which stands where a request repeats nothing.
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
