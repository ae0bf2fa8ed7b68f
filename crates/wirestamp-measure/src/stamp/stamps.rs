//! Timestamps as STAMP has them.

use crate::host_stamp::HostStamp;
use wirestamp::{Bounded, TimestampSource};
use wirestamp_probe::HostTimestamp;
use wirestamp_probe::tlv::Method;

impl From<HostTimestamp> for HostStamp {
    fn from(stamp: HostTimestamp) -> Self {
        Self {
            monotonic: Bounded::new(stamp.at, stamp.bound),
            utc: Bounded::new(stamp.utc, stamp.bound),
            source: match stamp.method {
                Method::Hardware => TimestampSource::Hardware,
                _ => TimestampSource::Software,
            },
        }
    }
}
