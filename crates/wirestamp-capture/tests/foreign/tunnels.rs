//! Packets that are in tunnels in one capture and plain in the other: these are not lost, and
//! missing ones are.

use super::build::{ethernet, ipv4, udp};
use super::{MS, START, compared, datagrams, file};
use wirestamp_capture::compare::{FlowReport, Options, Report};

type Wrap = fn(&[u8], u16) -> Vec<u8>;

/// Each encapsulates a packet in one from 10.0.0.8 to 10.0.0.9.
const WRAPS: [(&str, Wrap); 8] = [
    ("IP in IP", |data, number| ipv4(8, 9, number, 4, data)),
    ("GRE", |data, number| {
        ipv4(8, 9, number, 47, &[&[0, 0, 8, 0], data].concat())
    }),
    ("ESP", |data, number| {
        let unknown: Vec<u8> = data.iter().map(|octet| octet ^ 0x5a).collect();
        ipv4(
            8,
            9,
            number,
            50,
            &[&[number as u8; 16][..], &unknown].concat(),
        )
    }),
    ("VXLAN", |data, number| over(data, number, 4_789)),
    ("VXLAN of Linux", |data, number| over(data, number, 8_472)),
    ("Geneve", |data, number| over(data, number, 6_081)),
    ("ESP in UDP", |data, number| over(data, number, 4_500)),
    ("WireGuard", |data, number| over(data, number, 51_820)),
];

/// In UDP, each with its own source port, like VXLAN.
fn over(data: &[u8], number: u16, port: u16) -> Vec<u8> {
    let inside = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &ethernet(&[8, 0], data)].concat();
    udp(8, 9, (30_000 + number, port), number, &inside)
}

fn every_ms(packets: impl IntoIterator<Item = Vec<u8>>, late: u64) -> Vec<u8> {
    let packets = (0..).zip(packets);
    let packets: Vec<_> = packets
        .map(|(number, data)| (number * MS + late, data))
        .collect();
    file(&packets)
}

fn sums(report: &Report) -> [u64; 4] {
    let sum = |of: fn(&FlowReport) -> u64| report.flows.iter().map(of).sum();
    [
        sum(|flow| flow.lost + flow.extra),
        sum(|flow| flow.matched),
        sum(|flow| flow.undecided[0]),
        sum(|flow| flow.undecided[1]),
    ]
}

#[test]
fn what_one_capture_has_in_a_tunnel_is_not_lost() {
    // one more at each end, so that both captures cover the time of every packet
    let around = |inner: Vec<Vec<u8>>| {
        let end = |number| udp(1, 2, (1, 1), number, b"end");
        [vec![end(1)], inner, vec![end(2)]].concat()
    };
    let plain = every_ms(around(datagrams(50)), 0);
    for (name, wrap) in WRAPS {
        let wrapped = (100..).zip(datagrams(50));
        let wrapped = wrapped.map(|(number, data)| wrap(&data, number)).collect();
        let wrapped = every_ms(around(wrapped), MS / 4);
        for (a, b) in [(&plain, &wrapped), (&wrapped, &plain)] {
            let report = compared(a, b, Options::default());
            assert_eq!(sums(&report), [0, 2, 50, 50], "{name}: {report:?}");
            let tunnels = report.files.map(|file| file.tunnel_packets);
            assert_eq!(tunnels.iter().sum::<u64>(), 50, "{name}");
        }
    }
}

#[test]
fn what_no_tunnel_has_room_for_is_lost() {
    let end = |number| udp(1, 2, (1, 1), number, b"end");
    let all = every_ms([vec![end(1)], datagrams(50), vec![end(2)]].concat(), 0);
    let gre = WRAPS[1].1;
    let carried = datagrams(30).into_iter().map(|data| gre(&data, 9));
    let carried = every_ms([end(1)].into_iter().chain(carried), 0);
    let mut carried = carried;
    // the capture ends at the same packet as the other one
    let mut last = super::Ng::of(101);
    last.whole(START + 51 * MS, &end(2), "");
    carried.extend(last.bytes);
    let report = compared(&all, &carried, Options::default());
    assert_eq!(sums(&report), [20, 2, 30, 30], "{report:?}");
}

#[test]
fn a_tunnel_that_both_captures_have_hides_nothing_that_went_the_other_way() {
    let gre = WRAPS[1].1;
    let forth: Vec<_> = (0..50)
        .map(|number| gre(&[number as u8; 90], number))
        .collect();
    let back = |number: u16| ipv4(9, 8, number, 47, &[&[0, 0, 8, 0][..], &[7; 90]].concat());
    let both = |keep: fn(u16) -> [bool; 2]| {
        let packets = (0..50).zip(&forth);
        let packets = packets.flat_map(|(number, data)| {
            let [forth, back_too] = keep(number);
            let at = u64::from(number) * MS;
            let forth = forth.then(|| (at, data.clone()));
            let back = back_too.then(|| (at + MS / 2, back(number)));
            forth.into_iter().chain(back)
        });
        file(&packets.collect::<Vec<_>>())
    };
    // A has all packets that A sent, B all packets that B sent
    let a = both(|number| [true, number % 10 != 3]);
    let b = both(|number| [number % 10 != 6, true]);
    let report = compared(&a, &b, Options::default());
    assert_eq!(sums(&report), [10, 90, 0, 0], "{report:?}");
}
