//! The rules by which a kernel counts timestamped datagrams when sends fail. Backends find them by
//! probing: version numbers are not enough, because fixes are backported.

use crate::configuration::Source;

/// The way in which the send of a datagram with an ID failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SendFailure {
    /// The send buffer is full (`EAGAIN`).
    NoRoom,
    /// The datagram is too long for any packet (`EMSGSIZE`).
    TooLong,
    /// There is neither a destination nor a connection (`EDESTADDRREQ`).
    NoDestination,
    /// Any other failure: a firewall, a full queueing discipline, the error of an earlier datagram.
    /// The kernel may have built and counted the packet.
    Other,
}

/// The results of probing a temporary socket: how far the count moved from one timestamped datagram
/// to the next, with a certain event in between. `None` if it could not be observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountProbe {
    /// With no event in between.
    pub nothing: Option<u32>,
    /// After a datagram that is too long.
    pub too_long: Option<u32>,
    /// After a send that failed with the pending error of an earlier datagram.
    pub pending_error: Option<u32>,
    /// After a datagram with a hardware timestamp only.
    pub hardware_alone: Option<u32>,
    /// The count of the first datagram after `OPT_ID` was switched off and on.
    pub after_restart: Option<u32>,
}

/// The rules by which a kernel counts timestamped datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountRules {
    /// Whether a send that fails before the packet is built does not change the count (Linux 6.9,
    /// and older kernels with commit 488b6d91b071).
    pub ignores_failures: bool,
    /// Whether datagrams with a hardware timestamp only are counted (Linux 6.7, and older kernels
    /// with commit 8ca5a5790b9a).
    pub counts_hardware_alone: bool,
    /// Whether switching `OPT_ID` off and on restarts the count at 0, as documented.
    pub restarts: bool,
}

impl CountRules {
    /// The rules that hold for every kernel.
    pub const UNKNOWN: Self = Self {
        ignores_failures: false,
        counts_hardware_alone: false,
        restarts: true,
    };
    /// The rules of a kernel with all fixes.
    pub const FIXED: Self = Self {
        ignores_failures: true,
        counts_hardware_alone: true,
        restarts: true,
    };

    /// Returns the rules that follow from `probe`. It assumes the worst for missing observations,
    /// except for the restart, which is part of the kernel's interface.
    pub fn of(probe: CountProbe) -> Self {
        let monotonic = probe.nothing == Some(1);
        Self {
            ignores_failures: monotonic
                && probe.too_long == Some(1)
                && probe.pending_error == Some(1),
            counts_hardware_alone: monotonic && probe.hardware_alone == Some(2),
            restarts: probe.after_restart.is_none_or(|count| count == 0),
        }
    }

    /// Returns whether software timestamps must be made too, without being reported, so that
    /// datagrams with timestamps of `source` are counted.
    pub fn counts_by_software(self, source: Source) -> bool {
        !self.counts_hardware_alone && source == Source::Hardware
    }

    /// Returns whether a send with this failure was certainly not counted.
    pub fn leaves_count(self, failure: SendFailure) -> bool {
        match failure {
            SendFailure::NoDestination => true, // checked first
            SendFailure::NoRoom | SendFailure::TooLong => self.ignores_failures,
            SendFailure::Other => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: CountProbe = CountProbe {
        nothing: Some(1),
        too_long: Some(1),
        pending_error: Some(1),
        hardware_alone: Some(2),
        after_restart: Some(0),
    };

    #[test]
    fn a_kernel_is_known_to_be_good_only_if_everything_was_observed() {
        assert_eq!(CountRules::of(SEEN), CountRules::FIXED);
        assert_eq!(CountRules::of(CountProbe::default()), CountRules::UNKNOWN);
        for moved in [None, Some(0), Some(2), Some(u32::MAX)] {
            for probe in [
                CountProbe {
                    nothing: moved,
                    ..SEEN
                },
                CountProbe {
                    too_long: moved,
                    ..SEEN
                },
                CountProbe {
                    pending_error: moved,
                    ..SEEN
                },
            ] {
                assert!(!CountRules::of(probe).ignores_failures, "{probe:?}");
            }
        }
        for probe in [
            CountProbe {
                hardware_alone: Some(1),
                ..SEEN
            },
            CountProbe {
                hardware_alone: None,
                ..SEEN
            },
        ] {
            assert!(!CountRules::of(probe).counts_hardware_alone);
        }
        assert!(
            !CountRules::of(CountProbe {
                after_restart: Some(5),
                ..SEEN
            })
            .restarts
        );
    }

    #[test]
    fn what_may_have_made_a_packet_is_never_taken_for_harmless() {
        for rules in [CountRules::UNKNOWN, CountRules::FIXED] {
            assert!(!rules.leaves_count(SendFailure::Other));
            assert!(rules.leaves_count(SendFailure::NoDestination));
        }
        for failure in [SendFailure::NoRoom, SendFailure::TooLong] {
            assert!(
                CountRules::FIXED.leaves_count(failure)
                    && !CountRules::UNKNOWN.leaves_count(failure)
            );
        }
    }
}
