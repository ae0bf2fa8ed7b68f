//! `wirestamp ntp` against servers of the tests' own on loopback, whose clocks are off by a known time. On Linux, whose
//! loopback interface timestamps.

#![cfg(target_os = "linux")]

use serde_json::Value;
use std::net::UdpSocket;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

const SECOND: i64 = 1_000_000_000;

/// How a server answers.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// Its clock is ahead by so many nanoseconds.
    Ahead(i64),
    /// The same, but it answers every second request only.
    EverySecond(i64),
    Denies,
    /// Answers with RATE.
    WantsRest,
    Unsynchronized,
    Silent,
}

/// A server; its thread ends with the test program.
struct Server {
    address: String,
    requests: Arc<AtomicU32>,
}

impl Server {
    fn start(manner: Manner) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
        let address = socket.local_addr().expect("bound").to_string();
        let requests = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&requests);
        thread::spawn(move || {
            let mut request = [0; 100];
            while let Ok((length, client)) = socket.recv_from(&mut request) {
                let number = count.fetch_add(1, Ordering::Relaxed);
                assert_eq!((length, request[0]), (48, 0x23), "a request");
                if let Some(answer) = answer(manner, &request[..48], number) {
                    socket.send_to(&answer, client).expect("sent");
                }
            }
        });
        Self { address, requests }
    }
}

fn answer(manner: Manner, request: &[u8], number: u32) -> Option<Vec<u8>> {
    let ahead = match manner {
        Manner::Ahead(by) => by,
        Manner::EverySecond(by) if number.is_multiple_of(2) => by,
        Manner::Denies | Manner::WantsRest | Manner::Unsynchronized => 0,
        Manner::EverySecond(_) | Manner::Silent => return None,
    };
    // version 4, mode 4, stratum 2, precision 2⁻²⁰ s; root delay 1 ms, root dispersion 2 ms
    let mut packet = vec![0x24, 2, 0, 0xec, 0, 0, 0, 66, 0, 0, 0, 131, 192, 0, 2, 9];
    match manner {
        Manner::Denies => {
            packet[1] = 0;
            packet[12..16].copy_from_slice(b"DENY");
        }
        Manner::WantsRest => {
            packet[1] = 0;
            packet[12..16].copy_from_slice(b"RATE");
        }
        Manner::Unsynchronized => packet[0] |= 0xc0,
        _ => {}
    }
    let now = || {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("after");
        let shown = since_1970.as_nanos() as i64 + ahead;
        let seconds = (shown / SECOND) as u64 + 2_208_988_800;
        let fraction = ((shown % SECOND) as u64) * (1 << 32) / SECOND as u64;
        (seconds << 32 | fraction).to_be_bytes()
    };
    packet.extend(now());
    packet.extend(&request[40..48]);
    packet.extend(now());
    packet.extend(now());
    Some(packet)
}

fn ask(servers: &[&str], more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    command.env_remove("WIRESTAMP_SIM").env_remove("NO_COLOR");
    command
        .arg("ntp")
        .args(servers)
        .args(["--interval", "50ms"])
        .args(more);
    command.output().expect("the program runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn number(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn an_offset_lies_within_its_bound() {
    // the server is ahead, so this clock is behind
    let server = Server::start(Manner::Ahead(5 * SECOND));
    let told = ask(&[&server.address], &["--json"]);
    assert_eq!(told.status.code(), Some(0), "{}", text(&told));
    let told = json(&told);
    let row = &told["servers"][0];
    let (offset, bound) = (number(&row["offset_ns"]), number(&row["error_bound_ns"]));
    assert!((offset + 5 * SECOND).abs() <= bound, "{row}");
    // both directions take microseconds; a busy machine may take longer
    assert!(bound < SECOND / 20, "{row}");
    // half of a root delay of 66 units of 2⁻¹⁶ s, 131 units of root dispersion, and the rounding of 1.5
    assert_eq!(number(&row["root_bound_ns"]), 503_541 + 1_998_902 + 22_889);
    assert_eq!(
        number(&row["utc_bound_ns"]),
        bound + number(&row["root_bound_ns"])
    );
    assert_eq!(
        (&row["status"], &row["source"]),
        (&"measured".into(), &"software".into())
    );
    assert_eq!(row["stamps"], 8, "of each request and each response");
    assert_eq!(
        (&row["stratum"], &row["reference"]),
        (&2.into(), &"192.0.2.9".into())
    );
    assert_eq!(
        (number(&row["requests"]), number(&row["responses"])),
        (4, 4)
    );
    assert_eq!(server.requests.load(Ordering::Relaxed), 4);
    assert_eq!(told["agreement"], "single");

    let told = text(&ask(&[&server.address], &["--count", "1"]));
    let is_said = |seconds: &str| told.contains(&format!("this clock is {seconds}"));
    assert!(
        (is_said("5.00") || is_said("4.99"))
            && told.contains(" behind UTC, if the server is right"),
        "{told}"
    );
}

/// A limit on how far the clock may be off, for scripts: 100 ms are more than the server's distance and its root distance, 1 ms less.
#[test]
fn a_clock_that_may_be_off_by_more_than_the_limit_has_an_exit_code_of_its_own() {
    let server = Server::start(Manner::Ahead(SECOND / 50));
    let ask = |limit: &str, more: &[&str]| {
        let limited = [&["--count", "1", "--max-offset", limit], more].concat();
        ask(&[&server.address], &limited)
    };
    let kept = ask("10s", &[]);
    assert_eq!(kept.status.code(), Some(0), "{}", text(&kept));
    assert!(
        text(&kept).contains("limit kept: worst case offset"),
        "{}",
        text(&kept)
    );
    let exceeded = ask("1ms", &["--json"]);
    assert_eq!(exceeded.status.code(), Some(8));
    let told = json(&exceeded);
    let limit = &told["limits"][0];
    assert_eq!(
        (&limit["kept"], &limit["limit"]),
        (&false.into(), &1_000_000.into())
    );
    let most = number(&told["offset_ns"]).abs() + number(&told["error_bound_ns"]);
    // the program ends a moment after the sample
    let later = number(&limit["measured"]) - most;
    assert!((0..SECOND / 20).contains(&later), "{told}");
    let rows = ask("1ms", &["--format", "csv"]);
    assert_eq!(rows.status.code(), Some(8));
    let said = String::from_utf8_lossy(&rows.stderr);
    assert!(said.contains("limit exceeded: worst case offset"), "{said}");
    assert_eq!(ask("50", &[]).status.code(), Some(2), "a unit is demanded");
}

/// The second request is not answered: a second after the only sample, 500 ppm are 0.5 ms more. The host's own adjustment of
/// its clock is part of it: it may move the offset the other way meanwhile.
#[test]
fn a_limit_is_for_the_clock_as_it_is_now() {
    let server = Server::start(Manner::EverySecond(0));
    let limited = ["--count", "2", "--max-offset", "1s"];
    let asked = ask(&[&server.address], &[&limited[..], &["--json"]].concat());
    assert_eq!(asked.status.code(), Some(6), "{}", text(&asked));
    let told = json(&asked);
    let most = number(&told["offset_ns"]).abs() + number(&told["error_bound_ns"]);
    let limit = &told["limits"][0];
    assert_eq!(limit["kept"], true, "{told}");
    assert!(number(&limit["measured"]) > most + 100_000, "{told}");
}

#[test]
fn a_falseticker_is_named() {
    let servers = [20_000, 0, 3 * SECOND].map(|ahead| Server::start(Manner::Ahead(ahead)));
    let addresses = servers.each_ref().map(|server| server.address.as_str());
    let told = ask(&addresses, &["--json"]);
    assert_eq!(told.status.code(), Some(0));
    let told = json(&told);
    assert_eq!(told["agreement"], "majority");
    let named = |place: usize| told["servers"][place]["falseticker"] == true;
    assert_eq!(
        [named(0), named(1), named(2)],
        [false, false, true],
        "{told}"
    );
    assert!(number(&told["offset_ns"]).abs() <= number(&told["error_bound_ns"]));
    let told = text(&ask(&addresses, &[]));
    assert!(
        told.contains(&format!("falseticker: {}", addresses[2])),
        "{told}"
    );
    let words: Vec<_> = told.split_whitespace().collect(); // lines may end anywhere
    assert!(
        words.join(" ").contains("if 2 of 3 servers are right"),
        "{told}"
    );
    let row = told.lines().find(|line| line.starts_with(addresses[2]));
    assert!(
        row.is_some_and(|row| row.contains(" s  ")),
        "a number was torn from its unit: {told}"
    );
}

#[test]
fn of_two_servers_that_contradict_each_other_none_is_believed() {
    let servers = [0, SECOND].map(|ahead| Server::start(Manner::Ahead(ahead)));
    let addresses = servers.each_ref().map(|server| server.address.as_str());
    let told = ask(&addresses, &["--json"]);
    assert_eq!(told.status.code(), Some(1));
    let told = json(&told);
    assert_eq!(
        (&told["agreement"], &told["offset_ns"]),
        (&"disagreement".into(), &Value::Null)
    );
    let rows = told["servers"].as_array().expect("rows");
    assert!(
        rows.iter()
            .all(|row| row["falseticker"] == false && row["status"] == "measured")
    );
}

#[test]
fn why_there_is_no_measurement_is_said() {
    // nobody listens there: the port was bound a moment ago
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let refused = socket.local_addr().expect("bound").to_string();
    drop(socket);
    let unresolved = format!("{}.invalid", "a".repeat(70));
    let (silent, denies, lost) = (
        Server::start(Manner::Silent),
        Server::start(Manner::Denies),
        Server::start(Manner::Unsynchronized),
    );
    let servers = [
        &refused,
        &unresolved,
        &silent.address,
        &denies.address,
        &lost.address,
    ];
    let told = ask(
        &servers.map(String::as_str),
        &["--json", "--count", "3", "--timeout", "100ms"],
    );
    assert_eq!(told.status.code(), Some(1));
    let rows = json(&told);
    let status = |place: usize| {
        rows["servers"][place]["status"]
            .as_str()
            .expect("text")
            .to_owned()
    };
    let statuses: Vec<_> = (0..5).map(status).collect();
    assert_eq!(
        statuses,
        [
            "unreachable",
            "unresolved",
            "no_answer",
            "denied",
            "unsynchronized"
        ]
    );
    assert_eq!(
        denies.requests.load(Ordering::Relaxed),
        1,
        "it is left alone"
    );
    assert_eq!(rows["servers"][2]["unanswered"], 3);
    assert_eq!(rows["agreement"], "none");
    let text = text(&ask(&[&refused], &["--count", "2"]));
    assert!(text.contains("connection refused"), "{text}");
    assert!(text.contains("no server could be measured"), "{text}");
}

#[test]
fn a_server_that_wants_rest_is_asked_ever_more_seldom() {
    let server = Server::start(Manner::WantsRest);
    let told = ask(&[&server.address], &["--json", "--count", "12"]);
    assert_eq!(told.status.code(), Some(1));
    let row = &json(&told)["servers"][0];
    assert_eq!(row["status"], "denied", "{row}");
    assert_eq!(row["lost"]["kiss"], 3, "{row}");
    // in rounds 0, 2 and 6 of 12: each time after twice as long
    assert_eq!(server.requests.load(Ordering::Relaxed), 3);
}

#[test]
fn lost_packets_show_in_the_exit_code() {
    let server = Server::start(Manner::EverySecond(0));
    let told = ask(&[&server.address], &["--json", "--timeout", "100ms"]);
    assert_eq!(told.status.code(), Some(6));
    let row = &json(&told)["servers"][0];
    assert_eq!(
        (number(&row["responses"]), number(&row["unanswered"])),
        (2, 2)
    );
    assert!(number(&row["offset_ns"]).abs() <= number(&row["error_bound_ns"]));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_reported() {
    let server = Server::start(Manner::Ahead(0));
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    command.args(["ntp", &server.address, "--count", "1000", "--json"]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("runs");
    while server.requests.load(Ordering::Relaxed) < 2 {
        thread::sleep(std::time::Duration::from_millis(5));
    }
    let number = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &number]).status();
    let told = child.wait_with_output().expect("ends");
    assert!(sent.expect("kill runs").success());
    assert_eq!(json(&told)["interrupted"], true);
    assert_eq!(json(&told)["servers"][0]["status"], "measured");
}
