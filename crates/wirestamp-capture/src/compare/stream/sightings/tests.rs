use super::*;

const MS: i64 = 1_000_000;

fn place(interface: u32) -> Vantage {
    Vantage::new(0, interface, None, None)
}

fn range(start: u32, length: u32) -> Range {
    Range { start, length }
}

/// Whether bytes may be a copy, all of them or none.
fn is_copy(sightings: &mut Sightings, range: Range, interface: u32, at_ns: i64) -> bool {
    let parts = sightings.see(range, (place(interface), at_ns), true, MOST);
    assert_eq!(parts.len(), 1, "{parts:?}");
    parts[0].is_copy
}

#[test]
fn only_the_same_bytes_at_another_place_make_a_copy() {
    let mut sightings = Sightings::default();
    let mut is_copy =
        |start, interface, at_ns| is_copy(&mut sightings, range(start, 100), interface, at_ns);
    assert!(!is_copy(0, 1, 0));
    // others by another NIC
    for number in 1..30_u32 {
        assert!(!is_copy(number * 100, 2, i64::from(number) * MS));
    }
    assert!(!is_copy(0, 1, 29 * MS + 1));
    assert!(is_copy(0, 2, 29 * MS + 2));
}

/// A bridge forwards a packet that is sent again, soon or late.
#[test]
fn a_place_that_has_bytes_more_often_shows_that_they_were_sent_again() {
    for base in [0, u32::MAX - 50] {
        let mut sightings = Sightings::default();
        for (interface, at_ns, expected) in [
            (1, 0, false),
            (2, 4 * MS, true),
            (2, 5 * MS, false), // it has them for the second time
            (1, 6 * MS, true),
            (1, 7 * MS, false),
            (2, 8 * MS, true),
            // the first two are too long ago
            (1, 15 * MS + 1, false),
            (2, 15 * MS + 2, true),
        ] {
            let found = is_copy(&mut sightings, range(base, 100), interface, at_ns);
            assert_eq!(found, expected, "{interface} {at_ns}");
        }
    }
}

#[test]
fn each_part_of_a_segment_is_judged_by_itself() {
    let mut sightings = Sightings::default();
    sightings.see(range(0, 100), (place(2), 0), false, MOST);
    sightings.see(range(100, 100), (place(1), 20 * MS), false, MOST);
    // 0..100 were sent again, 100..200 may be a copy
    let parts = sightings.see(range(0, 300), (place(2), 21 * MS), true, MOST);
    let parts: Vec<_> = parts
        .iter()
        .map(|part| (part.range.start, part.range.length, part.is_copy))
        .collect();
    assert_eq!(
        parts,
        [(0, 100, false), (100, 100, true), (200, 100, false)]
    );
}

#[test]
fn bytes_whose_sightings_were_forgotten_are_not_called_sent_again() {
    let mut sightings = Sightings::default();
    sightings.see(range(0, 1), (place(1), 0), false, MOST);
    for number in 1..3 * MOST as u32 {
        sightings.see(range(number, 1), (place(2), MS), false, MOST);
        assert!(sightings.len() <= MOST);
    }
    assert!(is_copy(&mut sightings, range(0, 1), 2, 2 * MS));
    assert!(!is_copy(&mut sightings, range(0, 1), 2, 30 * MS));
    // one that overlaps with too many
    let mut sightings = Sightings::default();
    for number in 0..=MOST_OVERLAPPING as u32 {
        sightings.see(range(number, 1), (place(2), 0), false, MOST);
    }
    assert!(is_copy(&mut sightings, range(0, 4_000), 1, 1));
}
