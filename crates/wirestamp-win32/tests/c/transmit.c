/* Owns the rows on transmit stamps: SIO_TIMESTAMPING with TX, SO_TIMESTAMP_ID, SIO_GET_TX_TIMESTAMP.
 * Not the checks of arguments: arguments.c. On the loopback interface, unless a case says otherwise. */
#include "sockets.h"

enum { RX = TIMESTAMPING_FLAG_RX, TX = TIMESTAMPING_FLAG_TX };

static void a_stamp_lies_between_the_send_and_its_fetch(void)
{
    SOCKET s, to;
    UINT64 stamp = 0, before;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    before = counter();
    CHECK_EQUAL(send_id(s, to, 123), 0);
    CHECK_EQUAL(fetch_soon(s, 123, &stamp), 0);
    CHECK(before <= stamp && stamp <= counter());
}

static void a_fetch_removes_the_stamp(void)
{
    SOCKET s, to;
    UINT64 stamp;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &stamp), 0);
    CHECK_EQUAL(fetch(s, 1, &stamp), WSAEWOULDBLOCK);
}

static void stamps_are_fetched_by_id_in_any_order(void)
{
    SOCKET s, to;
    UINT64 stamps[3];
    UINT32 id;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    for (id = 0; id < 3; id++) CHECK_EQUAL(send_id(s, to, id == 2 ? 0xFFFFFFFF : id), 0);
    CHECK_EQUAL(fetch_soon(s, 0xFFFFFFFF, &stamps[2]), 0);
    CHECK_EQUAL(fetch_soon(s, 0, &stamps[0]), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &stamps[1]), 0);
    CHECK(stamps[0] <= stamps[1] && stamps[1] <= stamps[2]);
}

static void an_id_never_sent_would_block(void)
{
    SOCKET s;
    UINT64 stamp;
    start();
    s = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(fetch(s, 5, &stamp), WSAEWOULDBLOCK);
}

static void never_enabled_is_not_supported(void)
{
    SOCKET s, to;
    UINT64 stamp;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(fetch(s, 1, &stamp), WSAEOPNOTSUPP);
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch(s, 1, &stamp), WSAEOPNOTSUPP);
    CHECK_EQUAL(receive(to).bytes, 8);
}

/* Capacity 2, four sent: the newest lose. */
static void a_full_buffer_discards_the_newest(void)
{
    SOCKET s, to;
    UINT64 stamp;
    UINT32 id;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 2), 0);
    for (id = 1; id <= 4; id++) CHECK_EQUAL(send_id(s, to, id), 0);
    Sleep(50);
    CHECK_EQUAL(fetch(s, 3, &stamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(fetch(s, 4, &stamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(fetch(s, 1, &stamp), 0);
    CHECK_EQUAL(fetch(s, 2, &stamp), 0);
    CHECK_EQUAL(fetch(s, 3, &stamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(send_id(s, to, 5), 0);
    CHECK_EQUAL(fetch_soon(s, 5, &stamp), 0);
}

static void capacity_zero_discards_all(void)
{
    SOCKET s, to;
    UINT64 stamp;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 0), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    Sleep(50);
    CHECK_EQUAL(fetch(s, 1, &stamp), WSAEWOULDBLOCK);
}

static void the_greatest_capacity_is_taken(void)
{
    SOCKET s, to;
    UINT64 stamp;
    UINT32 id;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 65535), 0);
    for (id = 0; id < 100; id++) CHECK_EQUAL(send_id(s, to, id), 0);
    for (id = 0; id < 100; id++) CHECK_EQUAL(fetch_soon(s, id, &stamp), 0);
}

static void a_smaller_capacity_keeps_the_oldest(void)
{
    SOCKET s, to;
    UINT64 stamp;
    UINT32 id;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    for (id = 1; id <= 3; id++) CHECK_EQUAL(send_id(s, to, id), 0);
    Sleep(50);
    CHECK_EQUAL(configure(s, TX, 2), 0);
    CHECK_EQUAL(fetch(s, 1, &stamp), 0);
    CHECK_EQUAL(fetch(s, 2, &stamp), 0);
    CHECK_EQUAL(fetch(s, 3, &stamp), WSAEWOULDBLOCK);
}

/* RX named, TX omitted: TX is off, and what waited is gone. */
static void an_omitted_tx_is_off(void)
{
    SOCKET s, to;
    UINT64 stamp;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(fetch(s, 1, &stamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(send_id(s, to, 2), 0);
    CHECK_EQUAL(configure(s, TX | RX, 8), 0);
    Sleep(50);
    CHECK_EQUAL(fetch(s, 1, &stamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(fetch(s, 2, &stamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(send_id(s, to, 3), 0);
    CHECK_EQUAL(fetch_soon(s, 3, &stamp), 0);
}

static void an_id_sent_twice_has_two_stamps(void)
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
    UINT64 stamp;
    int i;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 1), 0);
    for (i = 0; i < 5; i++) CHECK_EQUAL(send_plain(s, to), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &stamp), 0);
}

static void sockets_do_not_share_stamps(void)
{
    SOCKET s, other, to;
    UINT64 stamp;
    start();
    s = open_udp(), other = open_udp(), to = open_udp();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(configure(other, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    Sleep(50);
    CHECK_EQUAL(fetch(other, 1, &stamp), WSAEWOULDBLOCK);
    CHECK_EQUAL(configure(other, 0, 0), 0);
    CHECK_EQUAL(fetch(s, 1, &stamp), 0);
}

/* Before bind, and on IPv6. */
static void an_unbound_socket_can_be_configured(void)
{
    SOCKET s, to;
    UINT64 stamp;
    start();
    s = socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);
    CHECK(s != INVALID_SOCKET);
    to = open_udp6();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &stamp), 0);
}

static void a_connected_socket_stamps(void)
{
    SOCKET s, to;
    SOCKADDR_STORAGE name;
    int length;
    UINT64 stamp;
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
    CHECK_EQUAL(fetch_soon(s, 9, &stamp), 0);
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
    UINT64 stamp = 0, before;
    UINT32 id = 1;
    DWORD got = 0;
    WSAOVERLAPPED overlapped;
    start();
    s = open_udp(), to = open_udp();
    memset(&overlapped, 0, sizeof(overlapped));
    overlapped.hEvent = WSACreateEvent();
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(
        code(WSAIoctl(s, SIO_GET_TX_TIMESTAMP, &id, 4, &stamp, 8, &got, &overlapped, NULL)), WSAEWOULDBLOCK);
    CHECK_EQUAL(WaitForSingleObject(overlapped.hEvent, 0), WAIT_TIMEOUT);
    before = counter();
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &stamp), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    Sleep(50);
    CHECK_EQUAL(code(WSAIoctl(s, SIO_GET_TX_TIMESTAMP, &id, 4, &stamp, 8, NULL, &overlapped, NULL)), 0);
    CHECK_EQUAL(overlapped.Internal, 0);
    CHECK_EQUAL(overlapped.InternalHigh, 8);
    CHECK_EQUAL(WaitForSingleObject(overlapped.hEvent, 0), WAIT_OBJECT_0);
    CHECK(stamp > before);
    CHECK(CloseHandle(overlapped.hEvent));
}

/* The adapter's own counter, between two readings of it. */
static void a_hardware_stamp_is_the_adapters_counter(void)
{
    SOCKET s, to;
    NET_LUID luid;
    INTERFACE_HARDWARE_CROSSTIMESTAMP before, after;
    UINT64 stamp = 0;
    start();
    CHECK_EQUAL(ConvertInterfaceAliasToLuid(L"sim0", &luid), NO_ERROR);
    s = open_on(L"sim0"), to = open_on(L"sim1");
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &before), NO_ERROR);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &stamp), 0);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &after), NO_ERROR);
    CHECK(before.HardwareClockTimestamp < stamp && stamp < after.HardwareClockTimestamp);
}

static void an_adapter_that_never_stamps_would_block(void)
{
    SOCKET s, to;
    UINT64 stamp = 0;
    start();
    s = open_on(L"sim0"), to = open_on(L"sim1");
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(receive(to).bytes, 8);
    Sleep(200);
    CHECK_EQUAL(fetch(s, 1, &stamp), WSAEWOULDBLOCK);
}

static void a_driver_that_attaches_zero_delivers_zero(void)
{
    SOCKET s, to;
    UINT64 stamp = 5;
    start();
    s = open_on(L"sim0"), to = open_on(L"sim1");
    CHECK_EQUAL(configure(s, TX, 8), 0);
    CHECK_EQUAL(send_id(s, to, 1), 0);
    CHECK_EQUAL(fetch_soon(s, 1, &stamp), 0);
    CHECK_EQUAL(stamp, 0);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(a_stamp_lies_between_the_send_and_its_fetch),
    ROW(a_fetch_removes_the_stamp),
    ROW(stamps_are_fetched_by_id_in_any_order),
    ROW(an_id_never_sent_would_block),
    ROW(never_enabled_is_not_supported),
    ROW(a_full_buffer_discards_the_newest),
    ROW(capacity_zero_discards_all),
    ROW(the_greatest_capacity_is_taken),
    ROW(a_smaller_capacity_keeps_the_oldest),
    ROW(an_omitted_tx_is_off),
    ROW(an_id_sent_twice_has_two_stamps),
    ROW(without_an_id_nothing_is_buffered),
    ROW(sockets_do_not_share_stamps),
    ROW(an_unbound_socket_can_be_configured),
    ROW(a_connected_socket_stamps),
    ROW(the_extension_pointer_sends_too),
    ROW(an_overlapped_fetch_is_answered_at_once),
    { "a_hardware_stamp_is_the_adapters_counter", a_hardware_stamp_is_the_adapters_counter,
      "WIRESTAMP_SIM=windows-modern" },
    { "an_adapter_that_never_stamps_would_block", an_adapter_that_never_stamps_would_block, "WIRESTAMP_SIM=tx-never" },
    { "a_driver_that_attaches_zero_delivers_zero", a_driver_that_attaches_zero_delivers_zero,
      "WIRESTAMP_SIM=tx-zero WIRESTAMP_WIN32_UNSTAMPED=zero" },
};
RUN_TESTS(tests)
