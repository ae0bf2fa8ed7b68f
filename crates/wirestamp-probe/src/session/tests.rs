use super::*;
use crate::packet::{self, Request};
use crate::timestamp::TimestampFormat;
use crate::tlv::Method;
use wirestamp_core::time::{Bounded, RealTimeClock};
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

/// A reply to a request, with 2 µs in the reflector.
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
    assert!(complete(&mut session).is_empty(), "its exact T3 may come");
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

/// A packet whose delays of one direction are computed by hand. Times are in microseconds, errors in nanoseconds.
struct OneWay {
    clocks: Clocks,
    /// The error of our clock that is set before the packet is evaluated.
    later: Option<Span>,
    least_delay: Span,
    /// The reflector's error in its reply, including its clock's: 102 ns after decoding.
    error: i64,
    /// T1 … T4.
    times: [i64; 4],
    is_followed_up: bool,
    /// By how much our real-time clock is stepped while the packet is on its way.
    step: Span,
    real_time_clock: RealTimeClock,
}

impl OneWay {
    /// The error of our clock; T1 … T4.
    fn new(error: i64, times: [i64; 4]) -> Self {
        Self {
            clocks: Clocks::Synchronized(ns(error)),
            later: None,
            least_delay: Span::ZERO,
            error: 100,
            times,
            is_followed_up: true,
            step: Span::ZERO,
            real_time_clock: RealTimeClock::LINUX,
        }
    }

    /// A reply to the request; with `followed_up`, it has T3 of the previous reply.
    fn reply(&self, request: &Request, number: u32, followed_up: Option<i64>) -> Vec<u8> {
        let format = TimestampFormat::Ptp;
        let time = |at: i64| {
            WireTimestamp::encode(UtcTime::from_nanoseconds(UTC + at * 1_000), format, 37)
        };
        let [_, t2, t3, _] = self.times;
        let octets = reply_to(request, number, t2);
        let mut reply = packet::Reply::read(&octets, None).expect("a reply");
        reply.error = ErrorEstimate::at_least(ns(self.error), true, format);
        (reply.received, reply.timestamp) = (time(t2), time(t3));
        let mut octets = vec![0; Mode::Open.base_length()];
        reply.write(None, &mut octets);
        let follow_up = followed_up.map(|at| FollowUp {
            sequence: number - 1,
            timestamp: time(at),
            method: Method::Software,
        });
        let mut area = Area::default();
        area.push(kind::FOLLOW_UP, &FollowUp::octets(follow_up));
        octets.extend_from_slice(area.octets());
        octets[Mode::Open.base_length()] = 0; // the reflector knows the extension
        octets
    }

    fn measure(&self) -> (Sample, SessionReport) {
        let [t1, _, t3, t4] = self.times;
        let mut session = Session::new(SessionConfiguration {
            clocks: self.clocks,
            least_delay: self.least_delay,
            real_time_clock: self.real_time_clock,
            ..SessionConfiguration::default()
        });
        let (sequence, request) = request(&mut session, t1);
        session.transmitted(sequence, Ok(left(t1)));
        let usual = left(t4);
        let came = HostTimestamp {
            utc: usual.utc + self.step,
            ..usual
        };
        let mut arrive = |payload: Vec<u8>| {
            session.received(&ReplyArrival {
                payload: &payload,
                received: Some(came),
                read: at(t4),
                hop_limit: None,
                traffic_class: None,
            })
        };
        assert_eq!(arrive(self.reply(&request, 0, None)), Ok(sequence));
        if self.is_followed_up {
            // the reply to a duplicate of the request
            let next = self.reply(&request, 1, Some(t3));
            assert_eq!(arrive(next), Err(Rejected::Duplicate));
        }
        if self.later.is_some() {
            session.set_clock_bound(self.later);
        }
        let mut seen = Vec::new();
        let report = session.finish(|sample| seen.push(*sample));
        (seen[0], report)
    }

    /// The packet's delays, forward and backward, as values and error bounds in nanoseconds.
    fn delays(&self) -> [Option<(i128, i128)>; 2] {
        let (sample, report) = self.measure();
        let is_refused = u64::from(sample.forward.is_none());
        assert_eq!(report.contradictions, is_refused);
        let numbers = |delay: Bounded<Span>| (delay.value.nanoseconds(), delay.bound.nanoseconds());
        [sample.forward, sample.backward].map(|delay| delay.map(numbers))
    }
}

/// Linux slews both clocks alike: whatever the error bounds leave is a step. Elsewhere, a slew in 4 ms explains as much.
#[test]
fn a_step_in_flight_is_what_this_hosts_clock_cannot_be_slewed_by() {
    let noticed = |step: i64, real_time_clock| {
        let way = OneWay {
            step: ns(step),
            real_time_clock,
            ..OneWay::new(1_000, [0, 2_000, 2_100, 4_000])
        };
        way.measure().1.stepped_in_flight
    };
    let both = |step| [RealTimeClock::LINUX, RealTimeClock::ANY].map(|clock| noticed(step, clock));
    assert_eq!(
        both(82),
        [0, 0],
        "both bounds, and a rounded nanosecond of each clock"
    );
    assert_eq!(both(83), [1, 0]);
    assert_eq!(both(-4_000), [1, 0]);
    assert_eq!(both(10_000), [1, 1]);
}

const fn ns(nanoseconds: i64) -> Span {
    Span::from_nanoseconds(nanoseconds as i128)
}

#[test]
fn a_narrow_delay_of_one_direction_is_as_the_clocks_show_it() {
    let narrow = OneWay::new(1_000, [0, 2_000, 2_100, 4_000]);
    // 40 ns of T1 or T4, 102 ns of the reflector, and the clock
    let all = [Some((2_000_000, 1_142)), Some((1_900_000, 1_142))];
    assert_eq!(narrow.delays(), all);
    let least_delay = ns(1_898_858);
    assert_eq!(
        OneWay {
            least_delay,
            ..narrow
        }
        .delays(),
        all
    );
}

#[test]
fn a_wide_delay_of_one_direction_is_no_less_than_nothing_and_no_more_than_the_round_trip() {
    let wide = OneWay::new(11_000_000, [0, -7_000, -6_900, 4_000]);
    // 4 ms and 80 ns, 4,801 ns of drift; minus 100 µs ± 204 ns in the reflector
    let both = |delay| [Some(delay), Some(delay)];
    assert_eq!(wide.delays(), both((1_952_543, 1_952_543)));
    let least_delay = Span::from_milliseconds(1);
    let further = OneWay {
        least_delay,
        ..wide
    };
    assert_eq!(further.delays(), both((1_952_543, 952_543)));
    let narrow = OneWay::new(1_000, [0, 2_000, 2_100, 4_000]);
    let later = Some(Span::from_seconds(1));
    assert_eq!(OneWay { later, ..narrow }.delays(), wide.delays());
    // without a follow-up, the reply left later than it states
    let is_followed_up = false;
    let [forward, backward] = OneWay {
        is_followed_up,
        ..further
    }
    .delays();
    assert_eq!((forward, backward), (Some((1_952_543, 952_543)), None));
}

/// An error that includes the clock's does not limit the time in the reflector, which is
/// nevertheless not negative.
#[test]
fn a_reflector_with_a_wide_clock_leaves_the_round_trip() {
    let error = 1_000_000;
    let wide = OneWay {
        error,
        ..OneWay::new(11_000_000, [0, -7_000, -6_900, 4_000])
    };
    let half = 2_002_441; // of 4,000,080 ns and 4,801 ns of drift
    assert_eq!(wide.delays(), [Some((half, half)), Some((half, half))]);
}

#[test]
fn one_end_of_a_delay_may_be_cut_off_alone() {
    let short = OneWay::new(10_000, [0, 5, 105, 4_000]);
    // 5 µs ± 10,142 ns from 0; 3,895 µs ± 10,142 ns up to 3,905,085 ns
    assert_eq!(
        short.delays(),
        [Some((7_571, 7_571)), Some((3_894_972, 10_114))]
    );
    // 0 ± 142 ns, and 1,000 ns ± 142 ns up to 1,080 ns and 2 ns of drift: one clock, but not in the
    // monotonic clock's seconds
    let clocks = Clocks::Same;
    let same = OneWay {
        clocks,
        ..OneWay::new(0, [0, 0, 0, 1])
    };
    assert_eq!(same.delays(), [Some((71, 71)), Some((970, 112))]);
}

#[test]
fn a_delay_that_cannot_be_is_a_contradiction() {
    let least = |microseconds, one: OneWay| OneWay {
        least_delay: Span::from_microseconds(microseconds),
        ..one
    };
    for (what, one) in [
        ("negative forward", OneWay::new(1_000, [0, -10, 90, 4_000])),
        (
            "negative backward",
            OneWay::new(1_000, [0, 4_010, 4_110, 4_100]),
        ),
        (
            "less than the least",
            least(1_000, OneWay::new(1_000, [0, 500, 600, 4_000])),
        ),
        (
            "twice the least is more than the round trip",
            least(2_000, OneWay::new(11_000_000, [0, 0, 100, 4_000])),
        ),
    ] {
        assert_eq!(one.delays(), [None, None], "{what}");
        let report = one.measure().1;
        assert!(
            report.forward.histogram().is_none() && report.backward.histogram().is_none(),
            "{what}"
        );
    }
}
