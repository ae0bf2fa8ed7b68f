//! A kernel that withholds packets from those without CAP_NET_RAW (`net.core.tstamp_allow_data` 0).

use super::naming::{BOTH, named, tracked, with_bridge};
use super::*;
use std::fs;
use std::io::Write as _;
use std::net::UdpSocket;
use std::sync::mpsc::{self, Receiver, Sender};

const SETTING: &str = "/proc/sys/net/core/tstamp_allow_data";

/// Changes the setting to what is asked for, until nobody can ask; then back. In the first network namespace: older kernels
/// have it nowhere else.
fn change(asked: &Receiver<&str>, is_set: &Sender<()>) {
    let before = fs::read_to_string(SETTING).expect("a setting");
    for value in asked {
        fs::write(SETTING, value).expect("root");
        is_set.send(()).expect("asked for");
    }
    fs::write(SETTING, before.trim()).expect("root");
}

fn without_net_raw<T: Send>(made: impl FnOnce() -> T + Send) -> T {
    const NET_RAW: u32 = 13;
    without(NET_RAW, made)
}

/// Sends one datagram; returns whether its timestamp, which comes in any case, names the device.
fn names_device(socket: &Tracked) -> bool {
    socket.configure(&BOTH).expect("configured");
    let to: SocketAddr = ([10, 9, 8, 8], 9).into();
    assert_eq!(socket.send(&[outgoing(b"x", 1).to(to)]), Ok(1));
    let has = named(socket).is_some();
    assert_eq!(has, socket.naming.is_by_kernel());
    has
}

fn adopted(theirs: UdpSocket) -> Tracked {
    let (socket, tracker) = Socket::adopt(theirs.into()).expect("adopted");
    let tracker = Mutex::new(tracker);
    Tracked { socket, tracker }
}

/// With the packets of all sockets given at first, and withheld once that is `set`.
fn assert_that_none_is_lost(bridge: &InterfaceDescription, set: impl FnOnce()) {
    let any = || SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let ours = || tracked(any(), Some(bridge));
    let theirs = || UdpSocket::bind(any()).expect("a socket");
    let unprivileged = without_net_raw(ours);
    let by_its_like = without_net_raw(|| names_device(&unprivileged));
    assert!(by_its_like, "if this thread has them, all have");
    let is_known = fs::exists(SETTING).expect("an answer");
    // where the setting can't be read, a prober of this thread says nothing of its maker
    assert_eq!(names_device(&unprivileged), is_known, "all have packets");
    let of_theirs = names_device(&adopted(without_net_raw(theirs)));
    assert_eq!(of_theirs, is_known, "all have packets");
    let by_unprivileged = || without_net_raw(|| names_device(&adopted(theirs())));
    assert!(by_unprivileged(), "if this thread has them, all have");
    set();
    assert!(names_device(&ours()), "this thread has CAP_NET_RAW");
    assert!(!without_net_raw(|| names_device(&ours())));
    assert!(!without_net_raw(|| names_device(&unprivileged)));
    assert!(!names_device(&unprivileged), "its maker lacked it");
    let ours = ours();
    assert!(!without_net_raw(|| names_device(&ours)), "not known");
    assert!(names_device(&ours), "this thread knows it");
    assert!(!names_device(&adopted(without_net_raw(theirs))));
    assert!(!by_unprivileged());
}

/// Newer kernels have the setting for each network namespace.
#[test]
fn no_timestamp_is_lost_where_the_network_namespace_withholds_packets() {
    with_bridge(|bridge, _| {
        if !fs::exists(SETTING).expect("an answer") {
            let missing = "this kernel has net.core.tstamp_allow_data for the whole machine only";
            writeln!(io::stderr(), "skipped: withheld packets: {missing}").expect("open");
            assert!(std::env::var_os("WIRESTAMP_NO_SKIP").is_none(), "{missing}");
            return;
        }
        assert_that_none_is_lost(&bridge, || fs::write(SETTING, "0").expect("root"));
    });
}

#[test]
#[ignore = "changes a setting of the whole machine: scripts/vm-test runs it in its guest"]
fn no_timestamp_is_lost_where_the_kernel_withholds_packets() {
    let (ask, asked) = mpsc::channel();
    let (set, is_set) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || change(&asked, &set));
        with_bridge(move |bridge, _| {
            assert_that_none_is_lost(&bridge, || {
                if fs::exists(SETTING).expect("an answer") {
                    return fs::write(SETTING, "0").expect("root");
                }
                ask.send("0").expect("changed");
                is_set.recv().expect("changed");
            });
        });
    });
}
