//! Which device a transmit timestamp names, on a bridge of two ports.

use super::*;
use crate::native::interface;
use crate::native::namespace::{Another, in_namespace, ip};
use crate::native::wire::control::{QueueEntry, queue_entry};
use messages::ReceiveMessages;
use std::process::Command;

const LINKS: [&str; 15] = [
    "link add br0 type bridge",
    "link add one type veth peer name one1",
    "link add two type veth peer name two1",
    "link set one master br0",
    "link set two master br0",
    "link set one1 up",
    "link set two1 up",
    "link set one up",
    "link set two up",
    "link set br0 up",
    "addr add 10.9.8.1/24 dev br0",
    "addr add fd00:9::1/64 dev br0 nodad",
    "neigh add 10.9.8.8 lladdr 02:00:00:00:00:08 dev br0",
    "neigh add 10.9.8.9 lladdr 02:00:00:00:00:09 dev br0",
    "neigh add fd00:9::8 lladdr 02:00:00:00:00:08 dev br0",
];

/// A port forwards once the kernel has noticed its carrier, which takes up to a second where others make links too. Until then
/// packets are dropped.
fn wait_until_ports_forward() {
    let until = clock::now() + Span::from_seconds(30);
    loop {
        let shown = Command::new("bridge").args(["link", "show"]).output();
        let shown = shown.expect("iproute2").stdout;
        let shown = String::from_utf8_lossy(&shown);
        if shown.matches("state forwarding").count() == 2 {
            return;
        }
        assert!(clock::now() < until, "{shown}");
        thread::sleep(Duration::from_millis(1));
    }
}

pub(super) fn with_bridge(test: impl FnOnce(InterfaceDescription, [InterfaceIndex; 2]) + Send) {
    in_namespace("ports of a bridge", || {
        for line in LINKS {
            ip(line).expect("made");
        }
        for (mac, port) in [("02:00:00:00:00:08", "one"), ("02:00:00:00:00:09", "two")] {
            let words = ["fdb", "replace", mac, "dev", port, "master", "static"];
            let said = Command::new("bridge").args(words).status();
            assert!(said.expect("iproute2").success(), "{words:?}");
        }
        wait_until_ports_forward();
        let all = interface::list().expect("a list");
        let found = |name: &str| {
            let found = all.iter().find(|interface| interface.name == name);
            found.expect("it is there").clone()
        };
        test(found("br0"), [found("one").index, found("two").index]);
    });
}

pub(super) fn tracked(local: SocketAddr, interface: Option<&InterfaceDescription>) -> Tracked {
    let socket = Socket::bind(local, interface).expect("bound");
    let tracker = Mutex::new(socket.tracker());
    Tracked { socket, tracker }
}

/// The device that the next entry of the error queue names.
pub(super) fn named(socket: &Socket) -> Option<InterfaceIndex> {
    let until = soon();
    loop {
        let mut messages = <ReceiveMessages<1>>::new();
        let entry = messages.receive_errors(socket.as_fd()).ok();
        let entry = entry.and_then(|_| queue_entry(messages.control(0), || None));
        if let Some(QueueEntry::Timestamp { device, .. }) = entry {
            return device;
        }
        assert!(clock::now() < until, "no timestamp came");
        thread::sleep(Duration::from_millis(1));
    }
}

pub(super) const BOTH: Timestamping = Timestamping::OFF.transmit(64).source(Source::Both);

#[test]
fn a_transmit_timestamp_names_the_port_by_which_the_packet_leaves() {
    with_bridge(|bridge, [one, two]| {
        for (local, bound) in [
            ("0.0.0.0:0", Some(&bridge)),
            ("[::]:0", Some(&bridge)),
            ("0.0.0.0:0", None),
        ] {
            let socket = tracked(local.parse().expect("an address"), bound);
            socket.configure(&BOTH).expect("configured");
            assert!(socket.naming.is_by_kernel(), "{local}, {bound:?}");
            for (to, port) in [
                ("10.9.8.8:9", one),
                ("10.9.8.9:9", two),
                ("[fd00:9::8]:9", one),
            ] {
                let to: SocketAddr = to.parse().expect("an address");
                if to.is_ipv4() || local.starts_with('[') {
                    let packet = outgoing(b"x", 1).to(to);
                    assert_eq!(socket.send(&[packet]), Ok(1));
                    assert_eq!(named(&socket), Some(port), "{to} from {local}, {bound:?}");
                }
            }
        }
    });
}

/// Where one device alone can have made them, they come without the packet, which is cheaper.
#[test]
fn the_kernel_names_devices_only_where_there_can_be_several() {
    with_bridge(|bridge, _| {
        let local = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let named = |socket: &Tracked, wanted: &Timestamping| {
            socket.configure(wanted).expect("configured");
            let has = socket.flags.load(Ordering::Relaxed) & OPT_TSONLY == 0;
            assert_eq!(
                has,
                socket.naming.is_by_kernel() && wanted.transmit.is_some()
            );
            socket.naming.is_by_kernel()
        };
        let bound = tracked(local, Some(&bridge));
        assert!(named(&bound, &BOTH));
        assert!(!named(&bound, &BOTH.source(Source::Software)));
        assert!(named(&bound, &BOTH.source(Source::Hardware)));
        let all = interface::list().expect("a list");
        let device = all.iter().find(|interface| interface.name == "lo");
        assert!(!named(&tracked(local, device), &BOTH));
        assert!(named(&tracked(local, None), &BOTH));
        let unbound = tracked(local, None);
        assert!(named(&unbound, &BOTH));
        // what leaves by it is timestamped elsewhere, under a number that is another interface's here
        let elsewhere = Another::new("naming");
        let into = elsewhere.name();
        ip(&format!("link add out type veth peer name in netns {into}")).expect("made");
        assert!(!named(&tracked(local, None), &BOTH));
        assert!(!named(&unbound, &BOTH), "as it is now");
        assert!(named(&bound, &BOTH), "by ports alone");
        ip("link del out").expect("removed");
        assert!(named(&unbound, &BOTH), "as it is now");
    });
}

/// The other end of a veth takes packets to wherever it passes them on.
#[test]
fn a_socket_on_what_is_routed_has_no_devices_named_where_packets_can_leave_the_namespace() {
    with_bridge(|_, _| {
        let all = interface::list().expect("a list");
        let veth = all.iter().find(|interface| interface.name == "one1");
        let socket = tracked((Ipv4Addr::UNSPECIFIED, 0).into(), veth);
        socket.configure(&BOTH).expect("configured");
        assert!(socket.naming.is_by_kernel());
        let elsewhere = Another::new("routed");
        let into = elsewhere.name();
        ip(&format!("link add out type veth peer name in netns {into}")).expect("made");
        socket.configure(&BOTH).expect("configured");
        assert!(!socket.naming.is_by_kernel());
    });
}

/// Sends 63 datagrams of each length before any timestamp is read.
fn assert_that_all_have_room(socket: &Tracked, to: SocketAddr, lengths: &[usize]) {
    const COUNT: u32 = 63; // of the longest in 8 MiB
    let wanted = Timestamping::OFF
        .transmit(64)
        .source(Source::HardwareElseSoftware);
    let granted = socket.configure(&wanted).expect("configured");
    assert!(socket.naming.is_by_kernel());
    assert!(
        granted.system_queue.is_some_and(|room| room >= COUNT),
        "{granted:?}"
    );
    for length in lengths {
        let before = socket.receive_buffer().expect("Linux 4.12").0;
        let payload = vec![0; *length];
        let room = socket.make_room(&[outgoing(&payload, 0)]);
        assert!(room.is_some_and(|room| room >= COUNT), "{room:?}");
        for id in 0..COUNT {
            let packet = outgoing(&payload, id).to(to);
            assert_eq!(socket.send(&[packet]), Ok(1));
        }
        let (mut used, until) = (0, soon());
        while used < before + COUNT * 500 && clock::now() < until {
            used = socket.receive_buffer().expect("Linux 4.12").0;
        }
        let each = (used - before) / COUNT;
        let most = socket.naming.room.charge();
        assert!((500..=most).contains(&each), "{each} of {length} bytes");
        for _ in 0..COUNT {
            named(socket);
        }
    }
}

#[test]
fn a_timestamp_with_its_packet_is_charged_no_more_than_is_said() {
    with_bridge(|bridge, _| {
        let local = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let to: SocketAddr = ([10, 9, 8, 8], 9).into();
        // both leave by loopback, whatever the socket is bound to; nobody receives there, so that datagrams take no room
        let loopback: SocketAddr = ([127, 0, 0, 1], 9).into();
        let own: SocketAddr = ([10, 9, 8, 1], 9).into();
        // the longest of each power of two are among them
        let to_this_host = [
            1_000, 1_480, 3_000, 3_528, 7_624, 9_000, 15_816, 16_000, 20_000, 32_200, 60_000,
            64_968, 65_507,
        ];
        let bound = tracked(local, Some(&bridge));
        assert_that_all_have_room(&bound, to, &[1, 700, 1_472]);
        assert_eq!(bound.naming.room.charge(), 2_560);
        assert_that_all_have_room(&bound, own, &to_this_host);
        for name in ["one1", "two1", "one", "two", "br0"] {
            ip(&format!("link set {name} mtu 9000")).expect("set");
        }
        assert_that_all_have_room(&bound, to, &[1, 1_472, 4_000, 8_972, 20_000]);
        let unbound = tracked(local, None);
        assert_that_all_have_room(&unbound, to, &[8_972]);
        assert_that_all_have_room(&unbound, loopback, &to_this_host);
        let of_ipv6 = tracked((Ipv6Addr::UNSPECIFIED, 0).into(), None);
        let loopback = (Ipv6Addr::LOCALHOST, 9).into();
        assert_that_all_have_room(&of_ipv6, loopback, &to_this_host);
    });
}
