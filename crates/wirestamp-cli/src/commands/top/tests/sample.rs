//! A snapshot with a bit of everything: good and bad, known and unknown.

use wirestamp_monitor::Delays;
use wirestamp_monitor::snapshot::{
    ClockState, Event, HistoryState, InterfaceState, NtpServerState, NtpState, PathState,
    PeerState, PtpState, Reasons, ReflectorState, Snapshot, TaskState, TimestampCounts,
};

pub(super) fn reasons(pairs: &[(&str, u64)]) -> Reasons {
    let owned = pairs
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count));
    owned.collect()
}

/// What a monitor might know `second` seconds after another time.
pub(super) fn snapshot(second: u64) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.schema = "wirestamp.monitor/1".to_owned();
    snapshot.host = "db7".to_owned();
    snapshot.time = format!("2026-11-23T06:30:{second:02}.123456789Z");
    snapshot.uptime_ns = 3_723_000_000_000 + second as i64 * 1_000_000_000;
    snapshot.tasks = vec![task(
        "stamp",
        "db9",
        "failed",
        Some("find db9: no such host"),
    )];
    snapshot.interfaces = vec![interface("eth0", Some(0)), interface("lo", None)];
    snapshot.clocks = clocks(second as i64);
    snapshot.ntp = Some(ntp(second as i64));
    snapshot.ptp = vec![ptp(second as i64)];
    snapshot.peers = vec![peer(second as i64), silent_peer()];
    snapshot.paths = vec![path()];
    let mut reflector = ReflectorState::default();
    reflector.listening = vec!["192.0.2.7:862".to_owned()];
    reflector.replies = 1_234;
    reflector.dropped = reasons(&[("wrong_hmac", 3)]);
    reflector.sessions = 2;
    snapshot.reflector = Some(reflector);
    snapshot.events = vec![
        event(1, "interface", "eth0", "the interface is up, it was down"),
        event(
            2,
            "clock_step",
            "realtime",
            "the real-time clock was stepped by -1.50 s",
        ),
    ];
    snapshot.own.cpu_ns = Some(12_345_000_000);
    snapshot.own.resident_bytes = Some(23_400_000);
    snapshot.own.turns = 10_000;
    snapshot.own.missed_deadlines = 2;
    let mut history = HistoryState::default();
    history.state = "live_only".to_owned();
    history.error = Some("no space left on device".to_owned());
    snapshot.history = Some(history);
    snapshot
}

fn task(kind: &str, name: &str, state: &str, error: Option<&str>) -> TaskState {
    let mut task = TaskState::default();
    (task.kind, task.name) = (kind.to_owned(), name.to_owned());
    (task.state, task.error) = (state.to_owned(), error.map(str::to_owned));
    task
}

fn interface(name: &str, clock: Option<u32>) -> InterfaceState {
    let mut interface = InterfaceState::default();
    (interface.name, interface.state) = (name.to_owned(), "up".to_owned());
    interface.hardware_clock = clock;
    interface.transmit = clock.map(|_| true);
    interface.receive = clock.map(|_| "all".to_owned());
    interface.cross_timestamp = Some(clock.is_some());
    interface.changes = reasons(&[("link_state", u64::from(clock.is_some()))]);
    interface
}

/// A PTP hardware clock on TAI, a real-time clock that is off, and one of which nothing is known.
fn clocks(second: i64) -> Vec<ClockState> {
    let mut nic = ClockState::default();
    (nic.name, nic.kind) = ("eth0".to_owned(), "phc".to_owned());
    nic.utc_offset_ns = Some(37_000_000_123 + second * 7);
    nic.tai_offset_ns = Some(123 + second * 7);
    nic.utc_bound_ns = Some(642);
    nic.reference = Some("system".to_owned());
    nic.frequency_ppb = Some(-166.25);
    nic.generation = Some(2);
    nic.generation_changes = reasons(&[("reset", 1)]);
    nic.age_ns = Some(312_000_000);
    nic.cross_width_ns = Some(511);
    nic.cross_method = Some("extended".to_owned());
    nic.readings = 3_700;
    let mut realtime = ClockState::default();
    (realtime.name, realtime.kind) = ("realtime".to_owned(), "realtime".to_owned());
    realtime.utc_offset_ns = Some(1_702_000 - second * 1_000);
    realtime.utc_bound_ns = Some(150_000);
    realtime.reference = Some("ntp".to_owned());
    realtime.age_ns = Some(4_000_000_000);
    let mut unknown = ClockState::default();
    (unknown.name, unknown.kind) = ("eth1".to_owned(), "phc".to_owned());
    vec![nic, realtime, unknown]
}

fn ntp(second: i64) -> NtpState {
    let mut good = NtpServerState::default();
    good.name = "ntp1.example.org".to_owned();
    good.address = "192.0.2.1:123".to_owned();
    good.offset_ns = Some(-99_500 + second * 10);
    (good.bound_ns, good.utc_bound_ns) = (Some(121_000), Some(144_000));
    good.path_delay_ns = Some(206_000);
    good.age_ns = Some(9_000_000_000);
    good.stratum = Some(1);
    (good.requests, good.responses, good.unanswered) = (100, 99, 1);
    let mut wrong = NtpServerState::default();
    wrong.name = "ntp2.example.org".to_owned();
    (wrong.offset_ns, wrong.bound_ns) = (Some(-250_000_000), Some(557_000));
    wrong.falseticker = true;
    let mut ntp = NtpState::default();
    ntp.agreement = "majority".to_owned();
    (ntp.offset_ns, ntp.bound_ns) = (Some(-99_500), Some(144_000));
    ntp.servers = vec![good, wrong];
    ntp
}

fn ptp(second: i64) -> PtpState {
    let mut port = PtpState::default();
    (port.interface, port.state) = ("eth0".to_owned(), "slave".to_owned());
    port.time_transmitter = Some("001122.fffe.334455-1".to_owned());
    port.grandmaster = "001122.fffe.334455".to_owned();
    port.source = "hardware".to_owned();
    (port.offset_ns, port.bound_ns) = (Some(-12 + second), Some(85));
    port.path_delay_ns = Some(431);
    port.age_ns = Some(125_000_000);
    port.samples = 500;
    port.lost = reasons(&[("no_transmit_timestamp", 5)]);
    port
}

fn delays(around: i64, count: i64) -> Delays {
    let mut delays = Delays::default();
    for number in 0..count {
        delays.record(around + number * around / 50, 640);
    }
    delays
}

fn peer(second: i64) -> PeerState {
    let mut peer = PeerState::default();
    (peer.name, peer.address) = ("db8".to_owned(), "192.0.2.8:862".to_owned());
    peer.relation = "utc".to_owned();
    (peer.sent, peer.answered, peer.lost, peer.in_flight) = (1_001, 990, 10, 1);
    peer.path_delay_ns = Some(181_000 + second * second * 100);
    peer.path_delay_bound_ns = Some(640);
    peer.age_ns = Some(52_000_000);
    for (segment, around) in [
        ("round_trip", 210_000),
        ("forward", 90_000),
        ("backward", 91_000),
    ] {
        peer.delays.insert(segment.to_owned(), delays(around, 100));
    }
    peer.timestamps = counts(1_001, &[("none_generated", 4), ("deadline", 0)]);
    peer
}

fn silent_peer() -> PeerState {
    let mut peer = PeerState::default();
    (peer.name, peer.address) = ("漢字-rack".to_owned(), "192.0.2.9:862".to_owned());
    peer.relation = "unrelated".to_owned();
    peer
}

fn counts(requested: u64, missing: &[(&str, u64)]) -> TimestampCounts {
    let mut counts = TimestampCounts::default();
    counts.missing = reasons(missing);
    counts.requested = requested;
    counts.transmitted = requested - missing.iter().map(|(_, count)| count).sum::<u64>();
    (counts.received, counts.received_timestamped) = (990, 988);
    counts
}

fn path() -> PathState {
    let mut path = PathState::default();
    path.interface = "lo".to_owned();
    (path.sent, path.received) = (3_700, 3_700);
    for (segment, around) in [
        ("send_path", 11_000),
        ("wire", 900),
        ("receive_path", 24_000),
    ] {
        path.delays.insert(segment.to_owned(), delays(around, 50));
    }
    path.timestamps = counts(3_700, &[]);
    path.timestamps.received_timestamped = path.timestamps.received;
    path
}

fn event(id: u64, kind: &str, subject: &str, message: &str) -> Event {
    let mut event = Event::default();
    event.id = id;
    event.time = format!("2026-11-23T06:29:{id:02}.000000000Z");
    (event.kind, event.subject) = (kind.to_owned(), subject.to_owned());
    event.message = message.to_owned();
    event
}
