//! Timestamps as STAMP has them.

use crate::host_stamp::HostStamp;
use crate::provisional::Converts;
use wirestamp::{TimestampSource, Timestamps, UdpSocket};
use wirestamp_probe::HostTimestamp;
use wirestamp_probe::endpoint::Clock;
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

impl Converts for (&Clock, &UdpSocket) {
    fn is_confirmed(&self, timestamps: &Timestamps) -> bool {
        self.0.is_confirmed(timestamps)
    }

    fn place(&self, timestamps: &Timestamps) -> Option<HostStamp> {
        self.0.read(timestamps, self.1).map(HostStamp::from)
    }
}
