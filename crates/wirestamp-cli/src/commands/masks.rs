//! The kernel's names of the bits in its capability masks. Interprets none of them.
//!
//! Source: `linux/net_tstamp.h`, of Linux 6.18.

/// `SOF_TIMESTAMPING_*`, by bit.
pub(super) const SO_TIMESTAMPING: &[&str] = &[
    "TX_HARDWARE",
    "TX_SOFTWARE",
    "RX_HARDWARE",
    "RX_SOFTWARE",
    "SOFTWARE",
    "SYS_HARDWARE",
    "RAW_HARDWARE",
    "OPT_ID",
    "TX_SCHED",
    "TX_ACK",
    "OPT_CMSG",
    "OPT_TSONLY",
    "OPT_STATS",
    "OPT_PKTINFO",
    "OPT_TX_SWHW",
    "BIND_PHC",
    "OPT_ID_TCP",
    "OPT_RX_FILTER",
    "TX_COMPLETION",
];

/// `HWTSTAMP_TX_*`, by value.
pub(super) const TRANSMIT_TYPES: &[&str] = &["OFF", "ON", "ONESTEP_SYNC", "ONESTEP_P2P"];

/// `HWTSTAMP_FILTER_*`, by value.
pub(super) const RECEIVE_FILTERS: &[&str] = &[
    "NONE",
    "ALL",
    "SOME",
    "PTP_V1_L4_EVENT",
    "PTP_V1_L4_SYNC",
    "PTP_V1_L4_DELAY_REQ",
    "PTP_V2_L4_EVENT",
    "PTP_V2_L4_SYNC",
    "PTP_V2_L4_DELAY_REQ",
    "PTP_V2_L2_EVENT",
    "PTP_V2_L2_SYNC",
    "PTP_V2_L2_DELAY_REQ",
    "PTP_V2_EVENT",
    "PTP_V2_SYNC",
    "PTP_V2_DELAY_REQ",
    "NTP_ALL",
];

/// The names of the bits in `mask`; a bit without one is its number.
pub(super) fn names(mask: u32, known: &[&str]) -> Vec<String> {
    let set = (0..u32::BITS).filter(|bit| mask & (1 << bit) != 0);
    set.map(|bit| {
        known
            .get(bit as usize)
            .map_or_else(|| format!("bit_{bit}"), ToString::to_string)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_igb_reads_as_the_kernel_prints_it() {
        let so = names(0x5f, SO_TIMESTAMPING);
        assert_eq!(
            so,
            [
                "TX_HARDWARE",
                "TX_SOFTWARE",
                "RX_HARDWARE",
                "RX_SOFTWARE",
                "SOFTWARE",
                "RAW_HARDWARE"
            ]
        );
        assert_eq!(
            names(1 << 0 | 1 << 12, RECEIVE_FILTERS),
            ["NONE", "PTP_V2_EVENT"]
        );
        assert_eq!(names(1 << 31, TRANSMIT_TYPES), ["bit_31"]);
    }
}
