//! Reports of measurements that end.

use std::net::SocketAddr;
use wirestamp::latency::LatencyReport;
use wirestamp::{Error, Result, TimestampSource};
use wirestamp_probe::session::SessionReport;
use wirestamp_ptp::{Agreement, Counts, RefusedOffset, Unmeasured};

/// The report of a measurement that has ended.
#[derive(Debug)]
pub(crate) enum Report {
    Stamp(Box<StampReport>),
    Path(Box<LatencyReport>),
    Ptp(Box<PtpReport>),
}

/// The report of a PTP clock that has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PtpReport {
    /// Exchanges without a sample and ignored messages, by reason.
    pub counts: Counts,
    /// Whether the configured sources agreed at the end.
    pub agreement: Agreement,
    /// The reason why nothing was measured, from the messages that came. Without meaning if the clock has measured.
    pub unmeasured: Unmeasured,
    /// The offset that was not followed at the end, because it is beyond the configured limits.
    pub refused_offset: Option<RefusedOffset>,
    /// The last error of moving the clock, if it could not be moved.
    pub steering_error: Option<Error>,
    /// Whether steering could be ended, so that the learnt base frequency remains.
    pub ended: Result<()>,
}

/// The report of a STAMP session that has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StampReport {
    /// The reflector.
    pub peer: SocketAddr,
    /// The source of the timestamps that count. A packet without a timestamp of this source has none.
    pub source: TimestampSource,
    /// Timestamps of that source, of packets and replies.
    pub stamps: u64,
    /// Delays, losses, and the reflector's statements about itself.
    pub session: SessionReport,
    /// The path's MTU and the packets' size.
    pub path: PathMtu,
    /// Packets that were sent to be measured.
    pub sent: u64,
    /// Packets that the system did not send for another reason than their size.
    pub refused: u64,
    /// The last reason from ICMP why packets did not reach the reflector: its port is closed, or there is no route.
    pub unreachable: Option<Error>,
    /// If replies arrived at another interface than the one that was named: why, and what to do.
    pub diverted: Option<String>,
    /// Whether the session ended before readings of the NIC's clock had confirmed the last timestamps. A change of that
    /// clock in the last seconds would not show.
    pub unconfirmed: bool,
}

/// The path's MTU, and the packets that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PathMtu {
    /// The length of a packet's UDP payload in bytes.
    pub packet: usize,
    /// The length of its IP and UDP headers in bytes.
    pub headers: usize,
    /// The path's MTU as the system knew it before anything was sent, in bytes with the IP header: the interface's, or what a router reported earlier.
    /// `None`: the system does not say.
    pub first: Option<u32>,
    /// The path's MTU now: smaller if a router reported that of its link.
    pub last: Option<u32>,
    /// Packets that the system did not send because they are larger.
    pub too_large: u64,
}

impl PathMtu {
    /// Returns the length of a packet with its headers in bytes.
    pub const fn packet_bytes(&self) -> usize {
        self.packet + self.headers
    }

    /// Returns a sentence on how much packets are too large for the path; `None` if they fit, or the path's MTU is not
    /// known.
    pub fn exceeded(&self) -> Option<String> {
        let mtu = self.last?;
        let bytes = self.packet_bytes();
        let fits = usize::try_from(mtu).is_ok_and(|mtu| bytes <= mtu);
        (!fits).then(|| format!("{bytes} bytes with headers, and the path's MTU is {mtu}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_the_paths_mtu_fits_and_one_more_byte_does_not() {
        let path = |packet, last| PathMtu {
            packet,
            headers: 28,
            last,
            ..PathMtu::default()
        };
        let exceeded = |packet| path(packet, Some(1_300)).exceeded();
        assert_eq!(
            (exceeded(1_272), path(9_000, None).exceeded()),
            (None, None)
        );
        let said = exceeded(1_273).expect("too large");
        assert_eq!(said, "1301 bytes with headers, and the path's MTU is 1300");
    }
}
