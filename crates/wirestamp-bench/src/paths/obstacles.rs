//! What stands between a path and its goals, in words, for the table that is committed. To
//! be revised with it.

/// The path without the device that it was measured on: what stands in the way is the same.
pub(crate) fn anywhere(path: &'static str) -> &'static str {
    path.strip_suffix(", TUN").unwrap_or(path)
}

/// The path without what is asked for besides: what stands in the way is the same.
fn bare(path: &'static str) -> &'static str {
    path.strip_suffix(", destination asked for").unwrap_or(path)
}

/// What stands in the way of `path`, if anybody knows.
pub(crate) fn obstacle(path: &'static str) -> Option<&'static str> {
    let path = bare(anywhere(path));
    OBSTACLES
        .iter()
        .find(|(name, _)| *name == path)
        .map(|(_, words)| *words)
}

const OBSTACLES: [(&str, &str); 20] = [
    (
        "receive, queue waiting",
        "quinn-udp asks for the same control messages but keeps less of them. Outside of the kernel a packet takes 390 instructions here with its destination and 379 without, 263 there, the send that fills the queue \
         included: source, a timestamp on two clocks with its bound, and where it is asked for destination and interface. In the kernel, the copy of one message header to and from the program is what batches don't save.",
    ),
    (
        "receive, queue waiting, io_uring, packets lent",
        "The kernel. Of a packet's time, four fifths are the same in both: the packet out of the queue, the payload's copy, the timestamp as a control message, the check of each \
         copy. io_uring's own share (the buffer's choice, the command's next round, the completion) is three quarters of what recvmmsg spends on message headers: a bare ring \
         is at 0.95 of our calls and at 0.88 of quinn-udp. On the processor where the floors of 0.73 and 0.63 were measured, header copies cost more. Outside of the kernel a packet takes 542 instructions, 379 by calls: it is read from the buffer and from the completion.",
    ),
    (
        "receive, queue waiting, io_uring, packets copied",
        "As with lent packets, and each payload is copied once more. It is there for programs whose buffers are their own; `PacketReceiver` does without the copy.",
    ),
    (
        "receive, queue waiting, 1,472 bytes",
        "Outside of the kernel 77 instructions a packet more than the bare call's 389; one call for both.",
    ),
    (
        "receive, queue waiting, 9,000 bytes",
        "Outside of the kernel 77 instructions a packet more than the bare call's 389; one call for both.",
    ),
    (
        "receive, one packet at a time",
        "One system call, as the bare call has. 832 instructions against 331: decoding, the look at two coarse clocks, two locks that nobody else wants.",
    ),
    (
        "receive live, the thread's processor time",
        "Most of it is the kernel's: wake-ups, whose cost varies from run to run; 0.39 to 0.73 of blocking recvmsg in other runs of the same build.",
    ),
    (
        "receive live, the thread's processor time, io_uring",
        "The same wake-ups; what a ring saves on message headers its own functions take.",
    ),
    (
        "receive, many sockets on one thread, one receiver",
        "The kernel's own sockets fall out of the cache: bare sendto and recvmsg on known sockets cost 1.12 to 1.20 of what they cost with 64. Ours misses the second level of the cache \
         1.8 times a packet outside of the kernel.",
    ),
    (
        "receive, many sockets on one thread, a task each",
        "As with one receiver, and a task and a readiness of tokio's for each socket.",
    ),
    (
        "send + timestamp, one at a time",
        "Two system calls, as the bare ones have. A carried id costs the kernel a control message and the connected socket its cached route: the bare calls with ids cost what timestamped-socket \
         costs (1.00), which lets the kernel count, and without ids 0.91 of it, so that no two calls reach 0.90 here. Outside of the kernel 1,798 instructions against 1,430 of timestamped-socket and 277 of the bare calls: 700 send (the id is begun, \
         marked and settled under two locks), 850 read the queue and hand the timestamp over (decoding 90, matching 260, two looks at the clocks 140).",
    ),
    (
        "send + timestamp, one at a time, the kernel's count as the peers",
        "Two system calls, as the bare ones have, and those are at 0.91 of timestamped-socket, so that 0.90 would take less than the calls alone. What an id goes through, the decoding of the queue's entry, two clock reads, a look at two coarse clocks, and six \
         short locks: as with carried ids.",
    ),
    (
        "send + timestamp, bursts of 64, caller's ids",
        "One call for a burst and one for its timestamps, as the bare calls. Outside of the kernel 851 instructions a packet against 178: the matcher is two fifths (343: an id begun, found again, its timestamp \
         held against duplicates, handed over), decoding and the two clocks a fifth.",
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
        "conversion, a slice in the cache",
        "Ten vector instructions for eight timestamps: the check of the reach is two of them, whole nanoseconds without a multiply beyond AVX2 another two.",
    ),
    (
        "conversion, a slice out of the cache",
        "Memory, which varies: 0.94 to 1.22 in other runs of the same build.",
    ),
    (
        "histogram record",
        "Bucket, count and sum wait for the store of the record before; 0.39 to 0.47 in other runs of the same build.",
    ),
    (
        "timestamp ready -> in the caller's hands, p50",
        "The same wake-up by the scheduler; ours waits for two descriptors, because another thread may have to end the wait. Then a read, the matcher and three short locks: some 900 instructions of code \
         that has left the nearest cache meanwhile.",
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
        let received = obstacle("receive, one packet at a time");
        let addressed = obstacle("receive, one packet at a time, destination asked for");
        assert!(received.is_some() && addressed == received);
        assert_eq!(obstacle("no such path"), None);
    }
}
