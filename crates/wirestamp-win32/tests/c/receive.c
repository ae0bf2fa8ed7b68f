/* Receive timestamps and WSARecvMsg, on the loopback interface, unless a case says otherwise. Wrong arguments of WSAIoctl:
 * arguments.c. */
#include "sockets.h"

enum { RX = TIMESTAMPING_FLAG_RX, TX = TIMESTAMPING_FLAG_TX };

static void a_timestamp_lies_between_the_send_and_the_receive(void)
{
    SOCKET s, from;
    ULONG64 before;
    struct received got;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(configure(s, RX, 0), 0);
    before = counter();
    CHECK_EQUAL(send_plain(from, s), 0);
    got = receive(s);
    CHECK_EQUAL(got.error, 0);
    CHECK_EQUAL(got.bytes, 8);
    CHECK_EQUAL(got.flags, 0);
    CHECK_EQUAL(got.timestamps, 1);
    CHECK_EQUAL(got.control_length, WSA_CMSG_SPACE(8));
    CHECK(before <= got.timestamp && got.timestamp <= counter());
}

static void not_enabled_means_no_control_message(void)
{
    SOCKET s, from;
    struct received got;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(send_plain(from, s), 0);
    got = receive(s);
    CHECK_EQUAL(got.bytes, 8);
    CHECK_EQUAL(got.messages, 0);
    CHECK_EQUAL(got.control_length, 0);
}

/* TX named, RX omitted: RX is off. */
static void an_omitted_rx_is_off(void)
{
    SOCKET s, from;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(configure(s, TX, 4), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(receive(s).messages, 0);
    CHECK_EQUAL(configure(s, TX | RX, 4), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(receive(s).timestamps, 1);
    CHECK_EQUAL(configure(s, 0, 0), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(receive(s).messages, 0);
}

static void sockets_are_configured_apart(void)
{
    SOCKET s, other, from;
    start();
    s = open_udp(), other = open_udp(), from = open_udp();
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_plain(from, other), 0);
    CHECK_EQUAL(receive(other).messages, 0);
    CHECK_EQUAL(configure(other, 0, 0), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(receive(s).timestamps, 1);
}

static void ipv6_timestamps_and_says_who_sent(void)
{
    SOCKET s, from;
    SOCKADDR_STORAGE name;
    SOCKADDR_IN6 seen, sent;
    int length;
    struct received got;
    start();
    s = open_udp6(), from = open_udp6();
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    got = receive(s);
    CHECK_EQUAL(got.timestamps, 1);
    CHECK_EQUAL(got.from_length, 28);
    name = name_of(from, &length);
    CHECK_EQUAL(length, 28);
    memcpy(&seen, &got.from, 28);
    memcpy(&sent, &name, 28);
    CHECK_EQUAL(seen.sin6_family, 23);
    CHECK_EQUAL(seen.sin6_port, sent.sin6_port);
    CHECK(memcmp(&seen.sin6_addr, &sent.sin6_addr, 16) == 0);
}

static void recvfrom_delivers_without_a_timestamp(void)
{
    SOCKET s, from;
    SOCKADDR_IN seen;
    int length = sizeof(seen);
    char data[16];
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(recvfrom(s, data, sizeof(data), 0, (SOCKADDR *)&seen, &length), 8);
    CHECK_EQUAL(length, sizeof(seen));
    CHECK_EQUAL(seen.sin_family, AF_INET);
}

static void other_control_messages_come_beside_the_timestamp(void)
{
    SOCKET s, from;
    DWORD on = 1;
    struct received got;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(code(setsockopt(s, IPPROTO_IP, IP_PKTINFO, (char *)&on, sizeof(on))), 0);
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    got = receive(s);
    CHECK_EQUAL(got.messages, 2);
    CHECK_EQUAL(got.timestamps, 1);
}

static void a_peek_leaves_datagram_and_timestamp(void)
{
    SOCKET s, from;
    struct received first, second;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    first = receive_with(s, MSG_PEEK, 128, 512);
    second = receive(s);
    CHECK_EQUAL(first.error, 0);
    CHECK_EQUAL(first.timestamps, 1);
    CHECK_EQUAL(second.timestamps, 1);
    CHECK_EQUAL(first.timestamp, second.timestamp);
    wait_at_most(s, 50);
    CHECK_EQUAL(receive(s).error, WSAETIMEDOUT);
}

static void a_datagram_too_long_is_cut_and_the_rest_lost(void)
{
    SOCKET s, from;
    struct received got;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_with(from, s, 100, NULL, 0), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    got = receive_with(s, 0, 10, 512);
    CHECK_EQUAL(got.error, WSAEMSGSIZE);
    CHECK(got.flags & MSG_TRUNC);
    CHECK_EQUAL(got.timestamps, 1);
    CHECK_EQUAL(receive(s).bytes, 8);
}

static void control_messages_too_long_are_cut_and_it_is_said(void)
{
    SOCKET s, from;
    struct received got;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    got = receive_with(s, 0, 128, 16);
    CHECK_EQUAL(got.error, WSAEMSGSIZE); /* as on Windows; the datagram is whole */
    CHECK_EQUAL(got.bytes, 8);
    CHECK(got.flags & MSG_CTRUNC);
    CHECK_EQUAL(got.timestamps, 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    got = receive_with(s, 0, 128, 0); /* who gives no room wants none */
    CHECK_EQUAL(got.error, 0);
    CHECK_EQUAL(got.bytes, 8);
    CHECK(got.flags & MSG_CTRUNC);
    CHECK_EQUAL(send_plain(from, s), 0);
    got = receive_with(s, 0, 128, (ULONG)WSA_CMSG_SPACE(8));
    CHECK_EQUAL(got.flags, 0);
    CHECK_EQUAL(got.timestamps, 1);
}

static void an_unbound_socket_cannot_receive(void)
{
    SOCKET s;
    start();
    s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    CHECK_EQUAL(receive(s).error, WSAEINVAL);
}

static void nothing_there_would_block(void)
{
    SOCKET s;
    u_long yes = 1;
    start();
    s = open_udp();
    CHECK_EQUAL(code(ioctlsocket(s, FIONBIO, &yes)), 0);
    CHECK_EQUAL(receive(s).error, WSAEWOULDBLOCK);
}

static void a_timeout_is_an_error(void)
{
    SOCKET s;
    ULONG64 before;
    start();
    s = open_udp();
    wait_at_most(s, 100);
    before = counter();
    CHECK_EQUAL(receive(s).error, WSAETIMEDOUT);
    CHECK(counter() - before >= 900000); /* 90 ms: a timer of the system may round down a tick */
}

static void reset_by_an_unreachable_port(ULONG flags)
{
    SOCKET s, gone;
    SOCKADDR_STORAGE name;
    int length;
    BOOL no = FALSE;
    DWORD got;
    WSAPOLLFD polled;
    s = open_udp(), gone = open_udp();
    CHECK_EQUAL(configure(s, flags, 8), 0);
    name = name_of(gone, &length);
    CHECK_EQUAL(closesocket(gone), 0);
    CHECK_EQUAL(code(connect(s, (SOCKADDR *)&name, length)), 0);
    CHECK_EQUAL(send(s, "x", 1, 0), 1);
    polled.fd = s, polled.events = POLLRDNORM;
    CHECK_EQUAL(WSAPoll(&polled, 1, 0), 1);
    CHECK_EQUAL(WSAPoll(&polled, 1, 0), 1);
    CHECK_EQUAL(receive(s).error, WSAECONNRESET);
    CHECK_EQUAL(code(WSAIoctl(s, SIO_UDP_CONNRESET, &no, sizeof(no), NULL, 0, &got, NULL, NULL)), 0);
    wait_at_most(s, 100);
    CHECK_EQUAL(send(s, "x", 1, 0), 1);
    CHECK_EQUAL(WSAPoll(&polled, 1, 0), 0);
    CHECK_EQUAL(receive(s).error, WSAETIMEDOUT);
}

static void an_unreachable_port_resets_a_connected_socket(void)
{
    start();
    reset_by_an_unreachable_port(0);
    reset_by_an_unreachable_port(TIMESTAMPING_FLAG_TX);
}

static void arguments_are_checked(void)
{
    SOCKET s, from;
    LPFN_WSARECVMSG function;
    char data[8];
    WSABUF buffer;
    WSAMSG message;
    DWORD got;
    start();
    s = open_udp(), from = open_udp();
    function = receive_function(s);
    CHECK_EQUAL(send_plain(from, s), 0);
    memset(&message, 0, sizeof(message));
    buffer.len = sizeof(data);
    buffer.buf = data;
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    CHECK_EQUAL(code(function(s, NULL, &got, NULL, NULL)), WSAEFAULT);
    message.namelen = 16;
    CHECK_EQUAL(code(function(s, &message, &got, NULL, NULL)), WSAEFAULT);
    message.namelen = 0;
    message.Control.len = 64;
    CHECK_EQUAL(code(function(s, &message, &got, NULL, NULL)), WSAEFAULT);
    message.Control.len = 0;
    CHECK_EQUAL(code(function(INVALID_SOCKET, &message, &got, NULL, NULL)), WSAENOTSOCK);
    message.lpBuffers = NULL;
    CHECK_EQUAL(code(function(s, &message, &got, NULL, NULL)), WSAEFAULT);
    message.lpBuffers = &buffer;
    CHECK_EQUAL(code(function(s, &message, &got, NULL, NULL)), 0);
    CHECK_EQUAL(got, 8);
}

static void only_a_peek_may_be_asked_for(void)
{
    SOCKET s, from;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(receive_with(s, MSG_OOB, 128, 512).error, WSAEOPNOTSUPP);
    CHECK_EQUAL(receive(s).bytes, 8);
}

static void an_overlapped_receive_completes_later(void)
{
    SOCKET s, from;
    LPFN_WSARECVMSG function;
    char data[8] = "";
    WSABUF buffer;
    WSAMSG message;
    ULONG64 control[8];
    WSAOVERLAPPED overlapped;
    DWORD got = 0, flags = 0;
    start();
    s = open_udp(), from = open_udp();
    function = receive_function(s);
    CHECK_EQUAL(configure(s, RX, 0), 0);
    memset(&message, 0, sizeof(message));
    memset(&overlapped, 0, sizeof(overlapped));
    buffer.len = sizeof(data);
    buffer.buf = data;
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    message.Control.buf = (char *)control;
    message.Control.len = sizeof(control);
    overlapped.hEvent = WSACreateEvent();
    CHECK_EQUAL(code(function(s, &message, NULL, &overlapped, NULL)), WSA_IO_PENDING);
    CHECK_EQUAL(WaitForSingleObject(overlapped.hEvent, 50), WAIT_TIMEOUT);
    CHECK_EQUAL(WSAGetOverlappedResult(s, &overlapped, &got, FALSE, &flags), FALSE);
    CHECK_EQUAL(WSAGetLastError(), WSA_IO_INCOMPLETE);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(WaitForSingleObject(overlapped.hEvent, 10000), WAIT_OBJECT_0);
    CHECK_EQUAL(WSAGetOverlappedResult(s, &overlapped, &got, TRUE, &flags), TRUE);
    CHECK_EQUAL(got, 8);
    CHECK_EQUAL(WSA_CMSG_FIRSTHDR(&message)->cmsg_type, SO_TIMESTAMP);
    CHECK(WSACloseEvent(overlapped.hEvent));
}

static void closing_ends_an_overlapped_receive(void)
{
    SOCKET s;
    LPFN_WSARECVMSG function;
    char data[8];
    WSABUF buffer;
    WSAMSG message;
    WSAOVERLAPPED overlapped;
    DWORD got, flags;
    start();
    s = open_udp();
    function = receive_function(s);
    memset(&message, 0, sizeof(message));
    memset(&overlapped, 0, sizeof(overlapped));
    buffer.len = sizeof(data);
    buffer.buf = data;
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    overlapped.hEvent = WSACreateEvent();
    CHECK_EQUAL(code(function(s, &message, NULL, &overlapped, NULL)), WSA_IO_PENDING);
    CHECK_EQUAL(closesocket(s), 0);
    CHECK_EQUAL(WaitForSingleObject(overlapped.hEvent, 10000), WAIT_OBJECT_0);
    CHECK_EQUAL(WSAGetOverlappedResult(s, &overlapped, &got, FALSE, &flags), FALSE);
    CHECK(WSAGetLastError() == WSA_OPERATION_ABORTED || WSAGetLastError() == WSAENOTSOCK);
    CHECK(overlapped.Internal != 0x103); /* no longer pending */
    CHECK(WSACloseEvent(overlapped.hEvent));
}

static void a_hardware_timestamp_is_the_adapters_counter(void)
{
    SOCKET s, from;
    NET_LUID luid;
    INTERFACE_HARDWARE_CROSSTIMESTAMP before, after;
    struct received got;
    start();
    CHECK_EQUAL(ConvertInterfaceAliasToLuid(L"sim0", &luid), NO_ERROR);
    s = open_on(L"sim0"), from = open_on(L"sim1");
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &before), NO_ERROR);
    CHECK_EQUAL(send_plain(from, s), 0);
    got = receive(s);
    CHECK_EQUAL(got.error, 0);
    CHECK_EQUAL(got.timestamps, 1);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &after), NO_ERROR);
    CHECK(before.HardwareClockTimestamp < got.timestamp && got.timestamp < after.HardwareClockTimestamp);
}

static struct received from_a_silent_adapter(void)
{
    SOCKET s, from;
    start();
    s = open_on(L"sim0"), from = open_on(L"sim1");
    CHECK_EQUAL(configure(s, RX, 0), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    return receive(s);
}

static void with_absent_an_adapter_that_is_off_adds_no_control_message(void)
{
    struct received got = from_a_silent_adapter();
    CHECK_EQUAL(got.bytes, 8);
    CHECK_EQUAL(got.timestamps, 0);
}

static void an_adapter_that_is_off_adds_a_zero(void)
{
    struct received got = from_a_silent_adapter();
    CHECK_EQUAL(got.bytes, 8);
    CHECK_EQUAL(got.timestamps, 1);
    CHECK_EQUAL(got.timestamp, 0);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(a_timestamp_lies_between_the_send_and_the_receive),
    ROW(not_enabled_means_no_control_message),
    ROW(an_omitted_rx_is_off),
    ROW(sockets_are_configured_apart),
    ROW(ipv6_timestamps_and_says_who_sent),
    ROW(recvfrom_delivers_without_a_timestamp),
    ROW(other_control_messages_come_beside_the_timestamp),
    ROW(a_peek_leaves_datagram_and_timestamp),
    ROW(a_datagram_too_long_is_cut_and_the_rest_lost),
    ROW(control_messages_too_long_are_cut_and_it_is_said),
    ROW(an_unbound_socket_cannot_receive),
    ROW(nothing_there_would_block),
    ROW(a_timeout_is_an_error),
    ROW(an_unreachable_port_resets_a_connected_socket),
    ROW(arguments_are_checked),
    ROW(only_a_peek_may_be_asked_for),
    ROW(an_overlapped_receive_completes_later),
    ROW(closing_ends_an_overlapped_receive),
    { "a_hardware_timestamp_is_the_adapters_counter", a_hardware_timestamp_is_the_adapters_counter,
      "WIRESTAMP_SIM=windows-modern" },
    { "with_absent_an_adapter_that_is_off_adds_no_control_message",
      with_absent_an_adapter_that_is_off_adds_no_control_message,
      "WIRESTAMP_SIM=windows-api-off WIRESTAMP_WIN32_SIM_HARDWARE=off WIRESTAMP_WIN32_UNSTAMPED=absent" },
    { "an_adapter_that_is_off_adds_a_zero", an_adapter_that_is_off_adds_a_zero,
      "WIRESTAMP_SIM=windows-api-off WIRESTAMP_WIN32_SIM_HARDWARE=off" },
};
RUN_TESTS(tests)
