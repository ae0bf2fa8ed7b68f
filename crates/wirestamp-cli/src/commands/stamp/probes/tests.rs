use super::*;
use wirestamp::MissingReason;

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_795_392_000 * SECOND;

fn windows() -> Windows {
    Windows::new("b".into(), SECOND)
}

fn probe(
    window_start: i64,
    least: [Option<i64>; 2],
    middle: [Option<i64>; 2],
    count: i64,
) -> Probe {
    Probe {
        peer: "b".into(),
        window_start,
        window: SECOND,
        forward: least[0],
        backward: least[1],
        forward_middle: middle[0],
        backward_middle: middle[1],
        count,
    }
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
        assert_eq!(windows.add(sent, differences), None);
    }
    let first = windows.add(Ok(START + 3 * SECOND), [None, None]);
    let expected = probe(START, [Some(20), Some(-9)], [Some(30), Some(-9)], 4);
    assert_eq!(first, Some(expected));
    let nothing = probe(START + 3 * SECOND, [None; 2], [None; 2], 1);
    assert_eq!(windows.row(), Some(nothing));
    assert_eq!(windows.row(), None);
}

#[test]
fn a_clock_that_is_set_back_makes_no_second_row_of_a_window() {
    let mut windows = windows();
    windows.add(Ok(START), [Some(1), Some(1)]);
    assert_eq!(
        windows.add(Ok(START - 5 * SECOND), [Some(3), Some(3)]),
        None
    );
    let row = windows.add(Ok(START + SECOND), [None, None]).unwrap();
    assert_eq!((row.window_start, row.count), (START, 2));
}

#[test]
fn before_the_first_time_is_known_nothing_counts() {
    let mut windows = windows();
    assert_eq!(windows.add(Err(Missing::Awaited), [Some(1), Some(1)]), None);
    assert_eq!(windows.row(), None);
}
