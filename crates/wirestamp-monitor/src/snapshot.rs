//! A snapshot: all results of the monitor at one instant, which the page, `top` and the metrics show.
//!
//! Estimates, error bounds and ages are evaluated when the snapshot is taken. Offsets are local minus reference
//! (positive: the local clock is ahead), frequencies are positive if the local clock runs fast. A value that was not
//! measured is `None` (JSON: null), never 0. Nanoseconds beyond 2^53 are strings in JSON.

use serde::{Deserialize, Serialize};
pub use wirestamp_measure::state::{
    ClockState, InterfaceState, NtpServerState, NtpState, PathState, PeerState, PtpState, Reasons,
    ReflectorState, TaskState, TimestampCounts,
};

/// What the monitor knows at one instant. Served as JSON at `/api/snapshot`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Snapshot {
    /// Name and version of this schema.
    pub schema: String,
    /// Name of the host.
    pub host: String,
    /// When it was taken, by the real-time clock, RFC 3339.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub time: String,
    /// How long the monitor runs, in nanoseconds.
    #[serde(with = "wirestamp_measure::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub uptime_ns: i64,
    /// Whether the interfaces are simulated.
    pub simulated: bool,
    /// Everything that the configuration asks for, and whether it runs.
    pub tasks: Vec<TaskState>,
    /// The interfaces of this host.
    pub interfaces: Vec<InterfaceState>,
    /// The clocks of this host: its NICs', and the real-time clock.
    pub clocks: Vec<ClockState>,
    /// STAMP sessions.
    pub peers: Vec<PeerState>,
    /// The STAMP reflector.
    pub reflector: Option<ReflectorState>,
    /// NTP servers.
    pub ntp: Option<NtpState>,
    /// PTP clocks that measure.
    pub ptp: Vec<PtpState>,
    /// Send and receive paths of this host.
    pub paths: Vec<PathState>,
    /// The newest events, oldest first.
    pub events: Vec<Event>,
    /// The cost of the monitor itself.
    pub own: OwnCost,
    /// The history on disk.
    pub history: Option<HistoryState>,
    /// The recordings for the analysis of a fleet.
    #[serde(default)]
    pub recording: Option<RecordingState>,
}

/// Something that happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "event"))]
#[non_exhaustive]
pub struct Event {
    /// Which run of the monitor it is of: the id in the stream of events is RUN-NUMBER. Empty in history that an
    /// earlier version wrote.
    #[serde(default)]
    pub run: String,
    /// Number of the event since the start of its run, from 1.
    pub id: u64,
    /// When, by the real-time clock, RFC 3339.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub time: String,
    /// Which kind of event: a stable word.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = crate::events::kinds())))]
    pub kind: String,
    /// The task, interface or peer.
    pub subject: String,
    /// A sentence.
    pub message: String,
}

/// The cost of the monitor itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OwnCost {
    /// Processor time, in nanoseconds.
    #[serde(default, with = "wirestamp_measure::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub cpu_ns: Option<u64>,
    /// Resident memory, in bytes.
    pub resident_bytes: Option<u64>,
    /// Turns of the measuring loop.
    pub turns: u64,
    /// Turns that began later than they should by more than 5 ms.
    pub missed_deadlines: u64,
    /// The latest that a turn began after it should.
    #[serde(with = "wirestamp_measure::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub latest_ns: i64,
    /// Reloads of the configuration, by result: "done", "refused".
    pub reloads: Reasons,
    /// Pushes of metrics to an OTLP receiver, by result: "accepted", "refused", "failed".
    #[serde(default)]
    pub pushes: Reasons,
    /// Series that the limit on series kept out of the metrics, counted at each scrape and each push.
    pub series_left_out: u64,
}

/// The history on disk.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HistoryState {
    /// "recording", or "live_only" while nothing can be written.
    pub state: String,
    /// Why nothing can be written.
    pub error: Option<String>,
    /// Records written since the start.
    pub records: u64,
    /// Records that could not be written.
    pub lost: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Segments on disk.
    pub segments: u64,
    /// Segments removed to make room.
    pub removed: u64,
}

/// The recordings for the analysis of a fleet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RecordingState {
    /// "recording", "failed" while something cannot be written or removed, or "starting".
    pub state: String,
    /// What failed.
    pub error: Option<String>,
    /// Rows in files since the start, by table.
    pub rows: Reasons,
    /// Rows that could not be written, by table.
    pub lost: Reasons,
    /// This host's files, when they were listed last.
    pub files: u64,
    /// Their bytes on disk.
    pub bytes: u64,
    /// Files removed since the start for their age, or to make room.
    pub removed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;
    use wirestamp_measure::{Delays, Longest};

    /// One of everything that has nanoseconds.
    fn full() -> Snapshot {
        let mut delays = Delays::default();
        delays.longest = Some(Longest::default());
        let delays = || [("path".to_owned(), delays.clone())].into_iter().collect();
        made!(Snapshot {
            clocks: vec![ClockState::default()],
            peers: vec![made!(PeerState { delays: delays() })],
            ntp: Some(made!(NtpState {
                servers: vec![NtpServerState::default()]
            })),
            ptp: vec![PtpState::default()],
            paths: vec![made!(PathState { delays: delays() })],
        })
    }

    /// Gives every field in nanoseconds this value; returns their names.
    fn fill(value: &mut Value, with: &Value) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    if name.ends_with("_ns") {
                        *field = with.clone();
                        names.insert(name.clone());
                    } else {
                        names.extend(fill(field, with));
                    }
                }
            }
            Value::Array(parts) => {
                names.extend(parts.iter_mut().flat_map(|part| fill(part, with)));
            }
            _ => {}
        }
        names
    }

    /// The names of all fields in nanoseconds that `docs/json` has.
    fn described(schema: &Value) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        match schema {
            Value::Object(parts) => {
                for (name, part) in parts {
                    if name.ends_with("_ns") {
                        names.insert(name.clone());
                    }
                    names.extend(described(part));
                }
            }
            Value::Array(parts) => names.extend(parts.iter().flat_map(described)),
            _ => {}
        }
        names
    }

    #[test]
    fn nanoseconds_beyond_2_to_the_53rd_are_strings_and_are_read_back() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json/monitor.json");
        let docs = std::fs::read_to_string(docs).expect("it is there");
        let docs: Value = serde_json::from_str(&docs).expect("JSON");
        // 105 days
        let (number, text) = (json!(9_072_000_000_000_000_u64), json!("9072000000000000"));
        let mut written = serde_json::to_value(full()).expect("written");
        let names = fill(&mut written, &text);
        assert_eq!(names, described(&docs));
        let read =
            |value: &Value| -> Snapshot { serde_json::from_value(value.clone()).expect("read") };
        let again = serde_json::to_value(read(&written)).expect("written");
        assert_eq!(again, written);
        // an earlier version of the monitor wrote all nanoseconds as numbers
        let mut earlier = written.clone();
        fill(&mut earlier, &number);
        assert_eq!(
            serde_json::to_value(read(&earlier)).expect("written"),
            written
        );
    }

    /// That version had one count for the source of the whole session.
    #[test]
    fn a_snapshot_of_an_earlier_version_is_read() {
        let mut earlier = serde_json::to_value(full()).expect("written");
        let read = |value: &Value| serde_json::from_value::<Snapshot>(value.clone());
        let places = ["/peers/0/stamps", "/ntp/servers/0/stamps"];
        for place in places {
            *earlier.pointer_mut(place).expect("a count") = json!(7);
        }
        let found = read(&earlier).expect("read");
        assert_eq!(found.peers[0].stamps, Reasons::new());
        let servers = found.ntp.expect("some").servers;
        assert_eq!(servers[0].stamps, Reasons::new());
        for place in places {
            let mut now = earlier.clone();
            *now.pointer_mut(place).expect("a count") = json!({"hardware": 7, "software": 1});
            let written = serde_json::to_value(read(&now).expect("read")).expect("written");
            assert_eq!(written.pointer(place), now.pointer(place));
            *now.pointer_mut(place).expect("a count") = json!("7");
            let error = read(&now).expect_err("no count").to_string();
            assert!(error.contains("expected counts by source"), "{error}");
        }
    }

    #[test]
    fn fractions_are_read_back_as_they_were_written() {
        // the first is off by its last bit where digits are read fast, and so is an eighth of `spread`
        let known = [
            31.245_270_191_439_438,
            f64::MIN_POSITIVE,
            f64::MAX,
            5e-324,
            -0.0,
        ];
        let spread = (1..2_000).map(|step| (f64::from(step) * 1.234_567_890_123).sqrt() - 30.0);
        for frequency in known.into_iter().chain(spread) {
            let clock = made!(ClockState {
                frequency_ppb: Some(frequency),
            });
            let text = serde_json::to_string(&clock).expect("written");
            let read: ClockState = serde_json::from_str(&text).expect("read");
            assert_eq!(
                read.frequency_ppb.map(f64::to_bits),
                Some(frequency.to_bits()),
                "{frequency}"
            );
        }
    }
}
