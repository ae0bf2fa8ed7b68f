use super::*;
use crate::session::flight::{Flight, Sent};
use crate::session::slews::Begun;
use crate::stamp::HostTimestamp;
use crate::timestamp::WireTimestamp;
use crate::tlv::Method;
use wirestamp_core::time::{Bounded, MonotonicTime};
use wirestamp_core::timestamp::MissingReason;

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_795_392_000 * SECOND;

fn windows() -> Windows {
    Windows::new(Duration::from_secs(1))
}

/// A packet with its transmit time and its differences forward and backward.
fn sample(sent: Result<i64, Missing>, differences: [Option<i64>; 2]) -> Sample {
    let sent = sent.map(|at| HostTimestamp {
        at: Bounded::exact(MonotonicTime::from_nanoseconds(at - START)),
        utc: UtcTime::from_nanoseconds(at),
        method: Method::Software,
    });
    let flight = Flight {
        before: MonotonicTime::from_nanoseconds(0),
        timestamp: WireTimestamp::NONE,
        error_bits: 0,
        is_counted: true,
        sent: sent.map_or_else(Sent::Missing, Sent::At),
        replied: None,
        duplicates: Vec::new(),
        begun: Begun::default(),
    };
    let measured = |nanoseconds: i64| {
        let value = Span::from_nanoseconds(nanoseconds.into());
        Bounded::exact(value)
    };
    let [forward, backward] = differences.map(|difference| difference.map(measured));
    Sample {
        forward_difference: forward,
        backward_difference: backward,
        ..Sample::of(1, &flight)
    }
}

/// The start, the minimum and median forward and backward, and the number of sent packets.
type Shown = (i64, [Option<(i64, i64)>; 2], u64);

fn shown(window: Option<Window>) -> Option<Shown> {
    let window = window?;
    assert_eq!(window.length, Span::from_seconds(1));
    let nanoseconds = |one: Differences| {
        let Differences { least, middle } = one;
        (
            least.saturating_nanoseconds(),
            middle.saturating_nanoseconds(),
        )
    };
    let both = [window.forward, window.backward].map(|one| one.map(nanoseconds));
    Some((window.start.nanoseconds(), both, window.sent))
}

#[test]
fn a_window_has_the_least_and_the_middle_of_both_directions() {
    let mut windows = windows();
    let packets = [
        (Ok(START + 1), [Some(50), Some(-7)]),
        (Ok(START + 2), [Some(20), None]),
        (
            Err(Missing::System(MissingReason::BufferFull)),
            [None, None],
        ),
        (Err(Missing::NotSent), [None, None]),
        (Ok(START + SECOND - 1), [Some(30), Some(-9)]),
    ];
    for (sent, differences) in packets {
        assert_eq!(windows.add(&sample(sent, differences)), None);
    }
    let first = windows.add(&sample(Ok(START + 3 * SECOND), [None, None]));
    let expected = [Some((20, 30)), Some((-9, -9))];
    assert_eq!(shown(first), Some((START, expected, 4)));
    let last = windows.close();
    assert_eq!(shown(last), Some((START + 3 * SECOND, [None, None], 1)));
    assert_eq!(windows.close(), None);
}

#[test]
fn a_clock_that_is_set_back_a_little_makes_no_second_row_of_a_window() {
    let mut windows = windows();
    windows.add(&sample(Ok(START), [Some(1), Some(1)]));
    for back in [5, BACK] {
        let packet = sample(Ok(START - back * SECOND), [Some(3), Some(3)]);
        assert_eq!(windows.add(&packet), None, "{back}");
    }
    let (start, _, sent) = shown(windows.add(&sample(Ok(START + SECOND), [None, None]))).unwrap();
    assert_eq!((start, sent), (START, 3));
}

/// A clock that briefly showed a wrong year.
#[test]
fn a_clock_that_is_set_back_far_begins_anew_and_little_is_held() {
    let mut windows = windows();
    let year = 365 * 86_400 * SECOND;
    windows.add(&sample(Ok(START + year), [Some(1), None]));
    for second in 0..10_000 {
        let window = shown(windows.add(&sample(Ok(START + second * SECOND), [Some(2), None])));
        let (start, _, sent) = window.expect("each packet ends the window of the one before");
        let before = if second == 0 {
            year
        } else {
            (second - 1) * SECOND
        };
        assert_eq!((start, sent), (START + before, 1));
    }
    assert!(windows.forward.capacity() < 16);
}

#[test]
fn before_the_first_time_is_known_nothing_counts() {
    let mut windows = windows();
    let packet = sample(Err(Missing::Awaited), [Some(1), Some(1)]);
    assert_eq!(windows.add(&packet), None);
    assert_eq!(windows.close(), None);
}
