//! A packet that cannot be compared accounts for one missing packet, whatever it is and however it is counted.

use super::build::{ACK, Ng, SYN, tcp, udp};
use super::{MS, START, compared, file, only};
use wirestamp_capture::compare::Options;

/// Of ten datagrams, the other capture has one in part, and lacks two.
#[test]
fn behind_a_nat_and_in_tunnels_it_accounts_for_one_packet_too() {
    const VXLAN: u16 = 4_789;
    for (nat, port) in [(false, 6), (true, 6), (false, VXLAN), (true, VXLAN)] {
        let datagrams: Vec<_> = (0..10)
            .map(|number| udp(1, 2, (5, port), number + 1, &[number as u8; 100]))
            .collect();
        let all: Vec<_> = (0..).map(|number| number * MS).zip(datagrams).collect();
        let mut cut = Ng::of(101);
        for (at, data) in all.iter().filter(|(at, _)| ![4 * MS, 6 * MS].contains(at)) {
            let captured = if *at == 5 * MS { 40 } else { data.len() };
            cut.packet(0, START + at, &data[..captured], data.len(), &[]);
        }
        let mut options = Options::default();
        options.nat = nat;
        let report = compared(&file(&all), &cut.bytes, options);
        let flow = only(&report);
        let counts = (flow.matched, flow.lost, flow.undecided);
        assert_eq!(counts, (7, 2, [1, 0]), "{nat} {port}: {report:?}");
        assert_eq!(report.files[1].unusable.cut_off, 1);
    }
}

/// Segments without a time, whose bytes the other capture has joined. It has another one, too.
#[test]
fn a_segment_whose_bytes_were_found_accounts_for_no_other() {
    let segment = |start: u32, length| tcp(start, 1 + (start / 100) as u16, ACK, length);
    let mut timeless = Ng::of(101);
    timeless.whole(START, &tcp(0, 1, SYN, 0), "");
    timeless.simple(&segment(1, 1_000));
    timeless.simple(&segment(1_001, 1_000));
    timeless.whole(START + 20 * MS, &segment(2_001, 1_000), "");
    let other = [
        (MS, tcp(0, 1, SYN, 0)),
        (2 * MS, segment(1, 2_000)),
        (10 * MS, segment(9_001, 1_000)),
        (21 * MS, segment(2_001, 1_000)),
    ];
    let report = compared(&timeless.bytes, &file(&other), Options::default());
    let flow = only(&report);
    assert_eq!((flow.matched, flow.resegmented), (2, [2, 1]), "{report:?}");
    let missing = (flow.lost + flow.extra, flow.undecided);
    assert_eq!(missing, (1, [0, 0]), "{report:?}");
}
