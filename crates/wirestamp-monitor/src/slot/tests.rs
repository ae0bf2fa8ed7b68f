use super::*;
use crate::events::Events;
use crate::snapshot::PeerState;
use wirestamp::{Simulation, UdpSocket, UtcCrossTimestamp, UtcTime};

/// A session that nobody answers any more, after five packets.
struct Silent;

impl Task for Silent {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        Ok(turn.now + Span::from_seconds(1))
    }

    fn sockets<'a>(&'a self, _: &mut Vec<&'a UdpSocket>) {}

    fn show(&self, _: &Moment, into: &mut Snapshot) {
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

fn moment() -> Moment {
    let now = MonotonicTime::from_nanoseconds(0);
    let reading = UtcCrossTimestamp {
        before: now,
        utc: UtcTime::from_nanoseconds(1_790_000_000_000_000_000),
        after: now,
    };
    Moment { now, reading }
}

/// The host's name means another address now, and the session cannot be opened there: a simulated network has no such host.
#[test]
fn what_a_session_counted_stays_once_if_it_cannot_follow_its_host() {
    let text = "[[stamp]]\npeer = \"localhost\"";
    let configuration = Configuration::from_toml(text).expect("it is right");
    let mut slot = Slot::new(Wanted::Stamp(configuration.stamp[0].clone()), 0);
    slot.state = State::Running {
        task: Box::new(Silent),
        due: moment().now,
        since: moment().now,
        whereabouts: Some(Whereabouts::new(
            "192.0.2.9:862".parse().expect("an address"),
        )),
    };
    let place = Place::Simulation(Simulation::preset("igc", 1).expect("a preset"));
    let (mut events, mut buffer) = (Events::new(moment().reading.utc), Vec::new());
    let mut turn = Turn {
        now: moment().now,
        utc: moment().reading.utc,
        moment: moment(),
        events: &mut events,
        history: None,
        recording: None,
        is_ready: false,
        buffer: &mut buffer,
    };
    for _ in 0..60_000 {
        turn.now = slot.serve(&place, &mut turn).max(turn.now);
        if slot.task().is_none() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let state = slot.state();
    assert_eq!((state.state.as_str(), state.failures), ("failed", 1));
    let error = state.error.expect("it says why");
    assert!(error.contains("no route"), "{error}");
    let mut shown = Snapshot::default();
    slot.show(&moment(), &mut shown);
    let [peer] = &shown.peers[..] else {
        panic!("{shown:?}")
    };
    assert_eq!((peer.sent, peer.lost), (5, 5));
}
