/* Owns addresses, buffers and control messages of winsock, and its numbers for sockets.
 * Not IP options (ws2ipdef.h) and functions (winsock2.h).
 *
 * Numbers are Windows' numbers; the library translates. */
#ifndef WIRESTAMP_WS2DEF_H
#define WIRESTAMP_WS2DEF_H

#include "wirestamp/libc_sockets.h"
#include "wirestamp/types.h"

#undef AF_INET6
#define AF_INET6 23
#undef PF_INET6
#define PF_INET6 AF_INET6

#undef SOL_SOCKET
#undef SO_REUSEADDR
#undef SO_KEEPALIVE
#undef SO_DONTROUTE
#undef SO_BROADCAST
#undef SO_LINGER
#undef SO_OOBINLINE
#undef SO_SNDBUF
#undef SO_RCVBUF
#undef SO_SNDTIMEO
#undef SO_RCVTIMEO
#undef SO_ERROR
#undef SO_TYPE
#define SOL_SOCKET 0xFFFF
#define SO_REUSEADDR 0x0004
#define SO_KEEPALIVE 0x0008
#define SO_DONTROUTE 0x0010
#define SO_BROADCAST 0x0020
#define SO_LINGER 0x0080
#define SO_OOBINLINE 0x0100
#define SO_SNDBUF 0x1001
#define SO_RCVBUF 0x1002
#define SO_SNDTIMEO 0x1005 /* DWORD, milliseconds */
#define SO_RCVTIMEO 0x1006 /* DWORD, milliseconds */
#define SO_ERROR 0x1007
#define SO_TYPE 0x1008

#undef MSG_WAITALL
#undef MSG_TRUNC
#undef MSG_CTRUNC
#define MSG_WAITALL 0x0008
#define MSG_TRUNC 0x0100  /* the datagram was longer than the buffers */
#define MSG_CTRUNC 0x0200 /* the control messages were longer than their buffer: a timestamp may be lost */
#define MSG_BCAST 0x0400
#define MSG_MCAST 0x0800

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

#endif
