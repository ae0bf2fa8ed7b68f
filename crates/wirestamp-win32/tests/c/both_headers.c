/* Uses winsock2.h and the C library's socket headers in one file, in either order (-DWINSOCK_FIRST=0 or 1), in C and in
 * C++, with stdio, string and pthread. A socket of each kind sends a datagram to the other. */
#if WINSOCK_FIRST
#include <winsock2.h>
#include <ws2tcpip.h>
#include <mswsock.h>
#include <mstcpip.h>
#include <iphlpapi.h>
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>
#if !WINSOCK_FIRST
#include <winsock2.h>
#include <ws2tcpip.h>
#include <mswsock.h>
#include <mstcpip.h>
#include <iphlpapi.h>
#endif
#ifdef __cplusplus
#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#endif

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

/* A program's own names, the same as functions of winsock and of the C library. */
struct operations {
    int (*send)(int);
    int (*bind)(int);
};
static int twice(int number) { return 2 * number; }

/* Ends a datagram socket of the C library's; its address goes to `name`. */
static int open_libc(struct sockaddr_in *name)
{
    socklen_t length = sizeof(*name);
    int fd = wirestamp_libc_socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(fd >= 0);
    memset(name, 0, sizeof(*name));
    name->sin_family = AF_INET;
    name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(wirestamp_libc_bind(fd, (struct sockaddr *)name, sizeof(*name)) == 0);
    CHECK(wirestamp_libc_getsockname(fd, (struct sockaddr *)name, &length) == 0);
    return fd;
}

static SOCKET open_winsock(struct sockaddr_in *name)
{
    int length = sizeof(*name);
    SOCKET s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    CHECK(s != INVALID_SOCKET);
    memset(name, 0, sizeof(*name));
    name->sin_family = AF_INET;
    name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(s, (struct sockaddr *)name, sizeof(*name)) == 0);
    CHECK(getsockname(s, (struct sockaddr *)name, &length) == 0);
    return s;
}

static void *exchange(void *unused)
{
    struct sockaddr_in of_libc, of_winsock, from;
    int fd = open_libc(&of_libc), from_length = sizeof(from), type = 0, type_length = sizeof(type);
    SOCKET s = open_winsock(&of_winsock);
    char data[16] = "";
    socklen_t length = sizeof(type);
    (void)unused;

    CHECK(wirestamp_libc_sendto(fd, "from libc", 10, 0, (struct sockaddr *)&of_winsock, sizeof(of_winsock)) == 10);
    CHECK(recvfrom(s, data, sizeof(data), 0, (struct sockaddr *)&from, &from_length) == 10);
    CHECK(strcmp(data, "from libc") == 0 && from.sin_port == of_libc.sin_port);
    CHECK(sendto(s, "from winsock", 13, 0, (struct sockaddr *)&of_libc, sizeof(of_libc)) == 13);
    CHECK(wirestamp_libc_recv(fd, data, sizeof(data), 0) == 13);
    CHECK(strcmp(data, "from winsock") == 0);

    /* One option, asked for by each system's numbers. */
    CHECK(getsockopt(s, SOL_SOCKET, SO_TYPE, (char *)&type, &type_length) == 0 && type == SOCK_DGRAM);
    type = 0;
    CHECK(wirestamp_libc_getsockopt(fd, WIRESTAMP_LIBC_SOL_SOCKET, WIRESTAMP_LIBC_SO_TYPE, &type, &length) == 0);
    CHECK(type == SOCK_DGRAM);

    CHECK(closesocket(s) == 0);
    CHECK(close(fd) == 0);
    return NULL;
}

int main(void)
{
    struct operations operations;
    struct in6_addr address;
    pthread_t threads[2];
    int pair[2], i;
    WSADATA data;

    operations.send = twice;
    operations.bind = twice;
    CHECK(operations.send(1) == 2 && operations.bind(2) == 4);
    CHECK(SOL_SOCKET == 0xFFFF && AF_INET6 == 23 && SO_TIMESTAMP == 0x300A && MSG_CTRUNC == 0x200);
    CHECK(WIRESTAMP_LIBC_SOL_SOCKET != SOL_SOCKET && WIRESTAMP_LIBC_AF_INET6 != AF_INET6);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && close(pair[0]) == 0 && close(pair[1]) == 0);

    CHECK(WSAStartup(MAKEWORD(2, 2), &data) == 0);
    CHECK(inet_pton(AF_INET6, "fe80::1", &address) == 1 && address.s6_addr[0] == 0xfe && address.s6_addr[15] == 1);
    for (i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, exchange, NULL) == 0);
    for (i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(WSACleanup() == 0);
#ifdef __cplusplus
    CHECK(std::bind(twice, 3)() == 6);
#endif
    return 0;
}
