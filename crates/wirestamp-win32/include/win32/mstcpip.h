/* The timestamps of sockets: how a program switches them on and where it finds them. The clock that they are of:
 * GetInterfaceActiveTimestampCapabilities (iphlpapi.h).
 *
 * Microsoft's pages leave open what follows. Here it is so (ABI.md has the whole table):
 * - Unknown flags: WSAEINVAL, and nothing changes. A short or missing buffer: WSAEFAULT. More than is needed is taken.
 * - TxTimestampsBuffered 0 with TIMESTAMPING_FLAG_TX discards every timestamp; 65535 is taken.
 * - A new configuration with TX keeps the timestamps that wait, the oldest first, as many as it has room for; one
 *   without TX drops them. After that SIO_GET_TX_TIMESTAMP answers WSAEWOULDBLOCK; WSAEOPNOTSUPP means "never on".
 * - An id sent twice has two timestamps: each fetch takes the older. An id sent while TX is off is ignored.
 * - A datagram that the adapter does not timestamp: SO_TIMESTAMP with the value 0, and WSAEWOULDBLOCK for good. With
 *   WIRESTAMP_WIN32_UNSTAMPED=absent in the environment no SO_TIMESTAMP message; with zero the transmit timestamp 0.
 * - Datagrams over loopback are timestamped in software, by the Linux kernel.
 * - Two SO_TIMESTAMP_ID messages in one send, or one that has not 4 bytes: WSAEINVAL, and nothing is sent. */
#ifndef WIRESTAMP_MSTCPIP_H
#define WIRESTAMP_MSTCPIP_H

#include "sdkddkver.h"
#include "winsock2.h"
#include "ws2ipdef.h"

/* In: TIMESTAMPING_CONFIG, the whole configuration: a direction that is not named is switched off. */
#define SIO_TIMESTAMPING _WSAIOW(IOC_VENDOR, 235)
/* In: UINT32, the id. Out: UINT64, the timestamp, which is then gone from the socket. WSAEWOULDBLOCK: there is none
 * yet (or none any more, or never was). WSAEOPNOTSUPP: transmit timestamps were never on. */
#define SIO_GET_TX_TIMESTAMP _WSAIOW(IOC_VENDOR, 234)
WIRESTAMP_STATIC_ASSERT(SIO_TIMESTAMPING == 0x980000EB && SIO_GET_TX_TIMESTAMP == 0x980000EA);
/* In: BOOL. FALSE: an ICMP "port unreachable" is no error of the socket. */
#define SIO_UDP_CONNRESET _WSAIOW(IOC_VENDOR, 12)
WIRESTAMP_STATIC_ASSERT(SIO_UDP_CONNRESET == 0x9800000C);

#define TIMESTAMPING_FLAG_RX 0x1
#define TIMESTAMPING_FLAG_TX 0x2

/* Control messages of level SOL_SOCKET. */
#undef SO_TIMESTAMP
#define SO_TIMESTAMP 0x300A    /* received: UINT64, the timestamp */
#define SO_TIMESTAMP_ID 0x300B /* sent: UINT32, the id for SIO_GET_TX_TIMESTAMP */

typedef struct _TIMESTAMPING_CONFIG {
#if WIRESTAMP_FIRST_VERSION
    /* The page on winsock timestamping spells the fields in both ways. */
    union {
        ULONG Flags;
        ULONG flags;
    };
    union {
        USHORT TxTimestampsBuffered;
        USHORT txTimestampsBuffered;
    };
#else
    ULONG Flags;                 /* TIMESTAMPING_FLAG_RX, TIMESTAMPING_FLAG_TX */
    USHORT TxTimestampsBuffered; /* so many timestamps can wait; one more is discarded */
#endif
} TIMESTAMPING_CONFIG, *PTIMESTAMPING_CONFIG;
WIRESTAMP_SIZE(TIMESTAMPING_CONFIG, 8);
WIRESTAMP_FIELD(TIMESTAMPING_CONFIG, Flags, 0, 4);
WIRESTAMP_FIELD(TIMESTAMPING_CONFIG, TxTimestampsBuffered, 4, 2);

/* Bytes of an address of the family; 0 for a family that is neither AF_INET nor AF_INET6. */
FORCEINLINE SIZE_T INET_SOCKADDR_LENGTH(ADDRESS_FAMILY family)
{
    if (family == AF_INET6) return sizeof(SOCKADDR_IN6);
    return family == AF_INET ? sizeof(SOCKADDR_IN) : 0;
}

#endif
