/* Addresses, buffers and control messages of winsock, and its numbers for sockets. IP options: ws2ipdef.h; functions:
 * winsock2.h.
 *
 * Numbers are Windows' numbers; the library translates. */
#ifndef WIRESTAMP_WS2DEF_H
#define WIRESTAMP_WS2DEF_H

#include "wirestamp/libc_sockets.h"
#include "wirestamp/types.h"

/* Families. */
#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_INET 2
#define AF_IMPLINK 3
#define AF_PUP 4
#define AF_CHAOS 5
#define AF_NS 6
#define AF_IPX AF_NS
#define AF_ISO 7
#define AF_OSI AF_ISO
#define AF_ECMA 8
#define AF_DATAKIT 9
#define AF_CCITT 10
#define AF_SNA 11
#define AF_DECnet 12
#define AF_DLI 13
#define AF_LAT 14
#define AF_HYLINK 15
#define AF_APPLETALK 16
#define AF_NETBIOS 17
#define AF_VOICEVIEW 18
#define AF_FIREFOX 19
#define AF_UNKNOWN1 20
#define AF_BAN 21
#define AF_ATM 22
#define AF_INET6 23
#define AF_CLUSTER 24
#define AF_12844 25
#define AF_IRDA 26
#define AF_NETDES 28
#define AF_TCNPROCESS 29
#define AF_TCNMESSAGE 30
#define AF_ICLFXBM 31
#define AF_BTH 32
#define PF_UNSPEC AF_UNSPEC
#define PF_UNIX AF_UNIX
#define PF_INET AF_INET
#define PF_IMPLINK AF_IMPLINK
#define PF_PUP AF_PUP
#define PF_CHAOS AF_CHAOS
#define PF_NS AF_NS
#define PF_IPX AF_IPX
#define PF_ISO AF_ISO
#define PF_OSI AF_OSI
#define PF_ECMA AF_ECMA
#define PF_DATAKIT AF_DATAKIT
#define PF_CCITT AF_CCITT
#define PF_SNA AF_SNA
#define PF_DLI AF_DLI
#define PF_LAT AF_LAT
#define PF_HYLINK AF_HYLINK
#define PF_APPLETALK AF_APPLETALK
#define PF_VOICEVIEW AF_VOICEVIEW
#define PF_FIREFOX AF_FIREFOX
#define PF_UNKNOWN1 AF_UNKNOWN1
#define PF_BAN AF_BAN
#define PF_ATM AF_ATM
#define PF_INET6 AF_INET6
#define PF_BTH AF_BTH

/* Kinds of sockets. */
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_RAW 3
#define SOCK_RDM 4
#define SOCK_SEQPACKET 5

/* Options of level SOL_SOCKET. */
#define SOL_SOCKET 0xFFFF
#define SOMAXCONN 0x7FFFFFFF
#define SO_DEBUG 0x0001
#define SO_ACCEPTCONN 0x0002
#define SO_REUSEADDR 0x0004
#define SO_KEEPALIVE 0x0008
#define SO_DONTROUTE 0x0010
#define SO_SYNCHRONOUS_ALERT 0x10
#define SO_BROADCAST 0x0020
#define SO_SYNCHRONOUS_NONALERT 0x20
#define SO_USELOOPBACK 0x0040
#define SO_LINGER 0x0080
#define SO_OOBINLINE 0x0100
#define SO_SNDBUF 0x1001
#define SO_RCVBUF 0x1002
#define SO_SNDLOWAT 0x1003
#define SO_RCVLOWAT 0x1004
#define SO_SNDTIMEO 0x1005 /* DWORD, milliseconds */
#define SO_RCVTIMEO 0x1006 /* DWORD, milliseconds */
#define SO_ERROR 0x1007
#define SO_TYPE 0x1008
#define SO_BSP_STATE 0x1009
#define SO_GROUP_ID 0x2001
#define SO_GROUP_PRIORITY 0x2002
#define SO_MAX_MSG_SIZE 0x2003
#define SO_PROTOCOL_INFOA 0x2004
#define SO_PROTOCOL_INFOW 0x2005
#define SO_CONDITIONAL_ACCEPT 0x3002
#define SO_PAUSE_ACCEPT 0x3003
#define SO_COMPARTMENT_ID 0x3004
#define SO_RANDOMIZE_PORT 0x3005
#define SO_PORT_SCALABILITY 0x3006
#define SO_REUSE_UNICASTPORT 0x3007
#define SO_REUSE_MULTICASTPORT 0x3008
#define SO_CONNDATA 0x7000
#define SO_CONNOPT 0x7001
#define SO_DISCDATA 0x7002
#define SO_DISCOPT 0x7003
#define SO_CONNDATALEN 0x7004
#define SO_CONNOPTLEN 0x7005
#define SO_DISCDATALEN 0x7006
#define SO_DISCOPTLEN 0x7007
#define SO_OPENTYPE 0x7008
#define SO_MAXDG 0x7009
#define SO_MAXPATHDG 0x700A
#define SO_UPDATE_ACCEPT_CONTEXT 0x700B
#define SO_CONNECT_TIME 0x700C
#define SO_UPDATE_CONNECT_CONTEXT 0x7010
#define SO_DONTLINGER ((int)(~SO_LINGER))
#define SO_EXCLUSIVEADDRUSE ((int)(~SO_REUSEADDR))

#define MSG_OOB 0x0001
#define MSG_PEEK 0x0002
#define MSG_DONTROUTE 0x0004
#define MSG_WAITALL 0x0008
#define MSG_INTERRUPT 0x0010
#define MSG_PUSH_IMMEDIATE 0x0020
#define MSG_TRUNC 0x0100  /* the datagram was longer than the buffers */
#define MSG_CTRUNC 0x0200 /* the control messages were longer than their buffer: a timestamp may be lost */
#define MSG_BCAST 0x0400
#define MSG_MCAST 0x0800
#define MSG_PARTIAL 0x8000
#define MSG_MAXIOVLEN 16

/* Protocols, and levels of options. */
#define IPPROTO_HOPOPTS 0
#define IPPROTO_IP 0
#define IPPROTO_ICMP 1
#define IPPROTO_IGMP 2
#define IPPROTO_GGP 3
#define IPPROTO_IPV4 4
#define IPPROTO_ST 5
#define IPPROTO_TCP 6
#define IPPROTO_CBT 7
#define IPPROTO_EGP 8
#define IPPROTO_IGP 9
#define IPPROTO_PUP 12
#define IPPROTO_UDP 17
#define IPPROTO_IDP 22
#define IPPROTO_RDP 27
#define IPPROTO_IPV6 41
#define IPPROTO_ROUTING 43
#define IPPROTO_FRAGMENT 44
#define IPPROTO_ESP 50
#define IPPROTO_AH 51
#define IPPROTO_ICMPV6 58
#define IPPROTO_NONE 59
#define IPPROTO_DSTOPTS 60
#define IPPROTO_ND 77
#define IPPROTO_ICLFXBM 78
#define IPPROTO_PIM 103
#define IPPROTO_PGM 113
#define IPPROTO_L2TP 115
#define IPPROTO_SCTP 132
#define IPPROTO_RAW 255
#define IPPROTO_MAX 256

/* Codes for WSAIoctl. */
#define IOC_UNIX 0x00000000u
#define IOC_WS2 0x08000000u
#define IOC_PROTOCOL 0x10000000u
#define IOC_VENDOR 0x18000000u
#undef IOC_VOID
#undef IOC_OUT
#undef IOC_IN
#undef IOC_INOUT
#define IOC_VOID 0x20000000u
#define IOC_OUT 0x40000000u
#define IOC_IN 0x80000000u
#define IOC_INOUT (IOC_IN | IOC_OUT)
#define _WSAIO(kind, code) (IOC_VOID | (kind) | (code))
#define _WSAIOR(kind, code) (IOC_OUT | (kind) | (code))
#define _WSAIOW(kind, code) (IOC_IN | (kind) | (code))
#define _WSAIORW(kind, code) (IOC_INOUT | (kind) | (code))
#define SIO_GET_EXTENSION_FUNCTION_POINTER _WSAIORW(IOC_WS2, 6)

typedef USHORT ADDRESS_FAMILY;
typedef struct in_addr IN_ADDR, *PIN_ADDR, *LPIN_ADDR;
typedef struct sockaddr SOCKADDR, *PSOCKADDR, *LPSOCKADDR;
typedef struct sockaddr_in SOCKADDR_IN, *PSOCKADDR_IN, *LPSOCKADDR_IN;
typedef struct sockaddr_storage SOCKADDR_STORAGE, *PSOCKADDR_STORAGE, *LPSOCKADDR_STORAGE;
WIRESTAMP_SIZE(SOCKADDR, 16);
WIRESTAMP_SIZE(SOCKADDR_IN, 16);
WIRESTAMP_SIZE(SOCKADDR_STORAGE, 128);

typedef struct _SOCKET_ADDRESS {
    LPSOCKADDR lpSockaddr;
    INT iSockaddrLength;
} SOCKET_ADDRESS, *PSOCKET_ADDRESS, *LPSOCKET_ADDRESS;
WIRESTAMP_SIZE(SOCKET_ADDRESS, 16);

/* Length first, unlike struct iovec. */
typedef struct _WSABUF {
    ULONG len;
    CHAR *buf;
} WSABUF, *LPWSABUF;
WIRESTAMP_SIZE(WSABUF, 16);
WIRESTAMP_FIELD(WSABUF, buf, 8, 8);

typedef struct _WSAMSG {
    LPSOCKADDR name;
    INT namelen;
    LPWSABUF lpBuffers;
    ULONG dwBufferCount;
    WSABUF Control; /* in: the room for control messages; out: what they take */
    ULONG dwFlags;  /* in: MSG_PEEK; out: MSG_TRUNC, MSG_CTRUNC, MSG_BCAST, MSG_MCAST */
} WSAMSG, *PWSAMSG, *LPWSAMSG;
WIRESTAMP_SIZE(WSAMSG, 56);
WIRESTAMP_FIELD(WSAMSG, name, 0, 8);
WIRESTAMP_FIELD(WSAMSG, namelen, 8, 4);
WIRESTAMP_FIELD(WSAMSG, lpBuffers, 16, 8);
WIRESTAMP_FIELD(WSAMSG, dwBufferCount, 24, 4);
WIRESTAMP_FIELD(WSAMSG, Control.len, 32, 4);
WIRESTAMP_FIELD(WSAMSG, Control.buf, 40, 8);
WIRESTAMP_FIELD(WSAMSG, dwFlags, 48, 4);

typedef struct _WSACMSGHDR {
    SIZE_T cmsg_len; /* header and data, without the padding after them */
    INT cmsg_level;
    INT cmsg_type;
} WSACMSGHDR, *PWSACMSGHDR, *LPWSACMSGHDR;
typedef WSACMSGHDR CMSGHDR, *PCMSGHDR;
WIRESTAMP_SIZE(WSACMSGHDR, 16);
WIRESTAMP_FIELD(WSACMSGHDR, cmsg_level, 8, 4);
WIRESTAMP_FIELD(WSACMSGHDR, cmsg_type, 12, 4);

#define MAX_NATURAL_ALIGNMENT sizeof(ULONG64)
#define WSA_CMSGHDR_ALIGN(length) \
    (((length) + WIRESTAMP_ALIGNOF(WSACMSGHDR) - 1) & ~(SIZE_T)(WIRESTAMP_ALIGNOF(WSACMSGHDR) - 1))
#define WSA_CMSGDATA_ALIGN(length) (((length) + MAX_NATURAL_ALIGNMENT - 1) & ~(SIZE_T)(MAX_NATURAL_ALIGNMENT - 1))
#define WSA_CMSG_SPACE(length) (WSA_CMSGDATA_ALIGN(sizeof(WSACMSGHDR) + WSA_CMSGHDR_ALIGN(length)))
#define WSA_CMSG_LEN(length) (WSA_CMSGDATA_ALIGN(sizeof(WSACMSGHDR)) + (length))
#define WSA_CMSG_DATA(header) ((UCHAR *)(header) + WSA_CMSGDATA_ALIGN(sizeof(WSACMSGHDR)))
WIRESTAMP_STATIC_ASSERT(WSA_CMSG_LEN(8) == 24 && WSA_CMSG_SPACE(8) == 24);
WIRESTAMP_STATIC_ASSERT(WSA_CMSG_LEN(4) == 20 && WSA_CMSG_SPACE(4) == 24);

/* The first control message of a WSAMSG, or NULL. */
#define WSA_CMSG_FIRSTHDR(message) \
    ((message)->Control.len >= sizeof(WSACMSGHDR) ? (LPWSACMSGHDR)(void *)(message)->Control.buf : (LPWSACMSGHDR)NULL)

/* The one after `header`, or NULL. A length that no message has ends the walk. */
#define WSA_CMSG_NXTHDR(message, header) wirestamp_next_control_message(message, header)
static inline LPWSACMSGHDR wirestamp_next_control_message(const WSAMSG *message, const WSACMSGHDR *header)
{
    SIZE_T at, step, whole = message->Control.len;
    if (header == NULL) return WSA_CMSG_FIRSTHDR(message);
    at = (SIZE_T)((const CHAR *)(const void *)header - message->Control.buf);
    if (header->cmsg_len < sizeof(WSACMSGHDR) || header->cmsg_len > whole - at) return NULL;
    step = WSA_CMSGHDR_ALIGN(header->cmsg_len);
    if (step + sizeof(WSACMSGHDR) > whole - at) return NULL;
    return (LPWSACMSGHDR)(void *)(message->Control.buf + at + step);
}

/* The SDK's other names for them; the C library's, for its own structures, mean something else. There is no CMSG_DATA. */
#undef CMSG_FIRSTHDR
#undef CMSG_NXTHDR
#undef CMSG_SPACE
#undef CMSG_LEN
#undef CMSG_DATA
#define CMSG_FIRSTHDR WSA_CMSG_FIRSTHDR
#define CMSG_NXTHDR WSA_CMSG_NXTHDR
#define CMSG_SPACE WSA_CMSG_SPACE
#define CMSG_LEN WSA_CMSG_LEN

#endif
