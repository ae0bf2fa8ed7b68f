//! Entries of the error queue: only what the kernel marked as a transmit timestamp is one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;
use wirestamp_core::time::UtcTime;
use wirestamp_core::timestamp::Notice;
use wirestamp_fuzz::control::{Buffer, IPV4_ERROR, IPV6_ERROR, last_timestamps, walk, word};
use wirestamp_sys::wire::control::{QueueEntry, queue_entry};

const TIMESTAMP: u8 = 4;

fuzz_target!(|input: (Buffer<'_>, Option<SocketAddr>, &[u8])| {
    check(&input.0.bytes(), input.1);
    check(input.2, input.1);
});

fn check(bytes: &[u8], destination: Option<SocketAddr>) {
    let found = walk(bytes);
    let error = found
        .iter()
        .rfind(|found| [IPV4_ERROR, IPV6_ERROR].contains(&found.what));
    let error = error
        .map(|found| &bytes[found.begin..found.end])
        .filter(|data| data.len() >= 16);
    let entry = queue_entry(bytes, || destination);
    let Some(error) = error else {
        assert_eq!(entry, None, "an entry without sock_extended_err");
        return;
    };
    let field = |at| word(error, at).expect("16 bytes");
    let (code, origin, info, data) = (field(0).cast_signed(), error[4], field(8), field(12));
    let marked = origin == TIMESTAMP && code == libc::ENOMSG;
    match entry.expect("sock_extended_err is there") {
        QueueEntry::Timestamp { id, timestamps, .. } => {
            assert!(
                marked && info == 0,
                "not marked as a timestamp of the driver"
            );
            assert_eq!(id.0, data);
            let said = (
                timestamps.software.map(UtcTime::nanoseconds),
                timestamps.hardware.map(|t| t.raw().cast_signed()),
            );
            assert_eq!(said, last_timestamps(bytes, &found));
        }
        QueueEntry::Queued { id, at } => {
            assert!(
                marked && info == 1,
                "not marked as one of the queueing discipline"
            );
            assert_eq!(id.0, data);
            let (software, _) = last_timestamps(bytes, &found);
            assert_eq!(Some(at.nanoseconds()), software);
        }
        QueueEntry::OtherPoint => assert!(marked && info != 0),
        QueueEntry::Notice(Notice::Icmp(icmp)) => {
            assert!(origin == 2 || origin == 3);
            assert_eq!(
                (icmp.code, icmp.icmp_type, icmp.icmp_code),
                (code, error[5], error[6])
            );
            assert_eq!(icmp.destination, destination);
            assert!(
                icmp.reporter.is_none() || error.len() > 16,
                "a reporter that nobody wrote"
            );
        }
        QueueEntry::Notice(Notice::ZeroCopy { first, last }) => {
            assert_eq!((origin, first, last), (5, info, data));
        }
        QueueEntry::Notice(Notice::Other {
            origin: other,
            code: number,
        }) => {
            assert!(!marked && ![2, 3, 5].contains(&origin));
            assert_eq!((other, number), (origin, code));
        }
        QueueEntry::Notice(_) => panic!("a notice that this target does not know"),
    }
}
