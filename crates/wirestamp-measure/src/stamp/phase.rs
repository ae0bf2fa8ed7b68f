//! Phases of a session that ends.

use wirestamp::MonotonicTime;

/// How far a session is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    /// Packets are sent to be measured.
    Measuring,
    /// The last replies are waited for, until then.
    Settling(MonotonicTime),
    /// A closing request was sent, and its reply is waited for.
    Closing {
        sequence: u32,
        left: u32,
        until: MonotonicTime,
    },
    /// All that is in flight is waited for.
    Waiting(MonotonicTime),
    /// Nothing was answered, and no packet has a timestamp: ICMP may still say that none left.
    Doubting(MonotonicTime),
    /// Nothing more will come.
    Over,
}
