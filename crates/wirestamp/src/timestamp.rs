//! Packet timestamps: those of received packets, and those of sent packets by transmit ID, or the
//! reason why one is missing.

pub use wirestamp_core::capability::TimestampSource;
pub use wirestamp_core::timestamp::{
    HardwareTimestamp, IcmpError, LateTimestamp, MissingReason, Notice, SelectedTimestamp,
    SoftwareTimestamp, Timestamps, TransmitAnswer, TransmitCounters, TransmitId, TransmitOutcome,
    TransmitRecord,
};
