//! Captures: packets of an interface, whoever they are for, with the timestamps that sockets have.

use super::Behaviour;
use crate::exchange::is_between;
use crate::refusal::{refused, refused_with_remedy};
use crate::rig::{
    Captures, Course, Family, Host, Marked, Need, Pair, Rig, RigKind, SeenPacket as Seen,
    is_privileged, without_privilege,
};
use crate::{Outcome, Stop};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wirestamp::capture::{CaptureOptions, CapturedDirection, Fanout, LinkType};
use wirestamp::ethernet::{MacAddress, VlanTag};
use wirestamp::sim::NicName;
use wirestamp::time::Utc;
use wirestamp::{
    Capture, ErrorKind, Estimate, HardwareRequest, Source, Span, TimestampSource, Timestamping,
    UtcTime,
};
use wirestamp_capture::compare::{self, FlowReport, Way};
use wirestamp_capture::note::{Known, Note};
use wirestamp_capture::pcapng::{Encoder, Head, Packet};
use wirestamp_capture::read::Reader;

/// Bytes of the headers before a UDP payload over IPv4.
const HEADERS: usize = 14 + 20 + 8;
/// The kernel holds packets back until they are asked for.
const HELD: Duration = Duration::from_millis(400);
/// A path with a fault of each kind.
const FAULTY: &str = "preset = \"i225\"\n[link]\nlost = 0.1\nduplicated = 0.1\n";
/// Another host sends in a VLAN, and nobody answers.
const TAGGED: &str =
    "preset = \"ideal\"\n[[traffic]]\nfrom = \"sim0\"\nvlan = 5\ncount = 3\nanswered = 0.0\n";
/// The NIC forgets every second timestamp.
const FORGETFUL: &str = "preset = \"i225\"\n[nic.faults]\nreceive_zero = 0.5\n";

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        5,
        "a-capture-has-each-packet-once-both-ways-in-order",
        each_once,
    )
    .also(&[Need::Captures]),
    Behaviour::new(5, "captured-timestamps-lie-where-the-packets-were", times)
        .also(&[Need::Captures]),
    Behaviour::new(5, "captured-timestamps-keep-to-a-coarse-clocks-tick", times)
        .needs(&[Need::Scenario])
        .also(&[Need::Captures])
        .toml("preset = \"ideal\"\n[host]\ntick = \"1us\"\n"),
    Behaviour::new(
        5,
        "a-snap-length-cuts-what-is-captured-not-its-length",
        snap_length,
    )
    .also(&[Need::Captures]),
    Behaviour::new(5, "a-capture-has-a-vlans-tag-beside-the-packet", vlan)
        .also(&[Need::Captures])
        .toml(TAGGED),
    Behaviour::new(5, "a-promiscuous-capture-has-frames-of-others", promiscuous)
        .also(&[Need::Captures, Need::Frames]),
    Behaviour::new(5, "captured-packets-have-the-nics-timestamps", hardware)
        .needs(&[Need::HardwareReceive])
        .also(&[Need::Captures])
        .preset("i225"),
    Behaviour::new(
        5,
        "a-captured-packet-without-the-nics-timestamp-has-the-kernels",
        forgotten,
    )
    .needs(&[Need::Simulation, Need::HardwareReceive])
    .also(&[Need::Captures])
    .toml(FORGETFUL),
    Behaviour::new(
        11,
        "captured-packets-around-a-step-have-their-own-generations",
        step,
    )
    .needs(&[Need::SteppableClock])
    .also(&[Need::Captures]),
    Behaviour::new(
        11,
        "after-a-nics-reset-no-captured-time-lies-beyond-its-bound",
        reset,
    )
    .needs(&[Need::Simulation, Need::HardwareReceive])
    .also(&[Need::Captures])
    .preset("i225"),
    Behaviour::new(
        10,
        "packets-for-which-a-capture-has-no-room-are-counted",
        dropped,
    )
    .needs(&[Need::Lossless])
    .also(&[Need::Captures]),
    Behaviour::new(
        14,
        "a-capture-ends-after-the-packets-of-an-interface-that-is-gone",
        gone,
    )
    .needs(&[Need::Changes])
    .also(&[Need::Captures]),
    Behaviour::new(
        14,
        "a-capture-that-is-read-late-has-the-last-packets-of-an-interface-too",
        gone_and_read_late,
    )
    .needs(&[Need::Changes])
    .also(&[Need::Captures]),
    Behaviour::new(15, "two-captures-give-the-delays-between-them", compared)
        .also(&[Need::Captures])
        .toml(FAULTY),
    Behaviour::new(
        16,
        "several-captures-divide-flows-and-keep-each-together",
        divided,
    )
    .also(&[Need::Captures]),
    Behaviour::new(16, "several-captures-take-packets-in-turn", in_turn).also(&[Need::Captures]),
    Behaviour::new(17, "a-capture-without-the-privilege", unprivileged)
        .also(&[Need::Captures])
        .preset("unprivileged"),
    Behaviour::new(17, "a-capture-that-makes-no-sense", nonsense).also(&[Need::Captures]),
    Behaviour::new(17, "a-capture-where-there-are-none", none_here),
    Behaviour::new(17, "a-capture-on-a-simulated-windows", none_on_windows)
        .needs(&[Need::VirtualTime])
        .preset("windows-modern"),
];

const RECEIVING: Timestamping = Timestamping::OFF;

fn numbers(seen: &[Seen]) -> Vec<u32> {
    seen.iter().map(|seen| seen.number).collect()
}

/// A NIC that computes UDP's checksum does so after the packet was captured.
fn without_checksum(data: &[u8]) -> [&[u8]; 2] {
    [&data[..HEADERS - 2], &data[HEADERS..]]
}

fn each_once(rig: &Rig) -> Outcome {
    const COUNT: u32 = 40;
    let pair = rig.pair(Family::V4, Timestamping::OFF, RECEIVING)?;
    let mut captures = rig.captures(&CaptureOptions::new())?;
    assert_eq!(captures.near.capture.link_type(), LinkType::Ethernet);
    let marked = Marked::new();
    pair.pass_all(rig, marked, COUNT)?;
    let (sent, received) = captures.both(marked, COUNT as usize)?;
    let all: Vec<_> = (0..COUNT).collect();
    assert_eq!(numbers(&sent), all);
    assert_eq!(numbers(&received), all);
    let every = |seen: &[Seen], way| seen.iter().all(|seen| seen.direction == way);
    assert!(every(&sent, CapturedDirection::Sent));
    assert!(every(&received, CapturedDirection::Received));
    for (out, came) in sent.iter().zip(&received) {
        let [out_bytes, came_bytes] = [&out.data, &came.data].map(|data| without_checksum(data));
        assert_eq!(out_bytes, came_bytes, "the same bytes at both ends");
        assert_eq!(out.length as usize, HEADERS + Marked::LENGTH);
        assert_eq!((out.data.len(), out.vlan), (out.length as usize, None));
    }
    Ok(())
}

fn times(rig: &Rig) -> Outcome {
    const COUNT: u32 = 20;
    let pair = rig.pair(Family::V4, Timestamping::OFF, RECEIVING)?;
    let mut captures = rig.captures(&CaptureOptions::new())?;
    let marked = Marked::new();
    let (near, first) = (rig.near()?, datagrams(rig));
    let mut calls = Vec::new();
    for number in 0..COUNT {
        let before = near.utc_cross_timestamp();
        pair.pass(marked, number)?;
        calls.push((before, near.utc_cross_timestamp()));
    }
    let (sent, received) = captures.both(marked, COUNT as usize)?;
    assert_eq!((sent.len(), received.len()), (20, 20));
    for (out, came) in sent.iter().zip(&received) {
        let (before, after) = calls[out.number as usize];
        let left = out.timestamps.software.expect("the kernel timestamps");
        let arrived = came.timestamps.software.expect("the kernel timestamps");
        is_between(&left, before.before, after.after);
        is_between(&arrived, left.at.value - left.at.bound, after.after);
        for seen in [out, came] {
            let time = seen.utc.expect("no step");
            assert_eq!(
                (seen.clock, time.generation.0),
                (TimestampSource::Software, 0)
            );
            assert!(
                time.at.value + time.at.bound >= before.utc && time.at.value <= after.utc,
                "{time:?}"
            );
        }
        let truth = rig.simulated_host().zip(first);
        if let Some((host, first)) = truth {
            let course = host.datagram(first + u64::from(out.number)).expect("sent");
            let came_at = course.receive_software_at.expect("it came");
            for (seen, at) in [(out, course.transmit_software_at), (came, came_at)] {
                is_true(seen.utc.expect("no step"), utc_of(rig, at));
                let software = seen.timestamps.software.expect("the kernel timestamps");
                assert!(software.at.contains(at), "{software:?} {at:?}");
            }
        }
    }
    Ok(())
}

/// How many datagrams the simulated host has sent.
fn datagrams(rig: &Rig) -> Option<u64> {
    rig.simulated_host().map(Host::datagrams)
}

/// What the real-time clock truly showed, if it was not stepped since. For simulated rigs.
fn utc_of(rig: &Rig, at: wirestamp::MonotonicTime) -> UtcTime {
    let Rig::Simulator(simulation) = rig else {
        panic!("the behaviour does not say that it needs a simulation")
    };
    let truth = simulation.world().truth();
    truth.utc() - (truth.now() - at)
}

/// Whether an estimate contains the truth.
#[track_caller]
fn is_true(estimate: Estimate<Utc>, truth: UtcTime) {
    let off = (estimate.at.value - truth).abs();
    assert!(off <= estimate.at.bound, "{estimate:?} is off by {off:?}");
}

fn snap_length(rig: &Rig) -> Outcome {
    let pair = rig.pair(Family::V4, Timestamping::OFF, RECEIVING)?;
    let snap_length = HEADERS + Marked::LENGTH + 4;
    let options = CaptureOptions::new().snap_length(snap_length as u32);
    let mut captures = rig.captures(&options)?;
    let marked = Marked::new();
    for (number, length) in [(0, 500), (1, Marked::LENGTH)] {
        let payload = marked.payload(number, length);
        pair.sender.send_to(&payload, pair.to, None)?;
        pair.receive()?;
    }
    let (sent, received) = captures.both(marked, 2)?;
    for seen in [sent, received] {
        let sizes: Vec<_> = seen
            .iter()
            .map(|seen| (seen.data.len(), seen.length))
            .collect();
        let whole = HEADERS + Marked::LENGTH;
        assert_eq!(sizes, [(snap_length, 542), (whole, whole as u32)]);
    }
    Ok(())
}

fn vlan(rig: &Rig) -> Outcome {
    if rig.kind() == RigKind::LinuxHardware {
        let why = "a NIC drops frames of VLANs that its host is no member of";
        return Err(Stop::Skipped(why.to_owned()));
    }
    let mut captures = rig.captures(&CaptureOptions::new())?;
    let tag = VlanTag::new(5, 0).expect("a tag");
    if rig.is_simulated() {
        rig.pass(Duration::from_millis(100));
        for watched in [&mut captures.near, captures.far.as_mut().expect("two NICs")] {
            let (mut tags, mut types) = (Vec::new(), Vec::new());
            while let Some(block) = watched.capture.next_block(Duration::from_millis(50))? {
                tags.extend(block.packets().map(|packet| packet.vlan()));
                types.extend(block.packets().map(|packet| packet.data()[12..14].to_vec()));
            }
            assert_eq!(tags, [Some((0x8100, tag)); 3]);
            assert_eq!(types, [[8, 0]; 3], "the tag is not among the bytes");
        }
        return Ok(());
    }
    let frames = rig.frames(Timestamping::OFF, Timestamping::OFF)?;
    let marked = Marked::new();
    frames.send_tagged(tag, &marked.payload(0, 60))?;
    frames
        .near
        .send_to(&marked.payload(1, 60), frames.to, None)?;
    let (_, received) = captures.both(marked, 2)?;
    let tags: Vec<_> = received.iter().map(|seen| seen.vlan).collect();
    assert_eq!(tags, [Some((0x8100, tag)), None]);
    assert_ne!(
        received[0].data[12..14],
        [0x81, 0],
        "the tag is not among the bytes"
    );
    Ok(())
}

fn promiscuous(rig: &Rig) -> Outcome {
    let stranger = MacAddress::new([2, 0, 0, 0, 0, 0x99]);
    let frames = rig.frames(Timestamping::OFF, Timestamping::OFF)?;
    let (before, marked) = (Marked::new(), Marked::new());
    let mut plain = rig.captures(&CaptureOptions::new())?;
    frames
        .near
        .send_to(&before.payload(0, 60), stranger, None)?;
    if rig.is_simulated() {
        // other NICs let through what they like
        assert!(plain.far().all(before, 0)?.is_empty());
    }
    drop(plain);
    let mut captures = rig.captures(&CaptureOptions::new().promiscuous())?;
    frames
        .near
        .send_to(&marked.payload(0, 60), stranger, None)?;
    frames
        .near
        .send_to(&marked.payload(1, 60), frames.to, None)?;
    let (sent, received) = captures.both(marked, 2)?;
    assert_eq!(numbers(&sent), [0, 1]);
    let ways: Vec<_> = received.iter().map(|seen| seen.direction).collect();
    assert_eq!(
        ways,
        [CapturedDirection::Others, CapturedDirection::Received]
    );
    let mut buffer = [0; 128];
    let first = frames.receive(&mut buffer)?.length;
    assert_eq!(
        buffer[..first],
        marked.payload(1, 60),
        "who is addressed gets his own"
    );
    Ok(())
}

/// Captures with the NIC's timestamps, and a clock that is known.
fn with_hardware(rig: &Rig) -> Outcome<(Captures, wirestamp::HardwareGuard)> {
    let guard = rig.at_far(|| -> Outcome<_> {
        Ok(rig.far()?.enable_hardware(HardwareRequest::AllPackets)?)
    })?;
    let options = CaptureOptions::new().source(Source::HardwareElseSoftware);
    let captures = rig.captures(&options)?;
    rig.pass(Duration::from_secs(3));
    Ok((captures, guard))
}

fn hardware(rig: &Rig) -> Outcome {
    const COUNT: u32 = 10;
    let pair = rig.pair(Family::V4, Timestamping::OFF, RECEIVING)?;
    let (mut captures, _guard) = with_hardware(rig)?;
    let (marked, first) = (Marked::new(), datagrams(rig));
    let far = rig.at_far(|| rig.far())?;
    let before = far.utc_cross_timestamp();
    pair.pass_all(rig, marked, COUNT)?;
    let after = far.utc_cross_timestamp();
    let (sent, received) = captures.both(marked, COUNT as usize)?;
    assert!(
        sent.iter()
            .all(|seen| seen.clock == TimestampSource::Software)
    );
    assert_eq!(received.len(), COUNT as usize);
    for seen in received {
        assert_eq!(
            (seen.clock, seen.timestamps.software),
            (TimestampSource::Hardware, None)
        );
        let made = seen.timestamps.hardware.expect("the NIC timestamps");
        assert_eq!(made.interface, Some(far.index()));
        let time = seen.utc.expect("the clock is known");
        assert!(
            time.at.value + time.at.bound >= before.utc
                && time.at.value - time.at.bound <= after.utc
        );
        if let Some((host, first)) = rig.simulated_host().zip(first) {
            let course = host.datagram(first + u64::from(seen.number)).expect("sent");
            let at = course.receive_hardware_at.expect("it came");
            assert_eq!(host.hardware_ticks_at(far.index(), at), Some(made.ticks));
            is_true(time, utc_of(rig, at));
        }
    }
    Ok(())
}

fn forgotten(rig: &Rig) -> Outcome {
    const COUNT: u32 = 40;
    let pair = rig.pair(Family::V4, Timestamping::OFF, RECEIVING)?;
    let (mut captures, _guard) = with_hardware(rig)?;
    let (marked, first) = (Marked::new(), datagrams(rig).expect("simulated"));
    pair.pass_all(rig, marked, COUNT)?;
    let (_, received) = captures.both(marked, COUNT as usize)?;
    let of = |clock| received.iter().filter(move |seen| seen.clock == clock);
    assert!(of(TimestampSource::Hardware).count() > 5);
    assert!(of(TimestampSource::Software).count() > 5);
    for seen in &received {
        let course = rig
            .host()
            .datagram(first + u64::from(seen.number))
            .expect("sent");
        let at = match seen.clock {
            TimestampSource::Hardware => course.receive_hardware_at,
            TimestampSource::Software => course.receive_software_at,
        };
        is_true(
            seen.utc.expect("the clock is known"),
            utc_of(rig, at.expect("it came")),
        );
    }
    Ok(())
}

fn step(rig: &Rig) -> Outcome {
    let pair = rig.pair(Family::V4, Timestamping::OFF, RECEIVING)?;
    let mut captures = rig.captures(&CaptureOptions::new())?;
    let marked = Marked::new();
    pair.pass(marked, 0)?;
    let before = rig.near()?.utc_cross_timestamp().utc;
    rig.pass(Duration::from_millis(1));
    rig.step_real_time_clock(Span::from_seconds(-100))?;
    rig.pass(Duration::from_millis(1));
    let stepped = rig.near()?.utc_cross_timestamp().utc;
    pair.pass(marked, 1)?;
    let (sent, received) = captures.both(marked, 2)?;
    for seen in [sent, received] {
        let times: Vec<_> = seen.iter().map(|seen| seen.utc).collect();
        let [Ok(old), Ok(new)] = times[..] else {
            panic!("both have their times: {times:?}");
        };
        assert!(
            old.at.value <= before && new.at.value >= stepped,
            "{times:?} {before:?}"
        );
        assert_eq!((old.generation.0, new.generation.0), (0, 1), "{times:?}");
        let software = |seen: &Seen| seen.timestamps.software.expect("placed").at.value;
        assert!(
            software(&seen[0]) < software(&seen[1]),
            "the monotonic clock is not stepped"
        );
    }
    rig.step_real_time_clock(Span::from_seconds(100))?;
    Ok(())
}

fn reset(rig: &Rig) -> Outcome {
    let pair = rig.pair(Family::V4, Timestamping::OFF, RECEIVING)?;
    let (mut captures, _guard) = with_hardware(rig)?;
    let (marked, first) = (Marked::new(), datagrams(rig).expect("simulated"));
    let mut generations = BTreeSet::new();
    let mut refused = 0;
    for (round, number) in (0..30).enumerate() {
        if round == 10 {
            rig.host().reset_nic(NicName::Sim1, 0);
        }
        pair.pass(marked, number)?;
        rig.pass(Duration::from_millis(150));
        let far = &mut captures.far().capture;
        let block = far.next_block(Duration::from_secs(1))?.expect("a packet");
        for seen in marked.of(&block) {
            let course = rig
                .host()
                .datagram(first + u64::from(seen.number))
                .expect("sent");
            let at = course.receive_hardware_at.expect("it came");
            match seen.utc {
                Ok(time) => {
                    is_true(time, utc_of(rig, at));
                    generations.insert(time.generation);
                }
                Err(_) => refused += 1, // never a guess
            }
        }
    }
    assert_eq!(generations.len(), 2, "{generations:?}, {refused} refused");
    Ok(())
}

fn dropped(rig: &Rig) -> Outcome {
    const COUNT: u32 = 400;
    let pair = rig.pair(Family::V4, Timestamping::OFF, RECEIVING)?;
    let small = CaptureOptions::new().block(1 << 14).buffer(1 << 15);
    let mut captures = rig.captures(&small)?;
    let marked = Marked::new();
    for number in 0..COUNT {
        let payload = marked.payload(number, 200);
        pair.sender.send_to(&payload, pair.to, None)?;
        pair.receive()?;
    }
    for watched in [Some(&mut captures.near), captures.far.as_mut()] {
        let Some(watched) = watched else { continue };
        let capture = &mut watched.capture;
        let counted = capture.statistics()?;
        assert!(counted.dropped > 0 && counted.freezes > 0, "{counted:?}");
        assert!(counted.received >= u64::from(COUNT), "{counted:?}");
        let (mut handed_over, mut seen) = (0, Vec::new());
        while handed_over < counted.received - counted.dropped
            && let Some(block) = capture.next_block(Duration::from_secs(1))?
        {
            handed_over += u64::from(block.count());
            seen.extend(numbers(&marked.of(&block)));
        }
        assert!(
            handed_over >= counted.received - counted.dropped,
            "{counted:?}"
        );
        assert!(
            seen.len() as u64 + counted.dropped >= u64::from(COUNT),
            "{counted:?}"
        );
        if rig.is_quiet() {
            assert_eq!(counted.received, u64::from(COUNT));
            assert_eq!(handed_over + counted.dropped, counted.received);
            assert_eq!(handed_over, seen.len() as u64);
            let first: Vec<_> = (0..seen.len() as u32).collect();
            assert_eq!(seen, first, "the oldest are kept");
        }
        // there is room again
        let again = capture.statistics()?;
        assert!(again.received >= counted.received, "it counts on");
    }
    pair.pass(marked, COUNT)?;
    let (sent, received) = captures.both(marked, 1)?;
    assert!(numbers(&sent).contains(&COUNT) && numbers(&received).contains(&COUNT));
    Ok(())
}

fn gone(rig: &Rig) -> Outcome {
    ends_after_its_packets(rig, None)
}

/// Asked once while the kernel still holds the packets back, and then not before the time is over for which they are waited for.
fn gone_and_read_late(rig: &Rig) -> Outcome {
    ends_after_its_packets(rig, Some(3 * HELD))
}

fn ends_after_its_packets(rig: &Rig, late: Option<Duration>) -> Outcome {
    const COUNT: u32 = 5;
    let sender = rig.near_socket(Family::V4)?;
    let to = rig.nobody(Family::V4)?;
    let mut captures = rig.captures(&CaptureOptions::new().hold(HELD))?;
    let marked = Marked::new();
    for number in 0..COUNT {
        sender.send_to(&marked.payload(number, 40), to, None)?;
    }
    rig.pass(HELD / 10); // one that still waits in a queue when the NIC goes has not left
    rig.remove_near()?;
    let capture = &mut captures.near.capture;
    let mut seen = Vec::new();
    if let Some(late) = late {
        let block = capture.next_block(Duration::from_millis(10))?;
        seen.extend(block.iter().flat_map(|block| marked.of(block)));
        drop(block);
        rig.pass(late);
    }
    let error = loop {
        match capture.next_block(Duration::from_secs(10)) {
            Ok(Some(block)) => seen.extend(marked.of(&block)),
            Ok(None) => panic!("nobody says that it is gone"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::NoSuchDevice, "{error}");
    // nobody listens there: what comes back quotes what was sent
    seen.retain(|seen| seen.direction == CapturedDirection::Sent);
    assert_eq!(numbers(&seen), [0, 1, 2, 3, 4], "all that came before");
    let counted = capture.statistics()?;
    assert!(counted.received >= u64::from(COUNT) && counted.dropped == 0);
    assert!(
        capture.next_block(Duration::from_millis(10))?.is_none(),
        "it is told once"
    );
    rig.add_near()?;
    Ok(())
}

/// As a file, which is read again.
fn file(seen: &[Seen]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    encoder.head(&Head {
        program: "conformance",
        interface: "near or far",
        filter: None,
        link_type: LinkType::Ethernet,
        snap_length: 65_536,
        queues: 1,
    });
    for seen in seen {
        let known = |time: Estimate<Utc>| Known {
            bound: time.at.bound,
            generation: time.generation,
            utc_generation: None,
        };
        encoder.packet(&Packet {
            queue: 0,
            utc: seen
                .utc
                .ok()
                .map(|time| time.at.value.nanoseconds().cast_unsigned()),
            data: &seen.data,
            length: seen.length,
            vlan: seen.vlan,
            direction: seen.direction,
            note: Note {
                clock: seen.clock,
                utc: seen.utc.map(known),
            },
        });
    }
    encoder.take()
}

fn compared(rig: &Rig) -> Outcome {
    const COUNT: u32 = 200;
    let pair = rig.pair(Family::V4, Timestamping::OFF, RECEIVING)?;
    let mut captures = rig.captures(&CaptureOptions::new())?;
    let (marked, first) = (Marked::new(), datagrams(rig));
    let mut arrived = BTreeSet::new();
    for number in 0..COUNT {
        let payload = marked.payload(number, 40);
        pair.sender.send_to(&payload, pair.to, None)?;
        rig.pass(Duration::from_micros(200));
        if first.is_none() {
            arrived.extend(next_number(&pair, Duration::ZERO)?);
        }
    }
    let (sent, received) = captures.both(marked, COUNT as usize)?;
    let files = [file(&sent), file(&received)];
    let mut a = Reader::new("near", &files[0][..])?;
    let mut b = Reader::new("far", &files[1][..])?;
    let mut options = compare::Options::default();
    options.clock_bound_ns = Some(0);
    let report = compare::compare(&mut a, &mut b, options)?;
    let [flow] = &report.flows[..] else {
        panic!("one flow: {report:?}");
    };
    assert_eq!(flow.way, Way::AToB);
    let delay = flow.delay.expect("some came");
    let least = delay.minimum_ns + 2 * delay.error_bound_ns.expect("known") as i64;
    assert!(least >= 0 && delay.maximum_ns < 5_000_000_000, "{delay:?}");
    match rig.simulated_host().zip(first) {
        Some((host, first)) => {
            let courses = (0..u64::from(COUNT)).map(|number| host.datagram(first + number));
            let of = |course: Option<Course>| {
                let course = course.expect("sent");
                let took = course.receive_software_at? - course.transmit_software_at;
                Some(took.saturating_nanoseconds())
            };
            matches_truth(flow, &courses.map(of).collect::<Vec<_>>(), received.len());
        }
        None => {
            while let Some(number) = next_number(&pair, Duration::from_millis(100))? {
                arrived.insert(number);
            }
            matches_numbers(flow, [&sent, &received], &arrived);
        }
    }
    Ok(())
}

/// The number of the next datagram that reached the receiver.
fn next_number(pair: &Pair, timeout: Duration) -> Outcome<Option<u32>> {
    let mut buffer = [0; 64];
    let received = pair.receiver.receive(&mut buffer, timeout)?;
    let number = buffer[12..].first_chunk().expect("a number");
    Ok(received.map(|_| u32::from_be_bytes(*number)))
}

/// The numbers in the datagrams are the truth. The queue of a sender that is held up may drop some, which then nobody has; each that arrived is in both files,
/// once.
fn matches_numbers(flow: &FlowReport, files: [&[Seen]; 2], arrived: &BTreeSet<u32>) {
    for file in files {
        let numbers = numbers(file);
        assert_eq!(&numbers.iter().copied().collect::<BTreeSet<_>>(), arrived);
        assert_eq!(numbers.len(), arrived.len(), "each once");
    }
    assert!(arrived.len() > 150, "{arrived:?}");
    let told = (flow.matched, flow.lost + flow.outside, flow.duplicated);
    assert_eq!(told, (arrived.len() as u64, 0, 0), "{flow:?}");
}

/// `truth`: how long each datagram took, if it came.
fn matches_truth(flow: &FlowReport, truth: &[Option<i64>], received: usize) {
    let took: Vec<_> = truth.iter().flatten().copied().collect();
    let lost = truth.len() - took.len();
    let told = [flow.matched, flow.lost + flow.outside, flow.duplicated];
    let expected = [took.len(), lost, received - took.len()];
    assert!(lost > 5 && expected[2] > 5, "the path does both");
    assert_eq!(told, expected.map(|count| count as u64), "{flow:?}");
    let delay = flow.delay.expect("some came");
    let bound = delay.error_bound_ns.expect("each packet has one") as i64;
    assert_eq!(bound, 2, "one tick at each end");
    let mean = took.iter().sum::<i64>() / took.len() as i64;
    for (told, truth) in [
        (delay.minimum_ns, took.iter().min()),
        (delay.maximum_ns, took.iter().max()),
        (delay.mean_ns, Some(&mean)),
    ] {
        let truth = truth.expect("some came");
        assert!((told - truth).abs() <= bound, "{told} {truth}");
    }
}

/// What several captures at the far end saw of datagrams, in `flows` flows: of each capture, the flow and the number of each.
fn shared(rig: &Rig, fanout: Fanout, flows: usize, each: u32) -> Outcome<Vec<Vec<(u16, u32)>>> {
    let receiver = rig.far_socket(Family::V4)?;
    let to = receiver.local_address()?;
    let senders: Vec<_> = (0..flows)
        .map(|_| rig.near_socket(Family::V4))
        .collect::<Outcome<_>>()?;
    let far = rig.at_far(|| rig.far())?;
    let options = CaptureOptions::new();
    let opened = rig.at_far(|| far.capture_queues(&options, 4, fanout));
    let mut captures: Vec<Capture> = rig.privileged(opened)?;
    let marked = Marked::new();
    for number in 0..each {
        for sender in &senders {
            sender.send_to(&marked.payload(number, 40), to, None)?;
        }
        rig.pass(Duration::from_micros(100));
    }
    let mut all = Vec::new();
    for capture in &mut captures {
        let mut seen = Vec::new();
        let until = far.utc_cross_timestamp().after + Span::from_milliseconds(500);
        while let Some(block) = capture.next_block(until)? {
            seen.extend(marked.of(&block));
            if far.utc_cross_timestamp().after >= until {
                break;
            }
        }
        // on loopback each is captured as it is sent, too
        seen.retain(|seen| seen.direction == CapturedDirection::Received);
        let port = |seen: &Seen| u16::from_be_bytes([seen.data[34], seen.data[35]]);
        all.push(seen.iter().map(|seen| (port(seen), seen.number)).collect());
    }
    Ok(all)
}

fn divided(rig: &Rig) -> Outcome {
    const EACH: u32 = 6;
    // no multiple of the captures: taken in turn, each flow would be in all of them
    const FLOWS: usize = 23;
    let all = shared(rig, Fanout::Flow, FLOWS, EACH)?;
    let mut homes: BTreeMap<u16, usize> = BTreeMap::new();
    let mut found: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
    for (queue, seen) in all.iter().enumerate() {
        for (port, number) in seen {
            assert_eq!(
                *homes.entry(*port).or_insert(queue),
                queue,
                "a flow is divided"
            );
            found.entry(*port).or_default().push(*number);
        }
    }
    assert_eq!(found.len(), FLOWS);
    let whole: Vec<_> = (0..EACH).collect();
    assert!(found.values().all(|numbers| *numbers == whole), "{found:?}");
    let busy = all.iter().filter(|seen| !seen.is_empty()).count();
    assert!(busy > 1, "all flows in one capture");
    Ok(())
}

fn in_turn(rig: &Rig) -> Outcome {
    let all = shared(rig, Fanout::Turn, 1, 40)?;
    let mut numbers: Vec<_> = all.iter().flatten().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..40).collect::<Vec<_>>(), "each once");
    let counts: Vec<_> = all.iter().map(Vec::len).collect();
    if rig.is_quiet() {
        assert_eq!(counts, [10; 4]);
    }
    // on loopback every second packet is one that was sent
    let busy = counts.iter().filter(|count| **count > 0).count();
    assert!(busy >= 2, "{counts:?}");
    Ok(())
}

fn unprivileged(rig: &Rig) -> Outcome {
    let (near, options) = (rig.near()?, CaptureOptions::new());
    let opened = if rig.is_simulated() {
        near.capture(&options)
    } else {
        without_privilege(|| near.capture(&options))?
    };
    refused_with_remedy(opened, ErrorKind::NotPermitted);
    Ok(())
}

fn nonsense(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    for options in [
        CaptureOptions::new().block(3_000),
        CaptureOptions::new().buffer(1 << 20),
        CaptureOptions::new().snap_length(0),
    ] {
        refused(near.capture(&options), ErrorKind::InvalidInput);
        refused(
            near.capture_queues(&options, 2, Fanout::Flow),
            ErrorKind::InvalidInput,
        );
    }
    let options = CaptureOptions::new();
    for count in [0, 257] {
        refused(
            near.capture_queues(&options, count, Fanout::Flow),
            ErrorKind::InvalidInput,
        );
    }
    let filtered = near.capture(&options.filter("udp prt 319"));
    if rig.is_simulated() {
        let refusal = refused_with_remedy(filtered, ErrorKind::NotSupported);
        assert!(refusal.remedy().contains("filter the file"), "{refusal}");
    } else if is_privileged() {
        // the compiler of filters is a library that not every machine has, such as those of the emulated NICs
        match filtered {
            Err(error) if error.kind() == ErrorKind::NotSupported => {
                assert!(error.remedy().contains("libpcap"), "{error}");
            }
            filtered => drop(refused(filtered, ErrorKind::InvalidInput)),
        }
    }
    Ok(())
}

fn none_here(rig: &Rig) -> Outcome {
    let opened = rig.near()?.capture(&CaptureOptions::new());
    if Need::Captures.check(rig.kind()).is_ok() {
        rig.privileged(opened)?;
    } else {
        refused_with_remedy(opened, ErrorKind::NotSupported);
    }
    Ok(())
}

fn none_on_windows(rig: &Rig) -> Outcome {
    let (near, options) = (rig.near()?, CaptureOptions::new());
    for error in [
        refused_with_remedy(near.capture(&options), ErrorKind::NotSupported),
        refused_with_remedy(
            near.capture_queues(&options, 2, Fanout::Flow),
            ErrorKind::NotSupported,
        ),
    ] {
        assert!(error.remedy().contains("preset"), "{error}");
    }
    Ok(())
}
