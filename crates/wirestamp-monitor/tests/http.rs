//! The HTTP server, asked as clients ask, and as those do who mean no good.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use wirestamp::Simulation;
use wirestamp_monitor::http::Server;
use wirestamp_monitor::{Configuration, Place, Service};

/// Longer than the server waits for a request or a reader.
const LONG: Duration = Duration::from_secs(60);
/// Longer than a server that reads at all leaves a sender waiting.
const TAKEN: Duration = Duration::from_secs(10);

struct Running {
    service: Service,
    server: Server,
}

/// Of a server with these settings, and a path that is measured.
fn measuring(http: &str) -> Configuration {
    let text =
        format!("[http]\nlisten = \"127.0.0.1:0\"\n{http}\n[[path]]\ninterface = \"sim0\"\n");
    Configuration::from_toml(&text).expect("it is right")
}

fn start(http: &str) -> Running {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let configuration = measuring(http);
    let service =
        Service::start(configuration.clone(), Place::Simulation(simulation)).expect("it starts");
    let server = Server::start(&configuration, service.handle()).expect("it serves");
    Running { service, server }
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(LONG)).expect("set");
    // Wine does not always wake a sender whose connection was reset
    stream.set_write_timeout(Some(TAKEN)).expect("set");
    stream
}

/// Sends the octets and reads until the server closes.
fn exchange(address: SocketAddr, octets: &[u8]) -> String {
    let mut stream = connected(address);
    // a server that has had enough closes: what it said before counts
    let _ = stream.write_all(octets);
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read);
    String::from_utf8_lossy(&read).into_owned()
}

fn get(address: SocketAddr, path: &str, headers: &str) -> String {
    exchange(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
            .as_bytes(),
    )
}

fn still_serves(running: &Running) {
    let answer = get(running.server.address(), "/healthz", "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(running.service.is_running());
}

#[test]
fn each_path_answers_in_its_form() {
    let running = start("");
    let address = running.server.address();
    let metrics = get(address, "/metrics", "");
    assert!(
        metrics.contains("text/plain; version=0.0.4; charset=utf-8"),
        "{metrics}"
    );
    assert!(metrics.contains("\nwirestamp_monitor_uptime_seconds "));
    let accept = "Accept: application/openmetrics-text;version=1.0.0\r\n";
    let metrics = get(address, "/metrics", accept);
    assert!(
        metrics.contains("application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{metrics}"
    );
    assert!(metrics.contains("wirestamp_monitor_uptime_seconds ") && metrics.ends_with("# EOF\n"));
    let protobuf = get(
        address,
        "/metrics",
        "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited\r\n",
    );
    assert!(
        protobuf.contains("content-type: application/vnd.google.protobuf"),
        "{protobuf}"
    );
    let snapshot = get(address, "/api/snapshot", "");
    let json = snapshot.split_once("\r\n\r\n").expect("a body").1;
    let read: wirestamp_monitor::snapshot::Snapshot = serde_json::from_str(json).expect("JSON");
    assert!(read.simulated && read.paths.len() == 1);
    for (request, status) in [
        (
            "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "404",
        ),
        (
            "POST /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "405",
        ),
        (
            "GET /metrics HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n",
            "421",
        ),
        (
            "GET /api/events?after=x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "400",
        ),
    ] {
        let answer = exchange(address, request.as_bytes());
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{request}: {answer}"
        );
        assert!(
            answer.contains("content-security-policy: default-src 'self'"),
            "{answer}"
        );
    }
    let page = get(address, "/", "");
    assert!(
        page.contains("content-type: text/html; charset=utf-8") && page.contains("<!DOCTYPE html>"),
        "{page}"
    );
    let history = get(address, "/api/history", "");
    assert!(history.starts_with("HTTP/1.1 400"), "{history}");
    let head = exchange(
        address,
        b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    assert!(
        head.starts_with("HTTP/1.1 200") && !head.contains("# EOF"),
        "{head}"
    );
}

#[test]
fn a_stream_of_events_sends_earlier_ones_and_those_that_come() {
    let running = start("");
    let mut stream = connected(running.server.address());
    stream
        .write_all(b"GET /api/events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("asked");
    running
        .service
        .handle()
        .refuse_reload("a test says so".to_owned())
        .expect("it runs");
    let (mut seen, mut buffer) = (String::new(), [0; 4_096]);
    while !seen.contains("a test says so") {
        let read = stream.read(&mut buffer).expect("it comes");
        assert!(read > 0, "the stream ended: {seen}");
        seen += &String::from_utf8_lossy(&buffer[..read]);
    }
    assert!(
        seen.contains("content-type: text/event-stream")
            && seen.contains("event: reload\ndata: {\"run\":"),
        "{seen}"
    );
}

/// Numbers begin anew with each run of the monitor, and clients resume with the last one that they saw.
#[test]
fn who_resumes_with_the_id_of_an_earlier_run_gets_all_events() {
    let running = start("");
    let handle = running.service.handle();
    handle
        .refuse_reload("the first of this run".to_owned())
        .expect("it runs");
    handle.wait_snapshot().expect("it runs");
    let newest = handle
        .wait_snapshot()
        .expect("it runs")
        .events
        .last()
        .expect("one")
        .clone();
    for resumed in [
        "/api/events HTTP/1.1\r\nLast-Event-ID: 500",
        "/api/events HTTP/1.1\r\nLast-Event-ID: 1-1",
        // this run has as many: it is none of its own all the same
        &format!("/api/events?after=1-{} HTTP/1.1", newest.id),
    ] {
        let mut stream = connected(running.server.address());
        let request = format!("GET {resumed}\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("asked");
        let (mut seen, mut buffer) = (String::new(), [0; 4_096]);
        while !seen.contains("the first of this run") {
            let read = stream.read(&mut buffer).expect("it comes");
            assert!(read > 0, "the stream ended: {seen}");
            assert!(!seen.contains(": alive"), "{seen}");
            seen += &String::from_utf8_lossy(&buffer[..read]);
        }
        assert!(
            seen.contains(&format!("id: {}-{}\n", newest.run, newest.id)),
            "{seen}"
        );
    }
}

#[test]
fn only_who_bears_the_token_is_answered() {
    let file = std::env::temp_dir().join(format!("wirestamp-token-{}", std::process::id()));
    std::fs::write(&file, "secret\n").expect("written");
    let running = start(&format!("token_file = '{}'", file.display()));
    let _ = std::fs::remove_file(&file);
    let address = running.server.address();
    assert!(get(address, "/metrics", "").starts_with("HTTP/1.1 401"));
    // the page asks for the token; what it loads says nothing
    for file in [
        "/",
        "/page/main.js",
        "/page/page.css",
        "/page/uPlot.iife.min.js",
    ] {
        assert!(get(address, file, "").starts_with("HTTP/1.1 200"), "{file}");
    }
    for path in [
        "/api/snapshot",
        "/api/history",
        "/api/events",
        "/page/../metrics",
        "/page/",
    ] {
        assert!(get(address, path, "").starts_with("HTTP/1.1 401"), "{path}");
    }
    assert!(
        get(address, "/metrics", "Authorization: Bearer wrong\r\n").starts_with("HTTP/1.1 401")
    );
    assert!(
        get(address, "/metrics", "Authorization: Bearer secret\r\n").starts_with("HTTP/1.1 200")
    );
}

#[test]
fn history_is_served_and_hostile_questions_harm_nothing() {
    const RANGE: &str = "from=2000-01-01T00:00:00Z&to=2000-12-31T00:00:00Z";
    let running = start("");
    let without = get(
        running.server.address(),
        &format!("/api/history?{RANGE}"),
        "",
    );
    assert!(without.starts_with("HTTP/1.1 404"), "{without}");
    let folder = std::env::temp_dir().join(format!("wirestamp-asked-{}", std::process::id()));
    let running = start(&format!("[history]\ndirectory = '{}'", folder.display()));
    let address = running.server.address();
    let snapshot = get(address, "/api/snapshot", "");
    let json = snapshot.split_once("\r\n\r\n").expect("a body").1;
    let read: wirestamp_monitor::snapshot::Snapshot = serde_json::from_str(json).expect("JSON");
    // of the day of the simulation
    let day = read.time.split_once('T').expect("a time").0;
    let path = format!("/api/history?from={day}T00:00:00Z&to={day}T23:59:59Z");
    let begun = Instant::now();
    loop {
        let answer = get(address, &path, "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        if answer.contains("\"kind\":\"clock\",\"name\":\"sim0\"") {
            break;
        }
        assert!(begun.elapsed() < LONG, "the clock is kept: {answer}");
    }
    let long = "a".repeat(15_000);
    for query in [
        "",
        "from=&to=",
        "%00%ff%",
        "from=2000-01-01T00:00:00Z&to=9999-01-01T00:00:00Z",
        &format!("{RANGE}&points=4294967297"),
        &format!("{RANGE}&show=../../etc/passwd"),
        &format!("{RANGE}&directory=/etc"),
        &format!("{RANGE}&{}", "points=1&".repeat(1_000)),
        &long,
    ] {
        let answer = get(address, &format!("/api/history?{query}"), "");
        assert!(answer.starts_with("HTTP/1.1 400"), "{query}: {answer}");
    }
    let named = get(
        address,
        &format!("/api/history?{RANGE}&name={}", "%3Cscript%3E".repeat(500)),
        "",
    );
    assert!(named.starts_with("HTTP/1.1 200"), "{named}");
    still_serves(&running);
    drop(running);
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn malformed_and_huge_requests_harm_nothing() {
    let running = start("");
    let address = running.server.address();
    let long = |length: usize| "a".repeat(length);
    let requests = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"\r\n\r\n\r\n\r\nGET / HTTP/9.9\r\n\r\n".to_vec(),
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", long(1 << 20)).into_bytes(),
        format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
            long(1 << 20)
        )
        .into_bytes(),
        format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
            "X: y\r\n".repeat(10_000)
        )
        .into_bytes(),
        vec![0xff; 1 << 20],
    ];
    for request in requests {
        let answer = exchange(address, &request);
        assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    }
    // a body that is announced and never comes, and one that nobody wants
    exchange(address, format!("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n{}", long(1_000_000)).as_bytes());
    still_serves(&running);
}

#[test]
fn slow_and_idle_clients_are_closed_and_others_served() {
    let running = start("");
    let address = running.server.address();
    let begun = Instant::now();
    let mut slow = connected(address);
    slow.write_all(b"GET /metrics HTTP/1.1\r\nHo")
        .expect("sent");
    let idle = connected(address);
    let mut kept = connected(address);
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("sent");
    still_serves(&running);
    for mut stream in [slow, idle, kept] {
        let mut rest = Vec::new();
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(
                error.kind(),
                ErrorKind::ConnectionReset,
                "the server closes within {LONG:?}"
            );
        }
    }
    assert!(
        begun.elapsed() >= Duration::from_secs(4),
        "patience with slow networks"
    );
    still_serves(&running);
}

#[test]
fn more_connections_than_allowed_are_closed_at_once() {
    let running = start("connections = 3");
    let address = running.server.address();
    // each holds its place by a stream of events
    let streams: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = connected(address);
            stream
                .write_all(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .expect("sent");
            let mut first = [0; 1];
            stream.read_exact(&mut first).expect("it is served");
            stream
        })
        .collect();
    let answer = get(address, "/healthz", "");
    assert_eq!(answer, "", "closed without an answer");
    assert!(running.server.refused() >= 1);
    drop(streams);
    let begun = Instant::now();
    while !get(address, "/healthz", "").starts_with("HTTP/1.1 200") {
        assert!(begun.elapsed() < LONG, "places become free");
    }
}

/// Opens connections until the server has taken so many; each has sent this.
fn holding(address: SocketAddr, count: usize, octets: &[u8]) -> Vec<TcpStream> {
    let held = (0..count).map(|_| {
        let mut stream = connected(address);
        stream.write_all(octets).expect("sent");
        stream
    });
    held.collect()
}

/// A client that may ask nothing holds all connections, in each phase of a request; the others are answered.
#[test]
fn who_may_not_ask_locks_nobody_out() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "secret").expect("written");
    let running = start(&format!("token_file = '{}'", file.path().display()));
    let address = running.server.address();
    let head = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n";
    for octets in [
        String::new(),
        head.to_owned(),
        format!("{head}\r\n"),
        format!("{head}Content-Length: 1000000\r\n\r\nslow"),
        "GET /page/uPlot.iife.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100),
    ] {
        let held = holding(address, 2 * 64, octets.as_bytes());
        for _ in 0..5 {
            let answer = get(address, "/metrics", "Authorization: Bearer secret\r\n");
            assert!(answer.starts_with("HTTP/1.1 200"), "{octets}: {answer}");
        }
        drop(held);
    }
}

/// A body that is announced and never comes, on a connection that could live on.
#[test]
fn a_request_whose_body_never_comes_does_not_keep_its_connection() {
    let running = start("");
    let octets = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nslow";
    let mut stream = connected(running.server.address());
    stream.write_all(octets).expect("sent");
    let mut answer = Vec::new();
    let closed = stream.read_to_end(&mut answer);
    let is_closed =
        closed.map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true);
    assert!(
        is_closed && answer.starts_with(b"HTTP/1.1 200"),
        "{answer:?}"
    );
}

#[test]
fn a_reload_with_a_lower_limit_closes_what_is_too_much() {
    let running = start("");
    let address = running.server.address();
    let ask = b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut streams = holding(address, 24, ask);
    for stream in &mut streams {
        stream.read_exact(&mut [0; 1]).expect("it is served");
    }
    let text = "[http]\nlisten = \"127.0.0.1:0\"\nconnections = 4";
    let fewer = Configuration::from_toml(text).expect("it is right");
    let prepared = running.server.prepare(&fewer).expect("it is right");
    running.server.reload(prepared.expect("the same address"));
    // an event ends none of them, and comes on those that are left
    running
        .service
        .handle()
        .refuse_reload("a test says so".to_owned())
        .expect("it runs");
    let mut left = 0;
    for mut stream in streams {
        let mut seen = String::new();
        let mut buffer = [0; 4_096];
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            seen += &String::from_utf8_lossy(&buffer[..read]);
            if seen.contains("a test says so") {
                left += 1;
                break;
            }
        }
    }
    assert_eq!(left, 4);
}

#[test]
fn who_is_well_is_told_from_who_measures() {
    let running = start("");
    let address = running.server.address();
    let until_ready = |status: &str| {
        let begun = Instant::now();
        while !get(address, "/readyz", "").starts_with(&format!("HTTP/1.1 {status}")) {
            assert!(begun.elapsed() < LONG, "it is never {status}");
        }
    };
    until_ready("200");
    assert!(get(address, "/healthz", "").ends_with("measuring\n"));
    // no task: nothing that a restart would mend
    let nothing = "[http]\nlisten = \"127.0.0.1:0\"\n[clocks]\ninterfaces = []\n";
    let configuration = Configuration::from_toml(nothing).expect("it is right");
    let reload = |configuration| {
        let handle = running.service.handle();
        handle.reload(configuration).expect("it is right");
    };
    reload(configuration);
    until_ready("503");
    let alive = get(address, "/healthz", "");
    assert!(
        alive.starts_with("HTTP/1.1 200") && alive.contains("nothing is measured"),
        "{alive}"
    );
    // a loop that measured and turns no more
    reload(measuring(""));
    until_ready("200");
    drop(running.service);
    until_ready("503");
    let dead = get(address, "/healthz", "");
    assert!(
        dead.starts_with("HTTP/1.1 503") && dead.contains("no turn"),
        "{dead}"
    );
}

#[test]
fn pages_of_other_sites_are_not_answered() {
    let running = start("");
    let address = running.server.address();
    let refused = get(address, "/api/snapshot", "Origin: https://example.org\r\n");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let refused = get(address, "/api/snapshot", "Sec-Fetch-Site: cross-site\r\n");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
}

#[test]
fn a_flood_of_requests_does_not_stop_measuring() {
    let running = start("");
    let address = running.server.address();
    let turns = running.service.handle().turns();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    assert!(get(address, "/api/snapshot", "").starts_with("HTTP/1.1 200"));
                }
            });
        }
    });
    assert!(running.service.handle().turns() > turns);
    still_serves(&running);
}
