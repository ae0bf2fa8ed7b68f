use super::*;
use crate::packet::Request;
use crate::tlv::Method;
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
        at,
        utc: UtcTime::from_nanoseconds(UTC + at.nanoseconds()),
        bound: Span::from_nanoseconds(40),
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
