//! Basic and interleaved mode, kiss codes, and unusable servers.

use crate::world::{MILLISECOND, PLAIN, Path, World, field, response, server};
use wirestamp_core::time::Span;
use wirestamp_ntp::{ClientOptions, Kiss, Leap, NoSample, NtpTimestamp, Outcome, Stopped};

fn basic() -> ClientOptions {
    let mut options = ClientOptions::default();
    options.interleaved = false;
    options
}

/// Answers the open request with a changed response.
fn changed(world: &mut World, change: impl FnOnce(&mut Vec<u8>)) -> Outcome {
    let mut answered = world.ask(&PLAIN).expect("not lost");
    change(&mut answered.response);
    world
        .client
        .received(server(), &answered.response, Some(answered.arrived))
}

#[test]
fn the_second_request_asks_for_interleaved_mode_and_the_third_response_is() {
    let mut world = World::new(ClientOptions::default(), 1);
    let mut interleaved = Vec::new();
    for number in 0..5 {
        let answered = world.ask(&PLAIN).expect("not lost");
        let asks = field(&answered.request, 24) != NtpTimestamp::UNKNOWN;
        assert_eq!(asks, number > 0, "request {number}");
        match world
            .client
            .received(server(), &answered.response, Some(answered.arrived))
        {
            Outcome::Sample(sample) => interleaved.push(sample.interleaved),
            other => panic!("{other:?}"),
        }
    }
    // the server of these tests saves transmit timestamps from the first response on
    assert_eq!(interleaved, [false, true, true, true, true]);
    let counts = world.client.counts();
    assert_eq!((counts.responses, counts.interleaved), (5, 4));
}

#[test]
fn interleaved_mode_knows_when_responses_really_left() {
    let late = Path {
        forward: 10_000,
        backward: 10_000,
        early: 400_000,
        residence: 500_000,
        ..PLAIN
    };
    let delays = |options| {
        let mut world = World::new(options, 1);
        for _ in 0..4 {
            world.exchange(&late);
        }
        let measured = world.client.measurement().expect("samples");
        (measured.path_delay, measured.offset.bound)
    };
    let (delay, bound) = delays(ClientOptions::default());
    assert!(
        delay < Span::from_microseconds(21) && bound < Span::from_microseconds(11),
        "{delay} {bound}"
    );
    let (delay, bound) = delays(basic());
    assert!(
        delay > Span::from_microseconds(400) && bound > Span::from_microseconds(200),
        "{delay} {bound}"
    );
}

/// The transmit time of a response is reported by the next response that arrives, regardless of
/// losses in between.
#[test]
fn lost_packets_do_not_mix_up_whose_departure_is_told() {
    let late = Path {
        forward: 10_000,
        backward: 10_000,
        early: 400_000,
        residence: 500_000,
        ..PLAIN
    };
    let no_request = Path {
        loses_request: true,
        ..late
    };
    let no_response = Path {
        loses_response: true,
        ..late
    };
    // a transmit time is saved until it is reported once: a lost response loses its predecessor's,
    // too
    for (lost, is_told) in [
        (&[no_request][..], true),
        (&[no_response], false),
        (&[no_response, no_request], false),
    ] {
        let mut world = World::new(ClientOptions::default(), 1);
        for _ in 0..3 {
            world.exchange(&late);
        }
        for path in lost {
            assert_eq!(world.exchange(path), None);
        }
        let Some(Outcome::Sample(sample)) = world.exchange(&late) else {
            panic!("no sample");
        };
        assert_eq!(sample.interleaved, is_told, "{sample:?}");
        // paths of 20 µs, and the time by which the server reads its clock too early
        let least = if is_told { 0 } else { 400 };
        let between = [least, least + 21].map(Span::from_microseconds);
        assert!(
            (between[0]..between[1]).contains(&sample.path_delay),
            "{sample:?}"
        );
        assert!(
            sample.offset.value.abs() <= sample.offset.bound,
            "{sample:?}"
        );
        let measured = world.client.measurement().expect("samples");
        assert!(
            measured.offset.value.abs() <= measured.offset.bound,
            "{measured:?}"
        );
        assert_eq!(world.client.counts().contradictions, 0);
    }
}

#[test]
fn a_leap_second_is_announced_and_measured_all_the_same() {
    for (bits, leap) in [(0x40, Leap::Insert), (0x80, Leap::Delete)] {
        let mut world = World::new(basic(), 1);
        match changed(&mut world, |bytes| bytes[0] |= bits) {
            Outcome::Sample(sample) => assert_eq!(sample.server.leap, leap),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_server_without_interleaved_mode_is_measured_in_basic_mode() {
    let mut world = World::new(ClientOptions::default(), 1);
    world.interleaves = false;
    for _ in 0..6 {
        assert!(
            matches!(world.exchange(&PLAIN), Some(Outcome::Sample(sample)) if !sample.interleaved)
        );
    }
}

#[test]
fn after_four_interleaved_requests_without_an_answer_the_next_is_basic() {
    let mut world = World::new(ClientOptions::default(), 1);
    world.exchange(&PLAIN);
    let asks = |world: &mut World| {
        let request = world.client.request([7, 8]).expect("not stopped");
        field(&request, 24) != NtpTimestamp::UNKNOWN
    };
    let asked: Vec<_> = (0..6).map(|_| asks(&mut world)).collect();
    assert_eq!(asked, [true, true, true, true, false, false]);
    world.exchange(&PLAIN);
    assert!(asks(&mut world), "it answers again");
}

#[test]
fn without_its_own_transmit_timestamp_an_exchange_gives_no_sample() {
    let mut world = World::new(basic(), 1);
    let lacking = Path {
        lacks_timestamp: true,
        ..PLAIN
    };
    let missing = Some(Outcome::NoSample(NoSample::MissingTimestamp));
    assert_eq!(world.exchange(&lacking), missing);
    assert_eq!(world.client.measurement(), None);
    let answered = world.ask(&PLAIN).expect("not lost");
    assert_eq!(
        Some(world.client.received(server(), &answered.response, None)),
        missing
    );
    assert_eq!(world.client.counts().missing_timestamps, 2);
}

#[test]
fn deny_and_rstr_stop_and_rate_does_not() {
    let kiss = |code: &'static [u8; 4]| {
        move |bytes: &mut Vec<u8>| {
            bytes[1] = 0;
            bytes[12..16].copy_from_slice(code);
        }
    };
    let mut world = World::new(basic(), 1);
    assert!(matches!(world.exchange(&PLAIN), Some(Outcome::Sample(_))));
    let before = world.client.measurement();
    assert_eq!(
        changed(&mut world, kiss(b"RATE")),
        Outcome::Kiss(Kiss::Rate)
    );
    assert_eq!(
        changed(&mut world, kiss(b"INIT")),
        Outcome::Kiss(Kiss::Other(*b"INIT"))
    );
    assert_eq!(Kiss::Other(*b"INIT").code(), "INIT");
    assert!(world.client.request([1, 2]).is_ok());
    assert_eq!(world.client.measurement(), before);
    assert_eq!((world.client.every(), world.client.stopped()), (2, None));
    for times in 2..20 {
        changed(&mut world, kiss(b"RATE"));
        assert_eq!(world.client.every(), (1 << times).min(1_024));
    }
    let counts = world.client.counts();
    assert!(counts.without_sample().contains(&("kiss", counts.kisses)) && counts.kisses == 20);
    for (code, told) in [(b"DENY", Kiss::Deny), (b"RSTR", Kiss::Restrict)] {
        let mut world = World::new(basic(), 1);
        assert_eq!(changed(&mut world, kiss(code)), Outcome::Kiss(told));
        assert_eq!(world.client.request([1, 2]), Err(Stopped(told)));
        assert_eq!(world.client.stopped(), Some(Stopped(told)));
    }
}

/// Queries in each round that the client allows; returns these rounds, and the round after which
/// all were allowed.
fn rounds(world: &mut World, first: u32, count: u32) -> (Vec<u32>, Option<u32>) {
    let mut asked = Vec::new();
    let mut recovered = None;
    for round in first..first + count {
        if round.is_multiple_of(world.client.every()) {
            asked.push(round);
            assert!(matches!(world.exchange(&PLAIN), Some(Outcome::Sample(_))));
        }
        if world.client.every() == 1 {
            recovered = recovered.or(Some(round));
        }
    }
    (asked, recovered)
}

#[test]
fn after_good_answers_a_server_that_sent_rate_is_asked_as_before() {
    let rate = |bytes: &mut Vec<u8>| {
        bytes[1] = 0;
        bytes[12..16].copy_from_slice(b"RATE");
    };
    let mut world = World::new(basic(), 1);
    for _ in 0..5 {
        changed(&mut world, rate);
    }
    assert_eq!(world.client.every(), 32);
    let (asked, recovered) = rounds(&mut world, 32, 200);
    let recovered = recovered.expect("every round again");
    assert!((96..=128).contains(&recovered), "{recovered}: {asked:?}");
    // slowly: at most twice the rate that was answered for 16 rounds
    assert_eq!(asked[..3], [32, 48, 56], "{asked:?}");
    // another RATE starts this again
    changed(&mut world, rate);
    assert_eq!(world.client.every(), 2);
    for _ in 0..7 {
        assert!(matches!(world.exchange(&PLAIN), Some(Outcome::Sample(_))));
    }
    assert_eq!(world.client.every(), 2);
    changed(&mut world, rate);
    assert_eq!(world.client.every(), 4);
    for _ in 0..3 {
        assert!(matches!(world.exchange(&PLAIN), Some(Outcome::Sample(_))));
    }
    assert_eq!(world.client.every(), 4);
}

#[test]
fn servers_that_do_not_know_the_time_give_no_sample() {
    let zero = |place: usize| move |bytes: &mut Vec<u8>| bytes[place..place + 8].fill(0);
    let mut world = World::new(basic(), 1);
    let unsynchronized = Outcome::NoSample(NoSample::Unsynchronized);
    assert_eq!(
        changed(&mut world, |bytes| bytes[0] |= 0xc0),
        unsynchronized
    );
    assert_eq!(changed(&mut world, |bytes| bytes[1] = 16), unsynchronized);
    // as chrony sends it; octets that are not letters are not a kiss code
    for reference in [[0; 4], *b"A\nCK"] {
        let change = |bytes: &mut Vec<u8>| {
            (bytes[0], bytes[1]) = (0xe4, 0);
            bytes[12..16].copy_from_slice(&reference);
        };
        assert_eq!(changed(&mut world, change), unsynchronized);
    }
    let implausible = Outcome::NoSample(NoSample::Implausible);
    assert_eq!(changed(&mut world, zero(32)), implausible);
    assert_eq!(changed(&mut world, zero(40)), implausible);
    // a root dispersion of 16 s
    assert_eq!(changed(&mut world, |bytes| bytes[9] = 16), implausible);
    assert_eq!(world.client.measurement(), None);
    let counts = world.client.counts();
    assert_eq!(
        (counts.unsynchronized, counts.implausible, counts.samples),
        (4, 3, 0)
    );
}

#[test]
fn timestamps_that_contradict_each_other_give_no_sample() {
    let shift = |place: usize, by: i64| {
        move |bytes: &mut Vec<u8>| {
            let moved = field(bytes, place)
                .0
                .wrapping_add_signed((by << 32) / 1_000);
            bytes[place..place + 8].copy_from_slice(&moved.to_be_bytes());
        }
    };
    let mut world = World::new(basic(), 1);
    let implausible = Outcome::NoSample(NoSample::Implausible);
    // sent back 5 ms before it arrived; and held for 20 ms of a round trip of 10 ms
    assert_eq!(changed(&mut world, shift(40, -5)), implausible);
    assert_eq!(changed(&mut world, shift(40, 20)), implausible);
    assert!(
        matches!(changed(&mut world, shift(40, 5)), Outcome::Sample(_)),
        "that may be"
    );
}

#[test]
fn eras_change_in_mid_run() {
    let mut world = World::new(ClientOptions::default(), 1);
    // 2036-02-07T06:28:16Z minus two seconds
    let to = 2_085_978_494_000 * MILLISECOND - world.now;
    (world.local.offset, world.server.offset) = (to, to);
    for _ in 0..6 {
        assert!(matches!(world.exchange(&PLAIN), Some(Outcome::Sample(_))));
    }
    let measured = world.client.measurement().expect("samples");
    assert!(
        measured.offset.value <= measured.offset.bound,
        "{measured:?}"
    );
    assert_eq!(world.client.counts().contradictions, 0);
    let origin = NtpTimestamp(1);
    assert_eq!(response(origin, NtpTimestamp(61 << 32), origin).len(), 48);
}
