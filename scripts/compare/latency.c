/* Owns an independent measurement of send path, wire and receive path over loopback: bare
 * system calls, no code shared with wirestamp. Prints what `wirestamp latency --json` prints.
 *
 * It measures what wirestamp's measurement measures, in the same order on one thread: read
 * the clock, send; receive at once (on loopback the datagram has arrived when the send call
 * returns, so nobody sleeps or is woken), read the clock; only then empty the error queue.
 * 64 bytes, connected sockets of one host, IPv4, the next datagram when the last is through.
 * All times are CLOCK_REALTIME, on which the kernel timestamps: nothing is converted.
 *
 * usage: latency COUNT
 *
 * Source: Documentation/networking/timestamping.rst of the kernel; recvmsg(2), cmsg(3).
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { PAYLOAD = 64, WAIT_MS = 200, WARM_UP_MS = 1000 };

struct path {
    int64_t *values;
    size_t count;
};

static void die(const char *what)
{
    fprintf(stderr, "latency: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t nanoseconds(int64_t seconds, int64_t rest)
{
    return seconds * 1000000000 + rest;
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return nanoseconds(time.tv_sec, time.tv_nsec);
}

/* A UDP socket on 127.0.0.1 that timestamps as `flags` say; tells its address. */
static int timestamping_socket(int flags, struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address))
        die("bind");
    if (getsockname(fd, (struct sockaddr *)address, &length))
        die("getsockname");
    if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags))
        die("SO_TIMESTAMPING");
    return fd;
}

/* Receives one message; tells the software timestamp (0: none) and, of an error-queue entry, the
 * id (-1: no timestamp). Waits for it. Returns 0 if none came. */
static int receive(int fd, int flags, int64_t *timestamp, int64_t *id)
{
    char payload[PAYLOAD], control[512];
    struct iovec part = { payload, sizeof payload };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control };

    *timestamp = 0;
    *id = -1;
    message.msg_controllen = sizeof control;
    while (recvmsg(fd, &message, flags | MSG_DONTWAIT) < 0) {
        struct pollfd waiting = { .fd = fd, .events = flags & MSG_ERRQUEUE ? 0 : POLLIN };
        if (errno != EAGAIN)
            die("recvmsg");
        if (poll(&waiting, 1, WAIT_MS) == 0)
            return 0;
    }
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPING) {
            struct scm_timestamping times;
            memcpy(&times, CMSG_DATA(c), sizeof times);
            *timestamp = nanoseconds(times.ts[0].tv_sec, times.ts[0].tv_nsec);
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) {
            struct sock_extended_err error;
            memcpy(&error, CMSG_DATA(c), sizeof error);
            if (error.ee_errno == ENOMSG && error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING
                && error.ee_info == SCM_TSTAMP_SND)
                *id = error.ee_data;
        }
    }
    return 1;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t percentile(const struct path *path, double share)
{
    size_t place = (size_t)(share * (double)path->count);
    return path->count ? path->values[place < path->count ? place : path->count - 1] : 0;
}

static void print(const char *name, struct path *path, const char *end)
{
    double sum = 0;
    for (size_t i = 0; i < path->count; i++)
        sum += (double)path->values[i];
    qsort(path->values, path->count, sizeof *path->values, ascending);
    printf("  \"%s\": {\"p50\": %ld, \"p90\": %ld, \"p99\": %ld, \"p99_9\": %ld, \"max\": %ld, \"mean\": %ld}%s\n",
           name, percentile(path, 0.5), percentile(path, 0.9), percentile(path, 0.99), percentile(path, 0.999),
           percentile(path, 1), path->count ? (int64_t)(sum / (double)path->count) : 0, end);
}

static struct path path_of(size_t count)
{
    struct path path = { calloc(count, sizeof(int64_t)), 0 };
    if (!path.values)
        die("memory");
    return path;
}

int main(int argc, char **argv)
{
    long count = argc == 2 ? atol(argv[1]) : 0;
    long arrived = 0, transmit_timestamps = 0, receive_timestamps = 0;
    uint32_t expected = 0; /* the kernel counts the timestamped datagrams of a socket from 0 */
    int64_t warm_until = now() + WARM_UP_MS * 1000000LL;
    int warm = 0;
    char payload[PAYLOAD] = { 0 };
    struct sockaddr_in from, to;

    if (count < 1) {
        fprintf(stderr, "usage: latency COUNT\n");
        return 2;
    }
    int receiver = timestamping_socket(SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE, &to);
    int sender = timestamping_socket(SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID
                                     | SOF_TIMESTAMPING_OPT_TSONLY, &from);
    if (connect(sender, (struct sockaddr *)&to, sizeof to))
        die("connect");
    struct path send_path = path_of(count), wire = path_of(count), receive_path = path_of(count);

    for (long i = 0; i < count;) {
        int64_t transmitted, received, id, ignored;
        int64_t before = now();
        if (send(sender, payload, sizeof payload, 0) < 0)
            die("send");
        int came = receive(receiver, 0, &received, &ignored);
        int64_t after = now();
        int timestamped = receive(sender, MSG_ERRQUEUE, &transmitted, &id) && id == expected && transmitted;
        expected++;
        /* receive timestamps begin some milliseconds after the first socket asked for them */
        if (!warm) {
            warm = (came && timestamped && received) || now() > warm_until;
            continue;
        }
        i++;
        arrived += came;
        transmit_timestamps += timestamped;
        receive_timestamps += came && received;
        if (timestamped)
            send_path.values[send_path.count++] = transmitted - before;
        if (came && received)
            receive_path.values[receive_path.count++] = after - received;
        if (timestamped && came && received)
            wire.values[wire.count++] = received - transmitted;
    }
    printf("{\n  \"interface\": \"lo\", \"source\": \"software\", \"packets\": %ld,\n"
           "  \"lost\": {\"packets\": %ld, \"transmit_timestamps\": %ld, \"receive_timestamps\": %ld},\n",
           count, count - arrived, count - transmit_timestamps, arrived - receive_timestamps);
    print("send_path_ns", &send_path, ",");
    print("wire_ns", &wire, ",");
    print("receive_path_ns", &receive_path, "");
    printf("}\n");
    return 0;
}
