//! The state of a path.

use crate::state::PathState;
use crate::task::counts;
use wirestamp::latency::LatencyRun;

/// Returns the counts of a run. `not_sent`: packets that the system did not send.
pub(super) fn shown(interface: &str, run: &LatencyRun, not_sent: u64) -> PathState {
    let (sent, in_flight) = (run.progress().sent, run.in_flight());
    let lost = run.losses().packets;
    let [sender, receiver] = run.sockets();
    let mut timestamps = counts(sender);
    if !std::ptr::eq(sender, receiver) {
        let received = counts(receiver);
        timestamps.received = received.received;
        timestamps.received_timestamped = received.received_timestamped;
        timestamps.queue_overflows += received.queue_overflows;
    }
    PathState {
        interface: interface.to_owned(),
        source: run.source().name().to_owned(),
        sent: sent + not_sent,
        received: sent - in_flight - lost,
        lost: lost + not_sent,
        in_flight,
        timestamps,
        ..PathState::default()
    }
}
