//! Pushes of metrics, received by a server of this test.
#![cfg(feature = "otlp")]

use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric, number_data_point};
use prost::Message as _;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use wirestamp::Simulation;
use wirestamp_monitor::otlp::Pusher;
use wirestamp_monitor::{Configuration, Place, Service};

const LONG: Duration = Duration::from_secs(60);

/// What a push sent: the head in small letters, and the body.
type Pushed = (String, Vec<u8>);

/// Answers each push with the next of these, the last one again and again.
fn receiver(answers: Vec<Vec<u8>>) -> (SocketAddr, Receiver<Pushed>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("bound");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut turn = 0;
        while let Ok((stream, _)) = listener.accept() {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let head = head.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            let answer = &answers[turn.min(answers.len() - 1)];
            turn += 1;
            let _ = reader.get_mut().write_all(answer);
            if sender.send((head, body)).is_err() {
                return;
            }
        }
    });
    (address, receiver)
}

fn answer(status: &str, body: &[u8]) -> Vec<u8> {
    let mut whole = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    whole.extend_from_slice(body);
    whole
}

fn configured(address: SocketAddr, more: &str) -> Configuration {
    let text = format!(
        "host = \"h\"\n[http]\nenabled = false\n[[path]]\ninterface = \"sim0\"\ninterval = \"10ms\"\n[otlp]\nendpoint = \"http://{address}/v1/metrics\"\ninterval = \"1s\"\n{more}"
    );
    Configuration::from_toml(&text).expect("it is right")
}

fn start(address: SocketAddr, more: &str) -> (Service, Pusher) {
    let configuration = configured(address, more);
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let service =
        Service::start(configuration.clone(), Place::Simulation(simulation)).expect("it starts");
    let pusher = Pusher::start(&configuration, service.handle()).expect("it starts");
    (service, pusher.expect("there is a receiver"))
}

/// The metrics of a push by name, and the attributes of its resource.
fn read(body: &[u8]) -> (BTreeMap<String, Metric>, BTreeMap<String, String>) {
    let mut request = ExportMetricsServiceRequest::decode(body).expect("protobuf");
    assert_eq!(request.resource_metrics.len(), 1);
    let mut whole = request.resource_metrics.remove(0);
    let resource = whole.resource.expect("a resource").attributes;
    let resource = resource
        .into_iter()
        .map(|one| (one.key, format!("{:?}", one.value)))
        .collect();
    let metrics = whole.scope_metrics.remove(0).metrics;
    let count = metrics.len();
    let named: BTreeMap<_, _> = metrics
        .into_iter()
        .map(|metric| (metric.name.clone(), metric))
        .collect();
    assert_eq!(named.len(), count, "each name once");
    (named, resource)
}

#[test]
fn what_is_pushed_are_the_families_of_a_scrape() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "secret\n").expect("written");
    let (address, pushes) = receiver(vec![answer("200 OK", b"")]);
    let bearing = format!("token_file = '{}'", file.path().display());
    let (service, _pusher) = start(address, &bearing);
    // delays are known two seconds of virtual time after the first packet, which is behind real time on a busy machine
    let (mut head, mut body) = pushes.recv_timeout(LONG).expect("a push");
    for count in 1..60 {
        if count > 2 && read(&body).0.contains_key("wirestamp_path_delay") {
            break;
        }
        (head, body) = pushes.recv_timeout(LONG).expect("another");
    }
    assert!(head.starts_with("post /v1/metrics http/1.1\r\n"), "{head}");
    for header in [
        "content-type: application/x-protobuf\r\n",
        "authorization: bearer secret\r\n",
    ] {
        assert!(head.contains(header), "{head}");
    }
    let (metrics, resource) = read(&body);
    assert!(resource["service.instance.id"].contains("\"h\""));
    assert!(resource["service.name"].contains("\"wirestamp-monitor\""));

    // the same names as in a scrape, with the suffixes that Prometheus adds again
    let snapshot = service.handle().wait_snapshot().expect("it runs");
    let text = wirestamp_monitor::metrics::open_metrics(snapshot, 2_000).expect("encoded");
    let scraped: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, kind)| match kind {
            "info" => format!("{name}_info"),
            _ => name.to_owned(),
        })
        .collect();
    let pushed: Vec<_> = metrics
        .values()
        .map(|metric| match metric.unit.as_str() {
            "s" => format!("{}_seconds", metric.name),
            "By" => format!("{}_bytes", metric.name),
            _ => metric.name.clone(),
        })
        .collect();
    assert!(pushed.len() > 20, "{pushed:?}");
    for name in &pushed {
        assert!(
            scraped.contains(name),
            "{name} is in no scrape: {scraped:?}"
        );
    }
    for name in &scraped {
        assert!(pushed.contains(name), "{name} is in no push: {pushed:?}");
    }

    let Some(Data::Sum(sent)) = &metrics["wirestamp_path_sent"].data else {
        panic!("a sum")
    };
    assert!(sent.is_monotonic);
    let cumulative = AggregationTemporality::Cumulative as i32;
    assert_eq!(sent.aggregation_temporality, cumulative);
    let point = &sent.data_points[0];
    assert!(point.start_time_unix_nano > 0 && point.start_time_unix_nano < point.time_unix_nano);
    let Some(number_data_point::Value::AsDouble(value)) = point.value else {
        panic!("a number")
    };
    assert!(value >= 1.0);

    let Some(Data::ExponentialHistogram(delays)) = &metrics["wirestamp_path_delay"].data else {
        panic!("a histogram")
    };
    assert_eq!(delays.aggregation_temporality, cumulative);
    assert!(!delays.data_points.is_empty());
    for point in &delays.data_points {
        let buckets = point.positive.as_ref().expect("buckets");
        let counted: u64 = buckets.bucket_counts.iter().sum();
        assert_eq!((point.scale, counted + point.zero_count), (3, point.count));
        // the longest is in the last bucket: above its lower limit, at most at its upper one
        let last = f64::from(buckets.offset) + buckets.bucket_counts.len() as f64 - 1.0;
        let longest = point.max.expect("there was one");
        let (above, up_to) = ((last / 8.0).exp2(), ((last + 1.0) / 8.0).exp2());
        assert!(longest > above * 0.999_999 && longest <= up_to * 1.000_001);
    }
}

#[test]
fn what_the_receiver_says_is_counted_and_pushes_go_on() {
    let partial = ExportMetricsServiceResponse {
        partial_success: Some(ExportMetricsPartialSuccess {
            rejected_data_points: 3,
            error_message: "too many".to_owned(),
        }),
    };
    let (address, pushes) = receiver(vec![
        answer("503 Service Unavailable", b""),
        answer("400 Bad Request", b"no"),
        answer("200 OK", &partial.encode_to_vec()),
        b"nonsense\r\n\r\n".to_vec(),
        answer("200 OK", b""),
    ]);
    // pauses grow from 1 s to 8 s
    let (service, _pusher) = start(address, "");
    for _ in 0..5 {
        pushes.recv_timeout(LONG).expect("it is tried again");
    }
    let counts = || {
        service
            .handle()
            .wait_snapshot()
            .expect("it runs")
            .own
            .pushes
            .clone()
    };
    let begun = std::time::Instant::now();
    while !counts().contains_key("accepted") {
        assert!(begun.elapsed() < LONG, "{:?}", counts());
        std::thread::yield_now();
    }
    let counts = counts();
    assert_eq!((counts["failed"], counts["refused"]), (2, 2), "{counts:?}");
}

#[test]
fn a_receiver_that_is_not_there_or_silent_holds_nothing_up() {
    // bound and never served: connections wait in its queue
    let silent = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = silent.local_addr().expect("bound");
    let (service, pusher) = start(address, "timeout = \"100ms\"");
    let begun = std::time::Instant::now();
    loop {
        let own = service
            .handle()
            .wait_snapshot()
            .expect("it runs")
            .own
            .clone();
        if own.pushes.get("failed").is_some_and(|count| *count >= 1) {
            break;
        }
        assert!(begun.elapsed() < LONG);
        std::thread::yield_now();
    }
    drop(pusher);
    assert!(service.is_running());
}

#[test]
fn who_pushes_seldom_can_be_asked_to_wait() {
    let busy = "503 Service Unavailable\r\nRetry-After: 1";
    let (address, _pushes) = receiver(vec![answer(busy, b"")]);
    let seldom = "interval = \"10m\"";
    let text = format!(
        "[http]\nenabled = false\n[otlp]\nendpoint = \"http://{address}/v1/metrics\"\n{seldom}"
    );
    let configuration = Configuration::from_toml(&text).expect("it is right");
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let service =
        Service::start(configuration.clone(), Place::Simulation(simulation)).expect("it starts");
    let _pusher = Pusher::start(&configuration, service.handle()).expect("it starts");
    let begun = std::time::Instant::now();
    loop {
        let own = service
            .handle()
            .wait_snapshot()
            .expect("it runs")
            .own
            .clone();
        if own.pushes.get("failed").is_some_and(|count| *count == 1) {
            break;
        }
        assert!(begun.elapsed() < LONG, "{:?}", own.pushes);
        std::thread::yield_now();
    }
}

#[test]
fn other_hosts_and_other_schemes_are_refused() {
    for (endpoint, part) in [
        ("http://192.0.2.1:4318/v1/metrics", "allow_plaintext"),
        ("https://localhost/v1/metrics", "http://"),
        ("localhost:4318", "http://"),
        ("http://local host/", "no URL"),
    ] {
        let text = format!("[otlp]\nendpoint = \"{endpoint}\"\n");
        let said = Configuration::from_toml(&text).expect_err("it is wrong");
        let said = format!("{said} {}", said.remedy());
        assert!(said.contains(part), "{endpoint}: {said}");
    }
    for right in [
        "endpoint = \"http://[::1]:4318/v1/metrics\"",
        "endpoint = \"http://192.0.2.1:4318/\"\nallow_plaintext = true",
    ] {
        Configuration::from_toml(&format!("[otlp]\n{right}\n")).expect("it is right");
    }
}

#[test]
fn a_new_token_in_the_file_needs_another_pusher() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "secret\n").expect("written");
    let (address, pushes) = receiver(vec![answer("200 OK", b"")]);
    let bearing = format!("token_file = '{}'", file.path().display());
    let (service, pusher) = start(address, &bearing);
    let configuration = configured(address, &bearing);
    assert!(pusher.is_of(&configuration).expect("it can be read"));
    assert!(!pusher.is_of(&configured(address, "")).expect("no token"));
    std::fs::write(file.path(), "other\n").expect("written");
    assert!(!pusher.is_of(&configuration).expect("it can be read"));
    let newer = Pusher::start(&configuration, service.handle()).expect("it starts");
    drop(pusher);
    while !pushes
        .recv_timeout(LONG)
        .expect("a push")
        .0
        .contains("authorization: bearer other\r\n")
    {}
    drop(newer);
    std::fs::write(file.path(), "").expect("written");
    assert!(Pusher::start(&configuration, service.handle()).is_err());
}
