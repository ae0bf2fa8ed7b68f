//! The timestamps of packets: of received ones, and of sent ones by the id that their sender chose, or the reason why there
//! is none.

pub use wirestamp_core::capability::TimestampSource;
pub use wirestamp_core::timestamp::{
    HardwareTimestamp, IcmpError, LateTimestamp, MissingReason, Notice, SelectedTimestamp,
    SoftwareTimestamp, Timestamps, TransmitAnswer, TransmitCounters, TransmitId, TransmitOutcome,
    TransmitRecord,
};
