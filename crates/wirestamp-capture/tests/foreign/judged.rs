//! Small files of every kind compared with tshark: the same packets at the same times, or a reason
//! why not.

use super::build::{MICROSECONDS, NANOSECONDS, Ng, ethernet, pcap, udp};
use super::{MS, START, datagrams};
use std::io::{self, Write};
use std::process::Command;
use wirestamp_capture::read::Reader;

/// Whether tshark is installed; prints a note if not.
fn is_possible() -> bool {
    if Command::new("tshark").arg("--version").output().is_ok() {
        return true;
    }
    assert!(
        std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
        "no tshark: scripts/setup installs it"
    );
    writeln!(
        io::stderr(),
        "skipped: capture files are not judged: no tshark"
    )
    .expect("open");
    false
}

/// A packet: its time in nanoseconds, its length, and its captured length.
type Row = (Option<i64>, usize, usize);

fn judged(name: &str, bytes: &[u8]) -> Vec<Row> {
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join(name);
    std::fs::write(&file, bytes).expect("written");
    let fields = [
        "-e",
        "frame.time_epoch",
        "-e",
        "frame.len",
        "-e",
        "frame.cap_len",
    ];
    let output = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(&file)
        .args(["-T", "fields"])
        .args(fields)
        .output()
        .expect("run");
    let text = String::from_utf8_lossy(&output.stdout);
    let row = |line: &str| {
        let fields: Vec<_> = line.split('\t').collect();
        let number = |place: usize| fields[place].parse().expect("a number");
        (nanoseconds(fields[0]), number(1), number(2))
    };
    let rows: Vec<_> = text.lines().map(row).collect();
    assert!(!rows.is_empty(), "{name}: {output:?}");
    rows
}

/// `1790000000.000000005`; tshark may print less than nanoseconds, or a time without a fraction.
fn nanoseconds(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{fraction:0<9}");
    let fraction: i64 = digits.get(..9)?.parse().ok()?;
    let whole: i64 = seconds.parse().ok()?;
    let fraction = if seconds.starts_with('-') {
        -fraction
    } else {
        fraction
    };
    Some(whole * 1_000_000_000 + fraction)
}

fn read(name: &str, bytes: &[u8]) -> Vec<Row> {
    let mut reader = Reader::new(name, bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut rows = Vec::new();
    while let Some(packet) = reader
        .next_packet()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
    {
        rows.push((packet.utc_ns, packet.length as usize, packet.data.len()));
    }
    rows
}

/// Reads a file as tshark does, if that is installed.
pub(super) fn agrees_with_tshark(name: &str, bytes: &[u8]) {
    if is_possible() {
        assert_eq!(read(name, bytes), judged(name, bytes), "{name}");
    }
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let data = datagrams(6);
    for big_endian in [false, true] {
        let order = if big_endian { "be" } else { "le" };
        for (magic, second) in [(MICROSECONDS, 1_000_000), (NANOSECONDS, 1_000_000_000)] {
            for (zone, link_type) in [
                (0, 101),
                (3_600, 101),
                (-18_000, 0x2400_0001),
                (0, 0x5000_0001),
            ] {
                let packets: Vec<_> = (0..)
                    .zip(&data)
                    .map(|(number, data)| {
                        let frame = if link_type == 101 {
                            data.clone()
                        } else {
                            [ethernet(&[8, 0], data), vec![0; 4]].concat()
                        };
                        ((1_790_000_000 + number, number * (second / 7)), frame)
                    })
                    .collect();
                files.push((
                    format!("{order}-{second}-{zone}-{link_type:x}.pcap"),
                    pcap(big_endian, magic, zone, link_type, &packets),
                ));
            }
        }
        files.push((format!("{order}-times.pcapng"), times(big_endian, &data)));
        files.push((format!("{order}-blocks.pcapng"), blocks(big_endian, &data)));
        files.push((
            format!("{order}-order.pcapng"),
            out_of_order(big_endian, &data),
        ));
    }
    files
}

/// Interfaces of every resolution and offset.
fn times(big_endian: bool, data: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Ng::new(big_endian, 101, &[]);
    let mut interface = 0;
    for resolution in [0, 3, 6, 9, 0x80, 0x8a, 0x94, 0xa0] {
        for offset in [None, Some(0), Some(1_000_000_000_i64), Some(-1_000)] {
            let mut options = vec![(9, vec![resolution])];
            if let Some(offset) = offset {
                options.push((14, file.order.double(offset as u64).to_vec()));
            }
            file.interface(101, &options);
            interface += 1;
            let second = match resolution {
                0..0x80 => 10_u64.pow(u32::from(resolution)),
                _ => 1 << (resolution & 0x7f),
            };
            for (number, data) in (0..).zip(data) {
                let count = 700_000_000 * second + number * (second / 7 + 1);
                let flags = [(2, file.order.word(number as u32 % 3).to_vec())];
                file.packet(interface, count, data, data.len(), &flags);
            }
        }
    }
    file.bytes
}

/// Every kind of block that can occur between packets, obsolete packets, options, truncated
/// packets, and a second section of the other byte order.
fn blocks(big_endian: bool, data: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Ng::new(big_endian, 101, &[(9, vec![9]), (2, b"eth0".to_vec())]);
    file.obsolete(0, START, &data[0], &[]);
    file.block(4, &[0; 4]); // names
    file.obsolete(0, START + MS, &data[1], &[(2, file.order.word(2).to_vec())]);
    file.packet(
        0,
        START + 2 * MS,
        &data[2][..60],
        data[2].len(),
        &[(1, b"a comment".to_vec())],
    );
    let statistics = [file.order.word(0), file.order.word(0), file.order.word(0)].concat();
    file.block(5, &statistics);
    file.packet(0, START + 3 * MS, &data[3], data[3].len(), &[]);
    let mut other = Ng::new(!big_endian, 1, &[]);
    other.packet(0, START / 1_000, &ethernet(&[8, 0], &data[4]), 142, &[]);
    file.bytes.extend(other.bytes);
    file.bytes
}

/// Packets of two interfaces, one after the other; one packet occurs twice.
fn out_of_order(big_endian: bool, data: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Ng::new(big_endian, 101, &[(9, vec![9])]);
    file.interface(101, &[(9, vec![6])]);
    for number in [3, 4, 5, 5] {
        file.packet(0, START + number * MS, &data[number as usize], 128, &[]);
    }
    for number in 0..3 {
        file.packet(
            1,
            START / 1_000 + number * 1_000,
            &data[number as usize],
            128,
            &[],
        );
    }
    file.bytes
}

#[test]
fn tshark_reads_the_same_packets_at_the_same_times() {
    if !is_possible() {
        return;
    }
    let corpus = corpus();
    for (name, bytes) in &corpus {
        assert_eq!(read(name, bytes), judged(name, bytes), "{name}");
    }
    assert_eq!(corpus.len(), 22);
}

/// Files for which tshark prints a time, and we report that there is none.
#[test]
fn what_is_no_time_is_none() {
    let data = udp(1, 2, (5, 6), 1, b"simple");
    let mut simple = Ng::of(101);
    simple.simple(&data);
    let fraction = pcap(
        false,
        MICROSECONDS,
        0,
        101,
        &[((5, 1_000_000), data.clone())],
    );
    let mut late = Ng::new(false, 101, &[(9, vec![0])]);
    late.packet(0, u64::MAX, &data, data.len(), &[]);
    for bytes in [simple.bytes, fraction, late.bytes] {
        assert_eq!(read("it", &bytes), [(None, data.len(), data.len())]);
    }
}
