/* What waits, completions and interfaces answer: as facts_sockets.h. */
#ifndef FACTS_WAITS_H
#define FACTS_WAITS_H

#include "facts_sockets.h"

static int select_nothing(void)
{
    struct timeval none = { 0, 0 };
    return error_of(select(0, NULL, NULL, NULL, &none));
}
static int poll_with(short events, ULONG count)
{
    WSAPOLLFD one;
    one.fd = bound(), one.events = events, one.revents = 0;
    return error_of(WSAPoll(&one, count, 0));
}
static int poll_priority(void) { return poll_with(POLLPRI, 1); }
static int poll_nothing(void) { return poll_with(POLLIN, 0); }
static int blocking_while_selected(void)
{
    u_long off = 0;
    SOCKET s = bound();
    WSAEventSelect(s, WSACreateEvent(), FD_READ);
    return error_of(ioctlsocket(s, FIONBIO, &off));
}
/* The events of a datagram that was left by a receive. */
static int event_again(void)
{
    WSANETWORKEVENTS found;
    HANDLE event = WSACreateEvent();
    SOCKET s = bound();
    WSAEventSelect(s, event, FD_READ);
    send_bytes(s, s, 8);
    send_bytes(s, s, 8);
    WSAWaitForMultipleEvents(1, &event, TRUE, 2000, FALSE);
    WSAEnumNetworkEvents(s, event, &found);
    receive(s, 8, 0);
    WSAWaitForMultipleEvents(1, &event, TRUE, 2000, FALSE);
    WSAEnumNetworkEvents(s, event, &found);
    return (int)found.lNetworkEvents;
}

static WSAOVERLAPPED operation;

static SOCKET with_a_receive(void)
{
    static char data[8];
    static WSABUF buffer;
    static DWORD flags;
    SOCKET s = bound();
    memset(&operation, 0, sizeof(operation));
    flags = 0;
    buffer.buf = data, buffer.len = sizeof(data);
    if (WSARecv(s, &buffer, 1, NULL, &flags, &operation, NULL) == 0 || WSAGetLastError() != WSA_IO_PENDING) abort();
    return s;
}
/* Closed, and asked by HANDLE how its receive has ended. */
static int result_of_closed(void)
{
    DWORD bytes;
    SOCKET s = with_a_receive();
    closesocket(s);
    Sleep(100);
    return GetOverlappedResult((HANDLE)s, &operation, &bytes, FALSE) ? 0 : (int)GetLastError();
}
static HANDLE no_event(void) { return (HANDLE)(ULONG_PTR)0x7FFFFF4; }
static int select_no_event(void) { return error_of(WSAEventSelect(bound(), no_event(), FD_READ)); }
static int enumerate_no_event(void)
{
    WSANETWORKEVENTS found;
    SOCKET s = bound();
    WSAEventSelect(s, WSACreateEvent(), FD_READ);
    return error_of(WSAEnumNetworkEvents(s, no_event(), &found));
}
static int receive_with_no_event(void)
{
    static char data[8];
    WSABUF buffer;
    DWORD flags = 0;
    buffer.buf = data, buffer.len = sizeof(data);
    memset(&operation, 0, sizeof(operation));
    operation.hEvent = no_event();
    return error_of(WSARecv(bound(), &buffer, 1, NULL, &flags, &operation, NULL));
}
static int result_of(SOCKET s)
{
    DWORD bytes, flags;
    return WSAGetOverlappedResult(s, &operation, &bytes, FALSE, &flags) ? 0 : WSAGetLastError();
}
static int result_while_it_waits(void) { return result_of(with_a_receive()); }
static int cancel_nothing(void) { return CancelIoEx((HANDLE)bound(), NULL) ? 0 : (int)GetLastError(); }
static int cancelled(void)
{
    SOCKET s = with_a_receive();
    if (!CancelIoEx((HANDLE)s, &operation)) return (int)GetLastError();
    Sleep(100);
    return result_of(s);
}
static int dequeue(HANDLE port, DWORD milliseconds)
{
    DWORD bytes;
    ULONG_PTR key;
    OVERLAPPED *done;
    return GetQueuedCompletionStatus(port, &bytes, &key, &done, milliseconds) ? 0 : (int)GetLastError();
}
static int dequeue_nothing(void) { return dequeue(CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 0), 10); }
static int dequeue_cut(void)
{
    SOCKET s = with_a_receive();
    HANDLE port = CreateIoCompletionPort((HANDLE)s, NULL, 0, 0);
    send_bytes(s, s, 9);
    return dequeue(port, 2000);
}
static int dequeue_cancelled(void)
{
    SOCKET s = with_a_receive();
    HANDLE port = CreateIoCompletionPort((HANDLE)s, NULL, 0, 0);
    CancelIo((HANDLE)s);
    return dequeue(port, 2000);
}
static int second_port(void)
{
    SOCKET s = bound();
    CreateIoCompletionPort((HANDLE)s, NULL, 0, 0);
    return CreateIoCompletionPort((HANDLE)s, NULL, 0, 0) ? 0 : (int)GetLastError();
}
static int unknown_alias(void)
{
    NET_LUID luid;
    return (int)ConvertInterfaceAliasToLuid(L"no such interface", &luid);
}
static int unknown_index(void)
{
    NET_LUID luid;
    return (int)ConvertInterfaceIndexToLuid(0x7FFFFFF, &luid);
}
static int size_of_the_list(void)
{
    ULONG size = 0;
    return (int)GetAdaptersAddresses(AF_UNSPEC, 0, NULL, NULL, &size);
}
static int unknown_family(void)
{
    char octets[16];
    return inet_pton(99, "127.0.0.1", octets) == -1 ? WSAGetLastError() : 0;
}
static int ticks_a_second(void)
{
    LARGE_INTEGER frequency;
    QueryPerformanceFrequency(&frequency);
    return (int)frequency.QuadPart;
}

#endif
