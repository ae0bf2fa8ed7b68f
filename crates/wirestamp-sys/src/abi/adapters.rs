//! The layout of `GetAdaptersAddresses`' records: where which field lies (64-bit). Writes
//! none.
//!
//! Source: `iptypes.h`, `IP_ADAPTER_ADDRESSES_LH` and `IP_ADAPTER_UNICAST_ADDRESS_LH`.

/// `IP_ADAPTER_ADDRESSES_LH`.
pub mod adapter {
    /// Bytes of a record.
    pub const LENGTH: usize = 448;
    /// `Length`, `u32`.
    pub const LENGTH_FIELD: usize = 0;
    /// `IfIndex`, `u32`: 0 where IPv4 is not bound.
    pub const INDEX: usize = 4;
    /// `Next`.
    pub const NEXT: usize = 8;
    /// `AdapterName`: bytes, ended by 0.
    pub const ADAPTER_NAME: usize = 16;
    /// `FirstUnicastAddress`.
    pub const FIRST_UNICAST: usize = 24;
    /// `DnsSuffix`: wide.
    pub const DNS_SUFFIX: usize = 56;
    /// `Description`: wide.
    pub const DESCRIPTION: usize = 64;
    /// `FriendlyName`: wide.
    pub const FRIENDLY_NAME: usize = 72;
    /// `PhysicalAddress`, 8 bytes.
    pub const PHYSICAL_ADDRESS: usize = 80;
    /// `PhysicalAddressLength`, `u32`.
    pub const PHYSICAL_ADDRESS_LENGTH: usize = 88;
    /// `Flags`, `u32`.
    pub const FLAGS: usize = 92;
    /// `Mtu`, `u32`.
    pub const MTU: usize = 96;
    /// `IfType`, `u32`.
    pub const TYPE: usize = 100;
    /// `OperStatus`, `u32`.
    pub const STATE: usize = 104;
    /// `Ipv6IfIndex`, `u32`: 0 where IPv6 is not bound.
    pub const INDEX_IPV6: usize = 108;
    /// `ZoneIndices`, 16 times `u32`.
    pub const ZONE_INDICES: usize = 112;
    /// `FirstPrefix`.
    pub const FIRST_PREFIX: usize = 176;
    /// `TransmitLinkSpeed`, `u64`, bits a second.
    pub const TRANSMIT_SPEED: usize = 184;
    /// `ReceiveLinkSpeed`, `u64`.
    pub const RECEIVE_SPEED: usize = 192;
    /// `Luid`, `u64`.
    pub const LUID: usize = 224;
    /// `CompartmentId`, `u32`.
    pub const COMPARTMENT: usize = 248;
    /// `ConnectionType`, `u32`.
    pub const CONNECTION_TYPE: usize = 268;
}

/// `IP_ADAPTER_UNICAST_ADDRESS_LH`, and in front of it what all lists of addresses share.
pub mod unicast {
    /// Bytes of a record.
    pub const LENGTH: usize = 64;
    /// `Length`, `u32`.
    pub const LENGTH_FIELD: usize = 0;
    /// `Next`.
    pub const NEXT: usize = 8;
    /// `Address.lpSockaddr`.
    pub const ADDRESS: usize = 16;
    /// `Address.iSockaddrLength`, `u32`.
    pub const ADDRESS_LENGTH: usize = 24;
    /// `PrefixOrigin`, `u32`.
    pub const PREFIX_ORIGIN: usize = 32;
    /// `SuffixOrigin`, `u32`.
    pub const SUFFIX_ORIGIN: usize = 36;
    /// `DadState`, `u32`.
    pub const STATE: usize = 40;
    /// `ValidLifetime`, `PreferredLifetime` and `LeaseLifetime`, `u32` each.
    pub const LIFETIMES: usize = 44;
    /// `OnLinkPrefixLength`, `u8`.
    pub const PREFIX_LENGTH: usize = 56;
}

/// `IP_ADAPTER_PREFIX_XP`: begins as [`unicast`] does.
pub mod prefix {
    /// Bytes of a record.
    pub const LENGTH: usize = 40;
    /// `PrefixLength`, `u32`.
    pub const PREFIX_LENGTH: usize = 32;
}

/// `GAA_FLAG_SKIP_UNICAST`.
pub const SKIP_UNICAST: u32 = 0x1;
/// `GAA_FLAG_INCLUDE_PREFIX`.
pub const INCLUDE_PREFIX: u32 = 0x10;
/// `GAA_FLAG_SKIP_FRIENDLY_NAME`.
pub const SKIP_FRIENDLY_NAME: u32 = 0x20;
/// `GAA_FLAG_INCLUDE_ALL_INTERFACES`: also those without an address of the family.
pub const INCLUDE_ALL_INTERFACES: u32 = 0x100;

/// `IfType` of a loopback.
pub const TYPE_LOOPBACK: u32 = 24;
/// `IfType` of Ethernet, and of what is like it.
pub const TYPE_ETHERNET: u32 = 6;
/// `IF_TYPE_IEEE80211`
pub const TYPE_WIRELESS: u32 = 71;
/// `IfOperStatusUp`.
pub const STATE_UP: u32 = 1;
/// `IfOperStatusDown`.
pub const STATE_DOWN: u32 = 2;
/// `IfOperStatusDormant`: waits for something outside.
pub const STATE_DORMANT: u32 = 5;
/// `IfOperStatusLowerLayerDown`: no carrier.
pub const STATE_LOWER_LAYER_DOWN: u32 = 7;
/// `IP_ADAPTER_IPV4_ENABLED`.
pub const FLAG_IPV4: u32 = 0x80;
/// `IP_ADAPTER_IPV6_ENABLED`.
pub const FLAG_IPV6: u32 = 0x100;
