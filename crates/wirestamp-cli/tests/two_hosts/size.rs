//! Path MTU problems.

use crate::rig::*;
use std::net::IpAddr;
use wirestamp_test_network::Direction;

#[test]
fn packets_larger_than_a_link_are_told_with_its_mtu() {
    let Some(network) =
        network(|builder| builder.direction("a", "b", Direction::new().told_mtu(1_300)))
    else {
        return;
    };
    let _reflector = Reflecting::on(&network, &[]);
    let few = ["--count", "50", "--rate", "500", "--timeout", "300ms"];
    for (peer, headers) in [
        (IpAddr::from(network.host("b").ipv4()), 28),
        (network.host("b").ipv6().into(), 48),
    ] {
        // what fits
        let size = (1_300 - headers).to_string();
        let told = report(&ask(
            &network,
            peer,
            &[&few[..], &["--size", &size]].concat(),
        ));
        assert_eq!(number(&told["answered"]), 50, "{told}");
        assert_eq!(number(&told["path_mtu"]["packet_bytes"]), 1_300);
        assert_eq!(number(&told["path_mtu"]["too_large"]), 0);
        let size = (1_301 - headers).to_string();
        let output = ask(&network, peer, &[&few[..], &["--size", &size]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.contains("they have 1301 bytes with headers, and the path's MTU is 1300"),
            "{text}"
        );
    }
}

/// The same words as above.
#[cfg(feature = "monitor")]
#[test]
fn the_monitor_says_as_well_that_packets_are_larger_than_a_link() {
    let Some(network) =
        network(|builder| builder.direction("a", "b", Direction::new().told_mtu(1_300)))
    else {
        return;
    };
    let _reflector = Reflecting::on(&network, &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("monitor.toml");
    let peer = network.host("b").ipv4();
    let text = format!(
        "[[stamp]]\npeer = \"{peer}\"\ninterval = \"100ms\"\nsize = 1273\n[http]\nlisten = \"127.0.0.1:9862\"\n"
    );
    std::fs::write(&file, text).expect("written");
    let host = network.host("a");
    let mut monitor = host.command(PROGRAM);
    monitor
        .args(["monitor", "--for", "60s", "--config"])
        .arg(&file);
    let mut monitor = monitor.spawn().expect("it runs");
    let error = || {
        let mut top = host.command(PROGRAM);
        top.args(["--json", "top", "--once", "http://127.0.0.1:9862"]);
        let output = top.output().expect("it runs");
        match serde_json::from_slice::<serde_json::Value>(&output.stdout) {
            Ok(snapshot) => match snapshot["peers"][0]["error"].as_str() {
                Some(error) => Some(error.to_owned()),
                None => Some(format!("{} {}", snapshot["tasks"], snapshot["peers"])),
            },
            Err(_) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let said = "packets have 1301 bytes with headers, and the path's MTU is 1300";
    let mut last = None;
    let found = (0..300).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        last = error().or(last.take());
        last.as_deref() == Some(said)
    });
    let _ = monitor.kill();
    let _ = monitor.wait();
    assert!(found, "{last:?}");
}

#[test]
fn packets_that_vanish_for_their_size_are_told_in_either_direction() {
    for (from, to) in [("a", "b"), ("b", "a")] {
        let Some(network) =
            network(|builder| builder.direction(from, to, Direction::new().mtu(1_000)))
        else {
            return;
        };
        let _reflector = Reflecting::on(&network, &[]);
        let peer = network.host("b").ipv4().into();
        let few = ["--count", "20", "--rate", "500", "--timeout", "300ms"];
        let output = ask(&network, peer, &[&few[..], &["--size", "1000"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.contains("1028 bytes with headers, and packets of 96 bytes are answered"),
            "{text}"
        );
        let told = report(&ask(
            &network,
            peer,
            &[&few[..], &["--size", "900"]].concat(),
        ));
        assert_eq!(number(&told["answered"]), 20);
    }
}
