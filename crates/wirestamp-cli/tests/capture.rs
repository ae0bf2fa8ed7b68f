//! `wirestamp capture` on real interfaces: what it says of the path between two hosts is what the test network's router did; other programs
//! read its files; every packet of a flood is there or among the drops. Needs root, TUN devices, iproute2, tshark and tcpdump;
//! skipped without.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;
use wirestamp_test_network::{Direction, Event, Fate, Network, missing};

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirestamp");
const MS: Duration = Duration::from_millis(1);

/// Whether this machine has what the tests need, which is said.
fn is_possible() -> bool {
    let Some(what) = missing() else {
        return true;
    };
    assert!(
        std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
        "captures: {what}"
    );
    writeln!(io::stderr(), "skipped: captures: {what}").expect("open");
    false
}

/// A program that runs. It ends with the test, also with one that fails.
struct Running(Option<Child>);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(Some(command.spawn().expect("started")))
    }

    fn id(&self) -> u32 {
        self.0.as_ref().expect("runs").id()
    }

    /// What it printed when it has ended.
    fn output(mut self) -> Output {
        let child = self.0.take().expect("runs");
        child.wait_with_output().expect("ended")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A running capture, which has begun.
fn capture(mut command: Command, name: &str, file: &Path, more: &[&str]) -> Running {
    command
        .args(["capture", name, "--json", "-w"])
        .arg(file)
        .args(more);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let running = Running::start(&mut command);
    let partial = file.with_extension("pcapng.partial");
    for _ in 0..1_000 {
        if partial.exists() {
            return running;
        }
        thread::sleep(10 * MS);
    }
    panic!("{name}: no capture began");
}

/// Ends it as Ctrl-C does; its summary.
fn end(running: Running) -> (Value, Output) {
    let id = running.id().to_string();
    let status = Command::new("kill")
        .args(["-INT", &id])
        .status()
        .expect("run");
    assert!(status.success());
    let output = running.output();
    let line: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (line["summary"].clone(), output)
}

fn number(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("a number: {value}"))
}

/// Sends numbered datagrams, one every 2 ms.
fn send(from: SocketAddr, to: SocketAddr, count: u32) {
    let socket = UdpSocket::bind(from).expect("binds");
    for number in 0..count {
        let payload = [&b"numbered"[..], &number.to_be_bytes()].concat();
        socket.send_to(&payload, to).expect("sent");
        thread::sleep(2 * MS);
    }
}

/// What the router's log says of a direction, of datagrams to this port.
struct Truth {
    lost: i64,
    duplicated: i64,
    reordered: i64,
    /// Of each packet that arrived first.
    delays: Vec<i64>,
}

fn truth(log: &[Event], from: &str, port: u16) -> Truth {
    let of: Vec<_> = log
        .iter()
        .filter(|event| event.from == from && event.udp_ports.is_some_and(|(_, to)| to == port))
        .collect();
    let mut arrived: Vec<_> = of
        .iter()
        .filter_map(|event| Some((event.left_ns?, *event)))
        .collect();
    arrived.sort_by_key(|(left, _)| *left);
    let (mut seen, mut delays, mut furthest, mut reordered) =
        (std::collections::HashSet::new(), Vec::new(), 0, 0);
    for (left, event) in &arrived {
        if !seen.insert(event.number) {
            continue;
        }
        delays.push(left - event.arrived_ns);
        reordered += i64::from(event.number < furthest);
        furthest = furthest.max(event.number);
    }
    let lost = of.iter().filter(|event| event.fate == Fate::Lost).count();
    Truth {
        lost: lost as i64,
        duplicated: arrived.len() as i64 - seen.len() as i64,
        reordered,
        delays,
    }
}

#[test]
fn two_captures_give_the_routers_log_back() {
    const SENT: u32 = 600;
    if !is_possible() {
        return;
    }
    let forth = Direction::new()
        .delay(3 * MS)
        .loss(0.02)
        .duplicate(0.02)
        .reorder(0.02, 6 * MS);
    let back = Direction::new().delay(7 * MS).loss(0.02);
    let network = Network::builder().hosts(["a", "b"]).seed(11);
    let network = network.direction("a", "b", forth).direction("b", "a", back);
    let network = network.build().expect("made");
    let folder = tempfile::tempdir().expect("made");
    let files = ["a", "b"].map(|host| folder.path().join(format!("{host}.pcapng")));
    let captures = ["a", "b"].map(|host| {
        let file = folder.path().join(format!("{host}.pcapng"));
        capture(
            network.host(host).command(PROGRAM),
            "net0",
            &file,
            &["udp", "dst", "port", "4000"],
        )
    });
    let ends = ["a", "b"].map(|host| network.host(host).ipv4());
    thread::scope(|scope| {
        for (host, from, to) in [("a", ends[0], ends[1]), ("b", ends[1], ends[0])] {
            let network = &network;
            scope.spawn(move || {
                let sent = network
                    .host(host)
                    .run(|| send((from, 5000).into(), (to, 4000).into(), SENT));
                sent.expect("sent");
            });
        }
    });
    thread::sleep(300 * MS);
    let [a, b] = captures.map(end);
    for (summary, output) in [&a, &b] {
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            (number(&summary["dropped"]), number(&summary["without_utc"])),
            (0, 0)
        );
    }
    let log = network.take_log();
    let output = Command::new(PROGRAM)
        .args(["capture", "compare", "--json", "--clock-bound", "0"])
        .args(&files)
        .output()
        .expect("run");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let flows = report["flows"].as_array().expect("flows");
    assert_eq!(flows.len(), 2, "{report:#}");
    for (host, direction, least) in [("a", "a_to_b", 3_000_000), ("b", "b_to_a", 7_000_000)] {
        let truth = truth(&log, host, 4000);
        let flow = flows
            .iter()
            .find(|flow| flow["direction"] == direction)
            .expect("both directions");
        let told = |name: &str| number(&flow[name]);
        assert_eq!(told("lost"), truth.lost, "{flow:#}");
        assert_eq!(told("duplicated"), truth.duplicated, "{flow:#}");
        assert_eq!(told("reordered"), truth.reordered, "{flow:#}");
        assert_eq!(told("matched"), truth.delays.len() as i64, "{flow:#}");
        assert_eq!((told("extra"), told("outside")), (0, 0), "{flow:#}");
        assert!(truth.lost > 0, "the router loses some");
        let delay = &flow["delay"];
        assert_eq!(number(&delay["error_bound_ns"]), 2);
        // the kernel timestamps before the router reads a packet, and after it writes it
        let fastest = *truth.delays.iter().min().expect("some arrived");
        assert!(
            number(&delay["min_ns"]) >= least.max(fastest),
            "{delay} {fastest}"
        );
        let mean = truth.delays.iter().sum::<i64>() / truth.delays.len() as i64;
        assert!(number(&delay["mean_ns"]) >= mean, "{delay} {mean}");
        assert!(
            number(&delay["p50_ns"]) < mean + 20_000_000,
            "{delay} {mean}"
        );
        if host == "a" {
            assert!(
                truth.duplicated > 0 && truth.reordered > 0,
                "the router does both"
            );
        }
    }
    other_programs_read(
        &files[0],
        number(&a.0["packets"]),
        log.first().expect("some").arrived_ns,
    );
}

/// tshark, tcpdump and capinfos accept the file, and report the same.
fn other_programs_read(file: &Path, packets: i64, since: i64) {
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).arg(file).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}: see scripts/setup"));
        assert!(output.status.success(), "{program}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let fields = [
        "-T",
        "fields",
        "-e",
        "frame.time_epoch",
        "-e",
        "frame.comment",
        "-r",
    ];
    let told = run("tshark", &fields);
    assert_eq!(told.lines().count() as i64, packets);
    for line in told.lines() {
        let (time, comment) = line.split_once('\t').expect("two fields");
        let (seconds, fraction) = time.split_once('.').expect("a fraction");
        assert_eq!(fraction.len(), 9, "nanoseconds: {time}");
        let at: i64 = format!("{seconds}{fraction}").parse().expect("a number");
        assert!((at - since).abs() < 600_000_000_000, "{at} {since}");
        assert_eq!(
            comment,
            "wirestamp: software clock, error bound 1 ns, generation 0"
        );
    }
    let lines = run("tcpdump", &["-n", "-tt", "--nano", "-r"]);
    assert_eq!(lines.lines().count() as i64, packets, "{lines}");
    let info = run("capinfos", &["-M"]);
    assert!(info.contains("nanoseconds (9)"), "{info}");
    let count = info
        .lines()
        .find(|line| line.starts_with("Number of packets:"))
        .expect("told");
    assert!(count.ends_with(&format!(" {packets}")), "{info}");
    assert!(info.contains("Number of stat entries = 1"), "{info}");
}

/// The rows of the table `timestamps` that a host wrote: sent or not, flow, sequence, and UTC or the reason there is none.
#[cfg(feature = "parquet")]
fn rows(folder: &Path, host: &str) -> Vec<(bool, i64, i64, Result<i64, String>)> {
    use parquet_files::file::reader::{FileReader, SerializedFileReader};
    use parquet_files::record::RowAccessor;
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(rows(&path, host));
            continue;
        }
        let file = std::fs::File::open(path).expect("opens");
        let reader = SerializedFileReader::new(file).expect("is Parquet");
        for row in reader.get_row_iter(None).expect("rows") {
            let row = row.expect("a row");
            if row.get_string(0).expect("a host") != host {
                continue;
            }
            let utc = row.get_long(8).map(|difference| {
                let ticks = row.get_long(7).expect("ticks");
                ticks.wrapping_add(difference)
            });
            let utc = utc.map_err(|_| row.get_string(10).expect("a reason").clone());
            let is_sent = row.get_string(4).expect("a direction") == "tx";
            let (flow, sequence) = (row.get_long(2), row.get_long(3));
            found.push((
                is_sent,
                flow.expect("a flow"),
                sequence.expect("a number"),
                utc,
            ));
        }
    }
    found
}

/// What the fleet's program joins: flow and sequence of packets that one host sent and the other received.
#[test]
#[cfg(feature = "parquet")]
fn parquet_files_of_two_hosts_join_to_what_the_router_did() {
    use std::collections::HashMap;
    const SENT: u32 = 300;
    if !is_possible() {
        return;
    }
    let forth = Direction::new().delay(3 * MS).loss(0.05).duplicate(0.05);
    let network = Network::builder().hosts(["a", "b"]).seed(12);
    let network = network.direction("a", "b", forth).build().expect("made");
    let folder = tempfile::tempdir().expect("made");
    let store = folder.path().join("store");
    let captures = ["a", "b"].map(|host| {
        let file = folder.path().join(format!("{host}.pcapng"));
        let store = store.to_str().expect("text");
        let ports = ["udp", "dst", "portrange", "4000-4001"];
        let more = [&["--parquet", store, "--host", host][..], &ports].concat();
        capture(network.host(host).command(PROGRAM), "net0", &file, &more)
    });
    let [from, to] = ["a", "b"].map(|host| network.host(host).ipv4());
    let [from6, to6] = ["a", "b"].map(|host| network.host(host).ipv6());
    let sent = network.host("a").run(|| {
        send((from, 5000).into(), (to, 4000).into(), SENT);
        // over IPv6, where nothing counts packets
        let socket = UdpSocket::bind((from6, 5000)).expect("binds");
        for _ in 0..2 {
            socket.send_to(b"twins", (to6, 4001)).expect("sent");
        }
    });
    sent.expect("sent");
    thread::sleep(300 * MS);
    for (summary, output) in captures.map(end) {
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            (number(&summary["dropped"]), number(&summary["left_out"])),
            (0, 0)
        );
    }
    let truth = truth(&network.take_log(), "a", 4000);
    let (sent, received) = (rows(&store, "a"), rows(&store, "b"));
    let alike = sent.iter().filter(|row| row.3 == Err("looks_alike".into()));
    assert_eq!(alike.count(), 2, "the twins");
    let sent: Vec<_> = sent.iter().filter(|row| row.3.is_ok()).collect();
    assert_eq!(sent.len(), SENT as usize);
    assert!(sent.iter().all(|row| row.0) && received.iter().all(|row| !row.0));
    let mut arrived: HashMap<_, Vec<i64>> = HashMap::new();
    for (_, flow, sequence, utc) in &received {
        let utc = utc.as_ref().expect("has a time");
        arrived.entry((flow, sequence)).or_default().push(*utc);
    }
    let (mut lost, mut duplicated) = (0, 0);
    for (_, flow, sequence, utc) in sent {
        let Some(times) = arrived.get(&(flow, sequence)) else {
            lost += 1;
            continue;
        };
        duplicated += times.len() as i64 - 1;
        for time in times {
            let delay = time - utc.as_ref().expect("has a time");
            assert!((3_000_000..3_000_000_000).contains(&delay), "{delay}");
        }
    }
    assert_eq!((lost, duplicated), (truth.lost, truth.duplicated));
    assert!(lost > 0 && duplicated > 0, "the router does both");
}

/// Two threads send as fast as they can, into a buffer that is too small for it.
#[test]
fn of_a_flood_every_packet_is_there_or_among_the_drops() {
    const EACH: u32 = 100_000;
    if !is_possible() {
        return;
    }
    let network = Network::builder().hosts(["a", "b"]).build().expect("made");
    let host = network.host("a");
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("flood.pcapng");
    let child = capture(
        host.command(PROGRAM),
        "lo",
        &file,
        &["--buffer", "2", "udp", "dst", "port", "4000"],
    );
    host.run(|| {
        let receiver = UdpSocket::bind("127.0.0.1:4000").expect("binds");
        let to = receiver.local_addr().expect("bound");
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
                    (0..EACH).for_each(|_| drop(socket.send_to(&[b'f'; 500], to)));
                });
            }
        });
    })
    .expect("sent");
    let (summary, output) = end(child);
    let told = |name: &str| number(&summary[name]);
    // each is seen as it is sent, and as it is received
    assert_eq!(told("received"), i64::from(EACH) * 4, "{summary:#}");
    assert_eq!(
        told("packets") + told("dropped"),
        told("received"),
        "{summary:#}"
    );
    let code = if told("dropped") > 0 { 6 } else { 0 };
    assert_eq!(output.status.code(), Some(code), "{summary:#}");
    let output = Command::new("capinfos")
        .args(["-M", "-c"])
        .arg(&file)
        .output()
        .expect("run");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.trim_end().ends_with(&format!(" {}", told("packets"))),
        "{text}"
    );
}

/// From eight ports, so that the kernel has flows to divide.
#[test]
fn a_flood_that_is_divided_among_queues_is_in_one_file_in_order_of_time() {
    const EACH: u32 = 3_000;
    const PORTS: u32 = 8;
    if !is_possible() {
        return;
    }
    let network = Network::builder().hosts(["a", "b"]).build().expect("made");
    let host = network.host("a");
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("queues.pcapng");
    let child = capture(
        host.command(PROGRAM),
        "lo",
        &file,
        &[
            "--queues", "3", "--buffer", "4", "udp", "dst", "port", "4000",
        ],
    );
    host.run(|| {
        let receiver = UdpSocket::bind("127.0.0.1:4000").expect("binds");
        let to = receiver.local_addr().expect("bound");
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let sockets: Vec<_> = (0..PORTS / 2)
                        .map(|_| UdpSocket::bind("127.0.0.1:0").expect("binds"))
                        .collect();
                    for _ in 0..EACH {
                        for socket in &sockets {
                            let _ = socket.send_to(&[b'f'; 500], to);
                        }
                    }
                });
            }
        });
    })
    .expect("sent");
    let (summary, output) = end(child);
    let told = |name: &str| number(&summary[name]);
    let sent = i64::from(EACH * PORTS) * 2;
    assert_eq!(told("received"), sent, "{summary:#}");
    assert_eq!(told("packets") + told("dropped"), sent, "{summary:#}");
    let code = if told("dropped") > 0 { 6 } else { 0 };
    assert_eq!(output.status.code(), Some(code), "{summary:#}");
    let queues = summary["queues"].as_array().expect("queues");
    assert_eq!(queues.len(), 3);
    for name in ["packets", "received", "dropped", "freezes"] {
        let sum: i64 = queues.iter().map(|queue| number(&queue[name])).sum();
        assert_eq!(sum, told(name), "{name}: {summary:#}");
    }
    let busy = queues.iter().filter(|queue| number(&queue["received"]) > 0);
    assert!(busy.count() > 1, "eight flows in one queue: {summary:#}");
    assert_in_order(&file, told("packets"), told("out_of_order"));
}

/// tshark sees as many packets, and as many that are earlier than one before as were counted.
fn assert_in_order(file: &Path, packets: i64, out_of_order: i64) {
    let output = Command::new("tshark")
        .args([
            "-T",
            "fields",
            "-e",
            "frame.time_epoch",
            "-e",
            "frame.interface_id",
            "-r",
        ])
        .arg(file)
        .output()
        .expect("run");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let (mut latest, mut late, mut count) = (0, 0, 0);
    let mut interfaces = std::collections::HashSet::new();
    for line in text.lines() {
        let (time, interface) = line.split_once('\t').expect("two fields");
        let time: i64 = time.replace('.', "").parse().expect("a number");
        late += i64::from(time < latest);
        latest = latest.max(time);
        count += 1;
        interfaces.insert(interface.to_owned());
    }
    assert_eq!((count, late), (packets, out_of_order));
    assert!(late * 100 < count, "{late} of {count} are not in order");
    assert!(
        interfaces.len() > 1,
        "each queue is an interface: {interfaces:?}"
    );
}

#[test]
fn packets_are_shown_a_line_each_and_files_are_rotated() {
    if !is_possible() {
        return;
    }
    let network = Network::builder().hosts(["a", "b"]).build().expect("made");
    let host = network.host("a");
    let folder = tempfile::tempdir().expect("made");
    let mut live = host
        .command(PROGRAM)
        .args(["capture", "lo", "--count", "4", "--json", "udp"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let rotated = folder.path().join("r.pcapng");
    let mut rotating = host.command(PROGRAM);
    rotating.args([
        "capture",
        "lo",
        "--json",
        "--rotate-size",
        "1048576",
        "--files",
        "2",
        "--snaplen",
        "300",
        "-w",
    ]);
    let rotating = Running::start(rotating.arg(&rotated).stdout(Stdio::piped()));
    while !folder.path().join("r-00001.pcapng.partial").exists() {
        thread::sleep(10 * MS);
    }
    thread::sleep(300 * MS);
    host.run(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let to = socket.local_addr().expect("bound");
        (0..8_000).for_each(|_| drop(socket.send_to(&[b'r'; 1_000], to)));
    })
    .expect("sent");
    let lines: Vec<Value> = BufReader::new(live.stdout.take().expect("piped"))
        .lines()
        .map(|line| serde_json::from_str(&line.expect("read")).expect("is JSON"))
        .collect();
    assert!(live.wait().expect("ended").success());
    assert_eq!(lines.len(), 5, "{lines:?}");
    for line in &lines[..4] {
        let packet = &line["packet"];
        assert_eq!(
            (
                number(&packet["length_bytes"]),
                number(&packet["error_bound_ns"])
            ),
            (1_042, 1)
        );
        assert!(
            packet["summary"]
                .as_str()
                .is_some_and(|text| text.starts_with("UDP 127.0.0.1:")),
            "{packet}"
        );
    }
    assert_eq!(number(&lines[4]["summary"]["packets"]), 4);
    let (summary, _) = end(rotating);
    let files = summary["files"].as_array().expect("files");
    assert_eq!(files.len(), 2, "{summary:#}");
    let there = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(there, 2, "the older ones are gone");
    let mut shown = 0;
    for file in files {
        let output = Command::new("tshark")
            .args(["-r", file.as_str().expect("a name")])
            .output()
            .expect("run");
        assert!(output.status.success(), "{output:?}");
        shown += output.stdout.len();
    }
    // the last one can have begun with the end
    assert!(shown > 0, "{summary:#}");
}

/// The packets come just before the interface goes: those that the kernel still holds are kept as well.
#[test]
fn packets_that_come_one_by_one_are_in_the_file_while_it_grows() {
    if !is_possible() {
        return;
    }
    let network = Network::builder().hosts(["a", "b"]).seed(3);
    let network = network.build().expect("made");
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("slow.pcapng");
    let (host, to) = (network.host("a"), network.host("b").ipv4());
    let filter = ["udp", "dst", "port", "4000"];
    let running = capture(host.command(PROGRAM), "net0", &file, &filter);
    let partial = file.with_extension("pcapng.partial");
    let size = || partial.metadata().expect("is there").len();
    thread::sleep(500 * MS);
    let empty = size();
    let sent = host.run(|| {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("binds");
        for _ in 0..60 {
            socket.send_to(b"one by one", (to, 4000)).expect("sent");
            thread::sleep(50 * MS);
            if size() > empty {
                return true;
            }
        }
        false
    });
    assert!(sent.expect("sent"), "nothing for 3 s while packets come");
    let (_, output) = end(running);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn what_came_before_the_interface_went_away_is_kept() {
    const SENT: i64 = 30;
    if !is_possible() {
        return;
    }
    let network = Network::builder().hosts(["a", "b"]).build().expect("made");
    let host = network.host("a");
    let ip = |arguments: &str| {
        let ran = host
            .command("ip")
            .args(arguments.split(' '))
            .status()
            .expect("run");
        assert!(ran.success(), "{arguments}");
    };
    let folder = tempfile::tempdir().expect("made");
    let store = folder.path().join("store");
    let parquet = ["--parquet", store.to_str().expect("text"), "--host", "a"];
    let one = if cfg!(feature = "parquet") {
        &parquet[..]
    } else {
        &[]
    };
    for (name, more) in [("one", one), ("queues", &["--queues", "2"])] {
        ip("link add gone0 type veth peer name gone1");
        ip("addr add 10.79.9.1/24 dev gone0");
        ip("link set gone1 up");
        ip("link set gone0 up");
        ip("neighbour add 10.79.9.2 lladdr 02:00:00:00:00:09 dev gone0");
        let file = folder.path().join(format!("{name}.pcapng"));
        let filter = ["udp", "port", "4000"];
        let child = capture(
            host.command(PROGRAM),
            "gone0",
            &file,
            &[more, &filter[..]].concat(),
        );
        thread::sleep(300 * MS);
        host.run(|| {
            let socket = UdpSocket::bind("10.79.9.1:0").expect("binds");
            for number in 0..SENT {
                let sent = socket.send_to(&number.to_be_bytes(), "10.79.9.2:4000");
                sent.expect("sent");
            }
        })
        .expect("sent");
        ip("link del gone0");
        let output = child.output();
        assert_eq!(output.status.code(), Some(3), "{name}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("is JSON"))
            .collect();
        let [summary, error] = &lines[..] else {
            panic!("{name}: {output:?}");
        };
        let summary = &summary["summary"];
        assert_eq!(number(&summary["packets"]), SENT, "{name}: {summary:#}");
        assert_eq!(number(&summary["received"]), SENT, "{name}: {summary:#}");
        assert_eq!(summary["files"].as_array().map(Vec::len), Some(1));
        assert_eq!(error["error"]["target"], "gone0", "{error}");
        let output = Command::new("capinfos")
            .args(["-M", "-c"])
            .arg(&file)
            .output()
            .expect("run");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.trim_end().ends_with(&format!(" {SENT}")),
            "{name}: {text}"
        );
    }
    #[cfg(feature = "parquet")]
    assert_eq!(rows(&store, "a").len() as i64, SENT);
}

#[test]
fn what_can_not_be_captured_is_told() {
    let run = |arguments: &[&str]| {
        let output = Command::new(PROGRAM)
            .arg("capture")
            .args(arguments)
            .output()
            .expect("run");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, text) = run(&["sim0"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("virtual time has no end"), "{text}");
    let (code, text) = run(&["nowhere0"]);
    assert_eq!(code, Some(3), "{text}");
    let (code, text) = run(&["compare", PROGRAM, PROGRAM]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("is neither pcapng nor pcap"), "{text}");
    let (code, text) = run(&["answers", "/nowhere/a.pcapng"]);
    assert_eq!(code, Some(2), "{text}");
    if is_possible() {
        let (code, text) = run(&["lo", "udp", "prt"]);
        assert_eq!(code, Some(2), "{text}");
        assert!(
            text.contains("syntax error") || text.contains("can't parse"),
            "{text}"
        );
    }
}
