//! The files of a capture that begins a new one from time to time are read as one.

use super::build::{NANOSECONDS, Ng, ethernet, pcap, udp};
use super::{MS, START, compared, datagrams, file, only, sent};
use wirestamp_capture::answers::answers;
use wirestamp_capture::compare::{Options, Report, compare};
use wirestamp_capture::read::{File, Reader};
use wirestamp_core::{Error, ErrorKind};

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

/// The error that reading ends with.
fn failure(files: &[Vec<u8>]) -> Error {
    let mut reader = reader(files);
    loop {
        match reader.next_packet() {
            Ok(packet) => assert!(packet.is_some(), "it is read to its end"),
            Err(error) => return error,
        }
    }
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

/// A packet every 10 ms, of these numbers, cut into files of so many; before some packets the clock is stepped by so many milliseconds.
fn cut(
    numbers: std::ops::Range<u64>,
    length: u64,
    later: u64,
    steps: &[(u64, i64)],
) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    let at = |number: u64, run: usize| {
        let by: i64 = steps[..run].iter().map(|(_, by)| by * MS as i64).sum();
        (START + (number * 10 + later) * MS).wrapping_add_signed(by)
    };
    let run = |number: u64| steps.iter().filter(|(before, _)| number >= *before).count();
    let end = numbers.end;
    for begun in numbers.step_by(length as usize) {
        let mut file = Ng::of(101);
        let until = end.min(begun + length);
        for number in (begun..until).filter(|number| later == 0 || number % 100 != 50) {
            let note = format!(
                "wirestamp: software clock, error bound 1 ns, generation {}",
                run(number)
            );
            let data = udp(1, 2, (5, 6), number as u16, &number.to_be_bytes());
            file.whole(at(number, run(number)), &data, &note);
        }
        let last = until - 1;
        let lasted = [at(begun, run(begun)), at(last, run(last))];
        let options: Vec<_> = [2, 3]
            .into_iter()
            .zip(lasted.map(|at| file.time(at)))
            .collect();
        let options = file.options(&options);
        file.block(5, &[&[0; 12], &options[..]].concat());
        files.push(file.bytes);
    }
    files
}

/// The files' counter of generations goes on, and steps are between two files or within one.
#[test]
fn a_capture_with_steps_is_the_same_when_it_is_cut_into_files() {
    for steps in [
        &[][..],
        &[(600, -50)],
        &[(650, -50)],
        &[(650, 3_000), (1_200, -50)],
        &[(300, 4_000), (655, -90), (656, 200), (900, 7)],
    ] {
        let whole = cut(0..2_000, 2_000, 3, steps);
        let files = cut(0..2_000, 100, 3, steps);
        // the other capture lasts longer at both ends
        let other = cut(0..2_300, 2_300, 0, &[]);
        let [whole_report, report] = [&whole, &files].map(|files| compared_to(&other[0], files));
        assert_eq!(report, whole_report, "{steps:?}");
        assert_eq!(report.files[1].clock_steps, steps.len() as u64);
        assert_eq!(only(&report).matched, 1_980, "{steps:?}");
        let answered =
            |files: &[Vec<u8>]| answers(&mut reader(files), 1_000_000_000).expect("reads");
        assert_eq!(answered(&files), answered(&whole), "{steps:?}");
    }
}

/// Packet 104 is earlier than the end of the first file.
#[test]
fn files_last_until_the_end_of_the_last_one() {
    let steps = [(102, -60)];
    for files in [cut(0..105, 105, 0, &steps), cut(0..105, 100, 0, &steps)] {
        let mut reader = reader(&files);
        while reader.next_packet().expect("reads").is_some() {}
        let end = START + 980 * MS;
        assert_eq!(reader.lasted(), Some(START as i64..=end as i64));
    }
}

/// The files behind a step back by an hour are sorted before the others.
#[test]
fn a_file_with_an_earlier_generation_than_the_one_before_it_is_an_error() {
    let mut files = cut(0..400, 100, 0, &[(200, -3_600_000)]);
    files.rotate_left(2);
    let error = failure(&files);
    let text = error.to_string();
    assert_eq!(
        (error.kind(), error.target()),
        (ErrorKind::InvalidInput, "2")
    );
    assert!(
        text.contains("begins with clock generation 0, after generation 1"),
        "{text}"
    );
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
        let error = failure(files);
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = error.to_string();
        assert!(text.contains(cause), "{text}");
        assert_eq!(error.target(), name, "{text}");
    }
}

#[test]
fn files_out_of_order_become_one_and_are_sorted() {
    let mut packets: Vec<_> = (0..).zip(datagrams(40)).collect();
    packets.rotate_left(20);
    let timed = packets
        .into_iter()
        .map(|(number, data)| (number * MS, data));
    let files = [file(&timed.collect::<Vec<_>>())];
    let mut options = Options::default();
    options.order_window = 16;
    let (mut a, mut b) = (reader(&files), reader(&files));
    let error = compare(&mut a, &mut b, options).expect_err("too far");
    let text = error.to_string();
    assert!(text.contains("packet 21 of all files is"), "{text}");
    assert!(text.contains("mergecap"), "{text}");
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
