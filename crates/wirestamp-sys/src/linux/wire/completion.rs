//! The meaning of io_uring completions that carry a transmit timestamp (Linux 6.17). Pure.
//!
//! Source: `linux/io_uring.h` (`IORING_CQE_F_TSTAMP_HW`, `io_timespec`), `linux/errqueue.h`.

use super::constants::TSTAMP_SND;
use super::control::{QueueEntry, RawTimestamps, elsewhere};
use wirestamp_core::time::{HardwareTicks, UtcTime};
use wirestamp_core::timestamp::TransmitId;

/// `IORING_CQE_F_TSTAMP_HW`: the NIC's clock.
const OF_HARDWARE: u32 = 1 << 16;
/// Above it: `SCM_TSTAMP_*`, where on its way the packet was timestamped.
const POINT_SHIFT: u32 = 17;

/// Reads a completion: `result` is the id, `extra` are seconds and nanoseconds.
pub fn transmit_timestamp(result: i32, flags: u32, extra: [u64; 2]) -> QueueEntry {
    let time = i64::try_from(extra[0])
        .ok()
        .zip(u32::try_from(extra[1]).ok());
    let time = time.and_then(|(seconds, nanoseconds)| {
        UtcTime::from_seconds_and_nanoseconds(seconds, nanoseconds).ok()
    });
    let time = time.filter(|time| time.nanoseconds() != 0);
    let (id, point) = (TransmitId(result as u32), flags >> POINT_SHIFT);
    if point != TSTAMP_SND {
        return elsewhere(point, id, time.filter(|_| flags & OF_HARDWARE == 0));
    }
    let timestamps = if flags & OF_HARDWARE != 0 {
        let ticks = time.map(|time| HardwareTicks::new(time.nanoseconds() as u64));
        RawTimestamps {
            software: None,
            hardware: ticks,
        }
    } else {
        RawTimestamps {
            software: time,
            hardware: None,
        }
    };
    QueueEntry::Timestamp {
        id,
        timestamps,
        device: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MORE: u32 = 2;

    #[test]
    fn clock_and_id_are_told_apart() {
        let at = UtcTime::from_nanoseconds(1_000_000_007);
        let software = RawTimestamps {
            software: Some(at),
            hardware: None,
        };
        let id = TransmitId(u32::MAX);
        assert_eq!(
            transmit_timestamp(-1, MORE, [1, 7]),
            QueueEntry::Timestamp {
                id,
                timestamps: software,
                device: None,
            }
        );
        let hardware = RawTimestamps {
            software: None,
            hardware: Some(HardwareTicks::new(1_000_000_007)),
        };
        let timestamp = QueueEntry::Timestamp {
            id: TransmitId(5),
            timestamps: hardware,
            device: None,
        };
        assert_eq!(transmit_timestamp(5, MORE | OF_HARDWARE, [1, 7]), timestamp);
    }

    #[test]
    fn the_entry_into_the_queue_is_no_transmit_timestamp_and_other_points_are_nothing() {
        let point = |number: u32| MORE | number << POINT_SHIFT;
        let queued = QueueEntry::Queued {
            id: TransmitId(5),
            at: UtcTime::from_nanoseconds(1_000_000_007),
        };
        let at = [1, 7];
        assert_eq!(transmit_timestamp(5, point(1), at), queued);
        for (flags, extra) in [
            (point(1), [0, 0]),
            (point(1) | OF_HARDWARE, at),
            (point(2), at),
            (point(3), at),
        ] {
            let entry = transmit_timestamp(5, flags, extra);
            assert_eq!(entry, QueueEntry::OtherPoint, "{flags:#x}");
        }
    }

    #[test]
    fn zero_and_what_is_no_time_are_no_timestamps() {
        for extra in [[0, 0], [1, 1_000_000_000], [u64::MAX, 0], [1, u64::MAX]] {
            let entry = transmit_timestamp(5, MORE, extra);
            assert_eq!(
                entry,
                QueueEntry::Timestamp {
                    id: TransmitId(5),
                    timestamps: RawTimestamps::default(),
                    device: None,
                },
                "{extra:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_completion_makes_it_panic(result: i32, flags: u32, extra: [u64; 2]) {
            let _ = transmit_timestamp(result, flags, extra);
        }
    }
}
