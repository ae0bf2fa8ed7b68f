/* Transmit timestamps: SIO_TIMESTAMPING with TX, SO_TIMESTAMP_ID, SIO_GET_TX_TIMESTAMP. On the loopback interface, unless
 * a case says otherwise. Wrong arguments: arguments.c. */
#include "sockets.h"

enum { RX = TIMESTAMPING_FLAG_RX, TX = TIMESTAMPING_FLAG_TX };

static void a_timestamp_lies_between_the_send_and_its_fetch(void)
{
    SOCKET s, to;
    UINT64 timestamp = 0, before;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    before = counter();
    CHECK_EQUAL(send_id(s, to, 123), 0);
    CHECK_EQUAL(fetch_soon(s, 123, &timestamp), 0);
    CHECK(before <= timestamp && timestamp <= counter());
}

static void a_fetch_removes_the_timestamp(void)
{
    SOCKET s, to;
    UINT64 timestamp;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &timestamp), 0);
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEWOULDBLOCK);
}

static void timestamps_are_fetched_by_id_in_any_order(void)
{
    SOCKET s, to;
    UINT64 timestamps[3];
    UINT32 id;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    for (id = 0; id < 3; id++) CHECK_EQUAL(send_id(s, to, id == 2 ? 0xFFFFFFFF : id), 0);
    CHECK_EQUAL(fetch_soon(s, 0xFFFFFFFF, &timestamps[2]), 0);
    CHECK_EQUAL(fetch_soon(s, 0, &timestamps[0]), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &timestamps[1]), 0);
    CHECK(timestamps[0] <= timestamps[1] && timestamps[1] <= timestamps[2]);
}

static void an_id_never_sent_would_block(void)
{
    SOCKET s;
    UINT64 timestamp;
    start();
    s = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(fetch(s, 5, &timestamp), WSAEWOULDBLOCK);
}

static void never_enabled_is_not_supported(void)
{
    SOCKET s, to;
    UINT64 timestamp;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEOPNOTSUPP);
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEOPNOTSUPP);
    CHECK_EQUAL(receive(to).bytes, 8);
}

/* Capacity 2, four sent: the newest lose. */
static void a_full_buffer_discards_the_newest(void)
{
    SOCKET s, to;
    UINT64 timestamp;
    UINT32 id;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 2), 0);
    for (id = 1; id <= 4; id++) CHECK_EQUAL(send_id(s, to, id), 0);
    Sleep(50);
    CHECK_EQUAL(fetch(s, 3, &timestamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(fetch(s, 4, &timestamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(fetch(s, 1, &timestamp), 0);
    CHECK_EQUAL(fetch(s, 2, &timestamp), 0);
    CHECK_EQUAL(fetch(s, 3, &timestamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(send_id(s, to, 5), 0);
    CHECK_EQUAL(fetch_soon(s, 5, &timestamp), 0);
}

static void capacity_zero_discards_all(void)
{
    SOCKET s, to;
    UINT64 timestamp;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 0), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    Sleep(50);
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEWOULDBLOCK);
}

static void the_greatest_capacity_is_taken(void)
{
    SOCKET s, to;
    UINT64 timestamp;
    UINT32 id;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 65535), 0);
    for (id = 0; id < 100; id++) CHECK_EQUAL(send_id(s, to, id), 0);
    for (id = 0; id < 100; id++) CHECK_EQUAL(fetch_soon(s, id, &timestamp), 0);
}

static void a_smaller_capacity_keeps_the_oldest(void)
{
    SOCKET s, to;
    UINT64 timestamp;
    UINT32 id;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    for (id = 1; id <= 3; id++) CHECK_EQUAL(send_id(s, to, id), 0);
    Sleep(50);
    CHECK_EQUAL(configure(s, TX, 2), 0);
    CHECK_EQUAL(fetch(s, 1, &timestamp), 0);
    CHECK_EQUAL(fetch(s, 2, &timestamp), 0);
    CHECK_EQUAL(fetch(s, 3, &timestamp), WSAEWOULDBLOCK);
}

/* RX named, TX omitted: TX is off, and what waited is gone. */
static void an_omitted_tx_is_off(void)
{
    SOCKET s, to;
    UINT64 timestamp;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(send_id(s, to, 2), 0);
    CHECK_EQUAL(configure(s, TX | RX, 8), 0);
    Sleep(50);
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(fetch(s, 2, &timestamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(send_id(s, to, 3), 0);
    CHECK_EQUAL(fetch_soon(s, 3, &timestamp), 0);
}

static void an_id_sent_twice_has_two_timestamps(void)
{
    SOCKET s, to;
    UINT64 first, second;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 7), 0);
    Sleep(2);
    CHECK_EQUAL(send_id(s, to, 7), 0);
    CHECK_EQUAL(fetch_soon(s, 7, &first), 0);
    CHECK_EQUAL(fetch_soon(s, 7, &second), 0);
    CHECK(first < second);
    CHECK_EQUAL(fetch(s, 7, &first), WSAEWOULDBLOCK);
}

static void without_an_id_nothing_is_buffered(void)
{
    SOCKET s, to;
    UINT64 timestamp;
    int i;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 1), 0);
    for (i = 0; i < 5; i++) CHECK_EQUAL(send_plain(s, to), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &timestamp), 0);
}

static void sockets_do_not_share_timestamps(void)
{
    SOCKET s, other, to;
    UINT64 timestamp;
    start();
    s = open_udp(), other = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(configure(other, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    Sleep(50);
    CHECK_EQUAL(fetch(other, 1, &timestamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(configure(other, 0, 0), 0);
    CHECK_EQUAL(fetch(s, 1, &timestamp), 0);
}

/* Before bind, and on IPv6. */
static void an_unbound_socket_can_be_configured(void)
{
    SOCKET s, to;
    UINT64 timestamp;
    start();
    s = socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);
    CHECK(s != INVALID_SOCKET);
    to = open_udp6();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &timestamp), 0);
}

static void a_connected_socket_timestamps(void)
{
    SOCKET s, to;
    SOCKADDR_STORAGE name;
    int length;
    UINT64 timestamp;
    UINT32 id = 9;
    ULONG64 control[3];
    char data[4] = "abc";
    WSABUF buffer;
    WSAMSG message;
    DWORD sent;
    start();
    s = open_udp(), to = open_udp();
    name = name_of(to, &length);
    CHECK_EQUAL(code(connect(s, (SOCKADDR *)&name, length)), 0);
    CHECK_EQUAL(configure(s, TX, 8), 0);
    memset(&message, 0, sizeof(message));
    buffer.len = 4;
    buffer.buf = data;
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    message.Control.buf = (char *)control;
    message.Control.len = put_control(control, SOL_SOCKET, SO_TIMESTAMP_ID, &id, sizeof(id));
    message.dwFlags = 0xFFFF; /* not read */
    CHECK_EQUAL(code(WSASendMsg(s, &message, 0, &sent, NULL, NULL)), 0);
    CHECK_EQUAL(fetch_soon(s, 9, &timestamp), 0);
    CHECK(strcmp(receive(to).data, "abc") == 0);
}

static void the_extension_pointer_sends_too(void)
{
    SOCKET s, to;
    GUID id = WSAID_WSASENDMSG;
    LPFN_WSASENDMSG function = NULL;
    DWORD got;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(code(WSAIoctl(s, SIO_GET_EXTENSION_FUNCTION_POINTER, &id, sizeof(id), &function, sizeof(function), &got,
                              NULL, NULL)),
                0);
    CHECK_EQUAL(got, sizeof(function));
    CHECK_EQUAL(code(function(s, NULL, 0, &got, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(send_plain(s, to), 0);
}

/* Answered at once: success fills the OVERLAPPED and sets its event. */
static void an_overlapped_fetch_is_answered_at_once(void)
{
    SOCKET s, to;
    UINT64 timestamp = 0, before;
    UINT32 id = 1;
    DWORD got = 0;
    WSAOVERLAPPED overlapped;
    start();
    s = open_udp(), to = open_udp();
    memset(&overlapped, 0, sizeof(overlapped));
    overlapped.hEvent = WSACreateEvent();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(
        code(WSAIoctl(s, SIO_GET_TX_TIMESTAMP, &id, 4, &timestamp, 8, &got, &overlapped, NULL)), WSAEWOULDBLOCK);
    CHECK_EQUAL(WaitForSingleObject(overlapped.hEvent, 0), WAIT_TIMEOUT);
    before = counter();
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &timestamp), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    Sleep(50);
    CHECK_EQUAL(code(WSAIoctl(s, SIO_GET_TX_TIMESTAMP, &id, 4, &timestamp, 8, NULL, &overlapped, NULL)), 0);
    CHECK_EQUAL(overlapped.Internal, 0);
    CHECK_EQUAL(overlapped.InternalHigh, 8);
    CHECK_EQUAL(WaitForSingleObject(overlapped.hEvent, 0), WAIT_OBJECT_0);
    CHECK(timestamp > before);
    CHECK(CloseHandle(overlapped.hEvent));
}

/* The adapter's own counter, between two readings of it. */
static void a_hardware_timestamp_is_the_adapters_counter(void)
{
    SOCKET s, to;
    NET_LUID luid;
    INTERFACE_HARDWARE_CROSSTIMESTAMP before, after;
    UINT64 timestamp = 0;
    start();
    CHECK_EQUAL(ConvertInterfaceAliasToLuid(L"sim0", &luid), NO_ERROR);
    s = open_on(L"sim0"), to = open_on(L"sim1");
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &before), NO_ERROR);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &timestamp), 0);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &after), NO_ERROR);
    CHECK(before.HardwareClockTimestamp < timestamp && timestamp < after.HardwareClockTimestamp);
}

static void an_adapter_that_never_timestamps_would_block(void)
{
    SOCKET s, to;
    UINT64 timestamp = 0;
    start();
    s = open_on(L"sim0"), to = open_on(L"sim1");
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(receive(to).bytes, 8);
    Sleep(200);
    CHECK_EQUAL(fetch(s, 1, &timestamp), WSAEWOULDBLOCK);
}

static void a_driver_that_attaches_zero_delivers_zero(void)
{
    SOCKET s, to;
    UINT64 timestamp = 5;
    start();
    s = open_on(L"sim0"), to = open_on(L"sim1");
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &timestamp), 0);
    CHECK_EQUAL(timestamp, 0);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(a_timestamp_lies_between_the_send_and_its_fetch),
    ROW(a_fetch_removes_the_timestamp),
    ROW(timestamps_are_fetched_by_id_in_any_order),
    ROW(an_id_never_sent_would_block),
    ROW(never_enabled_is_not_supported),
    ROW(a_full_buffer_discards_the_newest),
    ROW(capacity_zero_discards_all),
    ROW(the_greatest_capacity_is_taken),
    ROW(a_smaller_capacity_keeps_the_oldest),
    ROW(an_omitted_tx_is_off),
    ROW(an_id_sent_twice_has_two_timestamps),
    ROW(without_an_id_nothing_is_buffered),
    ROW(sockets_do_not_share_timestamps),
    ROW(an_unbound_socket_can_be_configured),
    ROW(a_connected_socket_timestamps),
    ROW(the_extension_pointer_sends_too),
    ROW(an_overlapped_fetch_is_answered_at_once),
    { "a_hardware_timestamp_is_the_adapters_counter", a_hardware_timestamp_is_the_adapters_counter,
      "WIRESTAMP_SIM=windows-modern" },
    { "an_adapter_that_never_timestamps_would_block", an_adapter_that_never_timestamps_would_block, "WIRESTAMP_SIM=tx-never" },
    { "a_driver_that_attaches_zero_delivers_zero", a_driver_that_attaches_zero_delivers_zero,
      "WIRESTAMP_SIM=tx-zero WIRESTAMP_WIN32_UNSTAMPED=zero" },
};
RUN_TESTS(tests)
