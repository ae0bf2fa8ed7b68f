//! The kernel's numbers that the `libc` crate lacks. Values of the generic ABI
//! (x86, Arm, RISC-V); sparc, parisc and mips differ for `SO_*`.

/// `SO_TIMESTAMPING_NEW`, also the type of the control message (`asm-generic/socket.h`; Linux 5.1).
pub const SO_TIMESTAMPING_NEW: i32 = 65;
/// `SO_TIMESTAMPING_OLD`, likewise.
pub const SO_TIMESTAMPING_OLD: i32 = 37;
/// `SCM_TIMESTAMPING_PKTINFO`.
pub const SCM_TIMESTAMPING_PKTINFO: i32 = 58;
/// `SCM_TS_OPT_ID` (Linux 6.13).
pub const SCM_TS_OPT_ID: i32 = 81;
/// `SO_RXQ_OVFL`.
pub const SO_RXQ_OVFL: i32 = 40;
/// `SO_MEMINFO`: `[rmem_alloc, rcvbuf, wmem_alloc, sndbuf, …]` in bytes (`linux/sock_diag.h`).
pub const SO_MEMINFO: i32 = 55;
/// `PACKET_IGNORE_OUTGOING` (`linux/if_packet.h`; Linux 4.20).
pub const PACKET_IGNORE_OUTGOING: i32 = 23;
/// `TP_STATUS_VLAN_VALID` of `tpacket_auxdata` (`linux/if_packet.h`).
pub const VLAN_VALID: u32 = 1 << 4;
/// `UDP_GRO` (`linux/udp.h`).
pub const UDP_GRO: i32 = 104;
/// `SO_RCVBUFFORCE`.
pub const SO_RCVBUFFORCE: i32 = 33;

// `SOF_TIMESTAMPING_*` (`linux/net_tstamp.h`).
/// Request a hardware transmit timestamp.
pub const TX_HARDWARE: u32 = 1 << 0;
/// Request a software transmit timestamp.
pub const TX_SOFTWARE: u32 = 1 << 1;
/// Request a timestamp at the entry into the queueing discipline (Linux 3.17).
pub const TX_SCHED: u32 = 1 << 8;
/// Generate hardware receive timestamps (matters with [`OPT_RX_FILTER`]).
pub const RX_HARDWARE: u32 = 1 << 2;
/// Generate software receive timestamps.
pub const RX_SOFTWARE: u32 = 1 << 3;
/// Report software timestamps.
pub const SOFTWARE: u32 = 1 << 4;
/// Report hardware timestamps.
pub const RAW_HARDWARE: u32 = 1 << 6;
/// Number the transmit timestamps.
pub const OPT_ID: u32 = 1 << 7;
/// Control messages of the packet with its transmit timestamp, which need the packet: the device that sent it (Linux 3.19).
pub const OPT_CMSG: u32 = 1 << 10;
/// Transmit timestamps without the packet.
pub const OPT_TSONLY: u32 = 1 << 11;
/// Say which interface made a hardware receive timestamp.
pub const OPT_PKTINFO: u32 = 1 << 13;
/// Software and hardware transmit timestamps of one packet, as two entries.
pub const OPT_TX_SWHW: u32 = 1 << 14;
/// Report only the receive timestamps that this socket asked for (Linux 6.12).
pub const OPT_RX_FILTER: u32 = 1 << 17;

// Error-queue entries (`linux/errqueue.h`).
/// `SO_EE_ORIGIN_ICMP`.
pub const ORIGIN_ICMP: u8 = 2;
/// `SO_EE_ORIGIN_ICMP6`.
pub const ORIGIN_ICMP6: u8 = 3;
/// `SO_EE_ORIGIN_TIMESTAMPING`.
pub const ORIGIN_TIMESTAMPING: u8 = 4;
/// `SO_EE_ORIGIN_ZEROCOPY`.
pub const ORIGIN_ZEROCOPY: u8 = 5;
/// `SCM_TSTAMP_SND`: the driver passed the packet to the hardware.
pub const TSTAMP_SND: u32 = 0;
/// `SCM_TSTAMP_SCHED`: the packet entered the queueing discipline of a device.
pub const TSTAMP_SCHED: u32 = 1;

/// `SIOCETHTOOL` sub-command `ETHTOOL_GET_TS_INFO` (`linux/ethtool.h`).
pub const ETHTOOL_GET_TS_INFO: u32 = 0x41;
/// `SIOCSHWTSTAMP`.
pub const SIOCSHWTSTAMP: u32 = 0x89b0;
/// `SIOCGHWTSTAMP`.
pub const SIOCGHWTSTAMP: u32 = 0x89b1;
/// `HWTSTAMP_FLAG_BONDED_PHC_INDEX` (Linux 5.17).
pub const HWTSTAMP_FLAG_BONDED_PHC_INDEX: i32 = 1;
/// The most that one transmit timestamp without payload is charged to the receive buffer, in
/// bytes, with a margin (measured: 832 on Linux 6.18, 963 on 6.12).
pub const TIMESTAMP_CHARGE: u32 = 1_024;
