//! The monitor in a simulation: its results are compared with the truth and with each other.

use std::collections::BTreeMap;
use std::sync::Arc;
use wirestamp::sim::{NicName, Scenario};
use wirestamp::{Simulation, Span};
use wirestamp_monitor::metrics::open_metrics;
use wirestamp_monitor::snapshot::{PeerState, Snapshot, TimestampCounts};
use wirestamp_monitor::{Configuration, Monitor, Place};

fn address(simulation: &Simulation, name: &str) -> std::net::IpAddr {
    simulation
        .interface(name)
        .expect("it has one")
        .description()
        .addresses[0]
        .address
}

/// Sessions from sim0 to a reflector on sim1.
fn sessions(simulation: &Simulation, count: usize, interval: &str) -> Configuration {
    let peer = address(simulation, "sim1");
    let mut text = format!(
        "[reflector]\nlisten = [\"{peer}:862\"]\nrate = 1000000\nsessions = 20000\n[[path]]\ninterface = \"sim0\"\n"
    );
    for number in 0..count {
        text += &format!(
            "[[stamp]]\nname = \"peer{number}\"\npeer = \"{peer}\"\ninterface = \"sim0\"\nclocks = \"same\"\ninterval = \"{interval}\"\n"
        );
    }
    Configuration::from_toml(&text).expect("it is right")
}

fn monitor(preset: &str, count: usize, interval: &str) -> (Monitor, Simulation) {
    let simulation = Simulation::start(&Scenario::preset(preset).expect("a preset"), 7);
    let configuration = sessions(&simulation, count, interval);
    let monitor =
        Monitor::new(configuration, Place::Simulation(simulation.clone())).expect("it starts");
    (monitor, simulation)
}

fn run(monitor: &mut Monitor, seconds: i64) -> Snapshot {
    monitor
        .run_until(monitor.now() + Span::from_seconds(seconds))
        .expect("it runs");
    monitor.snapshot()
}

fn adds_up(counts: &TimestampCounts) {
    let missing: u64 = counts.missing.values().sum();
    assert_eq!(
        counts.requested,
        counts.transmitted + counts.pending + missing,
        "{counts:?}"
    );
    assert!(counts.received_timestamped <= counts.received);
}

fn peer_adds_up(peer: &PeerState) {
    assert_eq!(
        peer.sent,
        peer.answered + peer.lost + peer.in_flight,
        "{peer:?}"
    );
    adds_up(&peer.timestamps);
}

/// Without the ways through this host, which software timestamps have in them.
#[test]
fn sessions_and_paths_have_the_nics_timestamps_if_they_are_asked_for() {
    let measured = |source: &str| {
        let text = format!(
            "[[path]]\ninterface = \"sim0\"\nsource = \"{source}\"\n[[stamp]]\npeer = \"sim1\"\ninterface = \"sim0\"\n\
             clocks = \"same\"\nsource = \"{source}\"\nleast_delay = \"10ns\"\n"
        );
        let mut configuration = Configuration::from_toml(&text).expect("it is right");
        configuration.answered = true;
        let simulation = Simulation::start(&Scenario::preset("igc").expect("a preset"), 7);
        let monitor = Monitor::new(configuration, Place::Simulation(simulation));
        let snapshot = run(&mut monitor.expect("it starts"), 60);
        assert_eq!(snapshot.peers.len(), 1, "{:?}", snapshot.tasks);
        let (peer, path) = (&snapshot.peers[0], &snapshot.paths[0]);
        assert_eq!(peer.source, source, "{peer:?}");
        let round_trips = &peer.delays["round_trip"];
        assert!(round_trips.count > 500, "{peer:?}");
        let of_path = |segment: &str| {
            let delays = &path.delays[segment];
            assert!(delays.count > 50, "{path:?}");
            delays.sum_ns / delays.count
        };
        let mean = round_trips.sum_ns / round_trips.count;
        [mean, of_path("wire"), of_path("send_path")]
    };
    let [software, hardware] = ["software", "hardware"].map(measured);
    // to the NIC it is further than to the kernel
    assert!(hardware[2] > software[2] && hardware[1] < software[1]);
    assert!(hardware[0] < software[0], "{hardware:?} {software:?}");
}

#[test]
fn everything_that_is_asked_for_runs_and_measures() {
    let (mut monitor, _) = monitor("igc", 3, "100ms");
    let snapshot = run(&mut monitor, 30);
    assert!(
        snapshot.tasks.iter().all(|task| task.state == "running"),
        "{:?}",
        snapshot.tasks
    );
    assert_eq!(snapshot.peers.len(), 3);
    for peer in &snapshot.peers {
        peer_adds_up(peer);
        assert!((298..=302).contains(&peer.sent), "{peer:?}");
        assert_eq!(peer.lost, 0, "{peer:?}");
        for segment in ["round_trip", "path", "forward", "backward", "send_path"] {
            assert!(peer.delays[segment].count >= 270, "{segment} of {peer:?}");
        }
    }
    let path = &snapshot.paths[0];
    assert!(path.received >= 26 && path.lost == 0, "{path:?}");
    adds_up(&path.timestamps);
    let clock = snapshot
        .clocks
        .iter()
        .find(|clock| clock.name == "sim0")
        .expect("it has one");
    assert!(
        clock.utc_bound_ns.is_some_and(|bound| bound < 100_000),
        "{clock:?}"
    );
    assert!(
        clock.age_ns.is_some_and(|age| age < 10_000_000_000),
        "{clock:?}"
    );
    assert!(
        clock.frequency_ppb.is_some() && clock.cross_width_ns.is_some(),
        "{clock:?}"
    );
    // a counter that begins at 1 has no increase: it is there from the start
    assert!(clock.generation_changes.len() > 3, "{clock:?}");
    assert!(clock.generation_changes.values().all(|count| *count == 0));
    let realtime = snapshot
        .clocks
        .iter()
        .find(|clock| clock.kind == "realtime");
    let realtime = realtime.expect("there is one");
    assert_eq!(realtime.reference.as_deref(), Some("simulation"));
    assert_eq!(
        realtime.utc_bound_ns, None,
        "the kernel's is another clock's"
    );
    assert_eq!(
        snapshot.reflector.map(|reflector| reflector.sessions),
        Some(3)
    );
}

#[test]
fn the_bound_of_a_clock_holds_whatever_its_oscillator_does() {
    for preset in ["igc", "poor-oscillator", "noisy-cross", "slow-cross"] {
        let (mut monitor, simulation) = monitor(preset, 1, "1s");
        let interface = simulation.interface("sim0").expect("it has one");
        let mut held = 0;
        for _ in 0..200 {
            let snapshot = run(&mut monitor, 1);
            let clock = snapshot
                .clocks
                .iter()
                .find(|clock| clock.name == "sim0")
                .expect("it has one");
            let (Some(offset), Some(bound)) = (clock.utc_offset_ns, clock.utc_bound_ns) else {
                continue;
            };
            let truth = simulation.world().truth();
            let ticks = truth
                .hardware_ticks_at(interface.index(), truth.now())
                .expect("it runs");
            let true_offset = i128::from(ticks.raw()) - i128::from(truth.utc().nanoseconds());
            // the truth is read a moment later: what the two clocks drift apart meanwhile is below a nanosecond or two
            assert!(
                (true_offset - i128::from(offset)).abs() <= i128::from(bound) + 2,
                "{preset}: {true_offset} {clock:?}"
            );
            held += 1;
        }
        assert!(held > 150, "{preset}: {held}");
    }
}

#[test]
fn steps_of_a_clock_are_generations_and_events() {
    let (mut monitor, _) = monitor("clock-steps", 1, "1s");
    let snapshot = run(&mut monitor, 600);
    let changes: u64 = snapshot
        .clocks
        .iter()
        .filter(|clock| clock.kind == "phc")
        .flat_map(|clock| clock.generation_changes.values())
        .sum();
    assert!(changes > 0, "{:?}", snapshot.clocks);
    assert!(
        snapshot
            .events
            .iter()
            .any(|event| event.kind == "generation_change")
    );
}

/// No notification arrives for a second.
#[test]
fn the_clock_of_a_nic_that_is_gone_shows_nothing() {
    let (mut monitor, simulation) = monitor("igc", 1, "1s");
    run(&mut monitor, 10);
    simulation.world().lose_notifications(3);
    simulation.world().remove_nic(NicName::Sim0);
    let mut gone = 0;
    for _ in 0..9 {
        let soon = monitor.now() + Span::from_milliseconds(100);
        monitor.run_until(soon).expect("it runs");
        let snapshot = monitor.snapshot();
        let mut clocks = snapshot.clocks.iter();
        let Some(clock) = clocks.find(|clock| clock.name == "sim0" && clock.error.is_some()) else {
            continue;
        };
        let shown = (clock.utc_offset_ns, clock.utc_bound_ns, clock.frequency_ppb);
        assert_eq!(shown, (None, None, None), "{clock:?}");
        gone += 1;
    }
    assert!(gone > 0);
}

#[test]
fn what_is_lost_and_missing_is_counted_by_reason() {
    let (mut monitor, _) = monitor("lossy-link", 2, "20ms");
    let snapshot = run(&mut monitor, 60);
    for peer in &snapshot.peers {
        peer_adds_up(peer);
        assert!(peer.lost > 0 && peer.answered > 1_000, "{peer:?}");
    }
    let (mut monitor, _) = self::monitor("tx-never", 1, "20ms");
    let snapshot = run(&mut monitor, 20);
    adds_up(&snapshot.peers[0].timestamps);
}

#[test]
fn a_reload_keeps_what_both_ask_for_and_its_counts() {
    let (mut monitor, simulation) = monitor("igc", 2, "100ms");
    let before = run(&mut monitor, 10);
    let mut wanted = sessions(&simulation, 3, "100ms");
    wanted.stamp.remove(0);
    monitor.reload(wanted).expect("it is right");
    let after = run(&mut monitor, 10);
    let names: Vec<_> = after.peers.iter().map(|peer| peer.name.as_str()).collect();
    assert_eq!(names, ["peer1", "peer2"]);
    assert!(
        after.peers[0].sent >= before.peers[1].sent + 98,
        "it ran on: {after:?}"
    );
    assert!(after.peers[1].sent <= 102, "it is new");
    assert!(
        after.reflector.as_ref().map(|reflector| reflector.replies)
            > before.reflector.as_ref().map(|reflector| reflector.replies)
    );
    assert!(
        after
            .events
            .iter()
            .any(|event| event.kind == "reload" && event.message.contains("run on"))
    );

    let mut wrong = sessions(&simulation, 1, "100ms");
    wrong.http.connections = 0;
    assert!(monitor.reload(wrong).is_err());
    let still = run(&mut monitor, 5);
    assert_eq!(still.peers.len(), 2);
    assert_eq!(still.own.reloads.get("refused"), Some(&1));
}

#[test]
fn what_cannot_be_opened_is_tried_again_and_says_why() {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let text = "[clocks]\ninterfaces = [\"sim9\"]\n[[stamp]]\npeer = \"192.0.2.9\"\nkey_file = \"/nonexistent\"\n";
    let configuration = Configuration::from_toml(text).expect("it is right");
    let mut monitor =
        Monitor::new(configuration, Place::Simulation(simulation)).expect("it starts");
    let snapshot = run(&mut monitor, 10);
    assert_eq!(snapshot.tasks.len(), 2);
    assert!(
        snapshot
            .tasks
            .iter()
            .all(|task| task.state == "failed" && task.error.is_some()),
        "{:?}",
        snapshot.tasks
    );
    let failures = snapshot
        .events
        .iter()
        .filter(|event| event.kind == "task_failed" && event.subject == "sim9")
        .count();
    assert!((2..=4).contains(&failures), "{failures}: after 0, 2, 6 s");
}

/// Every counter of the metrics: what ends in `_total`, `_count` or `_bucket`.
fn counters(snapshot: &Snapshot) -> BTreeMap<String, f64> {
    let text = open_metrics(Arc::new(snapshot.clone()), 1_000).expect("encoded");
    let counters = text.lines().filter_map(|line| {
        let line = line.split(" # ").next()?; // without an exemplar
        let (series, value) = line.rsplit_once(' ')?;
        let name = series.split('{').next()?;
        // of the real system; and a NIC that is gone has no clock
        let counts = ["_total", "_count", "_bucket"]
            .iter()
            .any(|end| name.ends_with(end))
            && !name.starts_with("wirestamp_monitor_cpu")
            && !name.starts_with("wirestamp_clock_")
            && !series.contains("kind=\"clock\"");
        counts.then(|| Some((series.to_owned(), value.parse().ok()?)))?
    });
    counters.collect()
}

fn has_grown(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) {
    assert!(before.len() > 50);
    for (series, value) in before {
        let now = after.get(series);
        assert!(now >= Some(value), "{series}: {value}, then {now:?}");
    }
}

#[test]
fn a_task_that_fails_keeps_its_counters_and_goes_on_with_them() {
    let (mut monitor, simulation) = monitor("igc", 2, "100ms");
    let before = run(&mut monitor, 20);
    simulation.world().remove_nic(NicName::Sim0);
    let failed = run(&mut monitor, 15);
    assert!(
        failed
            .tasks
            .iter()
            .any(|task| task.kind == "stamp" && task.state == "failed" && task.failures > 1),
        "{:?}",
        failed.tasks
    );
    has_grown(&counters(&before), &counters(&failed));
    assert_eq!(failed.peers.len(), 2);
    for peer in &failed.peers {
        peer_adds_up(peer);
        assert_eq!(
            (peer.in_flight, peer.timestamps.pending),
            (0, 0),
            "{peer:?}"
        );
        assert!(
            peer.age_ns > Some(13_000_000_000) && peer.age_ns > peer.stale_after_ns,
            "{peer:?}"
        );
        assert!(
            peer.path_delay_age_ns >= peer.age_ns && peer.error.is_some(),
            "{peer:?}"
        );
    }
    simulation.world().add_nic(NicName::Sim0);
    let after = run(&mut monitor, 60);
    assert!(
        after.tasks.iter().all(|task| task.state == "running"),
        "{:?}",
        after.tasks
    );
    has_grown(&counters(&failed), &counters(&after));
    for (peer, old) in after.peers.iter().zip(&failed.peers) {
        peer_adds_up(peer);
        assert!(peer.answered > old.answered + 100, "{peer:?}");
        assert!(peer.delays["path"].count > old.delays["path"].count + 100);
        assert!(
            peer.age_ns < Some(3_000_000_000) && peer.error.is_none(),
            "{peer:?}"
        );
    }
}

/// Half of the transmit timestamps are missing, and path delays with them.
#[test]
fn the_last_path_delay_stays_when_a_packet_has_none() {
    let scenario = "preset = \"igc\"\n[nic.faults]\nlost = 0.5\n";
    let simulation = Simulation::from_toml(scenario, 7).expect("a scenario");
    let configuration = sessions(&simulation, 1, "100ms");
    let mut monitor =
        Monitor::new(configuration, Place::Simulation(simulation)).expect("it starts");
    run(&mut monitor, 20);
    let mut older = 0;
    for _ in 0..20 {
        let snapshot = run(&mut monitor, 1);
        let peer = &snapshot.peers[0];
        assert!(
            peer.path_delay_ns.is_some() && peer.path_delay_bound_ns.is_some(),
            "{peer:?}"
        );
        older += u32::from(peer.path_delay_age_ns > peer.age_ns);
        assert!(peer.path_delay_age_ns >= peer.age_ns, "{peer:?}");
    }
    assert!(
        older > 3,
        "{older}: the last packet never lacked a timestamp"
    );
}

#[test]
fn the_same_seed_tells_the_same() {
    let told = || {
        let (mut monitor, _) = monitor("lossy-link", 2, "50ms");
        let mut snapshot = run(&mut monitor, 20);
        // what the real system's clock and memory have to do with it
        snapshot.own = Default::default();
        // the session's identifier and the path's mark are of no consequence
        serde_json::to_string(&snapshot).expect("JSON")
    };
    assert_eq!(told(), told());
}

/// A field of JSON, its number with 15 digits if it has a fraction.
fn shortened(field: &str) -> String {
    let number = field
        .trim_end_matches(['}', ']'])
        .rsplit_once(':')
        .filter(|(_, number)| number.contains('.'))
        .and_then(|(name, number)| Some((name, number.parse::<f64>().ok()?)));
    number.map_or_else(
        || field.to_owned(),
        |(name, number)| format!("{name}:{number:.14e}"),
    )
}

#[test]
fn the_snapshot_reads_back_from_its_json() {
    let (mut monitor, _) = monitor("igc", 1, "100ms");
    let snapshot = run(&mut monitor, 3);
    let json = serde_json::to_string(&snapshot).expect("JSON");
    let again: Snapshot = serde_json::from_str(&json).expect("it reads back");
    // fractions are read with an error in the last of 17 digits
    let fields = |json: &str| {
        json.split([',', '{', '['])
            .map(shortened)
            .collect::<Vec<_>>()
    };
    let again = serde_json::to_string(&again).expect("JSON");
    assert_eq!(fields(&again), fields(&json));
    assert!(json.contains("\"schema\":\"wirestamp.monitor/1\""));
}

#[test]
fn the_packages_configuration_is_right() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/monitor.toml");
    let text = std::fs::read_to_string(file).expect("it is there");
    let configuration = Configuration::from_toml(&text).expect("it is right");
    assert!(configuration.http.listen.ip().is_loopback() && configuration.history.is_some());
    // and with everything that is commented out
    let lines = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(setting) if setting.starts_with('[') || setting.contains(" = \"") => setting,
        _ => line,
    });
    let all = lines.collect::<Vec<_>>().join("\n");
    let configuration = Configuration::from_toml(&all).expect("it is right");
    assert!(
        configuration.reflector.is_some()
            && configuration.ptp.len() == 1
            && configuration.ntp.len() == 1
    );
}

/// RFC 5905, section 7.4: a client that receives RATE asks half as often from then on: after 2 s, 4 s, … 64 s.
#[test]
fn an_ntp_server_that_wants_rest_is_asked_ever_more_seldom() {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let server = simulation
        .interface("sim1")
        .and_then(|interface| interface.bind((address(&simulation, "sim1"), 12_300).into()))
        .expect("bound");
    let at = server.local_address().expect("bound");
    let text = format!("[[ntp]]\nserver = \"{at}\"\ninterval = \"1s\"\n");
    let configuration = Configuration::from_toml(&text).expect("it is right");
    let mut monitor =
        Monitor::new(configuration, Place::Simulation(simulation)).expect("it starts");
    let (begun, mut request, mut asked) = (monitor.now(), [0; 256], Vec::new());
    while asked.len() < 7 {
        let now = monitor.now();
        assert!(now - begun < Span::from_seconds(200), "{asked:?}");
        monitor
            .run_until(now + Span::from_milliseconds(50))
            .expect("it runs");
        while let Some(came) = server
            .receive(&mut request, std::time::Duration::ZERO)
            .expect("received")
        {
            asked.push(monitor.now());
            // not synchronised, version 4, mode 4, stratum 0
            let mut kiss = vec![0xe4, 0, 0, 0xec, 0, 0, 0, 0, 0, 0, 0, 0];
            kiss.extend(b"RATE");
            kiss.extend([0; 8]);
            kiss.extend(&request[40..48]);
            kiss.extend([0; 16]);
            let to = came.source.expect("it has one");
            server.send_to(&kiss, to, None).expect("sent");
        }
    }
    let gaps: Vec<_> = asked.windows(2).map(|two| two[1] - two[0]).collect();
    let step = Span::from_milliseconds(200);
    for two in gaps.windows(2) {
        assert!(two[1] + step > two[0] + two[0], "{gaps:?}");
    }
    let servers = monitor.snapshot().ntp.expect("it is asked").servers;
    let error = servers[0].error.as_deref().unwrap_or_default();
    assert!(error.contains("RATE"), "{error}");
}
