/* The performance counter, threads, events and waiting, and the last error. */
#include "sockets.h"
#include <pthread.h>
#include <time.h>

static ULONG64 monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (ULONG64)now.tv_sec * 10000000u + (ULONG64)now.tv_nsec / 100u;
}

static void the_counter_is_the_monotonic_clock(void)
{
    LARGE_INTEGER frequency;
    int i;
    CHECK(QueryPerformanceFrequency(&frequency));
    CHECK_EQUAL(frequency.QuadPart, 10000000);
    for (i = 0; i < 1000; i++) {
        ULONG64 before = monotonic(), now = counter(), after = monotonic();
        CHECK(before <= now && now <= after); /* to its tick */
    }
    CHECK_EQUAL(QueryPerformanceCounter(NULL), FALSE);
    CHECK_EQUAL(QueryPerformanceFrequency(NULL), FALSE);
}

static void sleep_is_not_shorter(void)
{
    ULONG64 before = counter();
    Sleep(30);
    CHECK(counter() - before >= 300000);
}

static void an_automatic_event_lets_one_through(void)
{
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL);
    CHECK(event != NULL);
    CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_TIMEOUT);
    CHECK(SetEvent(event) && SetEvent(event));
    CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_OBJECT_0);
    CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_TIMEOUT);
    CHECK(SetEvent(event) && ResetEvent(event));
    CHECK_EQUAL(WaitForSingleObject(event, 10), WAIT_TIMEOUT);
    CHECK(CloseHandle(event));
    event = CreateEvent(NULL, FALSE, TRUE, NULL);
    CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_OBJECT_0);
    CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_TIMEOUT);
    CHECK(CloseHandle(event));
}

static void a_manual_event_stays_set(void)
{
    HANDLE event = CreateEvent(NULL, TRUE, FALSE, NULL);
    CHECK(SetEvent(event));
    CHECK_EQUAL(WaitForSingleObject(event, INFINITE), WAIT_OBJECT_0);
    CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_OBJECT_0);
    CHECK(ResetEvent(event));
    CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_TIMEOUT);
    CHECK(CloseHandle(event));
    event = CreateEventW(NULL, TRUE, TRUE, NULL);
    CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_OBJECT_0);
    CHECK(CloseHandle(event));
}

static void a_wait_ends_with_its_time(void)
{
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL);
    ULONG64 before = counter();
    CHECK_EQUAL(WaitForSingleObject(event, 50), WAIT_TIMEOUT);
    CHECK(counter() - before >= 500000);
    CHECK(CloseHandle(event));
}

static DWORD WINAPI set_it(LPVOID event)
{
    Sleep(20);
    SetEvent((HANDLE)event);
    return 42;
}

static void a_thread_can_be_waited_for(void)
{
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL);
    DWORD id = 0, exit_code = 0;
    HANDLE thread = CreateThread(NULL, 0, set_it, event, 0, &id);
    CHECK(thread != NULL && id != 0 && id != GetCurrentThreadId());
    CHECK(GetExitCodeThread(thread, &exit_code));
    CHECK(exit_code == STILL_ACTIVE || exit_code == 42);
    CHECK_EQUAL(WaitForSingleObject(event, 10000), WAIT_OBJECT_0);
    CHECK_EQUAL(WaitForSingleObject(thread, 10000), WAIT_OBJECT_0);
    CHECK_EQUAL(WaitForSingleObject(thread, 0), WAIT_OBJECT_0);
    CHECK(GetExitCodeThread(thread, &exit_code));
    CHECK_EQUAL(exit_code, 42);
    CHECK(CloseHandle(thread) && CloseHandle(event));
}

/* The object lives as long as somebody needs it. */
static void a_thread_outlives_its_handle(void)
{
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL);
    HANDLE thread = CreateThread(NULL, 0, set_it, event, 0, NULL);
    CHECK(thread != NULL && CloseHandle(thread));
    CHECK_EQUAL(WaitForSingleObject(event, 10000), WAIT_OBJECT_0);
}

static void several_are_waited_for_together(void)
{
    HANDLE both[2];
    both[0] = CreateEvent(NULL, FALSE, FALSE, NULL), both[1] = CreateEvent(NULL, FALSE, FALSE, NULL);
    CHECK_EQUAL(WaitForMultipleObjects(2, both, FALSE, 10), WAIT_TIMEOUT);
    CHECK(SetEvent(both[1]));
    CHECK_EQUAL(WaitForMultipleObjects(2, both, TRUE, 10), WAIT_TIMEOUT); /* and takes none */
    CHECK_EQUAL(WaitForMultipleObjects(2, both, FALSE, 10), WAIT_OBJECT_0 + 1);
    CHECK_EQUAL(WaitForMultipleObjects(2, both, FALSE, 10), WAIT_TIMEOUT);
    CHECK(SetEvent(both[0]) && SetEvent(both[1]));
    CHECK_EQUAL(WaitForMultipleObjects(2, both, TRUE, 10), WAIT_OBJECT_0);
    CHECK_EQUAL(WaitForMultipleObjects(2, both, FALSE, 0), WAIT_TIMEOUT);
    CHECK_EQUAL(WaitForMultipleObjects(0, both, FALSE, 0), WAIT_FAILED);
    CHECK(CloseHandle(both[0]) && CloseHandle(both[1]));
}

static void a_closed_handle_is_invalid(void)
{
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL);
    CHECK(CloseHandle(event));
    SetLastError(0);
    CHECK_EQUAL(CloseHandle(event), FALSE);
    CHECK_EQUAL(GetLastError(), ERROR_INVALID_HANDLE);
    SetLastError(0);
    CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_FAILED);
    CHECK_EQUAL(GetLastError(), ERROR_INVALID_HANDLE);
    CHECK_EQUAL(SetEvent(NULL), FALSE);
    CHECK_EQUAL(SetEvent(INVALID_HANDLE_VALUE), FALSE);
    CHECK_EQUAL(ResetEvent(event), FALSE);
}

static DWORD WINAPI other_error(LPVOID unused)
{
    (void)unused;
    CHECK_EQUAL(GetLastError(), 0);
    SetLastError(5);
    return 0;
}

static void the_error_number_is_the_threads_own(void)
{
    HANDLE thread;
    SetLastError(77);
    CHECK_EQUAL(WSAGetLastError(), 77);
    WSASetLastError(78);
    CHECK_EQUAL(GetLastError(), 78);
    thread = CreateThread(NULL, 0, other_error, NULL, 0, NULL);
    CHECK_EQUAL(WaitForSingleObject(thread, 10000), WAIT_OBJECT_0);
    CHECK_EQUAL(WSAGetLastError(), 78);
    CHECK(CloseHandle(thread));
}

/* The event that is waited for, and one that says so. */
struct passing {
    HANDLE event, passed;
};

static void *plain_thread(void *of)
{
    struct passing *passing = (struct passing *)of;
    CHECK_EQUAL(WaitForSingleObject(passing->event, 60000), WAIT_OBJECT_0);
    CHECK(SetEvent(passing->passed));
    return NULL;
}

/* Each set of an automatic event lets one thread through, whether it waits already or not. */
static void threads_of_the_c_library_can_wait_too(void)
{
    struct passing passing;
    pthread_t threads[3];
    int i;
    passing.event = CreateEvent(NULL, FALSE, FALSE, NULL);
    passing.passed = CreateEvent(NULL, FALSE, FALSE, NULL);
    for (i = 0; i < 3; i++) CHECK_EQUAL(pthread_create(&threads[i], NULL, plain_thread, &passing), 0);
    for (i = 0; i < 3; i++) {
        CHECK(SetEvent(passing.event));
        CHECK_EQUAL(WaitForSingleObject(passing.passed, 60000), WAIT_OBJECT_0);
    }
    for (i = 0; i < 3; i++) CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    CHECK(CloseHandle(passing.event) && CloseHandle(passing.passed));
}

static void the_c_librarys_functions_agree_on_addresses(void)
{
    char text[64];
    IN6_ADDR address;
    start();
    CHECK_EQUAL(inet_pton(AF_INET6, "2001:db8::5", &address), 1);
    CHECK(inet_ntop(AF_INET6, &address, text, sizeof(text)) == text);
    CHECK(strcmp(text, "2001:db8::5") == 0);
    CHECK_EQUAL(inet_pton(AF_INET6, "nonsense", &address), 0);
    CHECK_EQUAL(inet_pton(99, "1.2.3.4", &address), -1);
    CHECK_EQUAL(WSAGetLastError(), WSAEAFNOSUPPORT);
}

static void atomic_operations_return_what_windows_do(void)
{
    LONG volatile number = 5;
    LONG64 volatile wide = 1ll << 40;
    CHECK(InterlockedIncrement(&number) == 6 && InterlockedDecrement(&number) == 5);
    CHECK(InterlockedExchange(&number, 9) == 5 && InterlockedExchangeAdd(&number, 2) == 9 && number == 11);
    CHECK(InterlockedCompareExchange(&number, 1, 10) == 11 && number == 11);
    CHECK(InterlockedCompareExchange(&number, 1, 11) == 11 && number == 1);
    CHECK(InterlockedCompareExchange64(&wide, 3, 1ll << 40) == 1ll << 40 && InterlockedIncrement64(&wide) == 4);
    CHECK(SwitchToThread());
}

/* What programs compare answers with, and ask for, though it never comes or changes nothing here. */
static void names_without_an_effect_are_there(void)
{
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL);
    ULONG size = 0, flags = GAA_FLAG_INCLUDE_GATEWAYS | GAA_FLAG_INCLUDE_WINS_INFO | GAA_FLAG_SKIP_DNS_INFO;
    SOCKET s;
    start();
    CHECK(event != NULL && GetLastError() != ERROR_ALREADY_EXISTS);
    CHECK(WSAWaitForMultipleEvents(1, &event, FALSE, 0, TRUE) != WSA_WAIT_IO_COMPLETION);
    s = WSASocketW(AF_INET, SOCK_DGRAM, IPPROTO_UDP, NULL, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    CHECK(s != INVALID_SOCKET);
    CHECK_EQUAL(GetAdaptersAddresses(AF_UNSPEC, flags, NULL, NULL, &size), ERROR_BUFFER_OVERFLOW);
    CHECK(_WIN32_WINNT >= _WIN32_WINNT_WIN7 && NTDDI_VERSION < NTDDI_WIN10_NI);
    CHECK(sizeof(SRWLOCK) == sizeof(void *));
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(the_counter_is_the_monotonic_clock),
    ROW(sleep_is_not_shorter),
    ROW(an_automatic_event_lets_one_through),
    ROW(a_manual_event_stays_set),
    ROW(a_wait_ends_with_its_time),
    ROW(a_thread_can_be_waited_for),
    ROW(a_thread_outlives_its_handle),
    ROW(several_are_waited_for_together),
    ROW(a_closed_handle_is_invalid),
    ROW(the_error_number_is_the_threads_own),
    ROW(threads_of_the_c_library_can_wait_too),
    ROW(the_c_librarys_functions_agree_on_addresses),
    ROW(atomic_operations_return_what_windows_do),
    ROW(names_without_an_effect_are_there),
};
RUN_TESTS(tests)
