/* The types that name an interface and its state. The functions: iphlpapi.h. */
#ifndef WIRESTAMP_IFDEF_H
#define WIRESTAMP_IFDEF_H

#include "wirestamp/types.h"

#define IF_MAX_STRING_SIZE 256
#define NDIS_IF_MAX_STRING_SIZE IF_MAX_STRING_SIZE
#define IF_MAX_PHYS_ADDRESS_LENGTH 32

typedef ULONG NET_IFINDEX, *PNET_IFINDEX, IF_INDEX, *PIF_INDEX;
typedef UINT16 NET_IFTYPE;
typedef ULONG IFTYPE;
typedef UINT32 NET_IF_COMPARTMENT_ID;
typedef GUID NET_IF_NETWORK_GUID;

/* Names an interface for as long as the system runs. */
typedef union _NET_LUID_LH {
    ULONG64 Value;
    struct {
        __extension__ ULONG64 Reserved : 24;
        __extension__ ULONG64 NetLuidIndex : 24;
        __extension__ ULONG64 IfType : 16;
    } Info;
} NET_LUID_LH, *PNET_LUID_LH;
typedef NET_LUID_LH NET_LUID, *PNET_LUID, IF_LUID, *PIF_LUID;
WIRESTAMP_SIZE(NET_LUID, 8);

#define IF_TYPE_OTHER 1
#define IF_TYPE_ETHERNET_CSMACD 6
#define IF_TYPE_PPP 23
#define IF_TYPE_SOFTWARE_LOOPBACK 24
#define IF_TYPE_IEEE80211 71
#define IF_TYPE_TUNNEL 131

typedef enum {
    IfOperStatusUp = 1,
    IfOperStatusDown,
    IfOperStatusTesting,
    IfOperStatusUnknown,
    IfOperStatusDormant,
    IfOperStatusNotPresent,
    IfOperStatusLowerLayerDown
} IF_OPER_STATUS;

typedef enum _NET_IF_CONNECTION_TYPE {
    NET_IF_CONNECTION_DEDICATED = 1,
    NET_IF_CONNECTION_PASSIVE = 2,
    NET_IF_CONNECTION_DEMAND = 3
} NET_IF_CONNECTION_TYPE;

typedef enum {
    TUNNEL_TYPE_NONE = 0,
    TUNNEL_TYPE_OTHER = 1,
    TUNNEL_TYPE_DIRECT = 2,
    TUNNEL_TYPE_6TO4 = 11,
    TUNNEL_TYPE_ISATAP = 13,
    TUNNEL_TYPE_TEREDO = 14,
    TUNNEL_TYPE_IPHTTPS = 15
} TUNNEL_TYPE;

#endif
