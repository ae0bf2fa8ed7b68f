//! Sockets on a bridge, whose transmit timestamps come with their packets, in a network namespace
//! of the test's thread. Requires root and iproute2.

use crate::pair::{LONG, is_timestamped};
use crate::xdp::{in_namespace, ip};
use std::net::SocketAddr;
use wirestamp::{
    Interface, Outgoing, Source, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome,
};

const SHORT: u32 = 100;
const ALL: u32 = 400;

/// A datagram to an address of this host takes loopback, which does not fragment it. 20 MB of
/// packets do not fit into a receive buffer: the send collects timestamps in between.
#[test]
fn long_datagrams_to_an_address_of_this_host_lose_no_timestamp() {
    in_namespace(|| {
        for line in [
            "link set lo up",
            "link add br0 type bridge",
            "link add one type veth peer name one1",
            "link set one master br0",
            "link set one1 up",
            "link set one up",
            "link set br0 up",
            "addr add 10.9.8.7/24 dev br0",
        ] {
            ip(line);
        }
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let bridge = Interface::find("br0").expect("made");
        let socket = bridge.bind(any).expect("bound");
        let wanted = Timestamping::OFF.transmit(1_024).source(Source::Both);
        let granted = socket.configure(wanted).expect("granted");
        let room = granted.system_queue.expect("known");
        assert!(room >= 1_024, "room for usual packets: {room}");
        // nobody receives there
        let own = SocketAddr::from(([10, 9, 8, 7], 9));
        let payload = vec![0; 60_000];
        let datagram = |id: u32| {
            let length = if id < SHORT { 1 } else { payload.len() };
            let outgoing = Outgoing::new(&payload[..length]);
            outgoing.to(own).id(TransmitId(id))
        };
        let batch: Vec<_> = (0..ALL).map(datagram).collect();
        assert_eq!(socket.send_batch(&batch), Ok(batch.len()));
        let outcome = |id| match socket.wait_transmit_timestamp(TransmitId(id), LONG) {
            Ok(TransmitAnswer::Resolved(outcome)) => outcome,
            other => panic!("id {id}: {other:?}"),
        };
        let outcomes: Vec<TransmitOutcome> = (0..ALL).map(outcome).collect();
        let came = outcomes.iter().filter(|one| is_timestamped(**one));
        assert_eq!(came.count(), ALL as usize);
    });
}
