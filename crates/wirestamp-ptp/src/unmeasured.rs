//! The reasons why a clock has no measurements.

use crate::lost::{Counts, Lost};
use crate::message::Fault;
use crate::port::Taken;
use std::fmt;
use wirestamp::MissingReason;

/// The reason why a clock has no measurements. [`Display`](fmt::Display) prints a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unmeasured {
    /// No timeTransmitter was heard.
    Silent,
    /// No timeTransmitter was heard in the configured domain, but one in this domain.
    OtherDomain(u8),
    /// Only timeTransmitters that are not pinned were heard.
    Unpinned,
    /// A timeTransmitter announces itself, but no Sync arrives.
    NoSync,
    /// This many Syncs came, but no Follow_Up, which has their transmit time.
    NoFollowUp(u64),
    /// This many Syncs came without a timestamp of the requested clock.
    NoReceiveTimestamp(u64),
    /// Most of our requests left without a transmit timestamp.
    NoTransmitTimestamp(MissingReason),
    /// Requests were sent, but none was answered.
    NoResponse {
        /// The number of requests.
        requests: u64,
        /// Whether the requests went to the neighbour instead of the timeTransmitter.
        is_peer: bool,
    },
    /// This many exchanges contradicted earlier ones.
    Contradicted(u64),
    /// There is a transparent clock in between, with which peer delay gives no error bound.
    TransparentClock,
    /// The system's clocks were never read closely enough to see how somebody adjusts the one that timestamps.
    AdjustmentsUnknown,
    /// There was no complete exchange yet.
    Incomplete,
}

impl Unmeasured {
    pub(crate) fn of(taken: &Taken, counts: &Counts, is_peer: bool) -> Self {
        let ignored = |fault: Fault| counts.ignored.contains_key(fault.name());
        let untimed = counts.lost_for(Lost::ReceiveTimestamp);
        if counts.lost_for(Lost::Unbounded) > 0 {
            return Self::TransparentClock;
        }
        match counts.lost_for(Lost::Contradiction) {
            0 => {}
            contradicted => return Self::Contradicted(contradicted),
        }
        if taken.announces == 0 {
            return match taken.other_domain {
                _ if ignored(Fault::Identity) || ignored(Fault::Address) => Self::Unpinned,
                Some(domain) => Self::OtherDomain(domain),
                None => Self::Silent,
            };
        }
        if taken.syncs == 0 {
            // the first Sync may follow the first Announce
            return match taken.announces {
                0..=1 => Self::Incomplete,
                _ => Self::NoSync,
            };
        }
        if untimed >= taken.syncs {
            return Self::NoReceiveTimestamp(untimed);
        }
        if taken.two_step_syncs > 0 && taken.follow_ups == 0 {
            return Self::NoFollowUp(taken.two_step_syncs);
        }
        if let Some(reason) = untimed_requests(taken, counts) {
            return Self::NoTransmitTimestamp(reason);
        }
        match taken.responses {
            0 if taken.requests > 0 => Self::NoResponse {
                requests: taken.requests,
                is_peer,
            },
            _ if counts.lost_for(Lost::AdjustmentsUnknown) > 0 => Self::AdjustmentsUnknown,
            _ => Self::Incomplete,
        }
    }

    /// Returns the remedy.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Silent => "check domain, transport, delay mechanism and firewall (UDP 319, 320)",
            Self::OtherDomain(_) => "name that domain with --domain, if it is the right one",
            Self::Unpinned => {
                "see whom the timeTransmitter is; --pin and --pin-address say whom to trust"
            }
            Self::NoSync => {
                "see that a firewall or switch lets event messages through (UDP port 319)"
            }
            Self::NoFollowUp(_) => {
                "see that a firewall or switch lets general messages through (UDP port 320)"
            }
            Self::NoReceiveTimestamp(_) | Self::NoTransmitTimestamp(_) => {
                "see wirestamp doctor, or take the system's timestamps: --source software"
            }
            Self::NoResponse { is_peer: true, .. } => {
                "measure end to end (leave out --p2p), if the neighbour does not answer peer delay requests"
            }
            Self::NoResponse { .. } => {
                "measure peer to peer (--p2p), if the network does; see that our requests reach UDP port 319 there"
            }
            Self::Contradicted(_) => {
                "a clock is stepped again and again, or the two run apart faster than max_drift_ppm of the configuration (200)"
            }
            Self::TransparentClock => "measure end to end: leave out --p2p",
            Self::AdjustmentsUnknown => {
                "take the NIC's timestamps (--source hardware), or a clock with a finer resolution than 10 µs"
            }
            Self::Incomplete => "run it longer",
        }
    }
}

/// Returns the most frequent reason if more than half of the requests have no transmit timestamp.
fn untimed_requests(taken: &Taken, counts: &Counts) -> Option<MissingReason> {
    let all = MissingReason::ALL.iter().copied();
    let count = |reason: MissingReason| counts.lost_for(Lost::TransmitTimestamp(reason));
    let untimed: u64 = all.clone().map(count).sum();
    all.max_by_key(|reason| count(*reason))
        .filter(|_| untimed > taken.requests / 2)
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent => f.write_str("no timeTransmitter was heard"),
            Self::OtherDomain(domain) => write!(
                f,
                "no timeTransmitter was heard in this domain, but messages of domain {domain}"
            ),
            Self::Unpinned => f.write_str("only timeTransmitters were heard that are not pinned"),
            Self::NoSync => f.write_str("a timeTransmitter announces itself, and no Sync came"),
            Self::NoFollowUp(syncs) => {
                write!(f, "{syncs} Sync messages came, and no Follow_Up with their time")
            }
            Self::NoReceiveTimestamp(syncs) => {
                write!(f, "{syncs} Sync messages came without a receive timestamp")
            }
            Self::NoTransmitTimestamp(reason) => write!(
                f,
                "most delay requests have no transmit timestamp: {}",
                reason.name().replace('_', " ")
            ),
            Self::NoResponse { requests, is_peer } => {
                let (whom, message) = match is_peer {
                    true => ("the neighbour", "Pdelay_Req"),
                    false => ("the timeTransmitter", "Delay_Req"),
                };
                write!(f, "{whom} answered none of {requests} {message} messages")
            }
            Self::Contradicted(exchanges) => {
                write!(f, "{exchanges} exchanges contradicted those before")
            }
            Self::TransparentClock => f.write_str(
                "a transparent clock stands between, and peer to peer nothing bounds the offset then",
            ),
            Self::AdjustmentsUnknown => f.write_str(
                "the clocks of this host are too coarse, or their readings interrupted for too long, to see how it is adjusted",
            ),
            Self::Incomplete => {
                f.write_str("a timeTransmitter was heard, but no exchange was complete")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken() -> Taken {
        Taken {
            announces: 9,
            syncs: 9,
            two_step_syncs: 9,
            follow_ups: 9,
            responses: 3,
            requests: 9,
            other_domain: Some(7),
        }
    }

    fn why(taken: Taken, lost: &[Lost]) -> Unmeasured {
        let mut counts = Counts::default();
        lost.iter().for_each(|lost| counts.lost(*lost));
        Unmeasured::of(&taken, &counts, false)
    }

    #[test]
    fn clocks_that_contradict_and_timestamps_that_do_not_come_are_named() {
        use MissingReason::{Deadline, NeverGenerated};
        let unsent = |reason| Lost::TransmitTimestamp(reason);
        assert_eq!(why(taken(), &[]), Unmeasured::Incomplete);
        let contradicted = why(taken(), &[Lost::Contradiction, Lost::Contradiction]);
        assert_eq!(contradicted, Unmeasured::Contradicted(2));
        let lost = [Deadline, Deadline, NeverGenerated, NeverGenerated].map(unsent);
        assert_eq!(why(taken(), &lost), Unmeasured::Incomplete, "four of nine");
        let lost = [lost[0], lost[1], lost[2], lost[3], lost[3]];
        let unsent = Unmeasured::NoTransmitTimestamp(NeverGenerated);
        assert_eq!(why(taken(), &lost), unsent);
        let text = unsent.to_string();
        assert!(text.ends_with("never generated"), "{text}");
        let untimed = why(taken(), &[Lost::ReceiveTimestamp; 9]);
        assert_eq!(untimed, Unmeasured::NoReceiveTimestamp(9));
        let mut first = taken();
        (first.syncs, first.announces) = (0, 2);
        assert_eq!(why(first, &[]), Unmeasured::NoSync);
        first.announces = 1;
        assert_eq!(why(first, &[]), Unmeasured::Incomplete);
        // some came
        assert_eq!(
            why(taken(), &[Lost::ReceiveTimestamp; 8]),
            Unmeasured::Incomplete
        );
    }
}
