//! What must hold in every snapshot, whatever happened.

use wirestamp_monitor::snapshot::{Snapshot, TimestampCounts};

fn timestamps(counts: &TimestampCounts, whose: &str) {
    let missing: u64 = counts.missing.values().sum();
    assert_eq!(
        counts.requested,
        counts.transmitted + counts.pending + missing,
        "{whose}: {counts:?}"
    );
    assert!(
        counts.received_timestamped <= counts.received,
        "{whose}: {counts:?}"
    );
}

pub(crate) fn check(snapshot: &Snapshot) {
    for peer in &snapshot.peers {
        assert_eq!(
            peer.sent,
            peer.answered + peer.lost + peer.in_flight,
            "{peer:?}"
        );
        assert!(peer.refused <= peer.sent && peer.followed_up <= peer.answered);
        let not_sent = peer.timestamps.missing[TimestampCounts::NOT_SENT];
        assert!(not_sent <= peer.refused, "{peer:?}");
        assert_eq!(
            peer.timestamps.requested + peer.refused,
            peer.sent + not_sent,
            "{peer:?}"
        );
        for (segment, delays) in &peer.delays {
            assert!(delays.count <= peer.answered, "{segment} of {peer:?}");
            let in_buckets: u64 = delays.buckets.iter().map(|bucket| bucket.1).sum();
            assert_eq!(delays.count, delays.zero + in_buckets, "{segment}");
        }
        timestamps(&peer.timestamps, &peer.name);
    }
    for path in &snapshot.paths {
        assert_eq!(
            path.sent,
            path.received + path.lost + path.in_flight,
            "{path:?}"
        );
        timestamps(&path.timestamps, &path.interface);
    }
    for server in snapshot.ntp.iter().flat_map(|ntp| &ntp.servers) {
        assert!(server.samples <= server.responses, "{server:?}");
        assert!(
            server.responses + server.unanswered <= server.requests,
            "{server:?}"
        );
        timestamps(&server.timestamps, &server.name);
    }
    assert!(snapshot.events.len() <= 100);
}
