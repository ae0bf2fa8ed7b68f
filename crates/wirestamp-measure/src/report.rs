//! Reports of measurements that end.

use std::net::SocketAddr;
use wirestamp::latency::LatencyReport;
use wirestamp::{Error, Result, TimestampSource};
use wirestamp_probe::session::SessionReport;
use wirestamp_ptp::{Agreement, Counts, RefusedOffset, Unmeasured};

/// What a measurement that ends has come to.
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
    /// Why nothing was measured, by the messages that came; of a clock that has measured, it says nothing.
    pub unmeasured: Unmeasured,
    /// The offset that was not followed at the end, because it is beyond the configured limits.
    pub refused_offset: Option<RefusedOffset>,
    /// Why the clock could not be moved the last time, if so.
    pub steering_error: Option<Error>,
    /// Whether steering could be ended: what remains in force is the frequency that was learnt.
    pub ended: Result<()>,
}

/// The report of a STAMP session that has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StampReport {
    /// The reflector.
    pub peer: SocketAddr,
    /// Whose timestamps count. A packet that has none of these has none.
    pub source: TimestampSource,
    /// Timestamps of that source, of packets and replies.
    pub stamps: u64,
    /// Delays, losses, and what the reflector says of itself.
    pub session: SessionReport,
    /// The packets' size on the path.
    pub path: PathMtu,
    /// Packets that were sent to be measured.
    pub sent: u64,
    /// Packets that the system did not send for another reason than their size.
    pub refused: u64,
    /// Why packets did not reach the reflector, as ICMP said last: nobody listens on its port, or there is no way there.
    pub unreachable: Option<Error>,
    /// Why replies that arrived reached no socket of the interface that was named, and what to do: another one takes them.
    pub diverted: Option<String>,
    /// Whether it was cut short before readings of the NIC's clock had confirmed the last timestamps: a change of that clock in the last seconds
    /// would not show.
    pub unconfirmed: bool,
}

/// The path's MTU, and the packets that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PathMtu {
    /// Bytes of a packet's UDP payload.
    pub packet: usize,
    /// Bytes of its IP and UDP headers.
    pub headers: usize,
    /// The path's MTU as the system knew it before anything was sent, in bytes with the IP header: the interface's, or what a router reported earlier.
    /// `None`: the system does not say.
    pub first: Option<u32>,
    /// The same now: less if a router on the way reported its link's.
    pub last: Option<u32>,
    /// Packets that the system did not send because they are larger.
    pub too_large: u64,
}

impl PathMtu {
    /// Returns the bytes of a packet with its headers.
    pub const fn packet_bytes(&self) -> usize {
        self.packet + self.headers
    }

    /// Returns in words by how much packets are too large for the path as it is known now; `None`: they fit, or it is not known.
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
