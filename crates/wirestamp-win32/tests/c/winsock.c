/* Winsock around the timestamps: startup, options, sending and receiving without timestamps. */
#define ROWS_ON_SIM0
#include "sockets.h"

static void startup_negotiates_its_version(void)
{
    WSADATA data;
    memset(&data, 0xA5, sizeof(data));
    CHECK_EQUAL(WSAStartup(MAKEWORD(2, 2), &data), 0);
    CHECK_EQUAL(data.wVersion, MAKEWORD(2, 2));
    CHECK_EQUAL(data.wHighVersion, MAKEWORD(2, 2));
    CHECK(memchr(data.szDescription, 0, sizeof(data.szDescription)) != NULL);
    CHECK_EQUAL(WSAStartup(MAKEWORD(9, 9), &data), 0);
    CHECK_EQUAL(data.wVersion, MAKEWORD(2, 2));
    CHECK_EQUAL(WSAStartup(MAKEWORD(0, 0), &data), WSAVERNOTSUPPORTED);
    CHECK_EQUAL(WSAStartup(MAKEWORD(2, 2), NULL), WSAEFAULT);
}

static void cleanups_are_counted(void)
{
    SOCKET s;
    start();
    start();
    CHECK_EQUAL(WSACleanup(), 0);
    s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    CHECK(s != INVALID_SOCKET);
    CHECK_EQUAL(closesocket(s), 0);
    CHECK_EQUAL(WSACleanup(), 0);
    CHECK_EQUAL(code(WSACleanup()), WSANOTINITIALISED);
    CHECK_EQUAL(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP), INVALID_SOCKET);
}

static void unknown_kinds_of_socket_are_refused(void)
{
    SOCKET s;
    start();
    CHECK_EQUAL(socket(99, SOCK_DGRAM, IPPROTO_UDP), INVALID_SOCKET);
    CHECK_EQUAL(WSAGetLastError(), WSAEAFNOSUPPORT);
    CHECK_EQUAL(socket(AF_INET, 99, 0), INVALID_SOCKET);
    CHECK_EQUAL(WSAGetLastError(), WSAESOCKTNOSUPPORT);
    s = WSASocketW(AF_INET, SOCK_DGRAM, IPPROTO_UDP, NULL, 0, WSA_FLAG_OVERLAPPED);
    CHECK(s != INVALID_SOCKET);
    CHECK_EQUAL(closesocket(s), 0);
    s = WSASocketA(AF_INET6, SOCK_DGRAM, 0, NULL, 0, 0);
    CHECK(s != INVALID_SOCKET);
    CHECK_EQUAL(closesocket(s), 0);
}

static void an_address_is_used_once(void)
{
    SOCKET first, second;
    SOCKADDR_STORAGE name;
    SOCKADDR_IN nowhere;
    int length;
    start();
    first = open_udp();
    name = name_of(first, &length);
    CHECK_EQUAL(length, sizeof(SOCKADDR_IN));
    second = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    CHECK_EQUAL(code(bind(second, (SOCKADDR *)&name, length)), WSAEADDRINUSE);
    CHECK_EQUAL(code(bind(second, (SOCKADDR *)&name, 15)), WSAEFAULT);
    CHECK_EQUAL(code(bind(second, NULL, 16)), WSAEFAULT);
    memset(&nowhere, 0, sizeof(nowhere));
    nowhere.sin_family = AF_INET;
    nowhere.sin_addr.s_addr = htonl(0xC6336405); /* 198.51.100.5, of nobody */
    CHECK_EQUAL(code(bind(second, (SOCKADDR *)&nowhere, sizeof(nowhere))), WSAEADDRNOTAVAIL);
    CHECK_EQUAL(code(getsockname(second, (SOCKADDR *)&name, &length)), WSAEINVAL);
    CHECK_EQUAL(code(bind(first, (SOCKADDR *)&nowhere, sizeof(nowhere))), WSAEINVAL);
    length = 4;
    CHECK_EQUAL(code(getsockname(first, (SOCKADDR *)&name, &length)), WSAEFAULT);
}

static void datagrams_go_both_ways(void)
{
    SOCKET one, other;
    SOCKADDR_STORAGE name, from;
    int length, from_length = sizeof(from);
    char data[8];
    start();
    one = open_udp(), other = open_udp();
    name = name_of(other, &length);
    CHECK_EQUAL(sendto(one, "abc", 4, 0, (SOCKADDR *)&name, length), 4);
    CHECK_EQUAL(recvfrom(other, data, 8, 0, (SOCKADDR *)&from, &from_length), 4);
    CHECK(strcmp(data, "abc") == 0);
    CHECK_EQUAL(code(connect(other, (SOCKADDR *)&from, from_length)), 0);
    CHECK_EQUAL(send(other, "de", 3, 0), 3);
    CHECK_EQUAL(recv(one, data, 8, MSG_PEEK), 3);
    CHECK_EQUAL(recv(one, data, 8, 0), 3);
    CHECK(strcmp(data, "de") == 0);
    from_length = sizeof(from);
    CHECK_EQUAL(code(getpeername(other, (SOCKADDR *)&from, &from_length)), 0);
    CHECK_EQUAL(code(getpeername(one, (SOCKADDR *)&from, &from_length)), WSAENOTCONN);
    CHECK_EQUAL(code(send(one, "x", 1, 0)), WSAENOTCONN);
    CHECK_EQUAL(sendto(one, "abcdefgh", 8, 0, (SOCKADDR *)&name, length), 8);
    CHECK_EQUAL(code(recv(other, data, 4, 0)), WSAEMSGSIZE);
}

static void the_waiting_length_is_told(void)
{
    SOCKET one, other;
    ULONG waiting = 77;
    start();
    one = open_udp(), other = open_udp();
    CHECK_EQUAL(code(ioctlsocket(other, FIONREAD, &waiting)), 0);
    CHECK_EQUAL(waiting, 0);
    CHECK_EQUAL(send_plain(one, other), 0);
    CHECK_EQUAL(code(ioctlsocket(other, FIONREAD, &waiting)), 0);
    CHECK_EQUAL(waiting, 8);
    CHECK_EQUAL(code(ioctlsocket(other, 12345, &waiting)), WSAEOPNOTSUPP);
    CHECK_EQUAL(code(ioctlsocket(other, FIONREAD, NULL)), WSAEFAULT);
}

static int option(SOCKET s, int level, int name)
{
    int value = -1, length = sizeof(value);
    CHECK_EQUAL(code(getsockopt(s, level, name, (char *)&value, &length)), 0);
    return value;
}

static void options_are_read_back(void)
{
    SOCKET s, six;
    DWORD value = 1234;
    int length = sizeof(value);
    start();
    s = open_udp();
    CHECK_EQUAL(option(s, SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
    CHECK_EQUAL(option(s, SOL_SOCKET, SO_RCVTIMEO), 10000);
    wait_at_most(s, 1234);
    CHECK_EQUAL(option(s, SOL_SOCKET, SO_RCVTIMEO), 1234);
    CHECK_EQUAL(option(s, SOL_SOCKET, SO_REUSEADDR), 0);
    value = 1;
    CHECK_EQUAL(code(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, (char *)&value, sizeof(value))), 0);
    CHECK_EQUAL(option(s, SOL_SOCKET, SO_REUSEADDR), 1);
    value = 65536;
    CHECK_EQUAL(code(setsockopt(s, SOL_SOCKET, SO_RCVBUF, (char *)&value, sizeof(value))), 0);
    CHECK(option(s, SOL_SOCKET, SO_RCVBUF) >= 65536);
    value = 7;
    CHECK_EQUAL(code(setsockopt(s, IPPROTO_IP, IP_TTL, (char *)&value, sizeof(value))), 0);
    CHECK_EQUAL(option(s, IPPROTO_IP, IP_TTL), 7);
    six = socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);
#ifndef _WIN32 /* Wine writes one byte */
    CHECK_EQUAL(option(six, IPPROTO_IPV6, IPV6_V6ONLY), 1);
#else
    CHECK(six != INVALID_SOCKET);
#endif

    CHECK_EQUAL(code(getsockopt(s, SOL_SOCKET, 0x7777, (char *)&value, &length)), WSAENOPROTOOPT);
    CHECK_EQUAL(code(setsockopt(s, SOL_SOCKET, 0x7777, (char *)&value, 4)), WSAENOPROTOOPT);
    CHECK_EQUAL(code(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, NULL, 4)), WSAEFAULT);
    CHECK_EQUAL(code(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, (char *)&value, 1)), WSAEFAULT);
    CHECK_EQUAL(code(getsockopt(s, SOL_SOCKET, SO_RCVTIMEO, NULL, &length)), WSAEFAULT);
    CHECK_EQUAL(code(getsockopt(s, SOL_SOCKET, SO_RCVTIMEO, (char *)&value, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(getsockopt(INVALID_SOCKET, SOL_SOCKET, SO_TYPE, (char *)&value, &length)), WSAENOTSOCK);
}

static void sockets_are_not_file_descriptors(void)
{
    SOCKET s;
    char data[8];
    start();
    s = open_udp();
    CHECK(s != 0 && s % 4 == 0);
    CHECK_EQUAL(code(closesocket(s + 1)), WSAENOTSOCK);
#ifdef _WIN32
    (void)data;
#else
    CHECK_EQUAL(wirestamp_libc_recv((int)s, data, 8, 0), -1);
#endif
    CHECK_EQUAL(closesocket(s), 0);
}

static void shutdown_ends_a_direction(void)
{
    SOCKET s, to;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(code(shutdown(s, 99)), WSAEINVAL);
    CHECK_EQUAL(code(shutdown(s, SD_SEND)), 0);
    CHECK_EQUAL(send_plain(s, to), WSAESHUTDOWN);
}

#ifdef CMSG_FIRSTHDR /* not in mingw-w64's headers */
static void control_messages_by_the_shorter_names(void)
{
    ULONG64 control[8];
    WSAMSG message;
    LPWSACMSGHDR each;
    UINT32 id = 7;
    int seen = 0;
    memset(&message, 0, sizeof(message));
    message.Control.buf = (char *)control;
    message.Control.len = put_control(control, SOL_SOCKET, SO_TIMESTAMP_ID, &id, sizeof(id));
    message.Control.len += put_control(control + 3, IPPROTO_IP, IP_TTL, &id, sizeof(id));
    CHECK_EQUAL(message.Control.len, 2 * CMSG_SPACE(sizeof(id)));
    for (each = CMSG_FIRSTHDR(&message); each != NULL; each = CMSG_NXTHDR(&message, each)) {
        CHECK_EQUAL(each->cmsg_len, CMSG_LEN(sizeof(id)));
        CHECK(memcmp(WSA_CMSG_DATA(each), &id, sizeof(id)) == 0);
        seen++;
    }
    CHECK_EQUAL(seen, 2);
}
#endif

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(startup_negotiates_its_version),
    ROW(cleanups_are_counted),
    ROW(unknown_kinds_of_socket_are_refused),
    ROW(an_address_is_used_once),
    ROW(datagrams_go_both_ways),
    ROW(the_waiting_length_is_told),
    ROW(options_are_read_back),
    ROW(sockets_are_not_file_descriptors),
    ROW(shutdown_ends_a_direction),
#ifdef CMSG_FIRSTHDR
    ROW(control_messages_by_the_shorter_names),
#endif
};
RUN_TESTS(tests)
