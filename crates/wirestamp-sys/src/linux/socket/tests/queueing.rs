//! When datagrams enter the queueing discipline, beside their transmit timestamps.

use super::*;
use crate::native::wire::constants::OPT_RX_FILTER;
use wirestamp_core::configuration::Identification::{Carried, Counter};

const QUEUEING: Timestamping = Timestamping::OFF.queueing();
const RING: Engine = Engine::Ring { longest: 1_472 };

fn queued_ids(kept: &Kept) -> Vec<u32> {
    kept.queued.iter().map(|(id, _)| *id).collect()
}

#[test]
fn each_datagram_has_one_before_its_transmit_timestamp_by_calls_and_by_rings() {
    for (engine, identification) in [
        (Engine::Calls, Carried),
        (Engine::Calls, Counter),
        (RING, Carried),
    ] {
        let timestamping = QUEUEING.engine(engine).identification(identification);
        let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, timestamping);
        for first in [10, 20, 30] {
            let before = clock::now();
            for id in first..first + 3 {
                sender.send(&[outgoing(b"x", id)]).expect("sent");
            }
            let after = clock::now();
            let kept = collect_awaited(&sender, 3);
            let ids: Vec<u32> = (first..first + 3).collect();
            assert_eq!(queued_ids(&kept), ids, "{engine:?}, {identification:?}");
            assert_eq!(kept.ids(), ids, "{engine:?}, {identification:?}");
            for ((_, queued), (_, timestamps)) in kept.queued.iter().zip(&kept.timestamped) {
                let left = timestamps.software.expect("a transmit timestamp").at.value;
                assert!(before - queued.at.bound <= queued.at.value && queued.at.value <= left);
                assert!(left <= after + queued.at.bound);
            }
            assert_eq!((kept.lost.len(), kept.notices.len()), (0, 0));
        }
    }
}

/// After 32 of them the socket timestamps all that say nothing else.
#[test]
fn a_socket_that_timestamps_all_asks_for_it_too_and_stops_with_the_configuration() {
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, QUEUEING);
    for id in 0..100 {
        sender.send(&[outgoing(b"x", id)]).expect("sent");
        let plain = outgoing(b"x", 0).id(None);
        sender.send(&[plain]).expect("sent");
        assert_eq!(queued_ids(&collect(&sender)), [id]);
    }
    for id in 0..100 {
        sender.send(&[outgoing(b"x", id)]).expect("sent");
        assert_eq!(queued_ids(&collect(&sender)), [id]);
    }
    for _ in 0..100 {
        let plain = outgoing(b"x", 0).id(None);
        sender.send(&[plain]).expect("sent");
        assert!(queued_ids(&collect(&sender)).is_empty());
    }
    sender
        .configure(&Timestamping::OFF.transmit(64))
        .expect("configured");
    for id in 0..100 {
        sender.send(&[outgoing(b"x", id)]).expect("sent");
        let kept = collect(&sender);
        assert_eq!((kept.queued.len(), kept.ids()), (0, vec![id]));
    }
}

/// No hardware timestamps on loopback; the timestamps of the queue are not taken for others.
#[test]
fn beside_hardware_timestamps_no_software_timestamp_of_another_kind_comes() {
    let hardware = QUEUEING.source(Source::Hardware);
    for identification in [Carried, Counter] {
        let timestamping = hardware.identification(identification);
        let (sender, receiver) = pair(Ipv4Addr::LOCALHOST, timestamping);
        let anybody = bound(Ipv4Addr::LOCALHOST);
        let on = Timestamping::OFF.receive();
        anybody.configure(&on).expect("the kernel timestamps");
        let both_ways = timestamping.transmit(64).receive();
        receiver.configure(&both_ways).expect("configured");
        // as a kernel before 6.12 has it
        let unfiltered = receiver.flags.load(Ordering::Relaxed) & !OPT_RX_FILTER;
        receiver.set_flags(unfiltered).expect("set");
        sender.send(&[outgoing(b"x", 7)]).expect("sent");
        let received = receive_one(&receiver, &mut [0; 16]);
        assert_eq!(received.timestamps, Timestamps::NONE);
        let kept = collect(&sender);
        assert_eq!(queued_ids(&kept), [7]);
        let software = |timestamps: &Timestamps| timestamps.software.is_some();
        assert!(!kept.timestamped.iter().any(|(_, each)| software(each)));
    }
}
