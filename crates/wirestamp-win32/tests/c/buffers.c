/* Sending and receiving through several buffers, WSASend and its sisters, and what programs need around them: critical
 * sections, locks, clocks. */
#define ROWS_ON_SIM0
#include "sockets.h"
#include <time.h>

static void datagrams_go_through_several_buffers(void)
{
    SOCKET s, to;
    SOCKADDR_STORAGE name, from;
    int length, from_length = sizeof(from);
    char one[3] = { 'a', 'b', 'c' }, two[2] = { 'd', 'e' }, first[2], rest[8] = "";
    WSABUF out[2] = { { sizeof(one), one }, { sizeof(two), two } }, in[2] = { { sizeof(first), first }, { sizeof(rest), rest } };
    DWORD bytes = 99, flags = 0;
    start();
    s = open_udp(), to = open_udp();
    name = name_of(to, &length);
    CHECK_EQUAL(code(WSASendTo(s, out, 2, &bytes, 0, (SOCKADDR *)&name, length, NULL, NULL)), 0);
    CHECK_EQUAL(bytes, 5);
    CHECK_EQUAL(code(WSARecvFrom(to, in, 2, &bytes, &flags, (SOCKADDR *)&from, &from_length, NULL, NULL)), 0);
    CHECK(bytes == 5 && flags == 0 && from_length == sizeof(SOCKADDR_IN));
    CHECK(memcmp(first, "ab", 2) == 0 && memcmp(rest, "cde", 3) == 0);
    name = name_of(s, &length);
    CHECK_EQUAL(((SOCKADDR_IN *)&from)->sin_port, ((SOCKADDR_IN *)&name)->sin_port);

    CHECK_EQUAL(code(WSASend(s, out, 2, &bytes, 0, NULL, NULL)), WSAENOTCONN);
    name = name_of(to, &length);
    CHECK_EQUAL(code(connect(s, (SOCKADDR *)&name, length)), 0);
    CHECK_EQUAL(code(WSASend(s, out, 2, &bytes, 0, NULL, NULL)), 0);
    CHECK_EQUAL(code(WSARecv(to, in, 1, &bytes, &flags, NULL, NULL)), WSAEMSGSIZE); /* cut */
    CHECK_EQUAL(flags, MSG_PARTIAL);
    CHECK_EQUAL(memcmp(first, "ab", 2), 0);
}

static void a_receive_completes_later_and_leaves_the_flags_alone(void)
{
    SOCKET s, from;
    SOCKADDR_STORAGE sender;
    int sender_length = sizeof(sender);
    char data[8] = "";
    WSABUF in = { sizeof(data), data };
    DWORD bytes = 0, flags = 0, result = 99;
    WSAOVERLAPPED overlapped;
    start();
    s = open_udp(), from = open_udp();
    memset(&overlapped, 0, sizeof(overlapped));
    overlapped.hEvent = WSACreateEvent();
    CHECK_EQUAL(code(WSARecvFrom(s, &in, 1, &bytes, &flags, (SOCKADDR *)&sender, &sender_length, &overlapped, NULL)),
                WSA_IO_PENDING);
    flags = 0xAAAA; /* the program's again */
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(WSAWaitForMultipleEvents(1, &overlapped.hEvent, TRUE, WSA_INFINITE, FALSE), WSA_WAIT_EVENT_0);
    CHECK(WSAGetOverlappedResult(s, &overlapped, &bytes, FALSE, &result));
    CHECK(bytes == 8 && flags == 0xAAAA && sender_length == sizeof(SOCKADDR_IN));
    CHECK(WSACloseEvent(overlapped.hEvent));
}

static void arguments_of_buffers_are_checked(void)
{
    SOCKET s;
    SOCKADDR_STORAGE from;
    char data[8];
    WSABUF in = { sizeof(data), data }, hole = { sizeof(data), NULL };
    DWORD bytes, flags = 0;
    start();
    s = open_udp();
    CHECK_EQUAL(code(WSARecvFrom(s, NULL, 1, &bytes, &flags, NULL, NULL, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSARecvFrom(s, &in, 1, NULL, &flags, NULL, NULL, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSARecvFrom(s, &in, 1, &bytes, NULL, NULL, NULL, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSARecvFrom(s, &hole, 1, &bytes, &flags, NULL, NULL, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSARecvFrom(s, &in, 1, &bytes, &flags, (SOCKADDR *)&from, NULL, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSARecv(INVALID_SOCKET, &in, 1, &bytes, &flags, NULL, NULL)), WSAENOTSOCK);
    flags = 0x40;
    CHECK_EQUAL(code(WSARecv(s, &in, 1, &bytes, &flags, NULL, NULL)), WSAEOPNOTSUPP);
    CHECK_EQUAL(code(WSASendTo(s, &in, 1, &bytes, 0, NULL, 16, NULL, NULL)), WSAEFAULT);
    CHECK_EQUAL(code(WSASendTo(s, &hole, 1, &bytes, 0, NULL, 0, NULL, NULL)), WSAEFAULT);
}

/* What is wrong with the arguments is said before a datagram is taken. */
static void too_little_room_for_an_address_costs_no_datagram(void)
{
    SOCKET s, from;
    char data[8];
    WSABUF in = { sizeof(data), data };
    WSAMSG message;
    WSAOVERLAPPED overlapped;
    SOCKADDR_IN short_of; /* long enough for IPv4 only */
    DWORD bytes = 0, flags = 0;
    int length = sizeof(short_of);
    start();
    s = open_udp6(), from = open_udp6();
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(code(recvfrom(s, data, sizeof(data), 0, (SOCKADDR *)&short_of, &length)), WSAEFAULT);
    CHECK_EQUAL(code(recvfrom(s, data, sizeof(data), 0, (SOCKADDR *)&short_of, NULL)), WSAEFAULT);
    length = -1;
    CHECK_EQUAL(code(recvfrom(s, data, sizeof(data), 0, (SOCKADDR *)&short_of, &length)), WSAEFAULT);
    length = sizeof(short_of);
    CHECK_EQUAL(code(WSARecvFrom(s, &in, 1, &bytes, &flags, (SOCKADDR *)&short_of, &length, NULL, NULL)), WSAEFAULT);
    memset(&message, 0, sizeof(message));
    message.name = (SOCKADDR *)&short_of, message.namelen = sizeof(short_of);
    message.lpBuffers = &in, message.dwBufferCount = 1;
    CHECK_EQUAL(code(receive_function(s)(s, &message, &bytes, NULL, NULL)), WSAEFAULT);
    memset(&overlapped, 0, sizeof(overlapped));
    CHECK_EQUAL(code(receive_function(s)(s, &message, &bytes, &overlapped, NULL)), WSAEFAULT);
    CHECK_EQUAL(recv(s, data, sizeof(data), 0), 8);
}

static CRITICAL_SECTION section;
static SRWLOCK lock = SRWLOCK_INIT;
static int sum;
static DWORD WINAPI add(LPVOID unused)
{
    int i;
    (void)unused;
    for (i = 0; i < 10000; i++) {
        EnterCriticalSection(&section);
        EnterCriticalSection(&section);
        sum++;
        LeaveCriticalSection(&section);
        LeaveCriticalSection(&section);
        AcquireSRWLockExclusive(&lock);
        sum++;
        ReleaseSRWLockExclusive(&lock);
        AcquireSRWLockShared(&lock);
        CHECK(!TryAcquireSRWLockExclusive(&lock));
        ReleaseSRWLockShared(&lock);
    }
    return 0;
}

static void locks_let_one_thread_in(void)
{
    HANDLE thread;
    InitializeCriticalSection(&section);
    EnterCriticalSection(&section);
    thread = CreateThread(NULL, 0, add, NULL, 0, NULL);
    Sleep(20);
    CHECK_EQUAL(sum, 0);
    LeaveCriticalSection(&section);
    CHECK_EQUAL(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
    CHECK_EQUAL(sum, 20000);
    CHECK(TryEnterCriticalSection(&section));
    LeaveCriticalSection(&section);
    DeleteCriticalSection(&section);
    CHECK(CloseHandle(thread));
}

static void clocks_agree_with_the_c_librarys(void)
{
    FILETIME shown;
    ULONGLONG ticks, before = GetTickCount64();
    Sleep(20);
    CHECK(GetTickCount64() >= before + 15);
    GetSystemTimePreciseAsFileTime(&shown);
    ticks = (ULONGLONG)shown.dwHighDateTime << 32 | shown.dwLowDateTime;
    CHECK(llabs((long long)(ticks / 10000000) - 11644473600ll - (long long)time(NULL)) < 60);
    ZeroMemory(&shown, sizeof(shown));
    CHECK(shown.dwLowDateTime == 0 && min(1, 2) == 1 && max(1, 2) == 2 && MAX_PATH == 260);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(datagrams_go_through_several_buffers),
    ROW(a_receive_completes_later_and_leaves_the_flags_alone),
    ROW(arguments_of_buffers_are_checked),
    ROW(too_little_room_for_an_address_costs_no_datagram),
    ROW(locks_let_one_thread_in),
    { "clocks_agree_with_the_c_librarys", clocks_agree_with_the_c_librarys, OF_LINUX },
};
RUN_TESTS(tests)
