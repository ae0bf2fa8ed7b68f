/* Receives a datagram together with its receive timestamp. */
#ifndef RECEIVING_H
#define RECEIVING_H

#include "setting.h"

static inline void ask_for_receive_timestamps(SOCKET s) { configure_timestamps(s, TIMESTAMPING_FLAG_RX, 0); }

/* Waits for a datagram. FALSE: it came without a timestamp. `*arrived`: the counter when it was in our hands. */
static inline BOOL receive_with_timestamp(SOCKET s, LPFN_WSARECVMSG receive, ULONG64 *timestamp, ULONG64 *arrived)
{
    char payload[512], control[WSA_CMSG_SPACE(sizeof(UINT64))];
    WSABUF buffer;
    WSAMSG message;
    PWSACMSGHDR header;
    DWORD got;

    memset(&message, 0, sizeof(message));
    buffer.buf = payload;
    buffer.len = sizeof(payload);
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    message.Control.buf = control;
    message.Control.len = sizeof(control);
    check(receive(s, &message, &got, NULL, NULL) == 0, "WSARecvMsg", (DWORD)WSAGetLastError());
    *arrived = counter_now();
    for (header = WSA_CMSG_FIRSTHDR(&message); header != NULL; header = WSA_CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SO_TIMESTAMP) continue;
        memcpy(timestamp, WSA_CMSG_DATA(header), sizeof(*timestamp));
        return *timestamp != 0; /* 0: the driver made none for this datagram */
    }
    return FALSE;
}

#endif
