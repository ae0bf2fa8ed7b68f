//! The comparison of what this crate declares itself with `windows-sys`: a difference
//! does not compile. Defines nothing.

use super::abi::{HardwareCrossTimestamp, TimestampCapabilities, TimestampingConfig};
use super::codes;
use super::constants as own;
use std::mem::offset_of;
use windows_sys::Win32::Foundation as error;
use windows_sys::Win32::NetworkManagement::IpHelper as ip;
use windows_sys::Win32::NetworkManagement::Ndis as ndis;
use windows_sys::Win32::Networking::WinSock as ws;

const _: () = {
    assert!(
        size_of::<ip::INTERFACE_TIMESTAMP_CAPABILITIES>() == size_of::<TimestampCapabilities>()
    );
    assert!(
        align_of::<ip::INTERFACE_TIMESTAMP_CAPABILITIES>() == align_of::<TimestampCapabilities>()
    );
    assert!(offset_of!(ip::INTERFACE_TIMESTAMP_CAPABILITIES, SupportsCrossTimestamp) == 8);
    assert!(offset_of!(ip::INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities) == 9);
    assert!(offset_of!(ip::INTERFACE_TIMESTAMP_CAPABILITIES, SoftwareCapabilities) == 20);
    assert!(size_of::<ip::INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES>() == 11);
    assert!(size_of::<ip::INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES>() == 3);
    assert!(offset_of!(ip::INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES, AllReceive) == 8);
    assert!(
        offset_of!(
            ip::INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES,
            TaggedTransmit
        ) == 10
    );
    assert!(offset_of!(ip::INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES, AllReceive) == 0);
    assert!(
        offset_of!(
            ip::INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES,
            TaggedTransmit
        ) == 2
    );
    assert!(size_of::<ip::INTERFACE_HARDWARE_CROSSTIMESTAMP>() == 24);
    assert!(
        size_of::<ip::INTERFACE_HARDWARE_CROSSTIMESTAMP>() <= size_of::<HardwareCrossTimestamp>()
    );
    assert!(offset_of!(ip::INTERFACE_HARDWARE_CROSSTIMESTAMP, SystemTimestamp1) == 0);
    assert!(
        offset_of!(
            ip::INTERFACE_HARDWARE_CROSSTIMESTAMP,
            HardwareClockTimestamp
        ) == 8
    );
    assert!(offset_of!(ip::INTERFACE_HARDWARE_CROSSTIMESTAMP, SystemTimestamp2) == 16);
    assert!(size_of::<ws::TIMESTAMPING_CONFIG>() == size_of::<TimestampingConfig>());
    assert!(offset_of!(ws::TIMESTAMPING_CONFIG, TxTimestampsBuffered) == 4);
    assert!(size_of::<ndis::NET_LUID_LH>() == 8);
};

/// Control messages and what is in them.
const _: () = {
    let word = size_of::<usize>();
    assert!(size_of::<ws::CMSGHDR>() == word + 8);
    assert!(
        offset_of!(ws::CMSGHDR, cmsg_level) == word
            && offset_of!(ws::CMSGHDR, cmsg_type) == word + 4
    );
    assert!(size_of::<ws::IN_PKTINFO>() == 8 && offset_of!(ws::IN_PKTINFO, ipi_ifindex) == 4);
    assert!(size_of::<ws::IN6_PKTINFO>() == 20 && offset_of!(ws::IN6_PKTINFO, ipi6_ifindex) == 16);
    assert!(
        size_of::<ws::SOCKADDR_IN>() == 16
            && size_of::<ws::SOCKADDR_IN6>() == super::socket_address::LENGTH
    );
    assert!(size_of::<ws::WSABUF>() == 2 * word && offset_of!(ws::WSABUF, buf) == word);
    assert!(
        offset_of!(ws::IN_PKTINFO, ipi_addr) == 0 && offset_of!(ws::IN6_PKTINFO, ipi6_addr) == 0
    );
    assert!(
        offset_of!(ws::SOCKADDR_IN, sin_port) == 2 && offset_of!(ws::SOCKADDR_IN, sin_addr) == 4
    );
    assert!(
        offset_of!(ws::SOCKADDR_IN6, sin6_port) == 2
            && offset_of!(ws::SOCKADDR_IN6, sin6_addr) == 8
    );
    assert!(offset_of!(ws::SOCKADDR_IN6, Anonymous) == 24, "the scope");
    assert!(size_of::<ws::WSAMSG>() == if word == 8 { 56 } else { 28 });
    assert!(
        offset_of!(ws::WSAMSG, namelen) == word && offset_of!(ws::WSAMSG, lpBuffers) == 2 * word
    );
    assert!(
        offset_of!(ws::WSAMSG, dwBufferCount) == 3 * word
            && offset_of!(ws::WSAMSG, Control) == 4 * word
    );
    assert!(offset_of!(ws::WSAMSG, dwFlags) == 6 * word);
    assert!(size_of::<ws::WSAPOLLFD>() == word + if word == 8 { 8 } else { 4 });
    assert!(
        offset_of!(ws::WSAPOLLFD, events) == word && offset_of!(ws::WSAPOLLFD, revents) == word + 2
    );
};

/// `GetAdaptersAddresses`.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<ip::IP_ADAPTER_ADDRESSES_LH>() == 448);
    assert!(offset_of!(ip::IP_ADAPTER_ADDRESSES_LH, FriendlyName) == 72);
    assert!(offset_of!(ip::IP_ADAPTER_ADDRESSES_LH, Ipv6IfIndex) == 108);
    assert!(offset_of!(ip::IP_ADAPTER_ADDRESSES_LH, Luid) == 224);
    assert!(size_of::<ip::IP_ADAPTER_UNICAST_ADDRESS_LH>() == 64);
    assert!(offset_of!(ip::IP_ADAPTER_UNICAST_ADDRESS_LH, Address) == 16);
    assert!(offset_of!(ip::IP_ADAPTER_UNICAST_ADDRESS_LH, OnLinkPrefixLength) == 56);
};

/// The same.
#[cfg(target_pointer_width = "32")]
const _: () = {
    assert!(size_of::<ip::IP_ADAPTER_ADDRESSES_LH>() == 376);
    assert!(offset_of!(ip::IP_ADAPTER_ADDRESSES_LH, FriendlyName) == 40);
    assert!(offset_of!(ip::IP_ADAPTER_ADDRESSES_LH, Ipv6IfIndex) == 72);
    assert!(offset_of!(ip::IP_ADAPTER_ADDRESSES_LH, Luid) == 176);
    assert!(size_of::<ip::IP_ADAPTER_UNICAST_ADDRESS_LH>() == 48);
    assert!(offset_of!(ip::IP_ADAPTER_UNICAST_ADDRESS_LH, Address) == 12);
    assert!(offset_of!(ip::IP_ADAPTER_UNICAST_ADDRESS_LH, OnLinkPrefixLength) == 44);
};

const _: () = {
    assert!(own::AF_INET == ws::AF_INET && own::AF_INET6 == ws::AF_INET6);
    assert!(own::IPPROTO_IP == ws::IPPROTO_IP && own::IPPROTO_IPV6 == ws::IPPROTO_IPV6);
    assert!(own::IP_PKTINFO == ws::IP_PKTINFO && own::IPV6_PKTINFO == ws::IPV6_PKTINFO);
    assert!(own::SOL_SOCKET == ws::SOL_SOCKET);
    assert!(
        own::SO_TIMESTAMP == ws::SO_TIMESTAMP as i32
            && codes::SO_TIMESTAMP_ID == ws::SO_TIMESTAMP_ID as i32
    );
    assert!(
        codes::SIO_TIMESTAMPING == ws::SIO_TIMESTAMPING
            && codes::SIO_GET_TX_TIMESTAMP == ws::SIO_GET_TX_TIMESTAMP
    );
    assert!(codes::TIMESTAMPING_FLAG_RX == ws::TIMESTAMPING_FLAG_RX);
    assert!(codes::TIMESTAMPING_FLAG_TX == ws::TIMESTAMPING_FLAG_TX);
    assert!(codes::ERROR_FILE_NOT_FOUND == error::ERROR_FILE_NOT_FOUND);
    assert!(codes::ERROR_ACCESS_DENIED == error::ERROR_ACCESS_DENIED);
    assert!(
        codes::ERROR_CRC == error::ERROR_CRC && codes::ERROR_BAD_DRIVER == error::ERROR_BAD_DRIVER
    );
    assert!(codes::ERROR_NOT_SUPPORTED == error::ERROR_NOT_SUPPORTED);
    assert!(codes::ERROR_GEN_FAILURE == error::ERROR_GEN_FAILURE);
    assert!(codes::ERROR_INVALID_PARAMETER == error::ERROR_INVALID_PARAMETER);
    assert!(codes::ERROR_BUFFER_OVERFLOW == error::ERROR_BUFFER_OVERFLOW);
    assert!(codes::ERROR_BUSY == error::ERROR_BUSY);
    assert!(codes::ERROR_PROC_NOT_FOUND == error::ERROR_PROC_NOT_FOUND);
    assert!(
        codes::ERROR_NO_DATA == error::ERROR_NO_DATA
            && codes::ERROR_NOT_FOUND == error::ERROR_NOT_FOUND
    );
    assert!(codes::ERROR_ADDRESS_NOT_ASSOCIATED == error::ERROR_ADDRESS_NOT_ASSOCIATED);
    assert!(
        own::OPER_STATUS_UP == ndis::IfOperStatusUp
            && own::OPER_STATUS_DOWN == ndis::IfOperStatusDown
    );
    assert!(own::OPER_STATUS_DORMANT == ndis::IfOperStatusDormant);
    assert!(own::OPER_STATUS_LOWER_LAYER_DOWN == ndis::IfOperStatusLowerLayerDown);
    assert!(own::TYPE_LOOPBACK == ip::IF_TYPE_SOFTWARE_LOOPBACK);
};
