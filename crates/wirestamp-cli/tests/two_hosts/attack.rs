//! Keys, and somebody who sends what others should have sent.

use crate::rig::*;
use serde_json::Value;
use std::net::UdpSocket;
use std::process::Stdio;
use std::thread;
use wirestamp_test_network::{Direction, Event, Network};

#[test]
fn with_a_key_both_ends_measure_and_a_wrong_one_is_told() {
    let Some(network) = network(|builder| builder.direction("a", "b", Direction::new().delay(MS)))
    else {
        return;
    };
    let folder = tempfile::tempdir().expect("made");
    let file = |name: &str, key: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, key).expect("written");
        path.to_str().expect("plain").to_owned()
    };
    let right = file("right", "00112233445566778899aabbccddeeff\n");
    let wrong = file("wrong", "ffeeddccbbaa99887766554433221100\n");
    let _reflector = Reflecting::on(&network, &["--key-file", &right]);
    let peer = network.host("b").ipv4().into();
    let few = [
        "--count",
        "100",
        "--rate",
        "500",
        "--timeout",
        "300ms",
        "--clocks",
        "same",
    ];
    let asked = |key: &str| ask(&network, peer, &[&few[..], &["--key-file", key]].concat());
    let told = report(&asked(&right));
    assert_eq!(
        (number(&told["answered"]), &told["authenticated"]),
        (100, &Value::Bool(true))
    );
    assert!(number(&told["forward_ns"]["min"]) >= 1_000_000 - 10_000);
    for output in [asked(&wrong), ask(&network, peer, &few)] {
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains("with") && text.contains("key") && text.contains("silent"),
            "{text}"
        );
        assert!(!text.contains("ffeeddcc"), "a key is never shown");
    }
}

/// The newest request of host a, as far as the log has it: number, T1, Error Estimate and SSID; and from which port.
fn newest(events: &[Event]) -> Option<(u16, [u8; 16])> {
    events.iter().rev().find_map(|event| {
        let (source, destination) = event.udp_ports?;
        let head = event.payload.first_chunk()?;
        (event.from == "a" && destination == PORT).then_some((source, *head))
    })
}

/// A reply of an unauthenticated reflector that answers `request`, with times that make its delays hours.
fn forged(request: &[u8; 16]) -> Vec<u8> {
    let mut reply = vec![0; 96];
    reply[..4].copy_from_slice(&request[..4]);
    let mut times = [0xee, 0xad, 0, 0, 0, 0, 0, 1];
    reply[4..12].copy_from_slice(&times);
    reply[12..14].copy_from_slice(&[0, 1]);
    reply[14..16].copy_from_slice(&request[14..]);
    times[7] = 0;
    reply[16..24].copy_from_slice(&times);
    reply[24..28].copy_from_slice(&request[..4]);
    reply[28..38].copy_from_slice(&request[4..14]);
    reply[40] = 255;
    reply
}

/// Host c has taken the address of host b, and sends with it to host a.
fn attack(network: &Network, child: &mut std::process::Child) -> u32 {
    let (a, b, c) = (network.host("a"), network.host("b"), network.host("c"));
    let added = c
        .command("ip")
        .args(["addr", "add", &format!("{}/32", b.ipv4()), "dev", "lo"])
        .status();
    assert!(added.expect("run").success());
    let bind = || UdpSocket::bind((b.ipv4(), PORT));
    let socket = c.run(bind).expect("entered").expect("bound");
    let (mut sent, mut target) = (0, None);
    while child.try_wait().expect("running").is_none() {
        target = newest(&network.take_log()).or(target);
        if let Some((port, request)) = target {
            let mut guessed = forged(&request);
            guessed[35] ^= 1; // a T1 that nobody sent
            let other = {
                let mut other = forged(&request);
                other[15] ^= 1;
                other
            };
            for packet in [&request[..], &forged(&request)[..40], &guessed, &other] {
                // a refused one is no attack
                sent += u32::from(socket.send_to(packet, (a.ipv4(), port)).is_ok());
            }
        }
        thread::sleep(MS);
    }
    sent
}

#[test]
fn forged_reflected_and_truncated_packets_change_no_result() {
    let folder = tempfile::tempdir().expect("made");
    let key = folder.path().join("key");
    std::fs::write(&key, "00112233445566778899aabbccddeeff").expect("written");
    let key = ["--key-file", key.to_str().expect("plain")];
    for key in [&key[..], &[]] {
        let Some(network) = network(|builder| {
            builder
                .hosts(["c"])
                .direction("a", "b", Direction::new().delay(3 * MS))
                .direction("b", "a", Direction::new().delay(7 * MS))
        }) else {
            return;
        };
        let _reflector = Reflecting::on(&network, key);
        let peer = network.host("b").ipv4().to_string();
        let mut child = network
            .host("a")
            .command(PROGRAM)
            .args([
                "latency", "--json", "--clocks", "same", "--count", "300", "--rate", "300",
            ])
            .args(["--peer", &peer])
            .args(key)
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let sent = attack(&network, &mut child);
        let told = report(&child.wait_with_output().expect("ended"));
        assert!(sent > 100, "{sent}");
        assert_eq!(number(&told["answered"]), 300, "{told}");
        assert_eq!(number(&told["lost"]["packets"]), 0);
        assert_eq!(number(&told["contradictions"]), 0);
        let rejected = &told["rejected"];
        let all: i64 = rejected
            .as_object()
            .expect("reasons")
            .values()
            .map(number)
            .sum();
        // those that came before or after the run are not told of
        assert!(
            all > i64::from(sent) / 2 && all <= i64::from(sent),
            "{rejected} of {sent}"
        );
        let reasons: &[&str] = if key.is_empty() {
            &["truncated", "unmatched", "foreign"]
        } else {
            &["truncated"]
        };
        for reason in reasons {
            assert!(number(&rejected[*reason]) > 10, "{rejected}");
        }
        for (name, least) in [("forward_ns", 3_000_000), ("backward_ns", 7_000_000)] {
            let figures = &told[name];
            assert_eq!(number(&figures["count"]), 300);
            let (min, max) = (number(&figures["min"]), number(&figures["max"]));
            assert!(
                min >= least - 20_000 && max < 2_000_000_000,
                "{name}: {figures}"
            );
        }
    }
}
