/* The network events of a socket, and sends that wait for room. */
#ifndef _WIN32
#define _GNU_SOURCE
#include <sched.h>
#endif
#include "sockets.h"

static LONG taken(SOCKET s, HANDLE event)
{
    WSANETWORKEVENTS found;
    int i;
    memset(&found, 0xEE, sizeof(found));
    CHECK_EQUAL(code(WSAEnumNetworkEvents(s, event, &found)), 0);
    for (i = 0; i < FD_MAX_EVENTS; i++) CHECK_EQUAL(found.iErrorCode[i], 0);
    return found.lNetworkEvents;
}

static DWORD waited(HANDLE event, DWORD milliseconds)
{
    return WSAWaitForMultipleEvents(1, &event, TRUE, milliseconds, FALSE);
}


static void a_datagram_is_one_event_until_it_is_received(SOCKET s, SOCKET from)
{
    HANDLE event = WSACreateEvent();
    char data[8];
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_READ | FD_CLOSE)), 0);
    CHECK_EQUAL(waited(event, 20), WSA_WAIT_TIMEOUT);
    CHECK_EQUAL(code(recv(s, data, sizeof(data), 0)), WSAEWOULDBLOCK); /* it is non-blocking now */
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(waited(event, 10000), WSA_WAIT_EVENT_0);
    CHECK_EQUAL(taken(s, event), FD_READ);
    CHECK_EQUAL(waited(event, 20), WSA_WAIT_TIMEOUT); /* reset, and not set again for the same datagram */
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(waited(event, 20), WSA_WAIT_TIMEOUT); /* nor for the next, before a receive */
    CHECK_EQUAL(recv(s, data, sizeof(data), 0), 8);
    CHECK_EQUAL(waited(event, 10000), WSA_WAIT_EVENT_0); /* one is left */
    CHECK_EQUAL(taken(s, NULL), FD_READ);
    CHECK_EQUAL(waited(event, 0), WSA_WAIT_EVENT_0); /* NULL resets nothing */
    CHECK(WSAResetEvent(event));
    CHECK_EQUAL(recv(s, data, sizeof(data), 0), 8);
    CHECK_EQUAL(waited(event, 20), WSA_WAIT_TIMEOUT);
    CHECK_EQUAL(taken(s, event), 0);
}

static void datagrams_are_events(void)
{
    SOCKET s, from;
    start();
    s = open_udp(), from = open_udp();
    a_datagram_is_one_event_until_it_is_received(s, from);
}

static void simulated_datagrams_are_events(void)
{
    SOCKET s, from;
    start();
    s = open_on(L"sim0"), from = open_on(L"sim1");
    a_datagram_is_one_event_until_it_is_received(s, from);
}

static void a_datagram_that_waits_already_is_an_event(void)
{
    SOCKET s, from;
    HANDLE event = WSACreateEvent(), other = WSACreateEvent();
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_READ)), 0);
    CHECK_EQUAL(waited(event, 10000), WSA_WAIT_EVENT_0);
    CHECK_EQUAL(code(WSAEventSelect(s, other, FD_READ)), 0); /* the new one replaces it, and begins anew */
    CHECK_EQUAL(waited(other, 10000), WSA_WAIT_EVENT_0);
    CHECK_EQUAL(taken(s, other), FD_READ);
}

static void writing_is_possible_at_once(void)
{
    SOCKET s = INVALID_SOCKET;
    HANDLE event = WSACreateEvent();
    start();
    s = open_udp();
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_WRITE)), 0);
    CHECK_EQUAL(waited(event, 0), WSA_WAIT_EVENT_0);
    CHECK_EQUAL(taken(s, event), FD_WRITE);
    CHECK_EQUAL(send_plain(s, s), 0);
    CHECK_EQUAL(waited(event, 20), WSA_WAIT_TIMEOUT);
    CHECK_EQUAL(taken(s, event), 0); /* reading was not asked for */
}

/* As a program does that sends by events: it sends until there is no room, and goes on when the event says so. */
static void room_after_none_is_an_event(void)
{
    SOCKET s, to;
    HANDLE event = WSACreateEvent();
    int i, full = 0, answer;
    start();
    s = open_on(L"sim0"), to = open_on(L"sim1");
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_WRITE)), 0);
    CHECK_EQUAL(taken(s, event), FD_WRITE);
    for (i = 0; i < 20;) {
        answer = send_plain(s, to);
        if (answer == 0) {
            i++;
            continue;
        }
        CHECK_EQUAL(answer, WSAEWOULDBLOCK);
        full++;
        CHECK_EQUAL(waited(event, 10000), WSA_WAIT_EVENT_0);
        CHECK_EQUAL(taken(s, event), FD_WRITE);
    }
    CHECK(full > 0);
    CHECK_EQUAL(waited(event, 20), WSA_WAIT_TIMEOUT);
}

#ifndef _WIN32
/* Gives this process a loopback interface of its own, which sends so many kbit/s after the first 1,600 bytes. Ends the case
 * where that can't be had. */
static void have_a_slow_loopback(int kilobits)
{
    char command[100];
    if (unshare(CLONE_NEWNET) != 0) SKIP("no network namespace can be made");
    if (system("ip link set lo up") != 0) SKIP("no ip(8)");
    sprintf(command, "tc qdisc add dev lo root tbf rate %dkbit burst 1600 limit 100000", kilobits);
    if (system(command) != 0) SKIP("no token bucket filter by tc(8)");
}

/* What the kernel has of timestamps looks like room, to a poll. */
static void room_is_an_event_once_there_is_some(void)
{
    SOCKET s, to;
    HANDLE event = WSACreateEvent();
    DWORD size = 1;
    UINT64 timestamp;
    int answer = 0, i;
    have_a_slow_loopback(16);
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(setsockopt(s, SOL_SOCKET, SO_SNDBUF, (char *)&size, sizeof(size)), 0);
    CHECK_EQUAL(configure(s, TIMESTAMPING_FLAG_TX, 1000), 0);
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_WRITE)), 0);
    CHECK_EQUAL(taken(s, event), FD_WRITE);
    CHECK_EQUAL(send_id(s, to, 1), 0); /* leaves at once: its timestamp waits */
    for (i = 0; i < 1000 && answer == 0; i++) answer = send_with(s, to, 200, NULL, 0);
    CHECK_EQUAL(answer, WSAEWOULDBLOCK);
    CHECK_EQUAL(waited(event, 30000), WSA_WAIT_EVENT_0);
    CHECK_EQUAL(taken(s, event), FD_WRITE);
    CHECK_EQUAL(send_plain(s, to), 0);
    CHECK_EQUAL(fetch(s, 1, &timestamp), 0);
}

/* The first datagram leaves at once, and the answer that nobody is there is the first in the queue, 4 s behind it. By then a
 * send waits, which has to wait longer for room. */
static void an_error_ends_a_send_that_waits_for_room(void)
{
    static char data[1480];
    SOCKET s, gone;
    SOCKADDR_STORAGE peer;
    DWORD size = 1;
    ULONG nonblocking = 1;
    int answer = 0, i, length;
    have_a_slow_loopback(1);
    start();
    s = open_udp(), gone = open_udp();
    peer = name_of(gone, &length);
    CHECK_EQUAL(code(connect(s, (SOCKADDR *)&peer, length)), 0);
    CHECK_EQUAL(closesocket(gone), 0);
    CHECK_EQUAL(setsockopt(s, SOL_SOCKET, SO_SNDBUF, (char *)&size, sizeof(size)), 0);
    CHECK_EQUAL(send(s, data, sizeof(data), 0), (int)sizeof(data));
    CHECK_EQUAL(ioctlsocket(s, FIONBIO, &nonblocking), 0);
    for (i = 0; i < 1000 && answer == 0; i++) answer = send(s, data, 200, 0) == 200 ? 0 : WSAGetLastError();
    CHECK_EQUAL(answer, WSAEWOULDBLOCK);
    nonblocking = 0;
    CHECK_EQUAL(ioctlsocket(s, FIONBIO, &nonblocking), 0);
    CHECK_EQUAL(code(send(s, data, 200, 0)), WSAECONNRESET);
}
#endif

static void nothing_is_selected_any_more(void)
{
    SOCKET s, from;
    ULONG off = 0;
    HANDLE event = WSACreateEvent();
    char data[8];
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_READ)), 0);
    CHECK_EQUAL(code(ioctlsocket(s, FIONBIO, &off)), WSAEINVAL);
    CHECK_EQUAL(code(WSAEventSelect(s, NULL, 0)), 0);
    CHECK_EQUAL(code(recv(s, data, sizeof(data), 0)), WSAEWOULDBLOCK); /* it stays non-blocking */
    CHECK_EQUAL(code(ioctlsocket(s, FIONBIO, &off)), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(waited(event, 20), WSA_WAIT_TIMEOUT);
    CHECK_EQUAL(recv(s, data, sizeof(data), 0), 8);
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_READ)), 0); /* and it can be selected again */
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(waited(event, 10000), WSA_WAIT_EVENT_0);
}

/* Bound after the selection, as a program may; with a simulation the socket has no place before. */
static void a_socket_is_selected_before_it_is_bound(void)
{
    SOCKET s, from;
    SOCKADDR_IN address;
    HANDLE event = WSACreateEvent();
    start();
    from = open_udp();
    s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_READ)), 0);
    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQUAL(code(bind(s, (SOCKADDR *)&address, sizeof(address))), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(waited(event, 10000), WSA_WAIT_EVENT_0);
}

static void wrong_arguments_are_refused(void)
{
    SOCKET s, stream;
    WSANETWORKEVENTS found;
    HANDLE event = WSACreateEvent();
    start();
    s = open_udp();
    stream = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    CHECK_EQUAL(code(WSAEventSelect(s, NULL, FD_READ)), WSAEINVAL);
    CHECK_EQUAL(code(WSAEventSelect(s, event, 1 << FD_MAX_EVENTS)), WSAEINVAL);
    CHECK_EQUAL(code(WSAEventSelect(stream, event, FD_READ)), WSAEOPNOTSUPP);
    CHECK_EQUAL(code(WSAEnumNetworkEvents(s, event, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSAEventSelect(s, (HANDLE)s, FD_READ)), WSAEINVAL); /* no event: it would never be set */
    CHECK_EQUAL(code(WSAEnumNetworkEvents(s, (HANDLE)s, &found)), WSAENOTSOCK);
    CHECK(WSACloseEvent(event));
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_READ)), WSAEINVAL);
    CHECK_EQUAL(code(WSAEventSelect(s, event, 0)), 0); /* it is not looked at */
    CHECK_EQUAL(closesocket(s), 0);
    CHECK_EQUAL(code(WSAEventSelect(s, event, FD_READ)), WSAENOTSOCK);
    CHECK_EQUAL(code(WSAEnumNetworkEvents(s, event, &found)), WSAENOTSOCK);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(datagrams_are_events),
    { "simulated_datagrams_are_events", simulated_datagrams_are_events, "WIRESTAMP_SIM=windows-modern" },
    ROW(a_datagram_that_waits_already_is_an_event),
    ROW(writing_is_possible_at_once),
    { "room_after_none_is_an_event", room_after_none_is_an_event, "WIRESTAMP_SIM=" TESTS "/no_room.toml" },
#ifndef _WIN32
    ROW(room_is_an_event_once_there_is_some),
    ROW(an_error_ends_a_send_that_waits_for_room),
#endif
    ROW(nothing_is_selected_any_more),
    ROW(a_socket_is_selected_before_it_is_bound),
    { "a_socket_is_selected_before_it_has_a_place", a_socket_is_selected_before_it_is_bound,
      "WIRESTAMP_SIM=windows-modern" },
    ROW(wrong_arguments_are_refused),
};
RUN_TESTS(tests)
