use super::*;
use crate::options::Stamp;
use crate::place::Place;
use crate::sample::{Departure, Kind, Sample, Segment, Subject};
use crate::state::PeerState;
use wirestamp::socket::AnySocket;
use wirestamp::time::UtcCrossTimestamp;
use wirestamp::{Bounded, Simulation, UtcTime};

/// A session that nobody answers any more, after five packets.
struct Silent;

impl Task for Silent {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        Ok(turn.now + Span::from_seconds(1))
    }

    fn sockets<'a>(&'a self, _: &mut Vec<AnySocket<'a>>) {}

    fn show(&self, _: &Moment, into: &mut Shown) {
        into.peers.push(PeerState {
            sent: 5,
            lost: 5,
            ..PeerState::default()
        });
    }

    fn is_silent(&self, _: MonotonicTime) -> bool {
        true
    }
}

/// A session that yields one packet, and fails.
struct Fails;

impl Task for Fails {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        turn.sink.sample(&Sample {
            subject: Subject {
                kind: Kind::Stamp,
                name: "peer",
            },
            sequence: 1,
            at: turn.now,
            utc: turn.utc,
            left: Departure::Unknown,
            has_arrived: true,
            values: &[
                (
                    Segment::Path,
                    Bounded::new(Span::from_microseconds(5), Span::ZERO),
                ),
                (
                    Segment::ForwardDifference,
                    Bounded::new(Span::ZERO, Span::ZERO),
                ),
            ],
        });
        Err(unresolved("peer", "it fails".into()))
    }

    fn sockets<'a>(&'a self, _: &mut Vec<AnySocket<'a>>) {}

    fn show(&self, _: &Moment, into: &mut Shown) {
        into.peers.push(PeerState::default());
    }
}

fn moment() -> Moment {
    let now = MonotonicTime::from_nanoseconds(0);
    let reading = UtcCrossTimestamp {
        before: now,
        utc: UtcTime::from_nanoseconds(1_790_000_000_000_000_000),
        after: now,
    };
    Moment::of(reading)
}

/// The host's name means another address now, and the session cannot be opened there: a simulated network has no such host.
#[test]
fn what_a_session_counted_stays_once_if_it_cannot_follow_its_host() {
    let mut slot = Slot::new(Wanted::Stamp(Stamp::with("localhost")), 0);
    slot.state = State::Running {
        task: Box::new(Silent),
        due: moment().now,
        since: moment().now,
        whereabouts: Some(Box::new(Whereabouts::new(
            "192.0.2.9:862".parse().expect("an address"),
        ))),
    };
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let host = Host::new(Place::Simulation(simulation));
    let (mut ignored, mut buffer) = (|_: &Sample<'_>| {}, Vec::new());
    let mut turn = Turn::new(moment(), &mut ignored, &mut buffer);
    for _ in 0..60_000 {
        turn.now = slot.serve(&host, &mut turn).max(turn.now);
        if slot.task().is_none() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let state = slot.state();
    assert_eq!((state.state.as_str(), state.failures), ("failed", 1));
    let error = state.error.expect("it says why");
    assert!(error.contains("no route"), "{error}");
    let mut shown = Shown::default();
    slot.show(&moment(), &mut shown);
    let [peer] = &shown.peers[..] else {
        panic!("{shown:?}")
    };
    assert_eq!((peer.sent, peer.lost), (5, 5));
}

#[test]
fn distributions_are_of_all_runs_and_everything_is_passed_on() {
    let mut slot = Slot::new(Wanted::Stamp(Stamp::with("192.0.2.9")), 0);
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let host = Host::new(Place::Simulation(simulation));
    let mut passed = 0;
    let mut count = |_: &Sample<'_>| passed += 1;
    let mut buffer = Vec::new();
    let mut turn = Turn::new(moment(), &mut count, &mut buffer);
    for _ in 0..3 {
        slot.state = State::Running {
            task: Box::new(Fails),
            due: moment().now,
            since: moment().now,
            whereabouts: None,
        };
        slot.serve(&host, &mut turn);
    }
    let mut shown = Shown::default();
    slot.show(&moment(), &mut shown);
    let names: Vec<_> = shown.peers[0].delays.keys().map(String::as_str).collect();
    assert_eq!(names, ["path"], "a difference of two clocks is no delay");
    assert_eq!((shown.peers[0].delays["path"].count, passed), (3, 3));
}
