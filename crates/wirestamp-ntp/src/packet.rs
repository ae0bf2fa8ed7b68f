//! The packets: `ntp_usg-proto` reads and writes the header, this module interprets it.

use crate::outcome::Kiss;
use crate::timestamp::NtpTimestamp;
use ntp_proto::extension::iter_extension_fields;
use ntp_proto::protocol::{
    FromBytes, LeapIndicator, Mode, Packet, ReferenceIdentifier, ShortFormat, Stratum,
    TimestampFormat, ToBytes, Version,
};
use wirestamp_core::time::Span;

/// The length of a packet without extension fields.
pub(crate) const LENGTH: usize = 48;
/// The lengths of a MAC after it: a key number, alone or with MD5 or SHA-1 (RFC 7822 §7.5).
const MAC_LENGTHS: [usize; 3] = [4, 20, 24];
/// The length of the shortest extension field.
const LEAST_FIELD: usize = 16;
/// The rounding of half the root delay and of the root dispersion, in units of 15.3 µs.
const ROOT_ROUNDING: Span = Span::from_nanoseconds(22_889);

/// The reason why a packet cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// It has less than 48 octets.
    Short,
    /// The octets after the header are neither extension fields nor a MAC.
    Extension,
}

/// The server's leap indicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leap {
    /// No leap second today.
    None,
    /// The last minute of the day has 61 seconds.
    Insert,
    /// The last minute of the day has 59 seconds.
    Delete,
    /// The server's clock is not synchronised.
    Unsynchronized,
}

/// The state of a server, as it states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerState {
    /// Its leap indicator.
    pub leap: Leap,
    /// The number of servers to its reference clock; 0, 16 and more: not synchronised.
    pub stratum: u8,
    /// The resolution of its clock, as the binary logarithm of seconds.
    pub precision: i8,
    /// The round trip to its reference clock.
    pub root_delay: Span,
    /// The largest error of its clock against its reference clock, apart from the root delay.
    pub root_dispersion: Span,
    /// Its reference: four letters at stratum 1, otherwise an IPv4 address or a hash.
    pub reference_id: [u8; 4],
}

/// A packet as received, not yet compared with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// NTP version, 0 to 7.
    pub version: u8,
    /// Mode, 0 to 7; servers answer in mode 4.
    pub mode: u8,
    /// The state of the sender, as it states it.
    pub server: ServerState,
    /// The time at which the sender's clock was last set.
    pub reference: NtpTimestamp,
    /// Transmit or receive timestamp of the request.
    pub origin: NtpTimestamp,
    /// The receive timestamp of the request.
    pub receive: NtpTimestamp,
    /// The transmit timestamp of this packet, or in interleaved mode of the previous one.
    pub transmit: NtpTimestamp,
}

impl ServerState {
    /// Returns the state of a primary server that is synchronised to `reference`, whose error is
    /// negligible.
    #[must_use]
    pub const fn primary(reference: [u8; 4], precision: i8) -> Self {
        Self {
            leap: Leap::None,
            stratum: 1,
            precision,
            root_delay: Span::ZERO,
            root_dispersion: Span::ZERO,
            reference_id: reference,
        }
    }

    /// Returns the largest error of the server's clock against UTC, as it states it: half of the root delay, the root
    /// dispersion, and rounding.
    #[must_use]
    pub fn root_bound(&self) -> Span {
        self.root_distance() + ROOT_ROUNDING
    }

    /// Returns the kiss code, if it has one: stratum 0 and four letters (RFC 5905 §7.4).
    pub(crate) fn kiss(&self) -> Option<Kiss> {
        let is_code = self.stratum == 0 && self.reference_id.iter().all(u8::is_ascii_graphic);
        is_code.then(|| Kiss::of(self.reference_id))
    }

    pub(crate) fn root_distance(&self) -> Span {
        Span::from_nanoseconds((self.root_delay.nanoseconds() + 1) / 2) + self.root_dispersion
    }

    /// Returns the largest error of the server's timestamps, as it states it: a server may truncate or randomise the
    /// digits below its precision.
    #[must_use]
    pub fn timestamp_bound(&self) -> Span {
        let exponent = i32::from(self.precision).clamp(-32, 4);
        let nanoseconds = 1e9 * f64::from(exponent).exp2();
        Span::from_nanoseconds(nanoseconds.ceil() as i128) + NtpTimestamp::ROUNDING
    }
}

impl Response {
    /// Reads a packet. Of extension fields and a MAC it checks only the lengths.
    ///
    /// # Errors
    /// [`Malformed`] if it is truncated or its lengths do not fit.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (packet, _) = Packet::from_bytes(bytes).map_err(|_| Malformed::Short)?;
        check_extensions(&bytes[LENGTH..])?;
        Ok(Self {
            version: packet.version.value(),
            mode: packet.mode as u8,
            server: ServerState {
                leap: match packet.leap_indicator {
                    LeapIndicator::NoWarning => Leap::None,
                    LeapIndicator::AddOne => Leap::Insert,
                    LeapIndicator::SubOne => Leap::Delete,
                    LeapIndicator::Unknown => Leap::Unsynchronized,
                },
                stratum: packet.stratum.0,
                precision: packet.precision,
                root_delay: span(packet.root_delay),
                root_dispersion: span(packet.root_dispersion),
                reference_id: packet.reference_id.as_bytes(),
            },
            reference: timestamp(packet.reference_timestamp),
            origin: timestamp(packet.origin_timestamp),
            receive: timestamp(packet.receive_timestamp),
            transmit: timestamp(packet.transmit_timestamp),
        })
    }
}

/// A client's request. It contains nothing about this host.
pub(crate) fn request(
    origin: NtpTimestamp,
    receive: NtpTimestamp,
    transmit: NtpTimestamp,
) -> [u8; LENGTH] {
    let packet = Packet {
        leap_indicator: LeapIndicator::NoWarning,
        version: Version::V4,
        mode: Mode::Client,
        stratum: Stratum(0),
        poll: 0,
        precision: 0,
        root_delay: ShortFormat::default(),
        root_dispersion: ShortFormat::default(),
        reference_id: ReferenceIdentifier::Unknown([0; 4]),
        reference_timestamp: TimestampFormat::default(),
        origin_timestamp: format(origin),
        receive_timestamp: format(receive),
        transmit_timestamp: format(transmit),
    };
    let mut bytes = [0; LENGTH];
    let written = packet.to_bytes(&mut bytes);
    debug_assert_eq!(written, Ok(LENGTH));
    bytes
}

/// Returns a server's response in basic mode (RFC 5905 §9.2), with its state, the arrival time of
/// the request and the transmit time of the response; `None` if the octets are not a client's
/// request.
#[must_use]
pub fn answer(
    request: &[u8],
    server: &ServerState,
    [received, sent]: [NtpTimestamp; 2],
) -> Option<[u8; LENGTH]> {
    let (asked, _) = Packet::from_bytes(request).ok()?;
    let packet = Packet {
        leap_indicator: match server.leap {
            Leap::None => LeapIndicator::NoWarning,
            Leap::Insert => LeapIndicator::AddOne,
            Leap::Delete => LeapIndicator::SubOne,
            Leap::Unsynchronized => LeapIndicator::Unknown,
        },
        mode: Mode::Server,
        stratum: Stratum(server.stratum),
        precision: server.precision,
        root_delay: short(server.root_delay),
        root_dispersion: short(server.root_dispersion),
        reference_id: ReferenceIdentifier::from_bytes_with_stratum(
            server.reference_id,
            Stratum(server.stratum),
        ),
        reference_timestamp: format(received),
        origin_timestamp: asked.transmit_timestamp,
        receive_timestamp: format(received),
        transmit_timestamp: format(sent),
        ..asked
    };
    let mut bytes = [0; LENGTH];
    let is_written = packet.to_bytes(&mut bytes) == Ok(LENGTH);
    (asked.mode == Mode::Client && is_written).then_some(bytes)
}

fn check_extensions(rest: &[u8]) -> Result<(), Malformed> {
    if rest.is_empty() || MAC_LENGTHS.contains(&rest.len()) {
        return Ok(());
    }
    let mut length = 0;
    for field in iter_extension_fields(rest) {
        let field = field.map_err(|_| Malformed::Extension)?;
        let whole = field.value.len() + 4;
        if whole < LEAST_FIELD || whole % 4 != 0 {
            return Err(Malformed::Extension);
        }
        length += whole;
        if MAC_LENGTHS.contains(&(rest.len() - length)) {
            return Ok(());
        }
    }
    if length == rest.len() {
        Ok(())
    } else {
        Err(Malformed::Extension)
    }
}

fn format(timestamp: NtpTimestamp) -> TimestampFormat {
    TimestampFormat {
        seconds: timestamp.seconds(),
        fraction: timestamp.fraction(),
    }
}

/// Converts a span, rounded up and saturating.
fn short(span: Span) -> ShortFormat {
    let units = ((span.nanoseconds().max(0) << 16) + 999_999_999) / 1_000_000_000;
    let units = u32::try_from(units).unwrap_or(u32::MAX);
    ShortFormat {
        seconds: (units >> 16) as u16,
        fraction: units as u16,
    }
}

/// Converts seconds and a fraction of 2⁻¹⁶ s to a span, rounded up.
fn span(format: ShortFormat) -> Span {
    let units = i128::from(format.seconds) << 16 | i128::from(format.fraction);
    Span::from_nanoseconds((units * 1_000_000_000 + 0xffff) >> 16)
}

fn timestamp(format: TimestampFormat) -> NtpTimestamp {
    NtpTimestamp(u64::from(format.seconds) << 32 | u64::from(format.fraction))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A response with every field different.
    fn bytes() -> Vec<u8> {
        let mut bytes = vec![0x24, 2, 6, 0xe9, 0, 1, 0x80, 0, 0, 0, 0, 3, 192, 0, 2, 1];
        bytes.extend((1..=4u8).flat_map(|field| [field * 0x11; 8]));
        bytes
    }

    #[test]
    fn every_field_is_where_the_rfc_has_it() {
        let response = Response::parse(&bytes()).expect("whole");
        assert_eq!((response.version, response.mode), (4, 4));
        let server = response.server;
        assert_eq!(
            (server.leap, server.stratum, server.precision),
            (Leap::None, 2, -23)
        );
        assert_eq!(server.root_delay, Span::from_milliseconds(1_500));
        // 3 units of 2⁻¹⁶ s, rounded up
        assert_eq!(server.root_dispersion, Span::from_nanoseconds(45_777));
        assert_eq!(server.reference_id, [192, 0, 2, 1]);
        let timestamps = [
            response.reference,
            response.origin,
            response.receive,
            response.transmit,
        ];
        let wanted =
            [0x11u8, 0x22, 0x33, 0x44].map(|byte| NtpTimestamp(u64::from_be_bytes([byte; 8])));
        assert_eq!(timestamps, wanted);
        assert_eq!(server.root_distance(), Span::from_nanoseconds(750_045_777));
        // 2⁻²³ s are 119.2 ns
        assert_eq!(server.timestamp_bound(), Span::from_nanoseconds(121));
    }

    #[test]
    fn a_request_says_nothing_but_what_it_must() {
        let request = request(NtpTimestamp(1), NtpTimestamp(2), NtpTimestamp(u64::MAX));
        let mut wanted = vec![0x23];
        wanted.resize(24, 0);
        for field in [1, 2, u64::MAX] {
            wanted.extend(field.to_be_bytes());
        }
        assert_eq!(request[..], wanted);
    }

    #[test]
    fn an_answer_is_of_its_request_and_has_the_servers_state() {
        let [origin, received, sent] = [3, 4, 5].map(NtpTimestamp);
        let asked = request(NtpTimestamp(1), NtpTimestamp(2), origin);
        let mut server = ServerState::primary(*b"XSIM", -25);
        (server.root_delay, server.root_dispersion) = (
            Span::from_milliseconds(1_500),
            Span::from_nanoseconds(45_770),
        );
        let answered = answer(&asked, &server, [received, sent]).expect("a request");
        let response = Response::parse(&answered).expect("whole");
        assert_eq!((response.version, response.mode), (4, 4));
        let told = (response.origin, response.receive, response.transmit);
        assert_eq!(told, (origin, received, sent));
        // 3 units of 2⁻¹⁶ s: an error is rounded up
        server.root_dispersion = Span::from_nanoseconds(45_777);
        assert_eq!(response.server, server);
        server.root_delay = Span::from_seconds(1 << 20);
        let most = answer(&asked, &server, [received, sent]).expect("a request");
        let most = Response::parse(&most).expect("whole").server.root_delay;
        assert!(most > Span::from_seconds(65_535), "no field wraps: {most}");
    }

    #[test]
    fn nothing_but_a_request_is_answered() {
        let server = ServerState::primary(*b"XSIM", -25);
        let answer = |packet: &[u8]| answer(packet, &server, [NtpTimestamp(1); 2]);
        let asked = request(NtpTimestamp(1), NtpTimestamp(2), NtpTimestamp(3));
        for mode in 0..8 {
            let mut packet = asked;
            packet[0] = packet[0] & !7 | mode;
            assert_eq!(answer(&packet).is_some(), mode == 3, "mode {mode}");
        }
        for length in 0..LENGTH {
            assert_eq!(answer(&asked[..length]), None);
        }
    }

    #[test]
    fn cut_packets_are_malformed() {
        for length in 0..LENGTH {
            assert_eq!(Response::parse(&bytes()[..length]), Err(Malformed::Short));
        }
    }

    #[test]
    fn fields_and_macs_may_follow_and_nothing_else() {
        let with = |rest: &[u8]| Response::parse(&[&bytes()[..], rest].concat());
        let field = |length: u8| {
            let mut field = vec![0; usize::from(length)];
            field[..4].copy_from_slice(&[1, 4, 0, length]);
            field
        };
        for rest in [
            &field(16)[..],
            &[field(28), field(16)].concat(),
            &[0; 20],
            &[0; 24],
            &[0; 4],
            &[field(32), vec![9; 20]].concat(),
        ] {
            assert!(with(rest).is_ok(), "{rest:?}");
        }
        for rest in [
            &[0; 1][..],
            &[0; 16],
            &field(28)[..27],
            &field(12),
            &[field(28), vec![7; 3]].concat(),
            &[0; 64],
        ] {
            assert_eq!(with(rest), Err(Malformed::Extension), "{rest:?}");
        }
    }

    #[test]
    fn extreme_precisions_are_bounded() {
        let mut bytes = bytes();
        for (precision, bound) in [(127, 16_000_000_001), (-128, 2), (0, 1_000_000_001)] {
            bytes[3] = i8::to_be_bytes(precision)[0];
            let server = Response::parse(&bytes).expect("whole").server;
            assert_eq!(
                server.timestamp_bound(),
                Span::from_nanoseconds(bound),
                "{precision}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(response) = Response::parse(&bytes) {
                prop_assert!(bytes.len() >= LENGTH);
                prop_assert!(response.server.root_bound() > Span::ZERO);
            }
        }
    }
}
