/* Wrong arguments of the calls that configure, send and fetch, and the order in which they are checked. */
#define ROWS_ON_SIM0
#include "sockets.h"

enum { RX = TIMESTAMPING_FLAG_RX, TX = TIMESTAMPING_FLAG_TX };

static int control(SOCKET s, DWORD ioctl, void *in, DWORD in_size, void *out, DWORD out_size)
{
    DWORD got = 0;
    return code(WSAIoctl(s, ioctl, in, in_size, out, out_size, &got, NULL, NULL));
}

static VOID CALLBACK never(DWORD error, DWORD bytes, LPWSAOVERLAPPED overlapped, DWORD flags)
{
    (void)error, (void)bytes, (void)overlapped, (void)flags;
    abort();
}

static void nothing_works_before_startup(void)
{
    TIMESTAMPING_CONFIG config = { RX, 0 };
    CHECK_EQUAL(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP), INVALID_SOCKET);
    CHECK_EQUAL(WSAGetLastError(), WSANOTINITIALISED);
    CHECK_EQUAL(control(4, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0), WSANOTINITIALISED);
    CHECK_EQUAL(code(closesocket(4)), WSANOTINITIALISED);
    CHECK_EQUAL(code(WSACleanup()), WSANOTINITIALISED);
}

static void what_is_no_socket_is_refused(void)
{
    TIMESTAMPING_CONFIG config = { RX, 0 };
    UINT64 timestamp;
    UINT32 id = 1;
    HANDLE event;
    SOCKET closed;
    start();
    event = CreateEvent(NULL, TRUE, FALSE, NULL);
    closed = open_udp();
    CHECK_EQUAL(closesocket(closed), 0);
    CHECK_EQUAL(control(INVALID_SOCKET, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0), WSAENOTSOCK);
    CHECK_EQUAL(control(0, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0), WSAENOTSOCK);
    CHECK_EQUAL(control((SOCKET)event, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0), WSAENOTSOCK);
    CHECK_EQUAL(control(closed, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0), WSAENOTSOCK);
    CHECK_EQUAL(control(closed, SIO_GET_TX_TIMESTAMP, &id, sizeof(id), &timestamp, sizeof(timestamp)), WSAENOTSOCK);
    CHECK_EQUAL(code(closesocket(closed)), WSAENOTSOCK);
    CHECK_EQUAL(code(WSASendMsg(closed, NULL, 0, NULL, NULL, NULL)), WSAENOTSOCK);
    CHECK(CloseHandle(event));
}

static void a_stream_socket_is_refused(void)
{
    SOCKET s;
    UINT64 timestamp;
    start();
    s = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    CHECK(s != INVALID_SOCKET);
    CHECK_EQUAL(configure(s, RX, 0), WSAEOPNOTSUPP);
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEOPNOTSUPP);
}

static void an_unknown_code_is_refused(void)
{
    SOCKET s;
    char bytes[64] = "";
    start();
    s = open_udp();
    CHECK_EQUAL(control(s, _WSAIOW(IOC_VENDOR, 999), bytes, 64, bytes, 64), WSAEOPNOTSUPP);
    CHECK_EQUAL(control(s, 0, bytes, 64, bytes, 64), WSAEOPNOTSUPP);
}

static void a_completion_routine_is_refused(void)
{
    SOCKET s;
    TIMESTAMPING_CONFIG config = { RX, 0 };
    DWORD got;
    WSAOVERLAPPED overlapped;
    start();
    s = open_udp();
    memset(&overlapped, 0, sizeof(overlapped));
    CHECK_EQUAL(
        code(WSAIoctl(s, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0, &got, &overlapped, never)), WSAEINVAL);
}

static void a_place_for_the_length_is_needed(void)
{
    SOCKET s;
    TIMESTAMPING_CONFIG config = { RX, 0 };
    WSAOVERLAPPED overlapped;
    start();
    s = open_udp();
    memset(&overlapped, 0, sizeof(overlapped));
    CHECK_EQUAL(code(WSAIoctl(s, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0, NULL, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSAIoctl(s, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0, NULL, &overlapped, NULL)), 0);
}

static void a_short_or_missing_configuration_is_a_fault(void)
{
    SOCKET s;
    TIMESTAMPING_CONFIG config[2] = { { RX, 0 }, { 0xFFFFFFFF, 0xFFFF } };
    start();
    s = open_udp();
    CHECK_EQUAL(control(s, SIO_TIMESTAMPING, NULL, sizeof(*config), NULL, 0), WSAEFAULT);
    CHECK_EQUAL(control(s, SIO_TIMESTAMPING, NULL, 0, NULL, 0), WSAEFAULT);
    CHECK_EQUAL(control(s, SIO_TIMESTAMPING, config, 7, NULL, 0), WSAEFAULT);
    CHECK_EQUAL(control(s, SIO_TIMESTAMPING, config, 0, NULL, 0), WSAEFAULT);
    CHECK_EQUAL(control(s, SIO_TIMESTAMPING, config, sizeof(config), NULL, 0), 0);
}

/* Any alignment is read. */
static void a_misaligned_configuration_is_read(void)
{
    SOCKET s;
    char bytes[16] = { 0 };
    UINT64 timestamp;
    start();
    s = open_udp();
    bytes[1] = TX;
    CHECK_EQUAL(control(s, SIO_TIMESTAMPING, bytes + 1, 8, NULL, 0), 0);
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEWOULDBLOCK);
}

static void unknown_flags_change_nothing(void)
{
    SOCKET s, from;
    UINT64 timestamp;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(configure(s, 4 | TX, 8), WSAEINVAL);
    CHECK_EQUAL(configure(s, 0x80000000u, 8), WSAEINVAL);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(receive(s).timestamps, 1);
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEOPNOTSUPP);
}

static void a_faulty_fetch_takes_no_timestamp(void)
{
    SOCKET s, to;
    UINT32 id[2] = { 1, 99 };
    UINT64 timestamp[2];
    DWORD got = 0;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    Sleep(50);
    CHECK_EQUAL(control(s, SIO_GET_TX_TIMESTAMP, id, 3, timestamp, 8), WSAEFAULT);
    CHECK_EQUAL(control(s, SIO_GET_TX_TIMESTAMP, NULL, 4, timestamp, 8), WSAEFAULT);
    CHECK_EQUAL(control(s, SIO_GET_TX_TIMESTAMP, id, 4, timestamp, 7), WSAEFAULT);
    CHECK_EQUAL(control(s, SIO_GET_TX_TIMESTAMP, id, 4, NULL, 8), WSAEFAULT);
    CHECK_EQUAL(code(WSAIoctl(s, SIO_GET_TX_TIMESTAMP, id, 4, timestamp, 8, NULL, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSAIoctl(s, SIO_GET_TX_TIMESTAMP, id, 8, timestamp, 16, &got, NULL, NULL)), 0);
    CHECK_EQUAL(got, 8);
}

static void an_extension_that_is_not_there_is_refused(void)
{
    SOCKET s;
    GUID unknown = { 1, 2, 3, { 4, 5, 6, 7, 8, 9, 10, 11 } }, known = WSAID_WSARECVMSG;
    void *function = NULL;
    start();
    s = open_udp();
    CHECK_EQUAL(control(s, SIO_GET_EXTENSION_FUNCTION_POINTER, &unknown, 16, &function, 8), WSAEINVAL);
    CHECK_EQUAL(control(s, SIO_GET_EXTENSION_FUNCTION_POINTER, &known, 15, &function, 8), WSAEFAULT);
    CHECK_EQUAL(control(s, SIO_GET_EXTENSION_FUNCTION_POINTER, &known, 16, &function, 7), WSAEFAULT);
    CHECK(function == NULL);
}

/* Each of these is refused, and nothing is sent. */
static void faulty_control_messages_send_nothing(void)
{
    SOCKET s, to;
    UINT32 id = 1;
    ULONG64 bytes[8] = { 0 };
    ULONG one;
    WSACMSGHDR header;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);

    one = put_control(bytes, SOL_SOCKET, SO_TIMESTAMP_ID, &id, 2);
    CHECK_EQUAL(send_with(s, to, 8, bytes, one), WSAEINVAL);
    one = put_control(bytes, SOL_SOCKET, SO_TIMESTAMP_ID, bytes + 4, 8);
    CHECK_EQUAL(send_with(s, to, 8, bytes, one), WSAEINVAL);
    one = put_control(bytes, SOL_SOCKET, SO_TIMESTAMP_ID, &id, 4);
    put_control((char *)bytes + one, SOL_SOCKET, SO_TIMESTAMP_ID, &id, 4);
    CHECK_EQUAL(send_with(s, to, 8, bytes, 2 * one), WSAEINVAL);
    memcpy(&header, bytes, sizeof(header));
    header.cmsg_len = 15;
    memcpy(bytes, &header, sizeof(header));
    CHECK_EQUAL(send_with(s, to, 8, bytes, one), WSAEINVAL);
    header.cmsg_len = (SIZE_T)-1;
    memcpy(bytes, &header, sizeof(header));
    CHECK_EQUAL(send_with(s, to, 8, bytes, one), WSAEINVAL);
    header.cmsg_len = one + 1;
    memcpy(bytes, &header, sizeof(header));
    CHECK_EQUAL(send_with(s, to, 8, bytes, one), WSAEINVAL);
    CHECK_EQUAL(send_with(s, to, 8, NULL, 24), WSAEFAULT);

    wait_at_most(to, 100);
    CHECK_EQUAL(receive(to).error, WSAETIMEDOUT);
}

static void an_unknown_control_message_is_ignored(void)
{
    SOCKET s, to;
    UINT32 id = 1;
    UINT64 timestamp;
    ULONG64 bytes[8] = { 0 };
    ULONG length;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    length = put_control(bytes, SOL_SOCKET, 0x7777, &id, 4);
    length += put_control((char *)bytes + length, SOL_SOCKET, SO_TIMESTAMP_ID, &id, 4);
    CHECK_EQUAL(send_with(s, to, 8, bytes, length), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &timestamp), 0);
    CHECK_EQUAL(receive(to).bytes, 8);
}

static void a_message_without_parts_is_a_fault(void)
{
    SOCKET s, to;
    SOCKADDR_STORAGE name;
    int length;
    WSABUF buffer = { 8, NULL };
    WSAMSG message;
    DWORD sent;
    start();
    s = open_udp(), to = open_udp();
    name = name_of(to, &length);
    memset(&message, 0, sizeof(message));
    CHECK_EQUAL(code(WSASendMsg(s, NULL, 0, &sent, NULL, NULL)), WSAEFAULT);
    message.name = (SOCKADDR *)&name;
    message.namelen = length;
    message.dwBufferCount = 1;
    CHECK_EQUAL(code(WSASendMsg(s, &message, 0, &sent, NULL, NULL)), WSAEFAULT);
    message.lpBuffers = &buffer;
    CHECK_EQUAL(code(WSASendMsg(s, &message, 0, &sent, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSASendMsg(s, &message, 0, &sent, NULL, never)), WSAEINVAL);
}

static void a_datagram_that_is_too_long_is_refused(void)
{
    SOCKET s, to;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(send_with(s, to, 65508, NULL, 0), WSAEMSGSIZE);
    CHECK_EQUAL(send_with(s, to, 65507, NULL, 0), 0);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(nothing_works_before_startup),
    { "what_is_no_socket_is_refused", what_is_no_socket_is_refused, OF_LINUX },
    ROW(a_stream_socket_is_refused),
    ROW(an_unknown_code_is_refused),
    ROW(a_completion_routine_is_refused),
    ROW(a_place_for_the_length_is_needed),
    ROW(a_short_or_missing_configuration_is_a_fault),
    ROW(a_misaligned_configuration_is_read),
    ROW(unknown_flags_change_nothing),
    ROW(a_faulty_fetch_takes_no_timestamp),
    { "an_extension_that_is_not_there_is_refused", an_extension_that_is_not_there_is_refused, OF_LINUX },
    ROW(faulty_control_messages_send_nothing),
    ROW(an_unknown_control_message_is_ignored),
    ROW(a_message_without_parts_is_a_fault),
    ROW(a_datagram_that_is_too_long_is_refused),
};
RUN_TESTS(tests)
