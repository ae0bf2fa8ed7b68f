//! Frames without IP in two captures: found by their bytes, whatever padding, check sequence or
//! transparent clock is between them; never by another frame's.

use super::build::{Ng, ethernet, udp};
use super::{MS, START, compared, only};
use wirestamp_capture::compare::{FlowReport, Options, Report, Way};

const STATION: [u8; 6] = [2, 0, 0, 0, 0, 1];
const GROUP: [u8; 6] = [0x01, 0x1b, 0x19, 0, 0, 0];
const NEAREST_BRIDGE: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];

fn frame(destination: [u8; 6], kind: u16, message: &[u8]) -> Vec<u8> {
    [&destination, &STATION, &kind.to_be_bytes()[..], message].concat()
}

/// A Sync message of PTP.
fn sync(number: u16) -> Vec<u8> {
    let mut message = vec![0; 44];
    message[..4].copy_from_slice(&[0, 2, 0, 44]);
    message[20..30].fill(7);
    message[30..32].copy_from_slice(&number.to_be_bytes());
    message
}

/// What a transparent clock makes of it.
fn corrected(mut message: Vec<u8>, number: u16) -> Vec<u8> {
    message[6] |= 2;
    message[8..16].copy_from_slice(&(u64::from(number) << 20).to_be_bytes());
    message
}

fn long(number: u16) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[1; 98]].concat()
}

/// As a NIC receives it: padded, and with its check sequence, which differs.
fn received(mut data: Vec<u8>, number: u16, has_check: bool) -> Vec<u8> {
    data.resize(data.len().max(60), 0);
    if has_check {
        data.extend([number as u8, 0x55, 0xaa, 1]);
    }
    data
}

/// A packet before and after the others, so that both files are of the same time.
fn file(late: u64, frames: impl IntoIterator<Item = (u16, Vec<u8>)>) -> Vec<u8> {
    let mut file = Ng::of(1);
    let end = |file: &mut Ng, at: u64, number| {
        let data = ethernet(&[8, 0], &udp(8, 9, (1, 1), number, b"end"));
        file.whole(START + at + late, &data, "");
    };
    end(&mut file, 0, 1);
    for (number, data) in frames {
        file.whole(START + (u64::from(number) + 1) * MS + late, &data, "");
    }
    end(&mut file, 100 * MS, 2);
    file.bytes
}

fn fifty(make: impl Fn(u16) -> Vec<u8>) -> Vec<(u16, Vec<u8>)> {
    (0..50).map(|number| (number, make(number))).collect()
}

fn without_the_7th(all: Vec<(u16, Vec<u8>)>) -> Vec<(u16, Vec<u8>)> {
    all.into_iter().filter(|(number, _)| *number != 7).collect()
}

fn of_frames(report: &Report) -> Vec<&FlowReport> {
    let all = report.flows.iter();
    all.filter(|flow| flow.frames.is_some()).collect()
}

#[test]
fn frames_are_found_behind_padding_and_check_sequences_and_through_transparent_clocks() {
    let arp = |number: u16| {
        let mut message = vec![0, 1, 8, 0, 6, 4, 0, 1];
        message.resize(28, number as u8);
        message
    };
    let llc = |number: u16| [&[0x42, 0x42, 3][..], &[number as u8; 35]].concat();
    type Make<'m> = &'m dyn Fn(u16) -> Vec<u8>;
    let kinds: [(&str, Make<'_>, Make<'_>); 5] = [
        (
            "PTP",
            &|number| frame(GROUP, 0x88f7, &sync(number)),
            &|number| frame(GROUP, 0x88f7, &corrected(sync(number), number)),
        ),
        (
            "AVTP",
            &|number| frame(GROUP, 0x22f0, &long(number)),
            &|number| frame(GROUP, 0x22f0, &long(number)),
        ),
        (
            "ARP",
            &|number| frame([0xff; 6], 0x0806, &arp(number)),
            &|number| frame([0xff; 6], 0x0806, &arp(number)),
        ),
        ("LLC", &|number| frame(GROUP, 38, &llc(number)), &|number| {
            frame(GROUP, 38, &llc(number))
        }),
        (
            "PTP in a priority tag",
            &|number| frame(GROUP, 0x88f7, &sync(number)),
            &|number| {
                frame(
                    GROUP,
                    0x8100,
                    &[&[0xe0, 0, 0x88, 0xf7][..], &sync(number)].concat(),
                )
            },
        ),
    ];
    for (name, sent, arrived) in kinds {
        for has_check in [false, true] {
            let a = file(0, fifty(sent));
            let b = fifty(|number| received(arrived(number), number, has_check));
            let b = file(3 * MS, without_the_7th(b));
            let report = compared(&a, &b, Options::default());
            let [flow] = of_frames(&report)[..] else {
                panic!("{name}: {report:?}");
            };
            assert_eq!(
                (
                    flow.matched,
                    flow.lost,
                    flow.extra,
                    flow.ambiguous,
                    flow.way
                ),
                (49, 1, 0, 0, Way::AToB),
                "{name}: {report:?}"
            );
            let delay = flow.delay.expect("matched");
            assert_eq!((delay.minimum_ns, delay.maximum_ns), (3_000_000, 3_000_000));
            assert_eq!(report.files.map(|file| file.unusable.not_ip), [0, 0]);
        }
    }
}

#[test]
fn a_frame_never_lends_its_time_to_another() {
    // of two stations, to two, of two protocols, of two lengths
    let message = |number: u16| sync(number);
    let base = frame(GROUP, 0x88f7, &message(1));
    let mut station = base.clone();
    station[11] = 9;
    let mut group = base.clone();
    group[5] = 9;
    let other = frame(GROUP, 0x22f0, &[&sync(1)[..], &[0; 30]].concat());
    let vlan = frame(GROUP, 0x8100, &[&[0, 7, 0x88, 0xf7][..], &sync(1)].concat());
    let mut longer = message(1);
    longer[3] = 54;
    longer.resize(54, 0);
    let longer = frame(GROUP, 0x88f7, &longer);
    for changed in [station, group, other, vlan, longer] {
        let report = compared(
            &file(0, [(1, base.clone())]),
            &file(0, [(1, changed.clone())]),
            Options::default(),
        );
        let matched: u64 = of_frames(&report).iter().map(|flow| flow.matched).sum();
        assert_eq!(matched, 0, "{changed:x?}: {report:?}");
    }
    // frames that look the same: counted, without a delay
    let same = |late| file(late, (0..20).map(|number| (number, base.clone())));
    let report = compared(&same(0), &same(1_500_000), Options::default());
    let [flow] = of_frames(&report)[..] else {
        panic!("{report:?}");
    };
    assert_eq!((flow.matched, flow.lost, flow.duplicated), (20, 0, 0));
    let timed = flow.delay.map_or(0, |delay| delay.count);
    assert_eq!(timed + flow.ambiguous, 20, "{report:?}");
    assert!(flow.ambiguous >= 18, "{report:?}");
}

/// In one capture padding may be a part of them, in the other not: nobody can compare them.
#[test]
fn short_frames_of_unknown_length_are_not_compared_and_may_be_any_other() {
    let short = |number: u16| frame(GROUP, 0x9000, &[number as u8; 20]);
    let a = file(0, fifty(short));
    let report = compared(&a, &file(0, []), Options::default());
    assert!(of_frames(&report).is_empty(), "{report:?}");
    assert_eq!(report.files.map(|file| file.unusable.not_ip), [50, 0]);
    // with a check sequence they are long enough, without it they are not
    let bare = file(0, fifty(|number| frame(GROUP, 0x9000, &[number as u8; 62])));
    let checked = fifty(|number| received(frame(GROUP, 0x9000, &[number as u8; 62]), number, true));
    let checked = file(0, checked);
    let report = compared(&bare, &checked, Options::default());
    let [flow] = of_frames(&report)[..] else {
        panic!("{report:?}");
    };
    assert_eq!((flow.lost, flow.extra, flow.undecided), (0, 0, [0, 50]));
}

#[test]
fn what_no_bridge_forwards_is_lost_only_on_a_cable() {
    let lldp = |number: u16| frame(NEAREST_BRIDGE, 0x88cc, &long(number));
    let a = file(0, fifty(lldp));
    let report = compared(&a, &file(0, []), Options::default());
    let [flow] = of_frames(&report)[..] else {
        panic!("{report:?}");
    };
    assert_eq!((flow.lost, flow.undecided), (0, [50, 0]), "{report:?}");
    assert!(flow.never_lost);
    let b = file(MS / 2, without_the_7th(fifty(lldp)));
    let report = compared(&a, &b, Options::default());
    let [flow] = of_frames(&report)[..] else {
        panic!("{report:?}");
    };
    assert_eq!((flow.matched, flow.lost), (49, 1), "{report:?}");
    assert!(!flow.never_lost);
}

#[test]
fn what_stations_alter_is_not_lost() {
    let ethercat = |number: u16, counter: u8| {
        let mut message = vec![30, 0x10];
        message.resize(32, number as u8);
        message[31] = counter;
        frame([0xff; 6], 0x88a4, &message)
    };
    let a = file(0, fifty(|number| ethercat(number, 0)));
    let b = file(MS / 2, fifty(|number| ethercat(number, (number % 2) as u8)));
    let report = compared(&a, &b, Options::default());
    let [flow] = of_frames(&report)[..] else {
        panic!("{report:?}");
    };
    assert_eq!(
        (flow.matched, flow.lost, flow.extra, flow.undecided),
        (25, 0, 0, [25, 25]),
        "{report:?}"
    );
    assert!(flow.never_lost);
}

#[test]
fn ptp_over_udp_is_found_behind_a_transparent_clock() {
    let message = |number: u16, is_corrected: bool| {
        let message = if is_corrected {
            corrected(sync(number), number)
        } else {
            sync(number)
        };
        udp(1, 2, (319, 319), number, &message)
    };
    let packets = |is_corrected, late| {
        let mut file = Ng::of(101);
        for number in 0..50 {
            let at = START + u64::from(number) * MS + late;
            file.whole(at, &message(number, is_corrected), "");
        }
        file.bytes
    };
    let report = compared(
        &packets(false, 0),
        &packets(true, 70_000),
        Options::default(),
    );
    let flow = only(&report);
    assert_eq!((flow.matched, flow.lost, flow.ambiguous), (50, 0, 0));
    assert_eq!(flow.delay.expect("matched").maximum_ns, 70_000);
}
