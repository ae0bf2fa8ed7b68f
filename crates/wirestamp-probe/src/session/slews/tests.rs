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
/// From the first packet on.
const SLEWED: i64 = 3_000_000_000;
const INTERVAL: i64 = 300_000_000;
/// The reflector's residence time, and the path in each direction.
const RESIDENCE: i64 = 400_000;
const PATH: i64 = 10_000;

fn ns(nanoseconds: i64) -> Span {
    Span::from_nanoseconds(nanoseconds.into())
}

/// A host whose clock a daemon slews by so many parts per million between two instants.
struct Host {
    ppm: i64,
    reads: bool,
    session: Session,
}

impl Host {
    /// How far the clock has been slewed at a true time.
    fn slewed(&self, at: i64) -> i64 {
        (at - SLEWED).clamp(0, SLEWED) * self.ppm / 1_000_000
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

    fn read(&mut self, at: i64) {
        let reading = Adjusted {
            at: self.now(at),
            by: Bounded::new(ns(self.slewed(at)), ns(40)),
        };
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
        let arrived = begun + PATH;
        let left = arrived + RESIDENCE;
        let came = left + PATH;
        let format = TimestampFormat::Ptp;
        let time = |at: i64| WireTimestamp::encode(UtcTime::from_nanoseconds(UTC + at), format, 37);
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

/// A packet every 0.3 s, before, in and after a slew.
fn measured(ppm: i64, reads: bool) -> (Vec<Sample>, SessionReport) {
    let session = Session::new(SessionConfiguration::default());
    let mut host = Host {
        ppm,
        reads,
        session,
    };
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
        let (samples, report) = measured(ppm, true);
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
    let (_, report) = measured(-83_333, false);
    assert!(
        report.clock_steps > 0 && report.losses.answered < 30,
        "{report:?}"
    );
}
