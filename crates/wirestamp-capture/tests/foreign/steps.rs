//! Steps of a clock: packets that they make undecidable are neither lost nor unanswered; missing
//! packets still are.

use super::build::{Ng, ipv4, udp};
use super::{MS, START, compared, file, only};
use proptest::prelude::*;
use wirestamp_capture::answers::{Report as Answers, answers};
use wirestamp_capture::compare::{FlowReport, Options};
use wirestamp_capture::read::Reader;

/// The error of a host's clock before packet 100 and from there on.
#[derive(Clone, Copy, Debug)]
struct Off {
    before: i64,
    after: i64,
}

const RIGHT: Off = Off {
    before: 0,
    after: 0,
};
const SECOND: i64 = 1_000 * MS as i64;

/// Packets of these numbers, one every 10 ms, with a pause before packet 100.
fn host(numbers: impl IntoIterator<Item = u16>, pause: u64, later: u64, off: Off) -> Vec<u8> {
    let mut file = Ng::of(101);
    for number in numbers {
        let is_after = number >= 100;
        let (pause, off) = if is_after {
            (pause, off.after)
        } else {
            (0, off.before)
        };
        let at = (START + u64::from(number) * 10 * MS + pause + later).wrapping_add_signed(off);
        let run = if is_after && off != 0 { 1 } else { 0 };
        let note = format!("wirestamp: software clock, error bound 1 ns, generation {run}");
        file.whole(at, &udp(1, 2, (5, 6), number, &number.to_be_bytes()), &note);
    }
    file.bytes
}

/// A sends 1,400 packets, with a pause of 15 s; packets 20, 99, 300 and 1,300 do not arrive at B.
fn of_clocks(a: Off, b: Off) -> FlowReport {
    let arrived = (0..1_400).filter(|number| ![20, 99, 300, 1_300].contains(number));
    let pause = 15_000 * MS;
    let a = host(0..1_400, pause, 0, a);
    let b = host(arrived, pause, 3 * MS, b);
    only(&compared(&a, &b, Options::default())).clone()
}

#[test]
fn a_step_of_one_clock_loses_nothing_that_arrived() {
    let counts = |flow: &FlowReport| {
        let (lost, extra) = (flow.lost, flow.extra);
        (flow.matched, lost, extra, flow.undecided, flow.outside)
    };
    let by = |before, after| Off { before, after };
    for millisecond in [by(0, MS as i64), by(0, -(MS as i64))] {
        let flow = of_clocks(millisecond, RIGHT);
        assert_eq!(counts(&flow), (1_396, 2, 0, [2, 0], 0), "{millisecond:?}");
        let flow = of_clocks(RIGHT, millisecond);
        assert_eq!((flow.matched, flow.lost, flow.extra), (1_396, 2, 0));
    }
}

#[test]
fn a_clock_that_is_set_right_is_compared_from_then_on() {
    let mut a = Ng::of(101);
    let note = |run| format!("wirestamp: software clock, error bound 1 ns, generation {run}");
    let (mut b, packet) = (Ng::of(101), |number: u16| {
        udp(1, 2, (5, 6), number, &number.to_be_bytes())
    });
    a.whole(START - 20_000 * MS, &packet(0), &note(0));
    for number in 1..1_400 {
        let at = START + u64::from(number) * 10 * MS;
        a.whole(at, &packet(number), &note(1));
        if number != 300 {
            b.whole(at + 3 * MS, &packet(number), &note(0));
        }
    }
    let report = compared(&a.bytes, &b.bytes, Options::default());
    let flow = only(&report);
    assert_eq!((flow.matched, flow.lost, flow.extra), (1_398, 1, 0));
    assert_eq!(flow.undecided[0] + flow.outside, 1, "{flow:?}");
}

/// The clock is set back by the length of the pause, which hides the pause; or it is ahead by more
/// than the window.
#[test]
fn what_a_step_makes_undecidable_is_undecided() {
    for after in [-15 * SECOND, 3_600 * SECOND, -3_600 * SECOND] {
        let off = Off { before: 0, after };
        for (a, b) in [(off, RIGHT), (RIGHT, off)] {
            let flow = of_clocks(a, b);
            assert_eq!((flow.lost, flow.extra), (0, 0), "{a:?} {b:?}: {flow:?}");
            assert_eq!(flow.duplicated, 0);
            assert!(flow.matched >= 98, "{a:?} {b:?}: {flow:?}");
            assert_eq!(flow.in_a + flow.in_b + flow.outside, 1_400 + 1_396);
        }
    }
}

#[test]
fn packets_behind_the_end_of_the_other_capture_are_not_lost_after_a_step() {
    let steps = [MS as i64, 2 * SECOND].map(|after| Off { before: 0, after });
    let of = |a: Off, b: Off| {
        let (pause, arrived) = (2_000 * MS, (0..300).filter(|number| *number != 150));
        let files = [host(0..450, pause, 0, a), host(arrived, pause, 3 * MS, b)];
        let flow = only(&compared(&files[0], &files[1], Options::default())).clone();
        assert_eq!((flow.matched, flow.extra), (299, 0), "{flow:?}");
        let missing = flow.lost + flow.undecided[0] + flow.outside;
        assert_eq!(missing, 151, "{flow:?}");
        flow.lost
    };
    assert_eq!(of(steps[0], RIGHT), 1);
    assert_eq!(of(RIGHT, steps[0]), 1);
    // no farther from the step or the end than the difference between the clocks
    assert_eq!(of(RIGHT, steps[1]), 0);
    assert_eq!(of(steps[1], RIGHT), 0);
}

/// A flow with a packet every second, all different, and an identical packet every 15 s. Before
/// packet 100 the clock is stepped.
fn with_heartbeats(from: u64, until: u64, later: u64, by: i64) -> Vec<u8> {
    let mut file = Ng::of(101);
    for number in from..until {
        let (run, off) = if number < 100 {
            (0, 0)
        } else {
            (u32::from(by != 0), by)
        };
        let note = format!("wirestamp: software clock, error bound 1 ns, generation {run}");
        let at = (START + number * 1_000 * MS + later * MS).wrapping_add_signed(off);
        let unique = udp(1, 2, (5, 6), number as u16, &number.to_be_bytes());
        file.whole(at, &unique, &note);
        if number % 15 == 0 {
            file.whole(at + MS, &udp(1, 2, (7, 8), 0, b"alive"), &note);
        }
    }
    file.bytes
}

#[test]
fn heartbeats_that_look_alike_do_not_show_that_clocks_agree() {
    // more than two hours, so that lines an hour apart have packets in common
    for (from, by) in [(0, 3_600), (0, -3_600), (3_500, 3_600)] {
        let (stepped, other) = (
            with_heartbeats(0, 8_000, 0, by * SECOND),
            with_heartbeats(from, 8_000, 3, 0),
        );
        for (a, b) in [(&stepped, &other), (&other, &stepped)] {
            let report = compared(a, b, Options::default());
            let flow = report
                .flows
                .iter()
                .find(|flow| flow.flow.is_some_and(|flow| flow.source_port == 5));
            let flow = flow.expect("the flow");
            let wrong = flow.lost + flow.extra;
            assert!(
                wrong <= u64::from(from > 0),
                "from {from}, by {by} s: {flow:?}"
            );
        }
    }
}

#[test]
fn what_one_capture_alone_has_does_not_hide_a_loss_after_a_step() {
    let file = |only_here: u16, by: i64, later: u64, lost: u16| {
        let mut file = Ng::of(101);
        for number in 0..2_000_u16 {
            let run = u32::from(number >= 100 && by != 0);
            let note = format!("wirestamp: software clock, error bound 1 ns, generation {run}");
            let off = if run > 0 { by } else { 0 };
            let at = (START + (u64::from(number) * 50 + later) * MS).wrapping_add_signed(off);
            if number != lost {
                file.whole(at, &udp(1, 2, (5, 6), number, &number.to_be_bytes()), &note);
            }
            for more in 0..3 {
                let other = udp(1, 2, (only_here, 9 + more), number, b"elsewhere");
                file.whole(at, &other, &note);
            }
        }
        file.bytes
    };
    let (a, b) = (file(20, 2 * MS as i64, 0, 9_999), file(30, 0, 3, 1_000));
    let report = compared(&a, &b, Options::default());
    let flow = report
        .flows
        .iter()
        .find(|flow| flow.flow.is_some_and(|flow| flow.source_port == 5));
    let flow = flow.expect("the flow");
    assert_eq!(
        (flow.lost, flow.extra, flow.undecided),
        (1, 0, [0, 0]),
        "{flow:?}"
    );
}

/// A capture with a packet every 100 ms: the packets, and the steps of the clock, which was right
/// until then, in milliseconds.
#[derive(Clone, Debug)]
struct Made {
    from: u16,
    until: u16,
    steps: Vec<(u16, i64)>,
}

impl Made {
    fn any() -> impl Strategy<Value = Self> {
        let by = prop_oneof![-40_000..40_000_i64, -20..20_i64, -3_600_000..3_600_000_i64];
        let steps = proptest::collection::vec((151..400_u16, by), 0..3);
        (0..150_u16, 250..400_u16, steps).prop_map(|(from, until, steps)| Self {
            from,
            until,
            steps,
        })
    }

    fn has(&self, number: u16) -> bool {
        (self.from..self.until).contains(&number)
    }

    fn file(&self, later: u64, pause: (u16, u64), numbers: impl Fn(u16) -> bool) -> Vec<u8> {
        let mut file = Ng::of(101);
        for number in (self.from..self.until).filter(|number| numbers(*number)) {
            let paused = if number >= pause.0 { pause.1 } else { 0 };
            let at = START + (u64::from(number) * 100 + paused + later) * MS;
            let steps = self.steps.iter().filter(|(before, _)| number >= *before);
            let (run, by) = steps.fold((0, 0), |(run, sum), (_, by)| (run + 1, sum + by));
            let note = format!("wirestamp: software clock, error bound 1 ns, generation {run}");
            let data = udp(1, 2, (5, 6), number, &number.to_be_bytes());
            file.whole(at.wrapping_add_signed(by * MS as i64), &data, &note);
        }
        file.bytes
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_the_clocks_do_only_what_is_missing_is_lost(
        made in [Made::any(), Made::any()], pause in (0..400_u16, 0..40_000_u64), dropped in 2..50_u16,
    ) {
        let [sender, receiver] = &made;
        let arrives = |number: u16| number % dropped != 1;
        let a = sender.file(0, pause, |_| true);
        let b = receiver.file(3, pause, arrives);
        let both = |number: &u16| sender.has(*number) && receiver.has(*number);
        let missing = (0..400).filter(both).filter(|number| !arrives(*number)).count() as u64;
        for flow in &compared(&a, &b, Options::default()).flows {
            // without directions the sign of the delay gives the direction of the packet
            let alone = flow.lost + flow.extra;
            prop_assert!(alone <= missing && flow.duplicated == 0, "{} missing: {:?}", missing, flow);
            if made.iter().all(|made| made.steps.is_empty()) {
                prop_assert!(alone + flow.outside >= missing, "{:?}", flow);
                prop_assert_eq!(flow.undecided, [0, 0]);
            }
        }
    }
}

fn answered(bytes: &[u8]) -> Answers {
    let mut reader = Reader::new("it", bytes).expect("is a capture");
    answers(&mut reader, 1_000_000_000).expect("reads")
}

fn ask(port: u16) -> Vec<u8> {
    udp(1, 2, (port, 53), port, b"who?")
}

/// ICMP, much later: shows that the capture continued.
fn much_later() -> (u64, Vec<u8>) {
    (200_000 * MS, ipv4(3, 4, 1, 1, &[0; 8]))
}

#[test]
fn fragments_may_be_answers() {
    let fragment = |number: u8| {
        let mut data = ipv4(2, 1, 7, 17, &[0, 53, 3, 232, 0, 16, 0, 0]);
        (data[6], data[7]) = if number == 0 { (0x20, 0) } else { (0, 1) };
        data
    };
    let mut packets: Vec<_> = (0..3)
        .map(|number| (u64::from(number), ask(1_000 + number)))
        .collect();
    packets.extend([(MS, fragment(0)), (MS + 1, fragment(1)), much_later()]);
    let report = answered(&file(&packets));
    let service = &report.services[0];
    assert_eq!(
        (service.unanswered, service.undecided),
        (1, 2),
        "{report:?}"
    );
    assert_eq!(report.others, 3);
}

#[test]
fn a_request_whose_time_is_not_over_is_undecided() {
    // at the end of the file
    let packets = [
        (0, ask(1_000)),
        (MS, ask(1_001)),
        (1_000 * MS + 1, ask(1_002)),
    ];
    let report = answered(&file(&packets));
    let service = &report.services[0];
    assert_eq!(
        (service.unanswered, service.undecided),
        (1, 2),
        "{report:?}"
    );
    // more requests than are followed per connection
    let mut packets: Vec<_> = (0..1_025).map(|number| (number, ask(1_000))).collect();
    packets.push(much_later());
    let report = answered(&file(&packets));
    let service = &report.services[0];
    assert_eq!(
        (service.unanswered, service.undecided),
        (1_024, 1),
        "{report:?}"
    );
    // more connections than are followed
    let of = |number: u64| udp(3 + (number >> 16) as u8, 2, (number as u16, 53), 1, b"who?");
    let mut packets: Vec<_> = (1_000..66_537).map(|number| (number, of(number))).collect();
    packets.push(much_later());
    let report = answered(&file(&packets));
    let service = &report.services[0];
    assert_eq!((service.unanswered, service.undecided), (65_536, 1));
}

#[test]
fn a_step_ahead_ends_no_requests_time() {
    let note = |run| format!("wirestamp: software clock, error bound 1 ns, generation {run}");
    let mut file = Ng::of(101);
    let tell = udp(2, 1, (53, 1_002), 9, b"me");
    file.whole(START, &ask(1_000), &note(0)); // its time limit passes before the step
    file.whole(START + 1_500 * MS, &ask(1_001), &note(0));
    file.whole(START + 1_501 * MS, &ask(1_002), &note(0));
    file.whole(START + 7_000 * MS, &tell, &note(1)); // the answer, 1 ms later
    let report = answered(&file.bytes);
    let service = &report.services[0];
    let counts = (service.unanswered, service.undecided, service.across_step);
    assert_eq!(counts, (1, 0, 2), "{report:?}");
}

fn tell(port: u16) -> Vec<u8> {
    udp(2, 1, (53, port), port, b"me")
}

/// Packets at these times in milliseconds, in these runs of the clock.
fn in_runs(packets: &[(u64, u32, Vec<u8>)]) -> Answers {
    let mut file = Ng::of(101);
    for (at, run, data) in packets {
        let note = format!("wirestamp: software clock, error bound 1 ns, generation {run}");
        file.whole(START + at * MS, data, &note);
    }
    answered(&file.bytes)
}

#[test]
fn after_a_step_ahead_no_answer_is_timed_as_that_of_another_request() {
    const HOUR: u64 = 3_600_000;
    let report = in_runs(&[
        (0, 0, ask(1_000)),
        (HOUR + 2, 1, ask(1_000)),
        (HOUR + 3, 1, tell(1_000)), // to the first
        (HOUR + 8, 1, tell(1_000)), // to the second
    ]);
    let service = &report.services[0];
    assert_eq!(
        (service.answers, service.ambiguous),
        (None, 2),
        "{report:?}"
    );
}

#[test]
fn a_request_is_unanswered_once_the_runs_after_it_lasted_longer_than_its_time() {
    let of = |until: u64| {
        let report = in_runs(&[
            (0, 0, ask(1_000)),
            (500, 0, ask(1_001)),
            (50_000, 1, ask(1_002)),
            (50_400, 1, ask(1_003)),
            (90_000, 2, ask(1_004)),
            (90_000 + until, 2, ask(1_005)),
        ]);
        let service = &report.services[0];
        (service.unanswered, service.across_step, service.undecided)
    };
    assert_eq!(of(100), (0, 4, 2), "500 + 400 + 100");
    assert_eq!(of(101), (1, 3, 2));
    assert_eq!(of(601), (3, 1, 2));
    assert_eq!(of(1_001), (5, 0, 1));
}

#[test]
fn a_request_without_a_time_is_of_the_run_before_it() {
    let mut file = Ng::of(101);
    let note = |run| format!("wirestamp: software clock, error bound 1 ns, generation {run}");
    file.whole(START, &ask(1_000), &note(0));
    file.whole(START + 60_000 * MS, &ask(1_001), &note(1));
    file.whole(
        0,
        &ask(1_002),
        "wirestamp: hardware clock, no UTC: it was not read yet",
    );
    file.whole(START + 62_000 * MS, &ask(1_003), &note(1));
    let report = answered(&file.bytes);
    let service = &report.services[0];
    let counts = (service.unanswered, service.across_step, service.undecided);
    assert_eq!(counts, (3, 0, 1), "{report:?}");
}

/// A capture whose clock is set back by an hour, followed by another section.
#[test]
fn a_section_behind_a_step_back_stays_in_order() {
    const MINUTE: u64 = 60_000 * MS;
    let note = |run| format!("wirestamp: software clock, error bound 1 ns, generation {run}");
    let pairs = |file: &mut Ng, from: u64, run: u32, ports: std::ops::Range<u16>| {
        for port in ports {
            let at = from + u64::from(port) * 10 * MS;
            file.whole(at, &ask(port), &note(run));
            file.whole(at + MS, &tell(port), &note(run));
        }
    };
    let start = START + 90 * MINUTE;
    for (at, is_beside) in [
        (start - 50 * MINUTE, false),
        (start - 20 * MINUTE, false),
        (start - 15 * SECOND as u64, true),
    ] {
        let mut file = Ng::of(101);
        pairs(&mut file, start, 0, 0..1_000);
        pairs(&mut file, start - 60 * MINUTE, 1, 1_000..2_000);
        file.section();
        file.interface(101, &[(9, vec![9])]);
        pairs(&mut file, at, 0, 2_000..3_000);
        let report = answered(&file.bytes);
        let service = &report.services[0];
        assert_eq!(
            service.answers.map(|answers| answers.count),
            Some(3_000),
            "{report:?}"
        );
        assert_eq!(report.out_of_order > 0, is_beside, "{report:?}");
    }
}
