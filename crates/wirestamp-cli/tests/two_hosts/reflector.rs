//! A reflector that can be left running: sockets from systemd, no privilege, no amplifier.

use crate::rig::*;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use wirestamp_test_network::{Direction, Event, Network};

/// Does what systemd does: binds the socket as root, and runs the program as nobody with it.
const ACTIVATE: &str = "
import os, socket, sys
address, program = sys.argv[1], sys.argv[2]
bound = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM)
bound.bind((address, 862))
os.dup2(bound.fileno(), 3)
os.set_inheritable(3, True)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
os.execv(program, [program, 'reflect', '--json', '--clock-bound', 'none', '--for', '60s'])
";

/// A field of `/proc/PID/status`.
fn status(process: u32, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{process}/status")).expect("running");
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.unwrap_or_else(|| panic!("no {field}"))
        .trim_start_matches(':')
        .trim()
        .to_owned()
}

fn is_answered(network: &Network) {
    let few = ["--count", "100", "--rate", "500", "--clocks", "same"];
    let told = report(&ask(network, network.host("b").ipv4().into(), &few));
    assert_eq!(number(&told["answered"]), 100, "{told}");
    assert_eq!(number(&told["reflector"]["followed_up"]), 100, "{told}");
}

#[test]
fn a_socket_of_systemd_is_served_without_privilege() {
    let Some(network) = network(|builder| builder) else {
        return;
    };
    // where nobody can read it
    let folder = tempfile::tempdir().expect("made");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("set");
    let program = folder.path().join("wirestamp");
    fs::copy(PROGRAM, &program).expect("copied");
    let host = network.host("b");
    let mut child = host
        .command("python3")
        .args(["-c", ACTIVATE, &host.ipv4().to_string()])
        .arg(&program)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let ready = lines
        .by_ref()
        .map(|line| line.expect("read"))
        .find(|line| line.contains("listening"))
        .expect("it says where it listens");
    let reflector = Reflecting(child);
    assert!(ready.contains("10.66.0.2:862"), "{ready}");
    assert_eq!(
        status(reflector.0.id(), "Uid"),
        "65534\t65534\t65534\t65534"
    );
    is_answered(&network);
}

/// It was started before the network was up, as at boot.
#[test]
fn an_address_that_comes_later_is_answered_on() {
    let Some(network) = network(|builder| builder) else {
        return;
    };
    let host = network.host("b");
    let addresses = [format!("{}/24", host.ipv4()), format!("{}/64", host.ipv6())];
    let change = |what: &str| {
        for address in &addresses {
            let mut command = host.command("ip");
            command.args(["addr", what, address, "dev", host.device()]);
            if address.contains(':') {
                command.arg("nodad");
            }
            assert!(command.status().expect("run").success(), "{what} {address}");
        }
    };
    change("del");
    let _reflector = Reflecting::everywhere(&network);
    change("add");
    is_answered(&network);
    let few = ["--count", "20", "--rate", "500", "--clocks", "same"];
    let told = report(&ask(&network, host.ipv6().into(), &few));
    assert_eq!(number(&told["answered"]), 20, "{told}");
}

#[test]
fn privileges_are_dropped_when_the_sockets_are_open() {
    let Some(network) = network(|builder| builder) else {
        return;
    };
    for (options, capabilities, filters) in [
        (&[][..], "0000000000000000", "2"),
        (&["--no-sandbox"][..], "", "0"),
    ] {
        let reflector = Reflecting::on(&network, options);
        let process = reflector.0.id();
        assert_eq!(status(process, "Seccomp"), filters);
        let kept = status(process, "CapEff");
        assert!(capabilities.is_empty() || kept == capabilities, "{kept}");
        assert_eq!(
            capabilities.is_empty(),
            kept != "0000000000000000",
            "{kept}"
        );
        is_answered(&network);
    }
}

/// Octets of the reply, if there is one.
fn reply(socket: &UdpSocket, octets: &[u8]) -> Option<usize> {
    socket.send(octets).expect("sent");
    socket.recv(&mut [0; 4_096]).ok()
}

#[test]
fn no_reply_is_longer_than_its_request_unless_that_is_asked_for() {
    let Some(network) = network(|builder| builder.direction("a", "b", Direction::new())) else {
        return;
    };
    let (a, b) = (network.host("a"), network.host("b"));
    let bind = || UdpSocket::bind((a.ipv4(), 0));
    let socket = a.run(bind).expect("entered").expect("bound");
    socket.connect((b.ipv4(), PORT)).expect("connected");
    socket.set_read_timeout(Some(300 * MS)).expect("set");
    // a valid Error Estimate; what follows the base packet is an extension, a part of one, or padding
    let mut octets = vec![0; 1_400];
    octets[13] = 1;
    octets[44..48].copy_from_slice(&[0x80, 1, 0, 20]);
    {
        let _reflector = Reflecting::on(&network, &[]);
        for length in [1, 13, 14, 43] {
            assert_eq!(reply(&socket, &octets[..length]), None, "{length}");
        }
        for length in [44, 45, 47, 48, 50, 68, 200, 1_400] {
            assert_eq!(reply(&socket, &octets[..length]), Some(length));
        }
    }
    let _reflector = Reflecting::on(&network, &["--answer-short"]);
    for (length, answer) in [(13, None), (14, Some(44)), (43, Some(44)), (44, Some(44))] {
        assert_eq!(reply(&socket, &octets[..length]), answer, "{length}");
    }
}

#[test]
fn what_the_clocks_may_be_off_is_in_the_bound_of_each_direction() {
    let Some(network) = network(|builder| {
        builder
            .direction("a", "b", Direction::new().delay(3 * MS))
            .direction("b", "a", Direction::new().delay(7 * MS))
    }) else {
        return;
    };
    let own = [
        "--clocks",
        "utc",
        "--clock-bound",
        "50us",
        "--count",
        "100",
        "--rate",
        "500",
    ];
    let peer = network.host("b").ipv4().into();
    {
        // it does not say that it follows UTC
        let _reflector = Reflecting::on(&network, &[]);
        let told = report(&ask(&network, peer, &own));
        assert_eq!(
            told["unknown_offset"],
            "the reflector does not say that its clock is synchronised"
        );
        assert_eq!(number(&told["forward_ns"]["count"]), 0);
    }
    let _reflector = Reflecting::synchronised(&network, "100us");
    let told = report(&ask(&network, peer, &own));
    assert_eq!(told["clocks"], "utc");
    assert_eq!(told["reflector"]["synchronized"], true);
    for (name, truth) in [("forward_ns", 3_000_000), ("backward_ns", 7_000_000)] {
        let (min, bound) = (
            number(&told[name]["min"]),
            number(&told[name]["error_bound"]),
        );
        // the Error Estimate says up to 1/128 more than 100 us
        assert!((150_000..152_000).contains(&bound), "{name}: bound {bound}");
        assert!(min + bound >= truth, "{name}: {min} ns");
    }
}

/// Duplicate address detection takes a second or more, and until then nobody can bind the address.
#[test]
fn an_address_that_is_still_tentative_does_not_hinder_the_others() {
    let Some(network) = network(|builder| builder) else {
        return;
    };
    let host = network.host("b");
    let run = |command: &str| {
        let mut words = command.split(' ');
        let program = words.next().expect("a program");
        let status = host.command(program).args(words).status();
        assert!(status.expect("run").success(), "{command}");
    };
    run("ip link add two0 type veth peer name two1");
    run("ip addr add 10.67.0.1/24 dev two0");
    // nobody is at the other end, which is up: the address stays tentative for as long as probes are sent
    run("sysctl -qw net.ipv6.conf.two0.dad_transmits=60");
    run("ip link set two1 up");
    run("ip link set two0 up");
    run("ip -6 addr add fd67::1/64 dev two0");
    let mut child = host
        .command(PROGRAM)
        .args([
            "reflect",
            "two0",
            "--json",
            "--clock-bound",
            "none",
            "--for",
            "30s",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let ready = lines
        .map(|line| line.expect("read"))
        .find(|line| line.contains("listening") || line.contains("error"))
        .expect("a line");
    let _reflector = Reflecting(child);
    assert!(
        ready.contains("10.67.0.1:862") && !ready.contains("fd67::1"),
        "{ready}"
    );
}

/// The replies to two requests of each of an own address to one of another own, after each other.
#[test]
fn a_socket_of_all_addresses_answers_from_the_one_that_was_asked() {
    let Some(network) = network(|builder| builder) else {
        return;
    };
    let host = network.host("b");
    let addresses = ["10.88.0.1", "10.88.0.2", "fd88::1", "fd88::2"];
    for address in addresses {
        let whole = if address.contains(':') { 128 } else { 32 };
        let added = host
            .command("ip")
            .args(["addr", "add", &format!("{address}/{whole}"), "dev", "net0"])
            .arg("nodad")
            .status();
        assert!(added.expect("run").success(), "{address}");
    }
    let mut octets = [0; 44];
    octets[13] = 1;
    for (wildcard, pairs) in [
        ("0.0.0.0", &[("10.88.0.1", "10.88.0.2")][..]),
        (
            "::",
            &[("10.88.0.1", "10.88.0.2"), ("fd88::1", "fd88::2")][..],
        ),
    ] {
        let mut child = host
            .command("python3")
            .args(["-c", ACTIVATE, wildcard, PROGRAM])
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let ready = lines.map(|line| line.expect("read"));
        let ready = ready.take_while(|line| !line.contains("listening")).count();
        let _reflector = Reflecting(child);
        assert!(ready < 2, "it says where it listens");
        for (one, other) in pairs.iter().flat_map(|(a, b)| [(a, b), (b, a), (a, b)]) {
            let address = |text: &&str| text.parse::<std::net::IpAddr>().expect("an address");
            let bind = || UdpSocket::bind((address(one), 0));
            let socket = host.run(bind).expect("entered").expect("bound");
            // what comes from another address than the one that was asked does not get here
            socket.connect((address(other), PORT)).expect("connected");
            socket.set_read_timeout(Some(1_000 * MS)).expect("set");
            for _ in 0..2 {
                let answer = reply(&socket, &octets);
                assert_eq!(answer, Some(44), "{one} asked {other} on {wildcard}");
            }
        }
    }
}

/// Sends a request to each address, by an interface or as routes say, and says how many replies came.
const BROADCAST: &str = "
import socket, sys
asks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asks.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
if sys.argv[1]:
    asks.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, sys.argv[1].encode())
asks.settimeout(1)
for address in sys.argv[2:]:
    asks.sendto(bytes(13) + bytes([1]) + bytes(30), (address, 862))
replies = 0
try:
    while True:
        asks.recv(100)
        replies += 1
except TimeoutError:
    print(replies)
";

#[test]
fn broadcasts_are_not_answered() {
    let Some(network) = network(|builder| builder) else {
        return;
    };
    let host = network.host("b");
    for words in [
        &[
            "link", "add", "all0", "type", "veth", "peer", "name", "all1",
        ][..],
        &["link", "set", "all1", "up"],
        &["addr", "add", "10.77.0.1/24", "brd", "+", "dev", "all0"],
        &["link", "set", "all0", "up"],
    ] {
        let status = host.command("ip").args(words).status();
        assert!(status.expect("run").success(), "{words:?}");
    }
    let mut child = host
        .command(PROGRAM)
        .args(["reflect", "--listen", "0.0.0.0", "--json", "--for", "60s"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let ready = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map(|line| line.expect("read"))
        .find(|line| line.contains("listening"));
    let _reflector = Reflecting(child);
    ready.expect("it says where it listens");
    // what is sent to all comes back to the host itself, too
    let ask = |interface: &str, addresses: &[&str]| {
        let mut command = host.command("python3");
        command.args(["-c", BROADCAST, interface]).args(addresses);
        let output = command.output().expect("run");
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(ask("", &["10.77.0.1"]).trim(), "1");
    let all = ["255.255.255.255", "10.77.0.255"];
    assert_eq!(ask("all0", &all).trim(), "0");
}

/// Host c sends one packet with the address and port of one reflector to the other.
#[test]
fn a_forged_packet_starts_no_loop_of_reflectors() {
    let Some(network) = network(|builder| {
        builder
            .hosts(["c"])
            .direction("a", "b", Direction::new().delay(MS))
            .direction("b", "a", Direction::new().delay(MS))
    }) else {
        return;
    };
    let (a, c) = (network.host("a"), network.host("c"));
    let _b = Reflecting::on(&network, &["--port", "8621"]);
    let mut child = a
        .command(PROGRAM)
        .args(["reflect", "net0", "--port", "8620", "--json"])
        .args(["--for", "60s"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let ready = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map(|line| line.expect("read"))
        .find(|line| line.contains("listening"));
    let _a = Reflecting(child);
    ready.expect("it says where it listens");
    let added = c
        .command("ip")
        .args(["addr", "add", &format!("{}/32", a.ipv4()), "dev", "lo"])
        .status();
    assert!(added.expect("run").success());
    let bind = || UdpSocket::bind((a.ipv4(), 8_620));
    let forger = c.run(bind).expect("entered").expect("bound");
    let mut octets = [0; 44];
    octets[13] = 1;
    forger
        .send_to(&octets, (network.host("b").ipv4(), 8_621))
        .expect("sent");
    let mut replies = 0;
    let mut events = Vec::new();
    while replies == 0 {
        std::thread::sleep(20 * MS);
        events.extend(network.take_log());
        replies = of_ports(&events, "b", (8_621, 8_620));
    }
    // a loop would have gone ten times around
    std::thread::sleep(20 * MS);
    events.extend(network.take_log());
    let answers = of_ports(&events, "a", (8_620, 8_621));
    let replies = of_ports(&events, "b", (8_621, 8_620));
    assert_eq!((replies, answers), (1, 0), "{events:?}");
}

fn of_ports(events: &[Event], from: &str, ports: (u16, u16)) -> usize {
    let is_it = |event: &&Event| event.from == from && event.udp_ports == Some(ports);
    events.iter().filter(is_it).count()
}
