/* Events of a socket: WSAEventSelect and WSAEnumNetworkEvents. Included by winsock2.h. */
#ifndef WIRESTAMP_EVENTS_H
#define WIRESTAMP_EVENTS_H

#include "system.h"
#include "winsock_names.h"

#define FD_READ_BIT 0
#define FD_READ (1 << FD_READ_BIT) /* a datagram waits; again after a receive that leaves one */
#define FD_WRITE_BIT 1
#define FD_WRITE (1 << FD_WRITE_BIT) /* at once; again after WSAEWOULDBLOCK of a send, once there is room */
/* These never come: datagrams have no streams' events. */
#define FD_OOB_BIT 2
#define FD_OOB (1 << FD_OOB_BIT)
#define FD_ACCEPT_BIT 3
#define FD_ACCEPT (1 << FD_ACCEPT_BIT)
#define FD_CONNECT_BIT 4
#define FD_CONNECT (1 << FD_CONNECT_BIT)
#define FD_CLOSE_BIT 5
#define FD_CLOSE (1 << FD_CLOSE_BIT)
#define FD_QOS_BIT 6
#define FD_QOS (1 << FD_QOS_BIT)
#define FD_GROUP_QOS_BIT 7
#define FD_GROUP_QOS (1 << FD_GROUP_QOS_BIT)
#define FD_ROUTING_INTERFACE_CHANGE_BIT 8
#define FD_ROUTING_INTERFACE_CHANGE (1 << FD_ROUTING_INTERFACE_CHANGE_BIT)
#define FD_ADDRESS_LIST_CHANGE_BIT 9
#define FD_ADDRESS_LIST_CHANGE (1 << FD_ADDRESS_LIST_CHANGE_BIT)
#define FD_MAX_EVENTS 10
#define FD_ALL_EVENTS ((1 << FD_MAX_EVENTS) - 1)

WIRESTAMP_BEGIN

typedef struct _WSANETWORKEVENTS {
    LONG lNetworkEvents;
    int iErrorCode[FD_MAX_EVENTS];
} WSANETWORKEVENTS, *LPWSANETWORKEVENTS;
WIRESTAMP_SIZE(WSANETWORKEVENTS, 44);

/* Makes the socket non-blocking; `events` 0 undoes the selection, and FIONBIO is allowed again. */
int WSAAPI WSAEventSelect(SOCKET s, HANDLE event, LONG events);
/* Resets `event`, if it is not NULL. */
int WSAAPI WSAEnumNetworkEvents(SOCKET s, HANDLE event, LPWSANETWORKEVENTS events);

WIRESTAMP_END

#endif
