//! Timestamps as STAMP has them.

use crate::host_stamp::HostStamp;
use wirestamp::TimestampSource;
use wirestamp_probe::HostTimestamp;
use wirestamp_probe::tlv::Method;

impl From<HostTimestamp> for HostStamp {
    fn from(stamp: HostTimestamp) -> Self {
        Self {
            at: stamp.at,
            bound: stamp.bound,
            utc: stamp.utc,
            utc_bound: stamp.bound,
            source: match stamp.method {
                Method::Hardware => TimestampSource::Hardware,
                _ => TimestampSource::Software,
            },
        }
    }
}
