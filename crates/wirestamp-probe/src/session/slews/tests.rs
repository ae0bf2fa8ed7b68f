use super::Slews;
use crate::error_estimate::ErrorEstimate;
use crate::packet::{Mode, Reply, Request};
use crate::session::{
    Rejected, ReplyArrival, Sample, Session, SessionConfiguration, SessionReport,
};
use crate::stamp::HostTimestamp;
use crate::timestamp::{TimestampFormat, WireTimestamp};
use crate::tlv::{Area, FollowUp, Method, kind};
use wirestamp_core::time::{Adjusted, Bounded, MonotonicTime, Span, UtcTime};

const UTC: i64 = 1_795_334_706_000_000_000;
/// When a slew begins, from the first packet on, and how long it lasts.
const SLEWED: [i64; 2] = [3_000_000_000; 2];
const INTERVAL: i64 = 300_000_000;
/// The reflector's residence time, and the path in each direction.
const RESIDENCE: i64 = 400_000;
const PATH: i64 = 10_000;

fn ns(nanoseconds: i64) -> Span {
    Span::from_nanoseconds(nanoseconds.into())
}

/// A host whose clock a daemon slews by so many parts per million.
struct Host {
    ppm: i64,
    slewed: [i64; 2],
    path: i64,
    /// The reflector's clock is stepped before the 16th packet.
    step: i64,
    reads: bool,
    /// The largest error of readings, below their bound.
    noise: i64,
    session: Session,
}

impl Host {
    /// How far the clock has been slewed at a true time.
    fn slewed(&self, at: i64) -> i64 {
        let [begun, length] = self.slewed;
        (at - begun).clamp(0, length) * self.ppm / 1_000_000
    }

    fn now(&self, at: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(at + self.slewed(at))
    }

    fn stamp(&self, at: i64) -> HostTimestamp {
        let at = self.now(at);
        HostTimestamp {
            at: Bounded::new(at, ns(40)),
            utc: UtcTime::from_nanoseconds(UTC + at.nanoseconds()),
            method: Method::Software,
        }
    }

    fn reading(&self, at: i64) -> Adjusted {
        let random = at.wrapping_mul(6_364_136_223_846_793_005) >> 33;
        let error = random.rem_euclid(2 * self.noise + 1) - self.noise;
        Adjusted {
            at: self.now(at),
            by: Bounded::new(ns(self.slewed(at) + error), ns(40)),
        }
    }

    fn read(&mut self, at: i64) {
        let reading = self.reading(at);
        if self.reads {
            self.session.adjusted(reading);
        }
    }

    fn exchange(&mut self, begun: i64) -> Result<u32, Rejected> {
        self.read(begun);
        let (before, mut octets) = (self.stamp(begun), Vec::new());
        let sequence = self
            .session
            .request(before.at.value, before.utc, ns(1_000), &mut octets);
        self.session.transmitted(sequence, Ok(before));
        let request = Request::read(&octets, None).expect("a request");
        let arrived = begun + self.path;
        let left = arrived + RESIDENCE;
        let came = left + self.path;
        let format = TimestampFormat::Ptp;
        let time = |at: i64| {
            let step = if at < 15 * INTERVAL { 0 } else { self.step };
            WireTimestamp::encode(UtcTime::from_nanoseconds(UTC + at + step), format, 37)
        };
        let mut octets = vec![0; Mode::Open.base_length()];
        Reply {
            sequence,
            timestamp: time(left),
            error: ErrorEstimate::at_least(ns(100), true, format),
            ssid: request.ssid,
            received: time(arrived),
            sender_sequence: request.sequence,
            sender_timestamp: request.timestamp,
            sender_error_bits: request.error_bits,
            sender_ttl: 255,
        }
        .write(None, &mut octets);
        let mut area = Area::default();
        // of the reply before
        let follow_up = sequence.checked_sub(1).map(|before| FollowUp {
            sequence: before,
            timestamp: time(left - INTERVAL),
            method: Method::Software,
        });
        area.push(kind::FOLLOW_UP, &FollowUp::octets(follow_up));
        octets.extend_from_slice(area.octets());
        octets[Mode::Open.base_length()] = 0; // the reflector knows the extension
        self.read(came + 2_000);
        let received = Some(self.stamp(came));
        self.session.received(&ReplyArrival {
            payload: &octets,
            received,
            read: self.now(came + 1_000),
            hop_limit: None,
            traffic_class: None,
        })
    }
}

impl Host {
    fn slewed_by(ppm: i64) -> Self {
        Self {
            ppm,
            slewed: SLEWED,
            path: PATH,
            step: 0,
            reads: true,
            noise: 0,
            session: Session::new(SessionConfiguration::default()),
        }
    }
}

/// A packet every 0.3 s, before, in and after a slew.
fn measured(mut host: Host) -> (Vec<Sample>, SessionReport) {
    for number in 0..30 {
        let _rejected = host.exchange(number * INTERVAL);
    }
    let mut samples = Vec::new();
    let report = host.session.finish(|sample| samples.push(*sample));
    (samples, report)
}

#[test]
fn a_fast_slew_is_no_step_and_no_reason_to_reject_a_reply() {
    for ppm in [83_333, -83_333, 5_000, -5_000] {
        let (samples, report) = measured(Host::slewed_by(ppm));
        assert_eq!(
            (report.clock_steps, report.stepped_in_flight),
            (0, 0),
            "{ppm}"
        );
        assert_eq!(report.losses.answered, 30, "{ppm}");
        let mut widest = [Span::ZERO; 2];
        for (number, sample) in (0..).zip(samples) {
            let Some(delay) = sample.path_delay else {
                assert_eq!(number, 29, "{ppm}: the last one is not followed up");
                continue;
            };
            assert!(delay.contains(ns(2 * PATH)), "{ppm}, {number}: {delay}");
            let is_slewed = (10..=20).contains(&number);
            widest[usize::from(is_slewed)] = widest[usize::from(is_slewed)].max(delay.bound);
        }
        assert!(
            widest[0] < ns(1_500) && widest[1] > ns(1_500),
            "{ppm}: {widest:?}"
        );
    }
}

#[test]
fn without_readings_it_is_both() {
    let (_, report) = measured(Host {
        reads: false,
        ..Host::slewed_by(-83_333)
    });
    assert!(
        report.clock_steps > 0 && report.losses.answered < 30,
        "{report:?}"
    );
}

/// It lasts for half of a residence time. The mean over the round trip is no fast one.
#[test]
fn a_fast_slew_that_is_shorter_than_a_round_trip_is_in_the_bound() {
    for ppm in [83_333, -83_333] {
        let path = 10_000_000;
        let begun = 12 * INTERVAL + path + 100_000;
        let (samples, _) = measured(Host {
            path,
            slewed: [begun, RESIDENCE / 2],
            ..Host::slewed_by(ppm)
        });
        for sample in samples {
            let Some(delay) = sample.path_delay else {
                continue;
            };
            assert!(
                delay.contains(ns(2 * path)),
                "{ppm}, {}: {delay}",
                sample.sequence
            );
            let is_wide = delay.bound > ns(2_000);
            assert_eq!(is_wide, sample.sequence == 12, "{ppm}: {delay}");
        }
    }
}

/// The mean before the request contains its beginning, and is that of the round trip.
#[test]
fn a_fast_slew_that_begins_just_before_a_request_is_in_the_bound() {
    for ppm in [83_333, -83_333] {
        let path = 10_000_000;
        for before in [400_000, 800_000, 1_200_000, 1_600_000] {
            let request = 12 * INTERVAL;
            let round_trip = 2 * path + RESIDENCE;
            let after = before * round_trip / (INTERVAL - round_trip);
            let (samples, _) = measured(Host {
                path,
                slewed: [request - before, before + after],
                ..Host::slewed_by(ppm)
            });
            for sample in samples {
                let Some(delay) = sample.path_delay else {
                    continue;
                };
                let number = sample.sequence;
                assert!(
                    delay.contains(ns(2 * path)),
                    "{ppm}, {before}, {number}: {delay}"
                );
                let is_wide = delay.bound > ns(2_000);
                assert!(
                    number == 12 || !is_wide,
                    "{ppm}, {before}, {number}: {delay}"
                );
            }
        }
    }
}

#[test]
fn a_slew_that_readings_hide_counts() {
    for (slewed, errors) in [(70, [39, -39]), (-70, [-39, 39]), (150, [39, -39])] {
        let mut slews = Slews::default();
        let reading = |at: i64, by: i64| Adjusted {
            at: MonotonicTime::from_nanoseconds(at),
            by: Bounded::new(ns(by), ns(40)),
        };
        slews.note(reading(0, errors[0]));
        let begun = slews.begin();
        slews.note(reading(300_000, slewed + errors[1]));
        assert!(slews.since(&begun) >= ns(slewed).abs(), "{slewed}");
    }
}

proptest::proptest! {
    /// It begins and ends anywhere in a round trip or in the pauses beside it.
    #[test]
    fn a_slew_of_any_rate_that_lasts_for_less_than_an_interval_is_in_the_bound(
        rate in 0.0..5.0f64,
        back: bool,
        path in proptest::prop_oneof![10_000..200_000i64, 200_000..20_000_000i64],
        begins in -1.0..2.0f64,
        ends in -0.1..1.1f64,
    ) {
        let round_trip = 2 * path + RESIDENCE;
        let at = |part: f64| 12 * INTERVAL + (part * round_trip as f64) as i64;
        let begun = at(begins);
        let ppm = 10f64.powf(rate) as i64;
        let (samples, _) = measured(Host {
            path,
            slewed: [begun, (at(ends) - begun).max(1)],
            noise: 39,
            ..Host::slewed_by(if back { -ppm } else { ppm })
        });
        for sample in samples {
            let Some(delay) = sample.path_delay else {
                continue;
            };
            let number = sample.sequence;
            proptest::prop_assert!(delay.contains(ns(2 * path)), "{number}: {delay}, really {}", 2 * path);
        }
    }
}

/// A flood of packets is answered by a reading each.
#[test]
fn a_fast_slew_is_seen_however_close_together_readings_are() {
    for ppm in [83_333, -83_333, 5_000, -5_000] {
        let host = Host::slewed_by(ppm);
        let mut slews = Slews::default();
        for at in (SLEWED[0]..SLEWED[0] + 50_000_000).step_by(1_000) {
            slews.note(host.reading(at));
        }
        let moved = ns(host.slewed(SLEWED[0] + 49_999_000)).abs();
        let total = slews.total();
        assert!(
            total >= moved && total < moved + ns(1_000),
            "{ppm}: {total}, moved {moved}"
        );
    }
}

#[test]
fn a_step_of_the_reflector_in_a_fast_slew_is_a_step() {
    for ppm in [83_333, -83_333] {
        for step in [20_000_000, -20_000_000] {
            let (_, report) = measured(Host {
                step,
                ..Host::slewed_by(ppm)
            });
            assert_eq!(report.clock_steps, 1, "{ppm}, {step}");
            assert_eq!(report.losses.answered, 30, "{ppm}, {step}");
        }
    }
}
