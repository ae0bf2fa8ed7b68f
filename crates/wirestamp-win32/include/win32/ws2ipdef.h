/* Owns the numbers of winsock for IPv4 and IPv6 options, and their structures.
 * Not those of sockets in general: ws2def.h. */
#ifndef WIRESTAMP_WS2IPDEF_H
#define WIRESTAMP_WS2IPDEF_H

#include "ws2def.h"

typedef struct in6_addr IN6_ADDR, *PIN6_ADDR, *LPIN6_ADDR;
typedef struct sockaddr_in6 SOCKADDR_IN6, SOCKADDR_IN6_LH, *PSOCKADDR_IN6, *LPSOCKADDR_IN6;
WIRESTAMP_SIZE(SOCKADDR_IN6, 28);

typedef union _SOCKADDR_INET {
    SOCKADDR_IN Ipv4;
    SOCKADDR_IN6 Ipv6;
    ADDRESS_FAMILY si_family;
} SOCKADDR_INET, *PSOCKADDR_INET;
WIRESTAMP_SIZE(SOCKADDR_INET, 28);

/* Level IPPROTO_IP. */
#undef IP_TTL
#undef IP_MULTICAST_IF
#undef IP_MULTICAST_TTL
#undef IP_MULTICAST_LOOP
#undef IP_ADD_MEMBERSHIP
#undef IP_DROP_MEMBERSHIP
#undef IP_PKTINFO
#undef IP_RECVTTL
#define IP_TTL 4
#define IP_MULTICAST_IF 9
#define IP_MULTICAST_TTL 10
#define IP_MULTICAST_LOOP 11
#define IP_ADD_MEMBERSHIP 12
#define IP_DROP_MEMBERSHIP 13
#define IP_PKTINFO 19
#define IP_RECVTTL 21

/* Level IPPROTO_IPV6. */
#undef IPV6_UNICAST_HOPS
#undef IPV6_MULTICAST_IF
#undef IPV6_MULTICAST_HOPS
#undef IPV6_MULTICAST_LOOP
#undef IPV6_ADD_MEMBERSHIP
#undef IPV6_DROP_MEMBERSHIP
#undef IPV6_JOIN_GROUP
#undef IPV6_LEAVE_GROUP
#undef IPV6_PKTINFO
#undef IPV6_V6ONLY
#define IPV6_UNICAST_HOPS 4
#define IPV6_MULTICAST_IF 9
#define IPV6_MULTICAST_HOPS 10
#define IPV6_MULTICAST_LOOP 11
#define IPV6_ADD_MEMBERSHIP 12
#define IPV6_JOIN_GROUP IPV6_ADD_MEMBERSHIP
#define IPV6_DROP_MEMBERSHIP 13
#define IPV6_LEAVE_GROUP IPV6_DROP_MEMBERSHIP
#define IPV6_PKTINFO 19
#define IPV6_V6ONLY 27

typedef struct wirestamp_ip_mreq {
    IN_ADDR imr_multiaddr;
    IN_ADDR imr_interface;
} IP_MREQ, *PIP_MREQ;
typedef struct ipv6_mreq IPV6_MREQ, *PIPV6_MREQ;
WIRESTAMP_SIZE(IP_MREQ, 8);
WIRESTAMP_SIZE(IPV6_MREQ, 20);

/* Payload of the control messages IP_PKTINFO and IPV6_PKTINFO. Not Linux' struct in_pktinfo. */
typedef struct wirestamp_in_pktinfo {
    IN_ADDR ipi_addr;
    ULONG ipi_ifindex;
} IN_PKTINFO, *PIN_PKTINFO;
typedef struct wirestamp_in6_pktinfo {
    IN6_ADDR ipi6_addr;
    ULONG ipi6_ifindex;
} IN6_PKTINFO, *PIN6_PKTINFO;
WIRESTAMP_SIZE(IN_PKTINFO, 8);
WIRESTAMP_SIZE(IN6_PKTINFO, 20);

#endif
