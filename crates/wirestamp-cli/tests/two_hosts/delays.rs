//! Delays, losses and marks: what the program says is what the router did.

use crate::rig::*;
use serde_json::Value;
use std::net::IpAddr;
use wirestamp_test_network::{Direction, Fate};

#[test]
fn three_milliseconds_forth_seven_back_and_two_percent_lost_are_told() {
    let Some(network) = network(|builder| {
        builder
            .direction("a", "b", Direction::new().delay(3 * MS).loss(0.02))
            .direction("b", "a", Direction::new().delay(7 * MS))
    }) else {
        return;
    };
    let _reflector = Reflecting::on(&network, &[]);
    for peer in [
        network.host("b").ipv4().into(),
        IpAddr::from(network.host("b").ipv6()),
    ] {
        let _ = network.take_log();
        let output = ask(
            &network,
            peer,
            &["--clocks", "same", "--count", "1000", "--rate", "500"],
        );
        let (told, events) = (report(&output), network.take_log());
        let (requests, replies) = (of_run(&events, true, 1_000), of_run(&events, false, 1_000));
        assert_eq!(requests.len(), 1_000);
        holds("forward", &told["forward_ns"], &requests);
        holds("backward", &told["backward_ns"], &replies);
        let lost = requests
            .iter()
            .filter(|event| event.fate == Fate::Lost)
            .count() as i64;
        assert!(lost > 5, "{lost}");
        assert_eq!(number(&told["lost"]["forward"]), lost, "{}", told["lost"]);
        assert_eq!(number(&told["lost"]["backward"]), 0);
        assert_eq!(number(&told["lost"]["packets"]), lost);
        assert_eq!(output.status.code(), Some(6), "packets were lost");
        assert_eq!(told["unknown_offset"], Value::Null);
        assert_eq!(number(&told["hops"]["forward"]), 1);
        assert_eq!(number(&told["hops"]["backward"]), 1);
        let round_trip = number(&told["round_trip_ns"]["min"]);
        assert!(round_trip >= 10_000_000 - 40_000, "{round_trip}");
    }
}

#[test]
fn what_the_network_does_to_packets_is_told_by_direction() {
    let Some(network) = network(|builder| {
        builder
            .direction("a", "b", Direction::new().delay(MS).duplicate(0.05).dscp(0))
            .direction(
                "b",
                "a",
                Direction::new().delay(MS).loss(0.05).reorder(0.05, 8 * MS),
            )
    }) else {
        return;
    };
    let _reflector = Reflecting::on(&network, &["--grant-dscp"]);
    let peer = network.host("b").ipv4().into();
    let output = ask(
        &network,
        peer,
        &["--count", "1000", "--rate", "500", "--dscp", "46"],
    );
    let (told, events) = (report(&output), network.take_log());
    let (requests, replies) = (of_run(&events, true, 1_000), of_run(&events, false, 1_000));
    let lost = replies
        .iter()
        .filter(|event| event.fate == Fate::Lost)
        .count() as i64;
    let copies = requests.iter().filter(|event| event.is_copy).count() as i64;
    assert_eq!(told["unknown_offset"], "nothing relates the two clocks");
    assert_eq!(told["forward_ns"]["count"], 0);
    let [low, high] = [0, 1].map(|end| number(&told["offset_ns"][end]));
    assert!(low <= 0 && 0 <= high, "the clocks are one: {low} to {high}");
    // of a copied packet one reply may be lost without the packet being lost; and replies that close the session may be
    let [forward, backward] = ["forward", "backward"].map(|way| number(&told["lost"][way]));
    let seen = number(&told["duplicated"]["forward"]);
    assert!(
        copies > 10 && seen <= copies && seen >= copies * 8 / 10,
        "{seen} of {copies}"
    );
    assert!(lost > 10, "{lost}");
    let excess = lost - backward - (copies - seen);
    assert!(
        forward == 0 && (0..=5).contains(&excess),
        "{} of {lost}, {seen} of {copies}",
        told["lost"]
    );
    let answered = number(&told["answered"]);
    // those that close the session have it too
    let changed = number(&told["dscp_changed"]["forward"]);
    assert!(
        changed > answered && changed <= answered + 5,
        "{changed} of {answered}"
    );
    assert_eq!(number(&told["dscp_changed"]["backward"]), 0);
    assert!(
        number(&told["reordered"]["backward"]) > 5,
        "{}",
        told["reordered"]
    );
}

#[test]
fn a_row_for_each_packet_says_what_the_router_did_to_it() {
    let Some(network) = network(|builder| {
        builder
            .direction("a", "b", Direction::new().delay(3 * MS).loss(0.1))
            .direction("b", "a", Direction::new().delay(7 * MS))
    }) else {
        return;
    };
    let _reflector = Reflecting::on(&network, &[]);
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("packets");
    let peer = network.host("b").ipv4().into();
    let output = ask(
        &network,
        peer,
        &[
            "--clocks",
            "same",
            "--count",
            "200",
            "--rate",
            "500",
            "--packets",
            file.to_str().expect("plain"),
        ],
    );
    let told = report(&output);
    let (rows, events) = (rows(&file), network.take_log());
    let mut requests = of_run(&events, true, 200);
    // the log has those that were lost first
    requests.sort_by_key(|event| event.payload[..4].to_vec());
    assert_eq!((rows.len(), requests.len()), (200, 200));
    let mut lost = 0;
    for (row, event) in rows.iter().zip(&requests) {
        let is_lost = event.fate == Fate::Lost;
        lost += i64::from(is_lost);
        assert_eq!(row["answered"], !is_lost, "{row}");
        assert_eq!(row["forward_ns"].is_null(), is_lost, "{row}");
        let left = row["sent_utc_ns"].as_str().expect("digits");
        let left: i64 = left.parse().expect("a number");
        assert!(
            left <= event.arrived_ns,
            "it left before the router had it: {row}"
        );
        if let Some(forward) = row["forward_ns"].as_i64() {
            let truth = event.left_ns.expect("forwarded") - event.arrived_ns;
            let bound = number(&row["forward_error_bound_ns"]);
            assert!(
                forward + bound >= truth,
                "{forward} ns, in the router {truth}"
            );
            let parts =
                number(&row["residence_as_written_ns"]) + number(&row["reflector_send_path_ns"]);
            assert_eq!(parts, number(&row["residence_ns"]), "{row}");
        }
    }
    assert!(lost > 5, "{lost}");
    assert_eq!(number(&told["lost"]["packets"]), lost);
    let forward = number(&told["forward_ns"]["min"]);
    let printed = network
        .host("a")
        .command(PROGRAM)
        .args(["latency", "--format", "csv", "--count", "20", "--peer"])
        .arg(network.host("b").ipv4().to_string())
        .output()
        .expect("run");
    let text = String::from_utf8_lossy(&printed.stdout);
    let columns = rows[0].as_object().expect("a row").len();
    assert_eq!(text.lines().count(), 21, "{text}");
    assert!(
        text.lines().all(|line| line.split(',').count() == columns),
        "{text}"
    );
    let least = rows
        .iter()
        .filter_map(|row| row["forward_ns"].as_i64())
        .min();
    assert_eq!(least, Some(forward));
}
