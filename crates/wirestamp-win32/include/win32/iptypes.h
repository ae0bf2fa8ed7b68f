/* The structures that GetAdaptersAddresses (iphlpapi.h) fills in. */
#ifndef WIRESTAMP_IPTYPES_H
#define WIRESTAMP_IPTYPES_H

#include "ifdef.h"
#include "ws2def.h"

#define MAX_ADAPTER_ADDRESS_LENGTH 8
#define MAX_DHCPV6_DUID_LENGTH 130
#define MAX_DNS_SUFFIX_STRING_LENGTH 256

#define GAA_FLAG_SKIP_UNICAST 0x0001
#define GAA_FLAG_SKIP_ANYCAST 0x0002
#define GAA_FLAG_SKIP_MULTICAST 0x0004
#define GAA_FLAG_SKIP_DNS_SERVER 0x0008
#define GAA_FLAG_INCLUDE_PREFIX 0x0010
#define GAA_FLAG_SKIP_FRIENDLY_NAME 0x0020
#define GAA_FLAG_INCLUDE_WINS_INFO 0x0040 /* this list is empty, as are that of gateways and the others */
#define GAA_FLAG_INCLUDE_GATEWAYS 0x0080
#define GAA_FLAG_INCLUDE_ALL_INTERFACES 0x0100
#define GAA_FLAG_INCLUDE_ALL_COMPARTMENTS 0x0200
#define GAA_FLAG_INCLUDE_TUNNEL_BINDINGORDER 0x0400
#define GAA_FLAG_SKIP_DNS_INFO 0x0800

#define IP_ADAPTER_RECEIVE_ONLY 0x08
#define IP_ADAPTER_NO_MULTICAST 0x10
#define IP_ADAPTER_IPV4_ENABLED 0x80
#define IP_ADAPTER_IPV6_ENABLED 0x100

typedef enum {
    IpPrefixOriginOther = 0,
    IpPrefixOriginManual,
    IpPrefixOriginWellKnown,
    IpPrefixOriginDhcp,
    IpPrefixOriginRouterAdvertisement,
    IpPrefixOriginUnchanged = 16
} NL_PREFIX_ORIGIN, IP_PREFIX_ORIGIN;

typedef enum {
    IpSuffixOriginOther = 0,
    IpSuffixOriginManual,
    IpSuffixOriginWellKnown,
    IpSuffixOriginDhcp,
    IpSuffixOriginLinkLayerAddress,
    IpSuffixOriginRandom,
    IpSuffixOriginUnchanged = 16
} NL_SUFFIX_ORIGIN, IP_SUFFIX_ORIGIN;

typedef enum {
    IpDadStateInvalid = 0,
    IpDadStateTentative,
    IpDadStateDuplicate,
    IpDadStateDeprecated,
    IpDadStatePreferred
} NL_DAD_STATE, IP_DAD_STATE;

/* Every list element begins with its own length and one number. */
#define WIRESTAMP_LENGTH_AND(type, name) \
    __extension__ union {                \
        ULONGLONG Alignment;             \
        __extension__ struct {           \
            ULONG Length;                \
            type name;                   \
        };                               \
    }

typedef struct _IP_ADAPTER_UNICAST_ADDRESS_LH {
    WIRESTAMP_LENGTH_AND(DWORD, Flags);
    struct _IP_ADAPTER_UNICAST_ADDRESS_LH *Next;
    SOCKET_ADDRESS Address;
    IP_PREFIX_ORIGIN PrefixOrigin;
    IP_SUFFIX_ORIGIN SuffixOrigin;
    IP_DAD_STATE DadState;
    ULONG ValidLifetime;
    ULONG PreferredLifetime;
    ULONG LeaseLifetime;
    UINT8 OnLinkPrefixLength;
} IP_ADAPTER_UNICAST_ADDRESS_LH, *PIP_ADAPTER_UNICAST_ADDRESS_LH, IP_ADAPTER_UNICAST_ADDRESS,
    *PIP_ADAPTER_UNICAST_ADDRESS;
WIRESTAMP_SIZE(IP_ADAPTER_UNICAST_ADDRESS, 64);
WIRESTAMP_FIELD(IP_ADAPTER_UNICAST_ADDRESS, Address, 16, 16);
WIRESTAMP_FIELD(IP_ADAPTER_UNICAST_ADDRESS, OnLinkPrefixLength, 56, 1);

typedef struct _IP_ADAPTER_ANYCAST_ADDRESS_XP {
    WIRESTAMP_LENGTH_AND(DWORD, Flags);
    struct _IP_ADAPTER_ANYCAST_ADDRESS_XP *Next;
    SOCKET_ADDRESS Address;
} IP_ADAPTER_ANYCAST_ADDRESS, *PIP_ADAPTER_ANYCAST_ADDRESS, *PIP_ADAPTER_ANYCAST_ADDRESS_XP;

typedef struct _IP_ADAPTER_MULTICAST_ADDRESS_XP {
    WIRESTAMP_LENGTH_AND(DWORD, Flags);
    struct _IP_ADAPTER_MULTICAST_ADDRESS_XP *Next;
    SOCKET_ADDRESS Address;
} IP_ADAPTER_MULTICAST_ADDRESS, *PIP_ADAPTER_MULTICAST_ADDRESS, *PIP_ADAPTER_MULTICAST_ADDRESS_XP;

typedef struct _IP_ADAPTER_DNS_SERVER_ADDRESS_XP {
    WIRESTAMP_LENGTH_AND(DWORD, Reserved);
    struct _IP_ADAPTER_DNS_SERVER_ADDRESS_XP *Next;
    SOCKET_ADDRESS Address;
} IP_ADAPTER_DNS_SERVER_ADDRESS, *PIP_ADAPTER_DNS_SERVER_ADDRESS, *PIP_ADAPTER_DNS_SERVER_ADDRESS_XP;

typedef struct _IP_ADAPTER_PREFIX_XP {
    WIRESTAMP_LENGTH_AND(DWORD, Flags);
    struct _IP_ADAPTER_PREFIX_XP *Next;
    SOCKET_ADDRESS Address;
    ULONG PrefixLength;
} IP_ADAPTER_PREFIX, *PIP_ADAPTER_PREFIX, *PIP_ADAPTER_PREFIX_XP;

typedef struct _IP_ADAPTER_WINS_SERVER_ADDRESS_LH {
    WIRESTAMP_LENGTH_AND(DWORD, Reserved);
    struct _IP_ADAPTER_WINS_SERVER_ADDRESS_LH *Next;
    SOCKET_ADDRESS Address;
} IP_ADAPTER_WINS_SERVER_ADDRESS, *PIP_ADAPTER_WINS_SERVER_ADDRESS, *PIP_ADAPTER_WINS_SERVER_ADDRESS_LH;

typedef struct _IP_ADAPTER_GATEWAY_ADDRESS_LH {
    WIRESTAMP_LENGTH_AND(DWORD, Reserved);
    struct _IP_ADAPTER_GATEWAY_ADDRESS_LH *Next;
    SOCKET_ADDRESS Address;
} IP_ADAPTER_GATEWAY_ADDRESS, *PIP_ADAPTER_GATEWAY_ADDRESS, *PIP_ADAPTER_GATEWAY_ADDRESS_LH;

typedef struct _IP_ADAPTER_DNS_SUFFIX {
    struct _IP_ADAPTER_DNS_SUFFIX *Next;
    WCHAR String[MAX_DNS_SUFFIX_STRING_LENGTH];
} IP_ADAPTER_DNS_SUFFIX, *PIP_ADAPTER_DNS_SUFFIX;

/* What Linux has no answer for is zero or NULL. */
typedef struct _IP_ADAPTER_ADDRESSES_LH {
    WIRESTAMP_LENGTH_AND(IF_INDEX, IfIndex);
    struct _IP_ADAPTER_ADDRESSES_LH *Next;
    PCHAR AdapterName;
    PIP_ADAPTER_UNICAST_ADDRESS FirstUnicastAddress;
    PIP_ADAPTER_ANYCAST_ADDRESS FirstAnycastAddress;
    PIP_ADAPTER_MULTICAST_ADDRESS FirstMulticastAddress;
    PIP_ADAPTER_DNS_SERVER_ADDRESS FirstDnsServerAddress;
    PWCHAR DnsSuffix;
    PWCHAR Description;
    PWCHAR FriendlyName;
    BYTE PhysicalAddress[MAX_ADAPTER_ADDRESS_LENGTH];
    ULONG PhysicalAddressLength;
    __extension__ union {
        ULONG Flags; /* IP_ADAPTER_... */
        __extension__ struct {
            ULONG DdnsEnabled : 1;
            ULONG RegisterAdapterSuffix : 1;
            ULONG Dhcpv4Enabled : 1;
            ULONG ReceiveOnly : 1;
            ULONG NoMulticast : 1;
            ULONG Ipv6OtherStatefulConfig : 1;
            ULONG NetbiosOverTcpipEnabled : 1;
            ULONG Ipv4Enabled : 1;
            ULONG Ipv6Enabled : 1;
            ULONG Ipv6ManagedAddressConfigurationSupported : 1;
        };
    };
    ULONG Mtu;
    IFTYPE IfType;
    IF_OPER_STATUS OperStatus;
    IF_INDEX Ipv6IfIndex;
    ULONG ZoneIndices[16];
    PIP_ADAPTER_PREFIX FirstPrefix;
    ULONG64 TransmitLinkSpeed; /* bits per second; all ones: unknown */
    ULONG64 ReceiveLinkSpeed;
    PIP_ADAPTER_WINS_SERVER_ADDRESS FirstWinsServerAddress;
    PIP_ADAPTER_GATEWAY_ADDRESS FirstGatewayAddress;
    ULONG Ipv4Metric;
    ULONG Ipv6Metric;
    IF_LUID Luid;
    SOCKET_ADDRESS Dhcpv4Server;
    NET_IF_COMPARTMENT_ID CompartmentId;
    NET_IF_NETWORK_GUID NetworkGuid;
    NET_IF_CONNECTION_TYPE ConnectionType;
    TUNNEL_TYPE TunnelType;
    SOCKET_ADDRESS Dhcpv6Server;
    BYTE Dhcpv6ClientDuid[MAX_DHCPV6_DUID_LENGTH];
    ULONG Dhcpv6ClientDuidLength;
    ULONG Dhcpv6Iaid;
    PIP_ADAPTER_DNS_SUFFIX FirstDnsSuffix;
} IP_ADAPTER_ADDRESSES_LH, *PIP_ADAPTER_ADDRESSES_LH, IP_ADAPTER_ADDRESSES, *PIP_ADAPTER_ADDRESSES;
WIRESTAMP_SIZE(IP_ADAPTER_ADDRESSES, 448);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, IfIndex, 4, 4);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, Next, 8, 8);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, FirstUnicastAddress, 24, 8);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, FriendlyName, 72, 8);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, PhysicalAddressLength, 88, 4);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, Flags, 92, 4);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, OperStatus, 104, 4);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, FirstPrefix, 176, 8);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, TransmitLinkSpeed, 184, 8);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, Luid, 224, 8);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, NetworkGuid, 252, 16);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, TunnelType, 272, 4);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, Dhcpv6ClientDuid, 296, 130);
WIRESTAMP_FIELD(IP_ADAPTER_ADDRESSES, FirstDnsSuffix, 440, 8);

#endif
