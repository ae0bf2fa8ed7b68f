use super::*;
use crate::packet::{self, Request};
use crate::timestamp::TimestampFormat;
use crate::tlv::Method;
use wirestamp_core::time::Bounded;
use wirestamp_core::timestamp::MissingReason;

const UTC: i64 = 1_795_334_706_000_000_000;

fn at(microseconds: i64) -> MonotonicTime {
    MonotonicTime::from_nanoseconds(microseconds * 1_000)
}

fn request(session: &mut Session, microseconds: i64) -> (u32, Request) {
    let mut octets = Vec::new();
    let now = at(microseconds);
    let utc = UtcTime::from_nanoseconds(UTC + now.nanoseconds());
    let sequence = session.request(now, utc, Span::from_microseconds(10), &mut octets);
    (sequence, Request::read(&octets, None).expect("a request"))
}

fn left(microseconds: i64) -> HostTimestamp {
    let at = at(microseconds);
    HostTimestamp {
        at: Bounded::new(at, Span::from_nanoseconds(40)),
        utc: UtcTime::from_nanoseconds(UTC + at.nanoseconds()),
        method: Method::Software,
    }
}

#[test]
fn a_missing_transmit_timestamp_is_counted_with_its_reason_answered_or_not() {
    let mut session = Session::new(SessionConfiguration::default());
    let reasons = [
        Err(Missing::System(MissingReason::BufferFull)),
        Err(Missing::NotSent),
        Err(Missing::NotSent),
        Ok(left(40)),
    ];
    for (number, reason) in (0..).zip(reasons) {
        let (sequence, _) = request(&mut session, number * 10);
        session.transmitted(sequence, reason);
    }
    request(&mut session, 50);
    let mut seen = Vec::new();
    let report = session.finish(|sample| seen.push(sample.sent));
    assert_eq!(seen[..4], reasons);
    assert_eq!(seen[4], Err(Missing::Awaited));
    let counts = report.missing_transmit_timestamps;
    assert_eq!((counts.total(), counts.of(Missing::NotSent)), (4, 2));
    assert_eq!(
        counts.of(Missing::System(MissingReason::BufferFull)) + counts.of(Missing::Awaited),
        2
    );
    let send_path = report
        .send_path
        .histogram()
        .expect("one has left")
        .maximum();
    assert_eq!(send_path, Some(Span::from_microseconds(10)));
}

#[test]
fn t1_claims_no_more_than_earlier_packets_kept() {
    let mut session = Session::new(SessionConfiguration::default());
    let bound = |request: Request| {
        let estimate = ErrorEstimate::from_bits(request.error_bits).expect("valid");
        estimate.bound()
    };
    let (sequence, first) = request(&mut session, 0);
    assert!(bound(first) < Span::from_microseconds(11));
    session.transmitted(sequence, Ok(left(900)));
    let (_, second) = request(&mut session, 1_000);
    assert!(
        bound(second) >= Span::from_microseconds(900),
        "{}",
        bound(second)
    );
}

/// A reply to a request, which the reflector has had for 2 µs.
fn reply_to(request: &Request, number: u32, microseconds: i64) -> Vec<u8> {
    let format = TimestampFormat::Ntp;
    let time =
        |at: i64| WireTimestamp::encode(UtcTime::from_nanoseconds(UTC + at * 1_000), format, 37);
    let mut octets = vec![0; Mode::Open.base_length()];
    packet::Reply {
        sequence: number,
        timestamp: time(microseconds + 2),
        error: ErrorEstimate::from_bits(request.error_bits).expect("valid"),
        ssid: request.ssid,
        received: time(microseconds),
        sender_sequence: request.sequence,
        sender_timestamp: request.timestamp,
        sender_error_bits: request.error_bits,
        sender_ttl: 64,
    }
    .write(None, &mut octets);
    octets
}

#[test]
fn a_complete_packet_is_measured_once_and_its_duplicates_are_counted_on() {
    let mut session = Session::new(SessionConfiguration::default());
    let sent: Vec<_> = (0..4)
        .map(|number| request(&mut session, number * 100).1)
        .collect();
    let answer = |session: &mut Session, place: usize, number: u32, microseconds: i64| {
        let payload = reply_to(&sent[place], number, microseconds - 5);
        session.received(&ReplyArrival {
            payload: &payload,
            received: Some(left(microseconds)),
            read: at(microseconds + 1),
            hop_limit: None,
            traffic_class: None,
        })
    };
    let mut measured = Vec::new();
    let mut complete = |session: &mut Session| {
        session.complete(|sample| measured.push(sample.sequence));
        measured.clone()
    };
    for number in [0, 2, 3] {
        session.transmitted(number, Ok(left(i64::from(number) * 100 + 3)));
    }
    assert_eq!(answer(&mut session, 0, 0, 20), Ok(0));
    assert_eq!(complete(&mut session), [], "its exact T3 may come");
    assert_eq!(answer(&mut session, 2, 1, 220), Ok(2));
    assert_eq!(complete(&mut session), [0]);
    assert_eq!(answer(&mut session, 3, 2, 320), Ok(3));
    assert_eq!(complete(&mut session), [0], "1 may still be answered");
    assert_eq!(session.in_flight(), 3);
    assert_eq!(answer(&mut session, 1, 3, 340), Ok(1));
    assert_eq!(complete(&mut session), [0], "when 1 left is not known");
    session.transmitted(1, Ok(left(103)));
    assert_eq!(complete(&mut session), [0, 1, 2]);
    assert_eq!(answer(&mut session, 0, 4, 360), Err(Rejected::Duplicate));
    let mut rest = Vec::new();
    let report = session.finish(|sample| rest.push(sample.sequence));
    assert_eq!(rest, [3], "the others were measured");
    let losses = report.losses;
    assert_eq!((losses.sent, losses.answered, losses.lost()), (4, 4, 0));
    let round_trips = report.round_trip.histogram().expect("measured");
    assert_eq!(round_trips.count(), 4);
}
