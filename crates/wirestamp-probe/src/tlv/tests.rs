use super::*;
use crate::key::Key;
use crate::timestamp::WireTimestamp;
use proptest::prelude::*;

fn key() -> Key {
    Key::from_octets(&(0..32).collect::<Vec<u8>>()).expect("a key")
}

/// Timestamp Information and Follow-Up Telemetry, empty as a sender sends them.
fn area() -> Area {
    let mut area = Area::default();
    area.push(kind::TIMESTAMP_INFORMATION, &[0; 4]);
    area.push(kind::FOLLOW_UP, &FollowUp::octets(None));
    area
}

fn filled(area: &mut [u8], key: Option<&Key>) -> (Filled, Vec<u8>) {
    let mut kinds = Vec::new();
    let filled = reflect(area, 7, key, |kind, value| {
        kinds.push(kind);
        value.fill(kind);
    });
    (filled, kinds)
}

fn taken(area: &[u8], sequence: u32, key: Option<&Key>) -> Result<Vec<(u8, Vec<u8>)>, Distrust> {
    let mut taken = Vec::new();
    accept(area, sequence, key, |kind, value| {
        taken.push((kind, value.to_vec()));
    })?;
    Ok(taken)
}

/// The tag was computed by another program.
#[test]
fn a_request_is_laid_out_and_signed_as_in_the_rfc() {
    let mut area = area();
    area.sign(7, &key());
    let tag = [
        0xb7, 0x13, 0xfd, 0xc4, 0x1c, 0x56, 0xa6, 0x19, 0xfc, 0xfd, 0x8d, 0x99, 0x8d, 0x59, 0x18,
        0x7f,
    ];
    let octets = area.octets();
    assert_eq!(octets[..8], [0x80, 3, 0, 4, 0, 0, 0, 0]);
    assert_eq!(octets[8..12], [0x80, 7, 0, 16]);
    assert_eq!(octets[12..28], [0; 16]);
    assert_eq!(octets[28..32], [0x80, 8, 0, 16]);
    assert_eq!(octets[32..], tag);
}

#[test]
fn values_are_laid_out_as_in_the_rfc() {
    let class = ClassOfService {
        wanted_dscp: 0b10_1110,
        received_dscp: 0b01_0011,
        received_ecn: 0b10,
        refused: true,
    };
    assert_eq!(class.octets(), [0b1011_1001, 0b0011_1001, 0, 0]);
    assert_eq!(ClassOfService::read(&class.octets()), Some(class));
    let counts = DirectMeasurement {
        sent: 1,
        reflector_received: 2,
        reflector_sent: 3,
    };
    assert_eq!(counts.octets(), [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]);
    assert_eq!(DirectMeasurement::read(&counts.octets()), Some(counts));
    let follow_up = FollowUp {
        sequence: 5,
        timestamp: WireTimestamp([6; 8]),
        method: Method::Hardware,
    };
    assert_eq!(
        FollowUp::octets(Some(follow_up)),
        [0, 0, 0, 5, 6, 6, 6, 6, 6, 6, 6, 6, 1, 0, 0, 0]
    );
    assert_eq!(
        FollowUp::read(&FollowUp::octets(Some(follow_up))),
        Some(follow_up)
    );
    assert_eq!(FollowUp::read(&[0; 16]), None);
    let information = TimestampInformation {
        source_in: Some(SyncSource::Ntp),
        method_in: Some(Method::Hardware),
        source_out: Some(SyncSource::Local),
        method_out: Some(Method::Software),
    };
    assert_eq!(information.octets(), [1, 1, 5, 2]);
    assert_eq!(TimestampInformation::read(&[1, 1, 5, 2]), Some(information));
    assert_eq!(TimestampInformation::read(&[0, 9, 200]), None);
}

#[test]
fn a_reflector_fills_known_types_and_clears_their_flag() {
    let mut octets = area().octets().to_vec();
    let (_, kinds) = filled(&mut octets, None);
    assert_eq!(kinds, [kind::TIMESTAMP_INFORMATION, kind::FOLLOW_UP]);
    assert_eq!(octets[..8], [0, 3, 0, 4, 3, 3, 3, 3]);
    assert_eq!(octets[8..13], [0, 7, 0, 16, 7]);
    assert_eq!(taken(&octets, 9, None).expect("accepted").len(), 2);
}

#[test]
fn an_unknown_type_is_marked_and_the_next_one_is_filled() {
    let mut area = Area::default();
    for unknown in [2, 10, 12, 99, 240] {
        area.push(unknown, &[1, 2, 3]);
    }
    area.push(kind::DIRECT_MEASUREMENT, &[0; 12]);
    let mut octets = area.octets().to_vec();
    let before = octets.clone();
    let (_, kinds) = filled(&mut octets, None);
    assert_eq!(kinds, [kind::DIRECT_MEASUREMENT]);
    assert_eq!(
        octets[..35],
        before[..35],
        "unknown ones come back as they were, with U"
    );
    let taken = taken(&octets, 0, None).expect("accepted");
    assert_eq!(
        taken.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
        [kind::DIRECT_MEASUREMENT]
    );
}

#[test]
fn a_malformed_one_is_marked_and_ends_both_ends_reading() {
    for wrong in [
        [0x80, kind::FOLLOW_UP, 0, 15],
        [0x80, 99, 0xff, 0xff],
        [0x80, kind::HMAC, 0, 17],
    ] {
        let mut octets = area().octets()[..8].to_vec();
        octets.extend(wrong);
        octets.extend([0x55; 20]);
        let rest = octets[12..].to_vec();
        let (_, kinds) = filled(&mut octets, None);
        assert_eq!(kinds, [kind::TIMESTAMP_INFORMATION]);
        assert_eq!(octets[8], 0x80 | flag::MALFORMED);
        assert_eq!(octets[12..], rest);
        assert_eq!(taken(&octets, 0, None).expect("accepted").len(), 1);
    }
}

#[test]
fn signed_extensions_are_filled_and_signed_again() {
    let mut area = area();
    area.sign(7, &key());
    area.pad_to(100);
    let mut octets = area.octets().to_vec();
    assert_eq!(octets.len(), 100);
    let (done, kinds) = filled(&mut octets, Some(&key()));
    assert_eq!((kinds.len(), done.integrity_failed), (2, false));
    done.sign(&mut octets, 1234, Some(&key()));
    assert_eq!(taken(&octets, 1234, Some(&key())).expect("signed").len(), 4);
    assert_eq!(taken(&octets, 1235, Some(&key())), Err(Distrust::WrongHmac));
    octets[13] ^= 1;
    assert_eq!(taken(&octets, 1234, Some(&key())), Err(Distrust::WrongHmac));
}

#[test]
fn a_wrong_missing_or_misplaced_hmac_marks_all_and_fills_nothing() {
    let unsigned = area();
    let mut wrong = area();
    wrong.sign(8, &key());
    let mut misplaced = area();
    misplaced.sign(7, &key());
    misplaced.push(kind::DIRECT_MEASUREMENT, &[0; 12]);
    for area in [unsigned, wrong, misplaced] {
        let mut octets = area.octets().to_vec();
        let before = octets.clone();
        let (done, kinds) = filled(&mut octets, Some(&key()));
        assert!(done.integrity_failed && kinds.is_empty());
        for step in walk(&before) {
            let Step::Tlv(tlv) = step else {
                panic!("{step:?}")
            };
            assert_eq!(octets[tlv.at], flag::UNRECOGNIZED | flag::INTEGRITY);
            assert_eq!(octets[tlv.value()], before[tlv.value()]);
        }
        assert_eq!(taken(&octets, 0, None), Err(Distrust::ReportedByReflector));
    }
}

#[test]
fn nothing_is_filled_where_a_malformed_one_hides_the_hmac() {
    let mut octets = area().octets().to_vec();
    octets.extend([0x80, kind::HMAC, 0, 99, 1, 2, 3]);
    let before = octets.clone();
    let (done, kinds) = filled(&mut octets, Some(&key()));
    assert!(kinds.is_empty() && !done.integrity_failed);
    assert_eq!(octets[28], 0x80 | flag::MALFORMED);
    assert_eq!(octets[..28], before[..28]);
    assert_eq!(taken(&octets, 0, Some(&key())), Err(Distrust::WrongHmac));
}

#[test]
fn padding_alone_needs_no_hmac() {
    let mut area = Area::default();
    area.pad_to(50);
    let mut octets = area.octets().to_vec();
    let (done, _) = filled(&mut octets, Some(&key()));
    assert!(!done.integrity_failed);
    assert_eq!(taken(&octets, 0, Some(&key())).expect("accepted").len(), 1);
}

#[test]
fn without_a_key_an_hmac_is_unknown() {
    let mut area = area();
    area.sign(7, &key());
    let mut octets = area.octets().to_vec();
    let (_, kinds) = filled(&mut octets, None);
    assert_eq!((kinds.len(), octets[28]), (2, flag::UNRECOGNIZED));
}

proptest! {
    #[test]
    fn any_octets_are_walked_through_and_keep_their_length(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        with_key: bool,
    ) {
        let key = with_key.then(key);
        let mut octets = bytes.clone();
        let (done, _) = filled(&mut octets, key.as_ref());
        done.sign(&mut octets, 3, key.as_ref());
        prop_assert_eq!(octets.len(), bytes.len());
        let end = walk(&bytes).filter_map(|step| match step { Step::Tlv(tlv) => Some(tlv.end()), _ => None }).max();
        prop_assert!(end.unwrap_or(0) <= bytes.len());
        let _ = taken(&octets, 3, key.as_ref());
    }
}
