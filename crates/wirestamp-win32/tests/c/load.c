/* Load: four threads at once, ten thousand sockets, and nothing is left. */
#include "sockets.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static int rounds(int wanted) { return getenv("FEW") != NULL ? wanted / 20 : wanted; }

static int descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int number = 0;
    CHECK(all != NULL);
    while (readdir(all) != NULL) number++;
    closedir(all);
    return number;
}

static int threads(void)
{
    DIR *all = opendir("/proc/self/task");
    int number = 0;
    CHECK(all != NULL);
    while (readdir(all) != NULL) number++;
    closedir(all);
    return number;
}

static void ten_thousand_sockets_leave_nothing(void)
{
    int i, before = 0, threads_before = 0, n = rounds(10000);
    SOCKET to;
    UINT64 timestamp;
    start();
    to = open_udp();
    for (i = 0; i < n; i++) {
        SOCKET s = i % 2 ? open_udp6() : open_udp();
        if (i % 100 == 0) {
            CHECK_EQUAL(configure(s, TIMESTAMPING_FLAG_TX | TIMESTAMPING_FLAG_RX, 4), 0);
            CHECK_EQUAL(send_id(s, to, (UINT32)i), 0);
            CHECK_EQUAL(fetch_soon(s, (UINT32)i, &timestamp), 0);
        }
        CHECK_EQUAL(closesocket(s), 0);
        if (i == 100) before = descriptors(), threads_before = threads();
    }
    CHECK_EQUAL(descriptors(), before);
    CHECK_EQUAL(threads(), threads_before);
    CHECK_EQUAL(closesocket(to), 0);
    CHECK_EQUAL(WSACleanup(), 0);
}

static void ten_thousand_handles_leave_nothing(void)
{
    int i, before = descriptors(), n = rounds(10000);
    for (i = 0; i < n; i++) {
        HANDLE event = CreateEvent(NULL, FALSE, TRUE, NULL);
        CHECK_EQUAL(WaitForSingleObject(event, 0), WAIT_OBJECT_0);
        CHECK(CloseHandle(event));
    }
    CHECK_EQUAL(descriptors(), before);
}

static void two_thousand_sockets_at_once(void)
{
    static SOCKET all[2000];
    int i, j, before, n = rounds(2000);
    start();
    CHECK_EQUAL(closesocket(open_udp()), 0);
    before = descriptors();
    for (i = 0; i < n; i++) {
        all[i] = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
        if (all[i] == INVALID_SOCKET) break;
    }
    if (i < n) { /* the process may open fewer files */
        CHECK_EQUAL(WSAGetLastError(), WSAEMFILE);
        CHECK(i > 200);
    }
    for (j = 1; j < i; j++) CHECK(all[j] != all[j - 1]);
    for (j = 0; j < i; j++) CHECK_EQUAL(closesocket(all[j]), 0);
    CHECK_EQUAL(descriptors(), before);
}

static void unclosed_sockets_end_with_the_last_cleanup(void)
{
    int i, before;
    start();
    CHECK_EQUAL(closesocket(open_udp()), 0);
    before = descriptors();
    for (i = 0; i < 20; i++) CHECK(open_udp() != INVALID_SOCKET);
    CHECK(descriptors() >= before + 20);
    CHECK_EQUAL(WSACleanup(), 0);
    CHECK(descriptors() <= before);
}

struct work {
    SOCKET own, shared;
    UINT32 first;
    int timestamped;
};

/* Sends on its own socket and on one that all share, and fetches every timestamp of both. */
static void *send_and_fetch(void *argument)
{
    struct work *work = (struct work *)argument;
    int i, n = rounds(1000);
    for (i = 0; i < n; i++) {
        UINT64 timestamp, before = counter();
        UINT32 id = work->first + (UINT32)i;
        SOCKET s = i % 2 ? work->own : work->shared;
        CHECK_EQUAL(send_id(s, work->own, id), 0);
        CHECK_EQUAL(fetch_soon(s, id, &timestamp), 0);
        CHECK(before <= timestamp && timestamp <= counter());
        CHECK_EQUAL(receive(work->own).timestamps, 1);
        work->timestamped++;
    }
    return NULL;
}

static void four_threads_send_and_fetch(void)
{
    pthread_t running[4];
    struct work work[4];
    SOCKET shared;
    UINT64 timestamp;
    int i;
    start();
    shared = open_udp();
    CHECK_EQUAL(configure(shared, TIMESTAMPING_FLAG_TX, 64), 0);
    for (i = 0; i < 4; i++) {
        work[i].own = open_udp();
        CHECK_EQUAL(configure(work[i].own, TIMESTAMPING_FLAG_TX | TIMESTAMPING_FLAG_RX, 64), 0);
        work[i].shared = shared;
        work[i].first = (UINT32)i * 1000000;
        work[i].timestamped = 0;
    }
    for (i = 0; i < 4; i++) CHECK_EQUAL(pthread_create(&running[i], NULL, send_and_fetch, &work[i]), 0);
    for (i = 0; i < 4; i++) CHECK_EQUAL(pthread_join(running[i], NULL), 0);
    for (i = 0; i < 4; i++) CHECK_EQUAL(work[i].timestamped, rounds(1000));
    CHECK_EQUAL(fetch(shared, 1, &timestamp), WSAEWOULDBLOCK);
}

static void *open_and_close(void *argument)
{
    NET_LUID luid;
    INTERFACE_TIMESTAMP_CAPABILITIES capabilities;
    HIFTIMESTAMPCHANGE handle;
    int i, n = rounds(200);
    (void)argument;
    for (i = 0; i < n; i++) {
        SOCKET s = open_udp();
        HANDLE event = CreateEvent(NULL, TRUE, TRUE, NULL);
        CHECK_EQUAL(configure(s, TIMESTAMPING_FLAG_RX, 0), 0);
        CHECK_EQUAL(ConvertInterfaceAliasToLuid(L"lo", &luid), NO_ERROR);
        CHECK_EQUAL(GetInterfaceActiveTimestampCapabilities(&luid, &capabilities), NO_ERROR);
        CHECK_EQUAL(WaitForSingleObject(event, 1000), WAIT_OBJECT_0);
        CHECK(CloseHandle(event));
        CHECK_EQUAL(closesocket(s), 0);
        if (i % 50 != 0) continue;
        CHECK_EQUAL(RegisterInterfaceTimestampConfigChange(free, NULL, &handle), NO_ERROR);
        UnregisterInterfaceTimestampConfigChange(handle);
    }
    return NULL;
}

/* How many are open once nothing has changed for a second: the thread that watched for a callback ends by itself, after the callback was
   unregistered. */
static int settled(void)
{
    int last = descriptors(), same = 0, tries;
    for (tries = 0; tries < 3000 && same < 100; tries++) {
        int now;
        Sleep(10);
        now = descriptors();
        same = now == last ? same + 1 : 0;
        last = now;
    }
    return last;
}

static void four_threads_open_and_close(void)
{
    pthread_t running[4];
    int i, before;
    start();
    open_and_close(NULL);
    before = settled();
    for (i = 0; i < 4; i++) CHECK_EQUAL(pthread_create(&running[i], NULL, open_and_close, NULL), 0);
    for (i = 0; i < 4; i++) CHECK_EQUAL(pthread_join(running[i], NULL), 0);
    CHECK_EQUAL(settled(), before);
    CHECK_EQUAL(WSACleanup(), 0);
}

/* One thread waits for a datagram, another closes the socket. */
struct waiter {
    SOCKET own;
    int number;
};

static void *receive_until_closed(void *argument)
{
    struct waiter *waiter = (struct waiter *)argument;
    struct received got;
    __atomic_store_n(&waiter->number, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    got = receive(waiter->own);
    CHECK(got.error == WSAEINTR || got.error == WSAENOTSOCK || got.error == WSA_OPERATION_ABORTED);
    return NULL;
}

/* Whether a thread of this process sleeps; one that could run and has no processor does not. */
static int sleeps(int number)
{
    char path[64], line[256] = "", *end;
    FILE *file;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", number);
    file = fopen(path, "r");
    if (file == NULL) return 0;
    if (fgets(line, sizeof(line), file) == NULL) line[0] = 0;
    fclose(file);
    end = strrchr(line, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'S';
}

static void closing_wakes_who_waits(void)
{
    pthread_t running;
    struct waiter waiter = { 0, 0 };
    int asleep = 0, tries;
    start();
    waiter.own = open_udp();
    CHECK_EQUAL(pthread_create(&running, NULL, receive_until_closed, &waiter), 0);
    for (tries = 0; tries < 6000 && asleep < 20; tries++) {
        int number = __atomic_load_n(&waiter.number, __ATOMIC_SEQ_CST);
        Sleep(10);
        asleep = number != 0 && sleeps(number) ? asleep + 1 : 0;
    }
    CHECK_EQUAL(asleep, 20);
    CHECK_EQUAL(closesocket(waiter.own), 0);
    CHECK_EQUAL(pthread_join(running, NULL), 0);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(ten_thousand_sockets_leave_nothing),
    ROW(ten_thousand_handles_leave_nothing),
    ROW(two_thousand_sockets_at_once),
    ROW(unclosed_sockets_end_with_the_last_cleanup),
    ROW(four_threads_send_and_fetch),
    ROW(four_threads_open_and_close),
    ROW(closing_wakes_who_waits),
};
RUN_TESTS(tests)
