/* Winsock's numbers and structures of IPv4 and IPv6 options. Those of sockets in general: ws2def.h. */
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

/* Level IPPROTO_IP. Those that Linux has no like of are refused with WSAENOPROTOOPT. */
#define IP_OPTIONS 1
#define IP_HDRINCL 2
#define IP_TOS 3
#define IP_TTL 4
#define IP_MULTICAST_IF 9
#define IP_MULTICAST_TTL 10
#define IP_MULTICAST_LOOP 11
#define IP_ADD_MEMBERSHIP 12
#define IP_DROP_MEMBERSHIP 13
#define IP_DONTFRAGMENT 14
#define IP_ADD_SOURCE_MEMBERSHIP 15
#define IP_DROP_SOURCE_MEMBERSHIP 16
#define IP_BLOCK_SOURCE 17
#define IP_UNBLOCK_SOURCE 18
#define IP_PKTINFO 19
#define IP_HOPLIMIT 21
#define IP_RECVTTL 21
#define IP_RECEIVE_BROADCAST 22
#define IP_RECVIF 24
#define IP_RECVDSTADDR 25
#define IP_IFLIST 28
#define IP_ADD_IFLIST 29
#define IP_DEL_IFLIST 30
#define IP_UNICAST_IF 31
#define IP_RTHDR 32
#define IP_GET_IFLIST 33
#define IP_RECVRTHDR 38
#define IP_TCLASS 39
#define IP_RECVTCLASS 40
#define IP_RECVTOS 40
#define IP_ORIGINAL_ARRIVAL_IF 47
#define IP_ECN 50
#define IP_PKTINFO_EX 51
#define IP_WFP_REDIRECT_RECORDS 60
#define IP_WFP_REDIRECT_CONTEXT 70
#define IP_MTU_DISCOVER 71
#define IP_MTU 73
#define IP_NRT_INTERFACE 74
#define IP_RECVERR 75
#define IP_USER_MTU 76
#define IP_PROTECTION_LEVEL IPV6_PROTECTION_LEVEL

/* Level IPPROTO_IPV6. */
#define IPV6_HOPOPTS 1
#define IPV6_HDRINCL 2
#define IPV6_UNICAST_HOPS 4
#define IPV6_MULTICAST_IF 9
#define IPV6_MULTICAST_HOPS 10
#define IPV6_MULTICAST_LOOP 11
#define IPV6_ADD_MEMBERSHIP 12
#define IPV6_JOIN_GROUP IPV6_ADD_MEMBERSHIP
#define IPV6_DROP_MEMBERSHIP 13
#define IPV6_LEAVE_GROUP IPV6_DROP_MEMBERSHIP
#define IPV6_DONTFRAG 14
#define IPV6_PKTINFO 19
#define IPV6_HOPLIMIT 21
#define IPV6_PROTECTION_LEVEL 23
#define IPV6_RECVIF 24
#define IPV6_RECVDSTADDR 25
#define IPV6_CHECKSUM 26
#define IPV6_V6ONLY 27
#define IPV6_IFLIST 28
#define IPV6_ADD_IFLIST 29
#define IPV6_DEL_IFLIST 30
#define IPV6_UNICAST_IF 31
#define IPV6_RTHDR 32
#define IPV6_GET_IFLIST 33
#define IPV6_RECVRTHDR 38
#define IPV6_TCLASS 39
#define IPV6_RECVTCLASS 40
#define IPV6_ECN 50
#define IPV6_PKTINFO_EX 51
#define IPV6_WFP_REDIRECT_RECORDS 60
#define IPV6_WFP_REDIRECT_CONTEXT 70
#define IPV6_MTU_DISCOVER 71
#define IPV6_MTU 72
#define IPV6_NRT_INTERFACE 74
#define IPV6_RECVERR 75
#define IPV6_USER_MTU 76

/* Either level. */
#define MCAST_JOIN_GROUP 41
#define MCAST_LEAVE_GROUP 42
#define MCAST_BLOCK_SOURCE 43
#define MCAST_UNBLOCK_SOURCE 44
#define MCAST_JOIN_SOURCE_GROUP 45
#define MCAST_LEAVE_SOURCE_GROUP 46

/* Values of IP_MTU_DISCOVER and IPV6_MTU_DISCOVER: not the C library's. */
typedef enum _PMTUD_STATE {
    IP_PMTUDISC_NOT_SET,
    IP_PMTUDISC_DO,
    IP_PMTUDISC_DONT,
    IP_PMTUDISC_PROBE,
    IP_PMTUDISC_MAX
} PMTUD_STATE, *PPMTUD_STATE;

typedef enum _MULTICAST_MODE_TYPE { MCAST_INCLUDE = 0, MCAST_EXCLUDE } MULTICAST_MODE_TYPE;

typedef struct wirestamp_ip_mreq {
    IN_ADDR imr_multiaddr;
    IN_ADDR imr_interface;
} IP_MREQ, *PIP_MREQ;
typedef struct ipv6_mreq IPV6_MREQ, *PIPV6_MREQ;
WIRESTAMP_SIZE(IP_MREQ, 8);
WIRESTAMP_SIZE(IPV6_MREQ, 20);

/* Source before interface, unlike Linux' structure of this name. */
#define ip_mreq_source wirestamp_ip_mreq_source
typedef struct ip_mreq_source {
    IN_ADDR imr_multiaddr;
    IN_ADDR imr_sourceaddr;
    IN_ADDR imr_interface;
} IP_MREQ_SOURCE, *PIP_MREQ_SOURCE;
WIRESTAMP_SIZE(IP_MREQ_SOURCE, 12);
WIRESTAMP_FIELD(IP_MREQ_SOURCE, imr_sourceaddr, 4, 4);

#define group_req wirestamp_group_req
typedef struct group_req {
    ULONG gr_interface;
    SOCKADDR_STORAGE gr_group;
} GROUP_REQ, *PGROUP_REQ;
WIRESTAMP_FIELD(GROUP_REQ, gr_group, 8, 128);

#define group_source_req wirestamp_group_source_req
typedef struct group_source_req {
    ULONG gsr_interface;
    SOCKADDR_STORAGE gsr_group;
    SOCKADDR_STORAGE gsr_source;
} GROUP_SOURCE_REQ, *PGROUP_SOURCE_REQ;
WIRESTAMP_FIELD(GROUP_SOURCE_REQ, gsr_source, 136, 128);

/* Payload of the control messages IP_PKTINFO and IPV6_PKTINFO. Not Linux' struct in_pktinfo. */
#define in_pktinfo wirestamp_in_pktinfo
#define in6_pktinfo wirestamp_in6_pktinfo
typedef struct in_pktinfo {
    IN_ADDR ipi_addr;
    ULONG ipi_ifindex;
} IN_PKTINFO, *PIN_PKTINFO;
typedef struct in6_pktinfo {
    IN6_ADDR ipi6_addr;
    ULONG ipi6_ifindex;
} IN6_PKTINFO, *PIN6_PKTINFO;
WIRESTAMP_SIZE(IN_PKTINFO, 8);
WIRESTAMP_SIZE(IN6_PKTINFO, 20);

#endif
