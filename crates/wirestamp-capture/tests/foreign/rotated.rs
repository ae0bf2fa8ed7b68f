//! The files of a capture that begins a new one from time to time are read as one.

use super::build::{NANOSECONDS, Ng, ethernet, pcap, udp};
use super::{MS, START, compared, datagrams, file, only, sent};
use wirestamp_capture::compare::{Options, Report, compare};
use wirestamp_capture::read::{File, Reader};
use wirestamp_core::ErrorKind;

/// A reader of files `0`, `1` and so on.
fn reader(files: &[Vec<u8>]) -> Reader<'_> {
    let named = |(number, bytes): (usize, &'_ Vec<u8>)| {
        Ok(File {
            name: number.to_string(),
            input: Box::new(std::io::Cursor::new(bytes.clone())),
        })
    };
    let files = files.iter().enumerate().map(named);
    Reader::of_files(files).expect("reads").expect("a file")
}

fn compared_to(one: &[u8], files: &[Vec<u8>]) -> Report {
    let mut one = Reader::new("one", one).expect("is a capture");
    compare(&mut one, &mut reader(files), Options::default()).expect("reads")
}

/// The packets without the 7th, 3 ms later, 10 in each file: pcapng, then pcap of another link type.
fn rotated() -> Vec<Vec<u8>> {
    let numbered: Vec<_> = (0..).zip(datagrams(50)).collect();
    let mut files = Vec::new();
    for (place, packets) in numbered.chunks(10).enumerate() {
        let packets = packets.iter().filter(|(number, _)| *number != 7);
        let later = packets.map(|(number, data)| ((number + 3) * MS, data));
        if place < 3 {
            let all: Vec<_> = later.map(|(after, data)| (after, data.clone())).collect();
            files.push(file(&all));
            continue;
        }
        let framed = later.map(|(after, data)| {
            let time = (START / 1_000_000_000, after);
            ((time.0 as u32, time.1 as u32), ethernet(&[8, 0], data))
        });
        files.push(pcap(false, NANOSECONDS, 0, 1, &framed.collect::<Vec<_>>()));
    }
    files
}

#[test]
fn files_of_a_capture_are_one_capture() {
    let report = compared_to(&sent(), &rotated());
    let flow = only(&report);
    assert_eq!(
        (flow.matched, flow.lost, flow.outside),
        (49, 1, 0),
        "{report:?}"
    );
    let delay = flow.delay.expect("matched");
    assert_eq!((delay.minimum_ns, delay.maximum_ns), (3_000_000, 3_000_000));
    let side = &report.files[1];
    assert_eq!(
        (side.packets, side.truncated, side.out_of_order),
        (49, false, 0)
    );
    // a file without packets between two others, and one that was not completed
    let mut files = rotated();
    let cut = files[1].len() - 3;
    files[1].truncate(cut);
    files.insert(2, Ng::of(101).bytes);
    let report = compared_to(&sent(), &files);
    assert_eq!((only(&report).matched, only(&report).lost), (48, 2));
    assert!(report.files[1].truncated);
}

/// Heartbeats look alike, and one file ends between two of them.
#[test]
fn an_interface_is_the_same_in_each_file() {
    let heartbeat = udp(1, 2, (5, 6), 0, b"I am here");
    let mut files = Vec::new();
    let mut whole = Ng::of(101);
    for number in 0..4 {
        let mut one = Ng::of(101);
        for place in 0..10 {
            let at = START + (10 * number + place) * 5 * MS;
            one.whole(at, &heartbeat, "");
            whole.whole(at, &heartbeat, "");
        }
        files.push(one.bytes);
    }
    let report = compared_to(&whole.bytes, &files);
    assert_eq!(report.files.each_ref().map(|file| file.copies), [0, 0]);
    assert_eq!((only(&report).matched, only(&report).lost), (40, 0));
}

#[test]
fn files_that_are_not_of_one_capture_are_an_error_that_names_the_file() {
    let overlap = [sent(), sent()];
    let mut broken = rotated();
    broken[1] = b"no capture at all".to_vec();
    let mut contradicting = rotated();
    let mut without_interface = Ng::of(101);
    without_interface.packet(7, START, &[0x45], 1, &[]);
    contradicting[2] = without_interface.bytes;
    for (files, name, cause) in [
        (&overlap[..], "1", "begins 49.0 ms before 0 ends"),
        (&broken, "1", "is neither pcapng nor pcap"),
        (&contradicting, "2", "contradicts itself"),
    ] {
        let mut reader = reader(files);
        let error = loop {
            match reader.next_packet() {
                Ok(packet) => assert!(packet.is_some(), "{cause}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = error.to_string();
        assert!(text.contains(cause), "{text}");
        assert_eq!(error.target(), name, "{text}");
    }
}

#[test]
fn no_file_is_no_capture() {
    assert!(Reader::of_files(Vec::new()).expect("reads").is_none());
    let one = [file(&[(0, datagrams(1)[0].clone())])];
    assert_eq!(
        compared(&one[0], &one[0], Options::default()).files[0].packets,
        1
    );
    assert_eq!(compared_to(&one[0], &one).files[1].packets, 1);
}
