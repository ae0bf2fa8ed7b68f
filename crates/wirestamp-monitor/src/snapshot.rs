//! What the monitor knows at one instant: what the page, `top` and the metrics show.
//!
//! Every estimate, its error bound and its age are evaluated when the snapshot is taken. Offsets are local minus reference (positive: the local
//! clock is ahead), frequencies are positive where the local clock runs fast. Nothing measured is `None` (JSON: null), never 0. Integers beyond
//! 2^53 are strings in JSON.

use crate::delays::Delays;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts by a short, stable name of the reason.
pub type Reasons = BTreeMap<String, u64>;

/// What the monitor knows at one instant. Served as JSON at `/api/snapshot`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// Name and version of this format: "wirestamp.monitor/1".
    pub schema: String,
    /// Name of the host.
    pub host: String,
    /// When it was taken, by the real-time clock, RFC 3339.
    pub time: String,
    /// How long the monitor runs, in nanoseconds.
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
    /// What the monitor itself costs.
    pub own: OwnCost,
    /// What is kept on disk.
    pub history: Option<HistoryState>,
    /// What is written for the analysis of a fleet.
    #[serde(default)]
    pub recording: Option<RecordingState>,
}

impl Snapshot {
    /// Adds what one task shows.
    pub(crate) fn append(&mut self, mut shown: Self) {
        self.clocks.append(&mut shown.clocks);
        self.peers.append(&mut shown.peers);
        self.ptp.append(&mut shown.ptp);
        self.paths.append(&mut shown.paths);
        self.reflector = shown.reflector.or(self.reflector.take());
        if let Some(ntp) = &mut shown.ntp {
            let servers = &mut self.ntp.get_or_insert_default().servers;
            servers.append(&mut ntp.servers);
        }
    }
}

/// A thing that the configuration asks for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskState {
    /// "clock", "path", "stamp", "reflector", "ntp" or "ptp".
    pub kind: String,
    /// Which one.
    pub name: String,
    /// "running", "starting" or "failed": then it is tried again.
    pub state: String,
    /// Why it failed.
    pub error: Option<String>,
    /// How often it has failed since the start.
    #[serde(default)]
    pub failures: u64,
}

/// A network interface.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InterfaceState {
    /// Its name.
    pub name: String,
    /// "up", "down" and the like.
    pub state: String,
    /// Number of its PTP hardware clock.
    pub hardware_clock: Option<u32>,
    /// Whether its hardware timestamps transmitted packets now.
    pub transmit: Option<bool>,
    /// Which received packets its hardware timestamps now.
    pub receive: Option<String>,
    /// Whether its clock can be read together with the system's.
    pub cross_timestamp: Option<bool>,
    /// Changes that the system reported since the start, by kind.
    pub changes: Reasons,
}

/// A clock of this host.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClockState {
    /// Name of the interface, or "realtime".
    pub name: String,
    /// "phc" or "realtime".
    pub kind: String,
    /// Against UTC, in nanoseconds. Of a PTP hardware clock: against UTC as the real-time clock shows it.
    #[serde(default, with = "crate::exact")]
    pub utc_offset_ns: Option<i64>,
    /// The truth lies within this distance of `utc_offset_ns`.
    pub utc_bound_ns: Option<i64>,
    /// Against TAI, in nanoseconds; the bound is the same.
    #[serde(default, with = "crate::exact")]
    pub tai_offset_ns: Option<i64>,
    /// Where the offset comes from: "system", "ntp", "ptp", "kernel" (a bound alone) or "simulation" (nothing is known).
    pub reference: Option<String>,
    /// Against the monotonic clock, in parts per billion.
    pub frequency_ppb: Option<f64>,
    /// Error bound of that.
    pub frequency_bound_ppb: Option<f64>,
    /// Clock generation: one uninterrupted run of the clock.
    pub generation: Option<u64>,
    /// Changes of the generation since the start, by cause.
    pub generation_changes: Reasons,
    /// Time since the last successful reading or exchange, at most.
    pub age_ns: Option<i64>,
    /// How long the narrowest of the last cross timestamps took.
    pub cross_width_ns: Option<i64>,
    /// How cross timestamps are taken.
    pub cross_method: Option<String>,
    /// Cross timestamps taken since the start.
    pub readings: u64,
    /// Attempts to read the clock that failed since the start.
    pub failures: u64,
    /// Why the last one failed.
    pub error: Option<String>,
}

/// A STAMP session. `sent` = `answered` + `lost` + `in_flight`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PeerState {
    /// Its name in the configuration.
    pub name: String,
    /// Of the reflector.
    pub address: String,
    /// The interface that packets leave by, if the configuration names one.
    pub interface: Option<String>,
    /// "same", "utc" or "unrelated": how the clocks of both ends are related.
    pub relation: String,
    /// Packets sent since the start.
    pub sent: u64,
    /// Packets whose reply came in time.
    pub answered: u64,
    /// Packets whose reply did not come in time.
    pub lost: u64,
    /// Packets that may still be answered.
    pub in_flight: u64,
    /// Packets that the system refused to send; they are lost as well.
    pub refused: u64,
    /// Packets that came and are no reply, by reason.
    pub rejected: Reasons,
    /// Replies with the reflector's transmit timestamp.
    pub followed_up: u64,
    /// The last round trip without the time in the reflector.
    pub path_delay_ns: Option<i64>,
    /// Error bound of that.
    pub path_delay_bound_ns: Option<i64>,
    /// Time since that packet: it is not always the last that was answered.
    #[serde(default)]
    pub path_delay_age_ns: Option<i64>,
    /// Time since the last answered packet.
    pub age_ns: Option<i64>,
    /// A greater age says that answers are missing: from interval and timeout.
    #[serde(default)]
    pub stale_after_ns: Option<i64>,
    /// Delays by name: "round_trip", "path" (both ways without the reflector), "forward", "backward", "residence", "send_path", "receive_path".
    pub delays: BTreeMap<String, Delays>,
    /// What became of transmit and receive timestamps.
    pub timestamps: TimestampCounts,
    /// What ICMP or the system said last.
    pub error: Option<String>,
}

/// What became of timestamps. `requested` = `transmitted` + `pending` + the sum of `missing`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TimestampCounts {
    /// Packets sent whose transmit timestamp was asked for.
    pub requested: u64,
    /// Those that have one.
    pub transmitted: u64,
    /// Those whose timestamp may still come.
    pub pending: u64,
    /// Those without, by reason.
    pub missing: Reasons,
    /// Packets received.
    pub received: u64,
    /// Those with a receive timestamp.
    pub received_timestamped: u64,
    /// Packets that the system dropped because the socket's queue was full.
    pub queue_overflows: u64,
}

/// The STAMP reflector.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReflectorState {
    /// The addresses that it answers on.
    pub listening: Vec<String>,
    /// Packets answered.
    pub replies: u64,
    /// Packets not answered, by reason.
    pub dropped: Reasons,
    /// Sessions that it keeps.
    pub sessions: u64,
}

/// NTP servers, compared.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NtpState {
    /// Whether the servers can be right together: see `wirestamp ntp`.
    pub agreement: String,
    /// Of those that can: this host's real-time clock minus UTC as they claim.
    pub offset_ns: Option<i64>,
    /// Error bound of that.
    pub bound_ns: Option<i64>,
    /// The bound holds if so many of the servers are right.
    #[serde(default)]
    pub right_servers: Option<u64>,
    /// Each of them.
    pub servers: Vec<NtpServerState>,
}

/// An NTP server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NtpServerState {
    /// Its name in the configuration.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Whether it cannot be right if `right_servers` are.
    pub falseticker: bool,
    /// This host's clock minus the server's.
    pub offset_ns: Option<i64>,
    /// Error bound against the server's clock.
    pub bound_ns: Option<i64>,
    /// Error bound against UTC, as the server claims.
    pub utc_bound_ns: Option<i64>,
    /// Least path delay, both directions together.
    pub path_delay_ns: Option<i64>,
    /// Time since the last sample.
    pub age_ns: Option<i64>,
    /// A greater age says that samples are missing: from the interval.
    #[serde(default)]
    pub stale_after_ns: Option<i64>,
    /// As the server says.
    pub stratum: Option<u8>,
    /// Requests sent.
    pub requests: u64,
    /// Valid responses.
    pub responses: u64,
    /// Samples that they gave.
    pub samples: u64,
    /// Requests without a response in time.
    pub unanswered: u64,
    /// Responses without a sample, and packets that were no responses, by reason.
    pub rejected: Reasons,
    /// Steps seen: of "local" and "server" clock.
    pub steps: Reasons,
    /// What became of timestamps.
    pub timestamps: TimestampCounts,
    /// Why there is no measurement.
    pub error: Option<String>,
}

/// A port of a PTP clock that measures.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PtpState {
    /// Name of the interface.
    pub interface: String,
    /// Of the port, as IEEE 1588 names it.
    pub state: String,
    /// Port identity of the timeTransmitter that it follows.
    pub time_transmitter: Option<String>,
    /// Clock identity of the grandmaster.
    pub grandmaster: String,
    /// Clocks between.
    pub steps_removed: u16,
    /// "hardware" or "software".
    pub source: String,
    /// The clock that timestamps minus the timeTransmitter's.
    pub offset_ns: Option<i64>,
    /// Error bound of that.
    pub bound_ns: Option<i64>,
    /// This host's real-time clock minus the timeTransmitter's UTC, at the last Sync.
    pub system_offset_ns: Option<i64>,
    /// Error bound of that, at the last Sync.
    pub system_bound_ns: Option<i64>,
    /// Mean of both directions.
    pub path_delay_ns: Option<i64>,
    /// Against the timeTransmitter's clock.
    pub frequency_ppb: Option<f64>,
    /// Since the last Sync that told something.
    pub age_ns: Option<i64>,
    /// Whether the timeTransmitter is followed no more.
    pub holdover: bool,
    /// Whether the configured sources agree.
    pub agreement: String,
    /// Syncs that told something.
    pub samples: u64,
    /// Exchanges that told nothing, by reason.
    pub lost: Reasons,
    /// Messages that are no concern of this clock, by reason.
    pub ignored: Reasons,
}

/// A send and receive path of this host, measured with packets to itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PathState {
    /// Name of the interface.
    pub interface: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that did not arrive in time.
    pub lost: u64,
    /// Packets that may still arrive.
    pub in_flight: u64,
    /// Delays by name: "send_path", "wire", "receive_path".
    pub delays: BTreeMap<String, Delays>,
    /// What became of timestamps.
    pub timestamps: TimestampCounts,
    /// What the system said last.
    pub error: Option<String>,
}

/// Something that happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// Which run of the monitor it is of: the id in a stream of events is RUN-NUMBER.
    #[serde(default)]
    pub run: String,
    /// Number of the event since the start, from 1.
    pub id: u64,
    /// When, by the real-time clock, RFC 3339.
    pub time: String,
    /// "generation_change", "clock_step", "interface", "task_failed", "task_running", "agreement", "ptp_state", "reload", "history", "recording".
    pub kind: String,
    /// Of which task, interface or peer.
    pub subject: String,
    /// A sentence.
    pub message: String,
}

/// What the monitor itself costs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OwnCost {
    /// Processor time, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Resident memory, in bytes.
    pub resident_bytes: Option<u64>,
    /// Turns of the measuring loop.
    pub turns: u64,
    /// Turns that began later than they should by more than 5 ms.
    pub missed_deadlines: u64,
    /// The latest that a turn began after it should.
    pub latest_ns: i64,
    /// Reloads of the configuration, by result: "done", "refused".
    pub reloads: Reasons,
    /// Pushes of metrics to an OTLP receiver, by result: "accepted", "refused", "failed".
    #[serde(default)]
    pub pushes: Reasons,
    /// Series that the limit on series kept out of the metrics, counted at each scrape and each push.
    pub series_left_out: u64,
}

/// What is kept on disk.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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

/// What is written for the analysis of a fleet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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
            let clock = ClockState {
                frequency_ppb: Some(frequency),
                ..ClockState::default()
            };
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
