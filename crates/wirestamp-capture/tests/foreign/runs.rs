//! Runs of the clocks of two hosts, and of the two counters of one host: times of the same run, and
//! times whose runs only have the same number.

use super::build::{Ng, udp};
use super::{MS, START, compared, file, only};
use wirestamp_capture::answers::{ServiceReport, answers};
use wirestamp_capture::compare::{FlowReport, Options, RunDelay};
use wirestamp_capture::read::Reader;

/// The error of a host's clock from a packet on.
type Steps = &'static [(u16, i64)];

/// Packets every 50 ms, delayed by `later`, of a host whose clock has these steps.
fn host(count: u16, later: u64, steps: Steps) -> Vec<u8> {
    let mut file = Ng::of(101);
    for number in 0..count {
        let before = steps.iter().filter(|(from, _)| *from <= number);
        let (run, off) = before.fold((0, 0), |(run, _), (_, off)| (run + 1, *off));
        let at = (START + u64::from(number) * 50 * MS + later).wrapping_add_signed(off);
        let note = format!("wirestamp: software clock, error bound 1 ns, generation {run}");
        file.whole(at, &udp(1, 2, (5, 6), number, &number.to_be_bytes()), &note);
    }
    file.bytes
}

fn of(a: Steps, b: Steps) -> FlowReport {
    let (a, b) = (host(1_000, 0, a), host(1_000, 3 * MS, b));
    only(&compared(&a, &b, Options::default())).clone()
}

fn told(flow: &FlowReport) -> Vec<([u32; 2], u64, i64)> {
    let told = |told: &RunDelay| {
        let RunDelay { steps, delay, .. } = told;
        assert_eq!(
            (delay.minimum_ns, delay.error_bound_ns),
            (delay.maximum_ns, Some(2))
        );
        (*steps, delay.count, delay.maximum_ns)
    };
    flow.delays.iter().map(told).collect()
}

const SECOND: i64 = 1_000 * MS as i64;
const DELAY: i64 = 3 * MS as i64;

#[test]
fn after_a_step_on_one_host_all_packets_have_delays_of_a_run_of_their_own() {
    let by: Steps = &[(300, -2 * SECOND)];
    let flow = of(by, &[]);
    assert_eq!((flow.matched, flow.across_step), (1_000, 0), "{flow:?}");
    assert_eq!(
        told(&flow),
        [([0, 0], 300, DELAY), ([1, 0], 700, DELAY + 2 * SECOND)]
    );
    assert_eq!(
        flow.delay,
        Some(flow.delays[1].delay),
        "that of most packets"
    );
    let flow = of(&[], by);
    let expected = [([0, 0], 300, DELAY), ([0, 1], 700, 2 * SECOND - DELAY)];
    let expected = expected.map(|(steps, count, delay)| (steps, count, delay));
    // most packets seem to go in the other direction
    let flipped = told(&flow)
        .into_iter()
        .map(|(steps, count, delay)| (steps, count, delay.abs()));
    assert_eq!(flipped.collect::<Vec<_>>(), expected);
    assert_eq!(flow.across_step, 0);
}

#[test]
fn equal_numbers_of_two_hosts_are_not_the_same_run() {
    // both are 1 from packet 700 on, and stepped by different amounts
    let flow = of(&[(300, SECOND)], &[(700, 3 * SECOND)]);
    assert_eq!((flow.matched, flow.across_step), (1_000, 0), "{flow:?}");
    let delays: Vec<_> = told(&flow)
        .iter()
        .map(|(steps, count, _)| (*steps, *count))
        .collect();
    assert_eq!(delays, [([0, 0], 300), ([1, 0], 400), ([1, 1], 300)]);
}

#[test]
fn what_may_be_under_way_while_one_clock_of_both_captures_is_stepped_has_no_delay() {
    let same: Steps = &[(500, -SECOND)];
    let flow = of(same, same);
    assert_eq!((told(&flow).len(), flow.across_step), (2, 0), "{flow:?}");
    // packets 480 to 499 arrive after the step
    let flow = of(same, &[(480, -SECOND)]);
    assert_eq!((flow.matched, flow.across_step), (1_000, 20), "{flow:?}");
    assert_eq!(told(&flow), [([0, 0], 480, DELAY), ([1, 1], 500, DELAY)]);
    // no packet follows them
    let a = host(500, 0, &[]);
    let b = host(500, 3 * MS, &[(499, -SECOND)]);
    let report = compared(&a, &b, Options::default());
    let flow = only(&report);
    assert_eq!(
        (told(flow), flow.across_step),
        (vec![([0, 0], 499, DELAY)], 1)
    );
}

/// Requests with the kernel's counter every 10 ms, and answers with the NIC's counter 1 ms later.
/// `steps` are the numbers before which each counter notices a step, and the sizes of the steps.
fn mixed(kernel: &[u16], nic: &[u16], moved: impl Fn(u16, bool) -> i64) -> ServiceReport {
    let mut file = Ng::of(101);
    for number in 0..200_u16 {
        let run = |noticed: &[u16]| noticed.iter().filter(|from| **from <= number).count();
        let (asked, answered) = (run(kernel), run(nic));
        let at = START + u64::from(number) * 10 * MS;
        let note = format!("wirestamp: software clock, error bound 1 ns, generation {asked}");
        let data = udp(1, 2, (9, 53), number, &number.to_be_bytes());
        file.whole(at.wrapping_add_signed(moved(number, false)), &data, &note);
        let note = format!(
            "wirestamp: hardware clock, error bound 9 ns, generation 0, UTC generation {answered}"
        );
        let data = udp(2, 1, (53, 9), number, &number.to_be_bytes());
        file.whole(
            (at + MS).wrapping_add_signed(moved(number, true)),
            &data,
            &note,
        );
    }
    let mut reader = Reader::new("a", &file.bytes[..]).expect("is a capture");
    let report = answers(&mut reader, SECOND).expect("reads");
    let service = report.services[0].clone();
    let told = service.answers.expect("timed");
    assert_eq!((told.minimum_ns, told.maximum_ns), (MS as i64, MS as i64));
    assert_eq!(told.count + service.across_step, 200, "{service:?}");
    service
}

#[test]
fn the_counters_of_the_kernel_and_of_the_nic_are_told_apart() {
    assert_eq!(mixed(&[], &[], |_, _| 0).across_step, 0);
    // a step between request and answer 100, which the kernel's counter notices at request 101
    let large = |number: u16, is_answer: bool| {
        if (number, is_answer) >= (100, true) {
            -SECOND
        } else {
            0
        }
    };
    assert_eq!(mixed(&[101], &[100], large).across_step, 1);
    // the kernel's counter has noticed one more step before, which was small: its 1 is not the NIC's 1
    let small =
        |number: u16, is_answer: bool| large(number, is_answer) + if number >= 50 { 3 } else { 0 };
    let across = mixed(&[50, 101], &[100], small).across_step;
    assert!((1..=2).contains(&across), "{across}");
}

/// Packets of `sendmsg` with `UDP_SEGMENT`, captured before segmentation: shorter than a frame, and
/// ten datagrams.
#[test]
fn datagrams_that_gso_cuts_into_short_ones_are_not_lost() {
    let whole: Vec<_> = (0..20)
        .map(|number| {
            (
                u64::from(number) * MS,
                udp(1, 2, (5, 6), number, &[number as u8; 1_000]),
            )
        })
        .collect();
    // one of these was really lost, which cannot be known
    let parts: Vec<_> = (1..200)
        .map(|number| {
            (
                u64::from(number) * MS / 10,
                udp(1, 2, (5, 6), 100 + number, &[number as u8; 100]),
            )
        })
        .collect();
    let (whole, parts) = (file(&whole), file(&parts));
    for (a, b, undecided) in [(&whole, &parts, [20, 199]), (&parts, &whole, [199, 20])] {
        let report = compared(a, b, Options::default());
        let flow = only(&report);
        assert_eq!(
            (flow.lost, flow.extra, flow.duplicated),
            (0, 0, 0),
            "{report:?}"
        );
        let others = flow.undecided[0] + flow.undecided[1] + flow.outside;
        assert_eq!(others, 219, "{flow:?}");
        assert!(
            undecided
                .iter()
                .zip(flow.undecided)
                .all(|(all, found)| found > all / 2)
        );
    }
}

#[test]
fn datagrams_of_many_lengths_are_lost_where_the_other_capture_has_no_others() {
    let of = |keep: fn(u16) -> bool| {
        let kept = (0..200_u16).filter(|number| keep(*number));
        let packets = kept.map(|number| {
            let data = vec![number as u8; 100 + 7 * usize::from(number)];
            (u64::from(number) * MS, udp(1, 2, (5, 6), number, &data))
        });
        file(&packets.collect::<Vec<_>>())
    };
    let report = compared(
        &of(|_| true),
        &of(|number| number % 10 != 3),
        Options::default(),
    );
    let flow = only(&report);
    assert_eq!((flow.lost, flow.undecided), (20, [0, 0]), "{flow:?}");
}

/// Ten requests, and an answer of the given length while they wait, after an answer to one of 100 bytes.
fn answered_together(length: usize) -> ServiceReport {
    let mut file = Ng::of(101);
    let mut put = |at: u64, is_answer: bool, number: u16, length: usize| {
        let data = vec![number as u8; length];
        let data = if is_answer {
            udp(2, 1, (53, 9), number, &data)
        } else {
            udp(1, 2, (9, 53), number, &data)
        };
        file.whole(START + at * MS, &data, "");
    };
    put(0, false, 0, 100);
    put(1, true, 0, 100);
    (1..=10).for_each(|number| put(9 + u64::from(number), false, number, 100));
    put(30, true, 1, length);
    put(5_000, false, 11, 100);
    put(5_001, true, 11, 100);
    let mut reader = Reader::new("a", &file.bytes[..]).expect("is a capture");
    answers(&mut reader, SECOND).expect("reads").services[0].clone()
}

#[test]
fn a_datagram_that_is_several_answers_leaves_no_request_unanswered() {
    let service = answered_together(1_000);
    assert_eq!(
        (service.unanswered, service.undecided, service.ambiguous),
        (0, 9, 1)
    );
    let service = answered_together(100);
    assert_eq!(
        (service.unanswered, service.undecided, service.ambiguous),
        (9, 0, 1)
    );
}

/// Two requests and an answer to one or both, then `later` answers to one request each.
fn answered_from_the_beginning(length: usize, later: u16) -> ServiceReport {
    let mut file = Ng::of(101);
    let mut put = |at: u64, is_answer: bool, number: u16, length: usize| {
        let (hosts, ports) = if is_answer {
            ((2, 1), (53, 9))
        } else {
            ((1, 2), (9, 53))
        };
        let data = udp(hosts.0, hosts.1, ports, number, &vec![number as u8; length]);
        file.whole(START + at * MS, &data, "");
    };
    put(0, false, 0, 100);
    put(1, false, 1, 100);
    put(2, true, 0, length);
    for number in 0..later {
        let at = 5_000 + 100 * u64::from(number);
        put(at, false, 2 + number, 100);
        put(at + 1, true, 2 + number, 700);
    }
    put(90_000, false, 99, 100);
    let mut reader = Reader::new("a", &file.bytes[..]).expect("is a capture");
    answers(&mut reader, SECOND).expect("reads").services[0].clone()
}

#[test]
fn a_first_datagram_that_is_several_answers_leaves_no_request_unanswered() {
    let of = |length, later| {
        let service = answered_from_the_beginning(length, later);
        (service.unanswered, service.undecided, service.ambiguous)
    };
    // the last request's time limit has not passed in any of them
    assert_eq!(of(1_400, 0), (0, 2, 1), "nothing to compare it with");
    assert_eq!(of(1_400, 3), (0, 2, 1), "shorter ones come later");
    assert_eq!(
        of(700, 3),
        (0, 2, 1),
        "shorter or not, they come after its time"
    );
}

#[test]
fn answers_of_one_length_may_each_be_several_until_one_request_alone_had_one() {
    let mut file = Ng::of(101);
    let asked = |number: u16| udp(1, 2, (9, 53), number, &number.to_be_bytes());
    let told = |number: u16| udp(2, 1, (53, 9), number, &number.to_be_bytes());
    (0..4).for_each(|number| file.whole(START + u64::from(number) * MS, &asked(number), ""));
    (0..2).for_each(|number| file.whole(START + u64::from(10 + number) * MS, &told(number), ""));
    file.whole(START + 90_000 * MS, &asked(99), "");
    let mut reader = Reader::new("a", &file.bytes[..]).expect("is a capture");
    let report = answers(&mut reader, SECOND).expect("reads");
    let service = &report.services[0];
    let counts = (service.unanswered, service.undecided, service.ambiguous);
    assert_eq!(counts, (0, 3, 2), "{service:?}");

    let mut file = Ng::of(101);
    file.whole(START, &asked(7), "");
    file.whole(START + MS, &told(7), "");
    let later = START + 5_000 * MS;
    (0..4).for_each(|number| file.whole(later + u64::from(number) * MS, &asked(number), ""));
    (0..2).for_each(|number| file.whole(later + u64::from(10 + number) * MS, &told(number), ""));
    file.whole(START + 90_000 * MS, &asked(99), "");
    let mut reader = Reader::new("a", &file.bytes[..]).expect("is a capture");
    let report = answers(&mut reader, SECOND).expect("reads");
    let service = &report.services[0];
    let counts = (service.unanswered, service.undecided, service.ambiguous);
    assert_eq!(counts, (2, 1, 2), "{service:?}");
}
