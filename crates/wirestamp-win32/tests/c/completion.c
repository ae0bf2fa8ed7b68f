/* Completion ports, cancelling, and results by HANDLE. */
#define ROWS_ON_SIM0
#include "sockets.h"

#define KEY 77u

struct receive {
    WSAOVERLAPPED overlapped; /* first: a completion leads back to it */
    char data[8];
    WSABUF buffer;
    DWORD flags;
};

/* Asks for a datagram; answers what WSARecvFrom does. */
static int ask(SOCKET s, struct receive *one)
{
    memset(one, 0, sizeof(*one));
    one->buffer.buf = one->data;
    one->buffer.len = sizeof(one->data);
    return code(WSARecvFrom(s, &one->buffer, 1, NULL, &one->flags, NULL, NULL, &one->overlapped, NULL));
}

static HANDLE port_of(SOCKET s)
{
    HANDLE port = CreateIoCompletionPort((HANDLE)s, NULL, KEY, 0);
    CHECK(port != NULL && port != (HANDLE)s);
    return port;
}

/* The last error of a dequeue, 0 for a success. */
static DWORD dequeue(HANDLE port, DWORD milliseconds, DWORD *bytes, OVERLAPPED **overlapped)
{
    ULONG_PTR key = 0;
    *bytes = 99;
    *overlapped = (OVERLAPPED *)&key;
    if (GetQueuedCompletionStatus(port, bytes, &key, overlapped, milliseconds)) {
        CHECK_EQUAL(key, KEY);
        return 0;
    }
    return GetLastError();
}

static void every_completion_is_queued_once(void)
{
    SOCKET s, from;
    struct receive first, second;
    OVERLAPPED *done;
    HANDLE port;
    DWORD bytes;
    start();
    s = open_udp(), from = open_udp();
    port = port_of(s);
    CHECK_EQUAL(dequeue(port, 0, &bytes, &done), WAIT_TIMEOUT);
    CHECK(done == NULL);
    CHECK_EQUAL(ask(s, &first), WSA_IO_PENDING);
    CHECK_EQUAL(ask(s, &second), WSA_IO_PENDING);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(dequeue(port, 10000, &bytes, &done), 0);
    CHECK(done == &first.overlapped && bytes == 8 && HasOverlappedIoCompleted(done));
    CHECK(!HasOverlappedIoCompleted(&second.overlapped));
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(dequeue(port, INFINITE, &bytes, &done), 0);
    CHECK(done == &second.overlapped);

    CHECK_EQUAL(send_plain(from, s), 0); /* what completes at once is queued too */
    CHECK_EQUAL(ask(s, &first), 0);
    CHECK_EQUAL(dequeue(port, 0, &bytes, &done), 0);
    CHECK(done == &first.overlapped && bytes == 8);
    CHECK_EQUAL(send_plain(from, s), 0); /* unless the event's lowest bit forbids it */
    memset(&second, 0, sizeof(second));
    second.buffer.buf = second.data, second.buffer.len = sizeof(second.data);
    second.overlapped.hEvent = (HANDLE)((ULONG_PTR)CreateEventA(NULL, TRUE, FALSE, NULL) | 1);
    CHECK_EQUAL(code(WSARecvFrom(s, &second.buffer, 1, NULL, &second.flags, NULL, NULL, &second.overlapped, NULL)), 0);
    CHECK_EQUAL(dequeue(port, 20, &bytes, &done), WAIT_TIMEOUT);
}

static void a_failed_operation_is_dequeued_with_its_error(void)
{
    SOCKET s, from;
    struct receive one;
    OVERLAPPED *done;
    HANDLE port;
    DWORD bytes, flags;
    start();
    s = open_udp(), from = open_udp();
    port = port_of(s);
    CHECK_EQUAL(ask(s, &one), WSA_IO_PENDING);
    CHECK_EQUAL(send_with(from, s, 9, NULL, 0), 0); /* one too long */
    CHECK_EQUAL(dequeue(port, 10000, &bytes, &done), ERROR_MORE_DATA);
    CHECK(done == &one.overlapped && bytes == 8);
    CHECK(!WSAGetOverlappedResult(s, done, &bytes, FALSE, &flags));
    CHECK_EQUAL(WSAGetLastError(), WSAEMSGSIZE);
    CHECK(!GetOverlappedResult((HANDLE)s, done, &bytes, FALSE));
    CHECK_EQUAL(GetLastError(), ERROR_MORE_DATA);

    CHECK_EQUAL(ask(s, &one), WSA_IO_PENDING);
    CHECK(!GetOverlappedResult((HANDLE)s, &one.overlapped, &bytes, FALSE));
    CHECK_EQUAL(GetLastError(), ERROR_IO_INCOMPLETE);
    CHECK_EQUAL(closesocket(s), 0);
    CHECK_EQUAL(dequeue(port, 10000, &bytes, &done), ERROR_OPERATION_ABORTED);
    CHECK(done == &one.overlapped);
    CHECK(!GetOverlappedResult((HANDLE)s, done, &bytes, TRUE)); /* a program frees its memory after this */
    CHECK_EQUAL(GetLastError(), ERROR_OPERATION_ABORTED);
}

/* One event for two operations: that of the first is no answer for the second. */
static DWORD WINAPI answer_later(LPVOID socket_of)
{
    Sleep(100);
    CHECK_EQUAL(send_plain(*(SOCKET *)socket_of, *(SOCKET *)socket_of), 0);
    return 0;
}

static void a_result_is_waited_for_whatever_the_event_says(void)
{
    struct receive one;
    HANDLE thread;
    DWORD bytes = 0;
    SOCKET s;
    start();
    s = open_udp();
    memset(&one, 0, sizeof(one));
    one.buffer.buf = one.data, one.buffer.len = sizeof(one.data);
    one.overlapped.hEvent = CreateEventA(NULL, TRUE, FALSE, NULL);
    CHECK_EQUAL(code(WSARecv(s, &one.buffer, 1, NULL, &one.flags, &one.overlapped, NULL)), WSA_IO_PENDING);
    CHECK(SetEvent(one.overlapped.hEvent));
    thread = CreateThread(NULL, 0, answer_later, &s, 0, NULL);
    CHECK(GetOverlappedResult((HANDLE)s, &one.overlapped, &bytes, TRUE) && bytes == 8);
    CHECK_EQUAL(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
}

static void cancelling_ends_what_waits_and_nothing_else(void)
{
    SOCKET s, from;
    struct receive first, second, third;
    OVERLAPPED *done;
    HANDLE port;
    DWORD bytes, flags;
    char data[8];
    start();
    s = open_udp(), from = open_udp();
    port = port_of(s);
    CHECK(CancelIo((HANDLE)s));
    CHECK(!CancelIoEx((HANDLE)s, NULL));
    CHECK_EQUAL(GetLastError(), ERROR_NOT_FOUND);
    CHECK_EQUAL(ask(s, &first), WSA_IO_PENDING);
    CHECK_EQUAL(ask(s, &second), WSA_IO_PENDING);
    CHECK_EQUAL(ask(s, &third), WSA_IO_PENDING);
    CHECK(CancelIoEx((HANDLE)s, &first.overlapped)); /* the one that is tried next */
    CHECK_EQUAL(dequeue(port, 10000, &bytes, &done), ERROR_OPERATION_ABORTED);
    CHECK(done == &first.overlapped && bytes == 0);
    CHECK(!CancelIoEx((HANDLE)s, &first.overlapped));
    CHECK(!WSAGetOverlappedResult(s, &first.overlapped, &bytes, TRUE, &flags));
    CHECK_EQUAL(WSAGetLastError(), WSA_OPERATION_ABORTED);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(dequeue(port, 10000, &bytes, &done), 0);
    CHECK(done == &second.overlapped);
    CHECK(CancelIo((HANDLE)s));
    CHECK_EQUAL(dequeue(port, 10000, &bytes, &done), ERROR_OPERATION_ABORTED);
    CHECK(done == &third.overlapped);
    CHECK_EQUAL(send_plain(from, s), 0); /* nothing waits for it any more: it is there for others */
    CHECK_EQUAL(recv(s, data, sizeof(data), 0), 8);
    CHECK_EQUAL(ask(s, &first), WSA_IO_PENDING); /* and the next one is served again */
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(dequeue(port, 10000, &bytes, &done), 0);
    CHECK(!CancelIoEx((HANDLE)(s + 1), NULL));
    CHECK_EQUAL(GetLastError(), ERROR_INVALID_HANDLE);
}

static HANDLE shared_port, about_to_wait;

static DWORD WINAPI cancel_and_wait(LPVOID socket_of)
{
    DWORD bytes;
    OVERLAPPED *done;
    CHECK(CancelIo(*(HANDLE *)socket_of)); /* another thread asked: nothing is cancelled */
    CHECK_EQUAL(dequeue(shared_port, 50, &bytes, &done), WAIT_TIMEOUT);
    CHECK(SetEvent(about_to_wait));
    return dequeue(shared_port, INFINITE, &bytes, &done);
}

/* What a thread's wait ends with whose port is closed; on a busy machine it may not have begun to wait. */
static DWORD close_under_a_thread(void)
{
    SOCKET s = open_udp();
    struct receive one;
    HANDLE thread;
    DWORD answer = 0;
    shared_port = port_of(s);
    about_to_wait = CreateEventA(NULL, TRUE, FALSE, NULL);
    CHECK_EQUAL(ask(s, &one), WSA_IO_PENDING);
    thread = CreateThread(NULL, 0, cancel_and_wait, &s, 0, NULL);
    CHECK_EQUAL(WaitForSingleObject(about_to_wait, INFINITE), WAIT_OBJECT_0);
    Sleep(50);
    CHECK(CloseHandle(shared_port));
    CHECK_EQUAL(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
    CHECK(GetExitCodeThread(thread, &answer));
    CHECK_EQUAL(closesocket(s), 0); /* completes into a port without a handle */
    CHECK(CloseHandle(thread));
    CHECK(CloseHandle(about_to_wait));
    return answer;
}

static void closing_a_port_wakes_who_waits_there(void)
{
    DWORD answer = ERROR_INVALID_HANDLE;
    int attempt;
    start();
    for (attempt = 0; attempt < 20 && answer == ERROR_INVALID_HANDLE; attempt++) answer = close_under_a_thread();
    CHECK_EQUAL(answer, ERROR_ABANDONED_WAIT_0);
}

static void several_completions_are_taken_at_once(void)
{
    OVERLAPPED_ENTRY entries[3];
    ULONG taken = 9;
    HANDLE port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 2);
    int i;
    CHECK(port != NULL);
    CHECK(!GetQueuedCompletionStatusEx(port, entries, 3, &taken, 0, FALSE));
    CHECK(GetLastError() == WAIT_TIMEOUT && taken == 0);
    for (i = 0; i < 4; i++) CHECK(PostQueuedCompletionStatus(port, (DWORD)i, KEY, (OVERLAPPED *)entries + i));
    CHECK(GetQueuedCompletionStatusEx(port, entries, 3, &taken, INFINITE, FALSE));
    CHECK_EQUAL(taken, 3);
    for (i = 0; i < 3; i++) {
        CHECK(entries[i].lpCompletionKey == KEY && entries[i].lpOverlapped == (OVERLAPPED *)entries + i);
        CHECK(entries[i].dwNumberOfBytesTransferred == (DWORD)i && entries[i].Internal == 0);
    }
    CHECK(GetQueuedCompletionStatusEx(port, entries, 3, &taken, 0, FALSE) && taken == 1);
    CHECK(!GetQueuedCompletionStatusEx(port, entries, 0, &taken, 0, FALSE));
    CHECK_EQUAL(GetLastError(), ERROR_INVALID_PARAMETER);
    CHECK(CloseHandle(port));
    CHECK(!PostQueuedCompletionStatus(port, 0, KEY, NULL));
    CHECK_EQUAL(GetLastError(), ERROR_INVALID_HANDLE);
}

static void wrong_handles_are_refused(void)
{
    SOCKET s;
    HANDLE port, event = CreateEventA(NULL, TRUE, TRUE, NULL);
    struct receive one;
    DWORD bytes;
    OVERLAPPED *done;
    start();
    s = open_udp();
    CHECK(CreateIoCompletionPort(event, NULL, 0, 0) == NULL && GetLastError() == ERROR_INVALID_HANDLE);
    CHECK(CreateIoCompletionPort(NULL, NULL, 0, 0) == NULL && GetLastError() == ERROR_INVALID_HANDLE);
    CHECK(CreateIoCompletionPort((HANDLE)s, event, 0, 0) == NULL && GetLastError() == ERROR_INVALID_HANDLE);
    port = port_of(s);
    CHECK(CreateIoCompletionPort((HANDLE)s, port, 0, 0) == NULL && GetLastError() == ERROR_INVALID_PARAMETER);
    CHECK(CreateIoCompletionPort(INVALID_HANDLE_VALUE, port, 0, 0) == NULL);
    CHECK_EQUAL(GetLastError(), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(dequeue(event, 0, &bytes, &done), ERROR_INVALID_HANDLE);
    CHECK(!GetQueuedCompletionStatus(port, NULL, NULL, &done, 0) && GetLastError() == ERROR_INVALID_PARAMETER);
    CHECK(!GetQueuedCompletionStatus(port, NULL, NULL, NULL, 0) && GetLastError() == ERROR_INVALID_PARAMETER);
    memset(&one, 0, sizeof(one));
    one.buffer.buf = one.data, one.buffer.len = sizeof(one.data);
    one.overlapped.hEvent = port; /* no event: it would never be set */
    CHECK_EQUAL(code(WSARecv(s, &one.buffer, 1, NULL, &one.flags, &one.overlapped, NULL)), WSAENOTSOCK);
    CHECK(!CancelIoEx((HANDLE)s, &one.overlapped));
    CHECK(!SetEvent(port) && GetLastError() == ERROR_INVALID_HANDLE);
    CHECK(WaitForSingleObject(port, 0) == WAIT_FAILED && GetLastError() == ERROR_INVALID_HANDLE);
    CHECK(!GetOverlappedResult(event, NULL, &bytes, FALSE) && GetLastError() == ERROR_INVALID_PARAMETER);
    memset(&one, 0, sizeof(one));
    one.overlapped.Internal = 0x103; /* it waits, and no socket says until when */
    CHECK(!GetOverlappedResult(event, &one.overlapped, &bytes, TRUE) && GetLastError() == ERROR_INVALID_HANDLE);
    CHECK(!GetOverlappedResult((HANDLE)s, NULL, &bytes, FALSE) && GetLastError() == ERROR_INVALID_PARAMETER);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(every_completion_is_queued_once),
    ROW(a_failed_operation_is_dequeued_with_its_error),
    ROW(a_result_is_waited_for_whatever_the_event_says),
    ROW(cancelling_ends_what_waits_and_nothing_else),
    ROW(closing_a_port_wakes_who_waits_there),
    ROW(several_completions_are_taken_at_once),
    ROW(wrong_handles_are_refused),
};
RUN_TESTS(tests)
