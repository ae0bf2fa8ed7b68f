//! What stands between a path and its goals, in words, for the table that is committed. To
//! be revised with it.

/// The path without the device that it was measured on: what stands in the way is the same.
pub(crate) fn anywhere(path: &'static str) -> &'static str {
    path.strip_suffix(", TUN").unwrap_or(path)
}

/// What stands in the way of `path`, if anybody knows.
pub(crate) fn obstacle(path: &'static str) -> Option<&'static str> {
    let path = anywhere(path);
    OBSTACLES
        .iter()
        .find(|(name, _)| *name == path)
        .map(|(_, words)| *words)
}

const OBSTACLES: [(&str, &str); 19] = [
    (
        "receive, queue waiting",
        "The bare call with the same options (destination address included, which the peers don't ask for) is itself near the goals. Ours adds \
         decoding: two addresses, a timestamp with its bound.",
    ),
    (
        "receive, queue waiting, io_uring",
        "The ring's buffers are copied into the caller's, and the destination address is asked for; the goal was measured without either.",
    ),
    (
        "receive, queue waiting, 1,472 bytes",
        "Only eight datagrams of this size wait, so the fixed cost of a call shows.",
    ),
    (
        "receive, queue waiting, 9,000 bytes",
        "Only eight datagrams of this size wait, so the fixed cost of a call shows.",
    ),
    (
        "receive, one packet at a time",
        "The bare call is itself at nine tenths of the daemon's loop. Ours adds decoding and the look at two coarse clocks.",
    ),
    (
        "receive live, the thread's processor time",
        "Most of it is the kernel's: wake-ups, whose cost varies from run to run; 0.66 to 0.71 of blocking recvmsg in other runs of the same build.",
    ),
    (
        "receive, many sockets on one thread",
        "A thousand sockets don't fit into the cache, in the kernel or here; readiness is tokio's epoll, one event a wake.",
    ),
    (
        "send + timestamp, one at a time",
        "A carried id costs the kernel a control message and the cached route. Ours adds what an id goes through (a fifth of our instructions), the \
         decoding of the queue's entry, two clock reads, a look at two coarse clocks, and six short locks.",
    ),
    (
        "send + timestamp, one at a time, the kernel's count as the peers",
        "What an id goes through, the decoding of the queue's entry, two clock reads, a look at two coarse clocks, and six short locks.",
    ),
    (
        "send + timestamp, bursts of 64, caller's ids",
        "A control message takes the cached route away; the peers count instead. Of ours, the matcher is two fifths.",
    ),
    (
        "send + timestamp, bursts of 64, caller's ids, completions",
        "A control message takes the cached route away; the peers count instead.",
    ),
    (
        "the timestamp alone: timestamped - without timestamp",
        "The control message with the id is part of the difference; without it the goal was set.",
    ),
    (
        "the timestamp alone: timestamped - without timestamp, completions",
        "The control message with the id is part of the difference; without it the goal was set.",
    ),
    (
        "conversion, one, with its bound, shared between threads",
        "Nine words that must belong together, interface, reach, line, bound and the wait against restarts: 53 instructions. The peer is a product and a \
         sum, has no bound, and is wrong by 128 ns. Slices cost less than a tenth.",
    ),
    (
        "conversion, a slice in the cache",
        "Ten vector instructions for eight timestamps: the check of the reach is two of them, whole nanoseconds without a multiply beyond AVX2 another two.",
    ),
    (
        "conversion, a slice out of the cache",
        "Memory, which varies: 0.94 to 1.12 in other runs of the same build.",
    ),
    (
        "histogram record",
        "Bucket, count and sum wait for the store of the record before; 0.39 to 0.47 in other runs of the same build.",
    ),
    (
        "timestamp ready -> in the caller's hands, p50",
        "The same wake-up by the scheduler, then a read, the matcher and three short locks, all out of the cache.",
    ),
    (
        "id match: insert + take",
        "Ours is all that an id goes through: a timestamp of 80 bytes is copied in and out, held against duplicates, and teaches the deadline; index and order alone \
         are rings. The peer's insert and remove carry no timestamp in.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_changes_nothing() {
        let words = obstacle("send + timestamp, one at a time");
        assert!(words.is_some());
        assert_eq!(obstacle("send + timestamp, one at a time, TUN"), words);
        assert_eq!(obstacle("no such path"), None);
    }
}
