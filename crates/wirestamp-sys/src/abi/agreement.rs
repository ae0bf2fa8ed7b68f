//! Compares these declarations with `windows-sys`: a difference does not compile.

use super::iphlp::{CrossTimestamp, TimestampCapabilities};
use super::winsock::{TimestampingConfig, WsaBuffer, WsaMessage};
use super::{adapters, codes, numbers};
use std::mem::offset_of;
use windows_sys::Win32::Foundation as base;
use windows_sys::Win32::NetworkManagement::IpHelper as ip;
use windows_sys::Win32::NetworkManagement::Ndis as ndis;
use windows_sys::Win32::Networking::WinSock as ws;
use windows_sys::Win32::System::Threading as threading;

/// Structures: size, alignment, and where which field lies.
macro_rules! same_layout {
    ($($own:ty = $theirs:ty { $($field:ident: $their_field:ident),* $(,)? })*) => {
        const _: () = {$(
            assert!(size_of::<$own>() == size_of::<$theirs>());
            assert!(align_of::<$own>() == align_of::<$theirs>());
            $(assert!(offset_of!($own, $field) == offset_of!($theirs, $their_field));)*
        )*};
    };
}

/// Places in a structure that is written as bytes.
#[cfg(target_pointer_width = "64")]
macro_rules! same_places {
    ($($own:ident = $theirs:ty { $($place:ident: $their_field:ident),* $(,)? })*) => {
        const _: () = {$(
            assert!(adapters::$own::LENGTH == size_of::<$theirs>());
            $(assert!(adapters::$own::$place == offset_of!($theirs, $their_field));)*
        )*};
    };
}

/// Numbers of the same name. All have at most 32 bits; the bindings have some of them signed.
macro_rules! same_numbers {
    ($own:ident, $theirs:ident: $($name:ident),* $(,)?) => {
        const _: () = {$(assert!($own::$name as u32 == $theirs::$name as u32);)*};
    };
}

same_layout! {
    TimestampCapabilities = ip::INTERFACE_TIMESTAMP_CAPABILITIES {
        hardware_clock_frequency_hz: HardwareClockFrequencyHz,
        booleans: SupportsCrossTimestamp,
    }
    CrossTimestamp = ip::INTERFACE_HARDWARE_CROSSTIMESTAMP {
        system_timestamp1: SystemTimestamp1,
        hardware_clock_timestamp: HardwareClockTimestamp,
        system_timestamp2: SystemTimestamp2,
    }
    TimestampingConfig = ws::TIMESTAMPING_CONFIG {
        flags: Flags,
        transmit_timestamps_buffered: TxTimestampsBuffered,
    }
    WsaBuffer = ws::WSABUF { length: len, buffer: buf }
    WsaMessage = ws::WSAMSG {
        name: name,
        name_length: namelen,
        buffers: lpBuffers,
        buffer_count: dwBufferCount,
        control: Control,
        flags: dwFlags,
    }
}

/// The order of the BOOLEANs.
const _: () = {
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
    assert!(size_of::<ndis::NET_LUID_LH>() == 8);
};

#[cfg(target_pointer_width = "64")]
same_layout! {
    super::winsock::Overlapped = windows_sys::Win32::System::IO::OVERLAPPED {
        internal: Internal,
        internal_high: InternalHigh,
        offset: Anonymous,
        event: hEvent,
    }
    super::winsock::WsaData = ws::WSADATA {
        version: wVersion,
        high_version: wHighVersion,
        max_sockets: iMaxSockets,
        max_udp_size: iMaxUdpDg,
        vendor_information: lpVendorInfo,
        description: szDescription,
        system_status: szSystemStatus,
    }
    super::winsock::Guid = windows_sys::core::GUID {
        data1: data1,
        data2: data2,
        data3: data3,
        data4: data4,
    }
}

#[cfg(target_pointer_width = "64")]
same_places! {
    adapter = ip::IP_ADAPTER_ADDRESSES_LH {
        LENGTH_FIELD: Anonymous1,
        NEXT: Next,
        ADAPTER_NAME: AdapterName,
        FIRST_UNICAST: FirstUnicastAddress,
        DNS_SUFFIX: DnsSuffix,
        DESCRIPTION: Description,
        FRIENDLY_NAME: FriendlyName,
        PHYSICAL_ADDRESS: PhysicalAddress,
        PHYSICAL_ADDRESS_LENGTH: PhysicalAddressLength,
        FLAGS: Anonymous2,
        MTU: Mtu,
        TYPE: IfType,
        STATE: OperStatus,
        INDEX_IPV6: Ipv6IfIndex,
        ZONE_INDICES: ZoneIndices,
        FIRST_PREFIX: FirstPrefix,
        TRANSMIT_SPEED: TransmitLinkSpeed,
        RECEIVE_SPEED: ReceiveLinkSpeed,
        LUID: Luid,
        COMPARTMENT: CompartmentId,
        CONNECTION_TYPE: ConnectionType,
    }
    unicast = ip::IP_ADAPTER_UNICAST_ADDRESS_LH {
        LENGTH_FIELD: Anonymous,
        NEXT: Next,
        ADDRESS: Address,
        PREFIX_ORIGIN: PrefixOrigin,
        SUFFIX_ORIGIN: SuffixOrigin,
        STATE: DadState,
        LIFETIMES: ValidLifetime,
        PREFIX_LENGTH: OnLinkPrefixLength,
    }
    prefix = ip::IP_ADAPTER_PREFIX_XP { PREFIX_LENGTH: PrefixLength }
}

/// `GetAdaptersAddresses`, which is read through the bindings there.
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

/// Control messages and what is in them, addresses, and what is polled.
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
        size_of::<ws::SOCKADDR_IN>() == super::address::IPV4_LENGTH
            && size_of::<ws::SOCKADDR_IN6>() == super::address::IPV6_LENGTH
    );
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
    assert!(size_of::<ws::WSAPOLLFD>() == word + if word == 8 { 8 } else { 4 });
    assert!(
        offset_of!(ws::WSAPOLLFD, events) == word && offset_of!(ws::WSAPOLLFD, revents) == word + 2
    );
};

same_numbers! { codes, base:
    NO_ERROR, ERROR_FILE_NOT_FOUND, ERROR_ACCESS_DENIED, ERROR_INVALID_HANDLE,
    ERROR_NOT_ENOUGH_MEMORY, ERROR_CRC, ERROR_GEN_FAILURE, ERROR_NOT_SUPPORTED,
    ERROR_INVALID_PARAMETER, ERROR_BUFFER_OVERFLOW, ERROR_PROC_NOT_FOUND, ERROR_BUSY,
    ERROR_NO_DATA, ERROR_NOT_FOUND, ERROR_ADDRESS_NOT_ASSOCIATED, ERROR_BAD_DRIVER
}
same_numbers! { codes, ws:
    WSA_IO_PENDING, WSA_IO_INCOMPLETE, WSA_OPERATION_ABORTED, WSAEINTR, WSAEACCES, WSAEFAULT,
    WSAEINVAL, WSAEMFILE, WSAEWOULDBLOCK, WSAENOTSOCK, WSAEDESTADDRREQ, WSAEMSGSIZE,
    WSAENOPROTOOPT, WSAEPROTONOSUPPORT, WSAESOCKTNOSUPPORT, WSAEOPNOTSUPP, WSAEAFNOSUPPORT,
    WSAEADDRINUSE, WSAEADDRNOTAVAIL, WSAENETDOWN, WSAENETUNREACH, WSAECONNRESET, WSAENOBUFS,
    WSAEISCONN, WSAENOTCONN, WSAESHUTDOWN, WSAETIMEDOUT, WSAEHOSTUNREACH, WSASYSNOTREADY,
    WSAVERNOTSUPPORTED, WSANOTINITIALISED, WSATYPE_NOT_FOUND, WSAHOST_NOT_FOUND, WSATRY_AGAIN,
    WSANO_RECOVERY
}
same_numbers! { numbers, base: WAIT_OBJECT_0, WAIT_TIMEOUT, WAIT_FAILED, STILL_ACTIVE, STATUS_PENDING }
same_numbers! { numbers, threading: INFINITE }
same_numbers! { numbers, ws:
    SIO_TIMESTAMPING, SIO_GET_TX_TIMESTAMP, SIO_GET_EXTENSION_FUNCTION_POINTER, SIO_UDP_CONNRESET,
    FIONBIO, FIONREAD, TIMESTAMPING_FLAG_RX, TIMESTAMPING_FLAG_TX, SOL_SOCKET, IPPROTO_IP,
    IPPROTO_TCP, IPPROTO_UDP, IPPROTO_IPV6, SO_TIMESTAMP, SO_TIMESTAMP_ID, AF_INET, AF_INET6,
    SOCK_STREAM, SOCK_DGRAM, WSA_FLAG_OVERLAPPED, MSG_PEEK, MSG_TRUNC, MSG_CTRUNC, MSG_BCAST,
    MSG_MCAST, SO_REUSEADDR, SO_BROADCAST, SO_EXCLUSIVEADDRUSE, SO_SNDBUF, SO_RCVBUF,
    SO_SNDTIMEO, SO_RCVTIMEO, SO_ERROR, SO_TYPE, IP_TOS, IP_TTL, IP_MULTICAST_IF,
    IP_MULTICAST_TTL, IP_MULTICAST_LOOP, IP_ADD_MEMBERSHIP, IP_DROP_MEMBERSHIP, IP_DONTFRAGMENT,
    IP_PKTINFO, IP_UNICAST_IF, IPV6_UNICAST_HOPS, IPV6_MULTICAST_IF, IPV6_MULTICAST_HOPS,
    IPV6_MULTICAST_LOOP, IPV6_ADD_MEMBERSHIP, IPV6_DROP_MEMBERSHIP, IPV6_DONTFRAG, IPV6_PKTINFO,
    IPV6_V6ONLY, IPV6_UNICAST_IF, SO_MAX_MSG_SIZE, IP_ADD_SOURCE_MEMBERSHIP,
    IP_DROP_SOURCE_MEMBERSHIP, IP_BLOCK_SOURCE, IP_UNBLOCK_SOURCE, IP_RECVTTL, IP_RECVTOS, IP_ECN,
    IP_MTU_DISCOVER, IP_MTU, IPV6_HOPLIMIT, IPV6_TCLASS, IPV6_RECVTCLASS, IPV6_ECN,
    IPV6_MTU_DISCOVER, IPV6_MTU, MCAST_JOIN_GROUP, MCAST_LEAVE_GROUP, MCAST_BLOCK_SOURCE,
    MCAST_UNBLOCK_SOURCE, MCAST_JOIN_SOURCE_GROUP, MCAST_LEAVE_SOURCE_GROUP, IP_PMTUDISC_PROBE,
    MSG_PARTIAL, POLLRDNORM, POLLRDBAND, POLLPRI, POLLWRNORM, POLLWRBAND, POLLERR, POLLNVAL
}

const _: () = {
    assert!(adapters::SKIP_UNICAST == ip::GAA_FLAG_SKIP_UNICAST);
    assert!(adapters::INCLUDE_PREFIX == ip::GAA_FLAG_INCLUDE_PREFIX);
    assert!(adapters::SKIP_FRIENDLY_NAME == ip::GAA_FLAG_SKIP_FRIENDLY_NAME);
    assert!(adapters::INCLUDE_ALL_INTERFACES == ip::GAA_FLAG_INCLUDE_ALL_INTERFACES);
    assert!(adapters::TYPE_LOOPBACK == ip::IF_TYPE_SOFTWARE_LOOPBACK);
    assert!(adapters::TYPE_ETHERNET == ip::IF_TYPE_ETHERNET_CSMACD);
    assert!(adapters::TYPE_WIRELESS == ip::IF_TYPE_IEEE80211);
    assert!(adapters::FLAG_IPV4 == ip::IP_ADAPTER_IPV4_ENABLED);
    assert!(adapters::FLAG_IPV6 == ip::IP_ADAPTER_IPV6_ENABLED);
    assert!(adapters::STATE_UP == ndis::IfOperStatusUp as u32);
    assert!(adapters::STATE_DOWN == ndis::IfOperStatusDown as u32);
    assert!(adapters::STATE_DORMANT == ndis::IfOperStatusDormant as u32);
    assert!(adapters::STATE_LOWER_LAYER_DOWN == ndis::IfOperStatusLowerLayerDown as u32);
    assert!(super::winsock::INVALID_SOCKET == ws::INVALID_SOCKET);
    assert!(super::winsock::SOCKET_ERROR == ws::SOCKET_ERROR);
};
