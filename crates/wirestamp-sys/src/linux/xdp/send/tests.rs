//! On a pair of veth interfaces, in a network namespace of the test's thread. Needs root and iproute2.

use super::*;
use crate::linux::xdp::cable::{Cable, ip, with_cable};
use crate::linux::{Xdp, XdpBatch, xdp_features};
use wirestamp_core::ethernet::Ethertype;
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::MissingReason;
use wirestamp_core::xdp::{XdpFeatures, XdpFilter, XdpOptions};

const FRAMES: u32 = 64;
const HEADER: [u8; 14] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 2, 2, 2, 2, 2, 0x88, 0xf7,
];

impl Cable {
    fn sender(&self) -> XdpSend {
        XdpSend::open(&self.other, &options()).expect("opens")
    }

    fn receiver(&self) -> Xdp {
        Xdp::open(&self.end, &to_receive()).expect("opens")
    }
}

fn to_receive() -> XdpOptions {
    XdpOptions::new(XdpFilter::Ethertype(Ethertype::PTP)).frames(1_024)
}

fn options() -> XdpSendOptions {
    XdpSendOptions::new().frames(FRAMES)
}

fn in_a_while() -> MonotonicTime {
    clock::now() + Span::from_seconds(20)
}

/// Fills and queues a frame; `None`: none was free.
fn queue(sender: &mut XdpSend, id: u32, payload: &[u8]) -> Option<()> {
    let length = HEADER.len() + payload.len();
    let room = sender.room().get_mut(..length)?;
    room[..HEADER.len()].copy_from_slice(&HEADER);
    room[HEADER.len()..].copy_from_slice(payload);
    sender.check(length).expect("can be sent");
    sender.queue(length, TransmitId(id));
    Some(())
}

/// Waits until every frame is back; what each completion said.
fn completions(sender: &mut XdpSend) -> Vec<Arrival> {
    let mut all = Vec::new();
    let until = in_a_while();
    while sender.under_way() > 0 {
        assert!(clock::now() < until, "{sender:?}");
        sender.wait(until).expect("the interface is there");
        sender.take_completed(clock::now(), |arrival| all.push(*arrival));
    }
    all
}

/// Waits for so many payloads.
fn payloads(receiver: &mut Xdp, count: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let payload = |batch: &XdpBatch<'_>| {
        let data = batch.packets().map(|packet| packet.data()[14..].to_vec());
        data.collect::<Vec<_>>()
    };
    while all.len() < count {
        let batch = receiver.next_batch(in_a_while()).expect("waits");
        all.extend(payload(&batch.expect("packets come")));
    }
    all
}

fn not_supported(id: u32) -> Arrival {
    Arrival::Lost(TransmitId(id), MissingReason::NotSupported)
}

/// More frames than the rings have entries, so that those begin anew several times.
fn send_many(cable: &Cable, receiver: &mut Xdp) {
    let mut sender = cable.sender();
    let (mut expected, mut said) = (Vec::new(), Vec::new());
    for round in 0..10u32 {
        let ids = round * 40..(round + 1) * 40;
        for id in ids.clone() {
            let payload = [id.to_be_bytes(), (!id).to_be_bytes()].concat();
            queue(&mut sender, id, &payload).expect("a frame is free");
            expected.push(payload);
        }
        sender.hand_over().expect("sent");
        said.extend(completions(&mut sender));
    }
    assert_eq!(payloads(receiver, expected.len()), expected);
    assert_eq!(said.len(), 400);
    for id in 0..400 {
        assert!(said.contains(&not_supported(id)), "{id}");
    }
    let counted = sender.statistics().expect("counted");
    assert_eq!(counted, XdpSendStatistics::new(400, 400, 0, 0));
}

#[test]
fn frames_arrive_in_order_and_each_comes_back_once() {
    with_cable(|cable| send_many(cable, &mut cable.receiver()));
}

#[test]
fn frames_arrive_where_the_kernel_takes_them_from_the_driver() {
    with_cable(|cable| {
        let generic = XdpWay::of(XdpFeatures::default()).next().expect("a way");
        let receiver = Xdp::open_so(&cable.end, &to_receive(), generic);
        send_many(cable, &mut receiver.expect("opens"));
    });
}

#[test]
fn the_kernel_copies_where_the_driver_does_not_take_frames_as_they_are() {
    with_cable(|cable| {
        let sender = cable.sender();
        let way = sender.way();
        assert_eq!((way.mode, way.hardware), (XdpMode::Generic, false));
        let [(best, why_not), (second, _)] = sender.tried() else {
            panic!("zero copy is better: {:?}", sender.tried());
        };
        let without_a_copy = XdpMode::ZeroCopy;
        assert_eq!((best.mode, best.hardware), (without_a_copy, true));
        assert_eq!((second.mode, second.hardware), (without_a_copy, false));
        assert_eq!(why_not.kind(), ErrorKind::NotSupported, "{why_not}");
        if xdp_features(&cable.other).is_ok() {
            let cause = "the driver takes no frames without a copy";
            assert_eq!(why_not.cause(), cause);
        }
        let error = XdpSend::open(&cable.other, &options()).expect_err("has a socket");
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    });
}

#[test]
fn when_no_frame_is_free_none_is_lost() {
    with_cable(|cable| {
        let (mut receiver, mut sender) = (cable.receiver(), cable.sender());
        let queued = (0..).take_while(|id| queue(&mut sender, *id, &id.to_be_bytes()).is_some());
        assert_eq!(queued.count(), FRAMES as usize);
        let error = sender.check(20).expect_err("no frame is free");
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        sender.hand_over().expect("sent");
        assert_eq!(completions(&mut sender).len(), FRAMES as usize);
        queue(&mut sender, 9, b"and it goes on").expect("a frame is free");
        sender.hand_over().expect("sent");
        let arrived = payloads(&mut receiver, FRAMES as usize + 1);
        let expected = (0..FRAMES).map(|id| id.to_be_bytes().to_vec());
        assert!(
            arrived
                .into_iter()
                .eq(expected.chain([b"and it goes on".to_vec()]))
        );
    });
}

#[test]
fn what_can_not_be_sent_is_refused_and_the_largest_frame_is_sent() {
    with_cable(|cable| {
        let (mut receiver, mut sender) = (cable.receiver(), cable.sender());
        sender.room()[..14].copy_from_slice(&HEADER);
        for length in [0, 13, 1_515, 1_519, usize::MAX] {
            let error = sender.check(length).expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{length}: {error}");
        }
        assert_eq!(sender.under_way(), 0);
        let largest = vec![7; 1_500];
        queue(&mut sender, 1, &largest).expect("a frame is free");
        sender.hand_over().expect("sent");
        assert_eq!(payloads(&mut receiver, 1), [largest]);
    });
}

/// What the kernel notes where it copies frames is when it let go of the buffer, on another clock: it must not be taken for a timestamp.
#[test]
fn the_kernels_time_of_completion_is_no_transmit_timestamp() {
    with_cable(|cable| {
        let generic = XdpWay::of(XdpFeatures::default()).next();
        let mut way = generic.expect("the generic one");
        way.hardware = true;
        let mut sender = match XdpSend::open_so(&cable.other, &options(), way) {
            // before Linux 6.11
            Err(error) => {
                assert_eq!(error.code(), Some(libc::EINVAL), "{error}");
                return assert!(error.remedy().contains("6.11"), "{error}");
            }
            Ok(sender) => sender,
        };
        let tai = || {
            let (seconds, nanoseconds) = call::clock(libc::CLOCK_TAI);
            (seconds * 1_000_000_000 + nanoseconds) as u64
        };
        let mut filled_in = |id| {
            let frame = sender.ledger.next_free().expect("a frame is free");
            queue(&mut sender, id, b"payload").expect("a frame is free");
            let before = tai();
            sender.hand_over().expect("the kernel takes it");
            assert_eq!(completions(&mut sender), [not_supported(id)]);
            let filled_in = metadata::answer(&sender.frames.metadata(frame));
            assert!((before..=tai()).contains(&filled_in), "{filled_in}");
            sender.statistics().expect("counted").dropped
        };
        assert_eq!(filled_in(1), 0);
        ip("link set xdp1 down").expect("was there");
        assert_eq!(filled_in(2), 1, "a frame that is dropped has one, too");
    });
}

#[test]
fn while_the_interface_is_down_frames_wait() {
    with_cable(|cable| {
        let (mut receiver, mut sender) = (cable.receiver(), cable.sender());
        ip("link set xdp0 down").expect("was there");
        queue(&mut sender, 1, b"waits").expect("a frame is free");
        let error = sender.hand_over().expect_err("it is down");
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        sender
            .wait(clock::now() + Span::from_milliseconds(5))
            .expect("it is there");
        assert_eq!(sender.under_way(), 1);
        ip("link set xdp0 up").expect("was there");
        sender.hand_over().expect("sent");
        assert_eq!(completions(&mut sender), [not_supported(1)]);
        assert_eq!(payloads(&mut receiver, 1), [b"waits"]);
    });
}

#[test]
fn frames_that_the_kernel_drops_come_back_and_are_counted() {
    with_cable(|cable| {
        let mut sender = cable.sender();
        ip("link set xdp1 down").expect("was there"); // nothing to send to
        for id in 0..40 {
            queue(&mut sender, id, b"in vain").expect("a frame is free");
        }
        sender.hand_over().expect("the kernel takes them");
        assert_eq!(completions(&mut sender).len(), 40);
        let counted = sender.statistics().expect("counted");
        assert_eq!(counted, XdpSendStatistics::new(40, 40, 40, 0));
    });
}

#[test]
fn an_interface_that_is_gone_is_an_error() {
    with_cable(|cable| {
        let mut sender = cable.sender();
        ip("link del xdp0").expect("was there");
        queue(&mut sender, 1, b"too late").expect("a frame is free");
        let error = sender.hand_over().expect_err("it is gone");
        assert_eq!(error.kind(), ErrorKind::NoSuchDevice, "{error}");
        let error = sender.wait(in_a_while()).expect_err("it is gone");
        assert_eq!(error.kind(), ErrorKind::NoSuchDevice, "{error}");
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    with_cable(|cable| {
        let options = [
            options().frames(100),
            options().frames(32),
            options().frames(65_536),
            options().queue(5_000),
            options().queue(1), // it has one
        ];
        for options in options {
            let error = XdpSend::open(&cable.other, &options).expect_err("refused");
            assert_eq!(
                error.kind(),
                ErrorKind::InvalidInput,
                "{options:?}: {error}"
            );
        }
    });
}
