//! Converts timestamps to STAMP's formats.

use crate::host_stamp::HostStamp;
use wirestamp::{Bounded, TimestampSource};
use wirestamp_probe::HostTimestamp;
use wirestamp_probe::tlv::Method;

impl From<HostTimestamp> for HostStamp {
    fn from(stamp: HostTimestamp) -> Self {
        Self {
            monotonic: stamp.at,
            utc: Bounded::new(stamp.utc, stamp.at.bound),
            source: match stamp.method {
                Method::Hardware => TimestampSource::Hardware,
                _ => TimestampSource::Software,
            },
        }
    }
}
