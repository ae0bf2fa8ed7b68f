/* Includes the C library's socket headers, and sets their names aside that winsock needs for itself. Winsock's
 * declarations of these names: winsock_names.h.
 *
 * Structures (sockaddr, sockaddr_in, in_addr, ...) are the C library's, with the same layout as on
 * Windows. A name that both have means winsock's once winsock2.h is included; the C library's is
 * then called wirestamp_libc_NAME (functions) or WIRESTAMP_LIBC_NAME (numbers). */
#ifndef WIRESTAMP_LIBC_SOCKETS_H
#define WIRESTAMP_LIBC_SOCKETS_H

/* The guard of <sys/socket.h>, in glibc and in musl. If it is not set, the program has not
 * included that header: its functions are then declared under names nobody sees, and the plain
 * names are free for winsock (and, as on Windows, sendmsg and recvmsg are free for the program). */
#ifdef _SYS_SOCKET_H
#define WIRESTAMP_LIBC_FIRST 1
#else
#define WIRESTAMP_LIBC_FIRST 0
#define socket wirestamp_hidden_socket
#define bind wirestamp_hidden_bind
#define connect wirestamp_hidden_connect
#define send wirestamp_hidden_send
#define recv wirestamp_hidden_recv
#define sendto wirestamp_hidden_sendto
#define recvfrom wirestamp_hidden_recvfrom
#define setsockopt wirestamp_hidden_setsockopt
#define getsockopt wirestamp_hidden_getsockopt
#define getsockname wirestamp_hidden_getsockname
#define getpeername wirestamp_hidden_getpeername
#define shutdown wirestamp_hidden_shutdown
#define inet_pton wirestamp_hidden_inet_pton
#define inet_ntop wirestamp_hidden_inet_ntop
#define sendmsg wirestamp_hidden_sendmsg
#define recvmsg wirestamp_hidden_recvmsg
#define listen wirestamp_hidden_listen
#define accept wirestamp_hidden_accept
#endif
#ifdef _NETINET_IN_H
#define WIRESTAMP_LIBC_IN_FIRST 1
#else
#define WIRESTAMP_LIBC_IN_FIRST 0
#endif
#include "libc_enumerators.h"

/* The program's own choice, as on Windows; that of the C library counts for its own sets alone. */
#if defined(FD_SETSIZE) && !defined(_SYS_SELECT_H)
#define WIRESTAMP_FD_SETSIZE_IS_THE_PROGRAMS
#pragma push_macro("FD_SETSIZE")
#endif

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <netdb.h>
/* With Windows' POLLIN the C library's poll waits for something else; wirestamp_libc_poll is that function. */
#ifndef _SYS_POLL_H
#define poll wirestamp_hidden_poll
#include <poll.h>
#undef poll
#endif

#if !WIRESTAMP_LIBC_FIRST
#undef socket
#undef bind
#undef connect
#undef send
#undef recv
#undef sendto
#undef recvfrom
#undef setsockopt
#undef getsockopt
#undef getsockname
#undef getpeername
#undef shutdown
#undef inet_pton
#undef inet_ntop
#undef sendmsg
#undef recvmsg
#undef listen
#undef accept
#endif

#ifdef __cplusplus
extern "C" {
#endif
extern int wirestamp_libc_socket(int, int, int) __asm__("socket");
extern int wirestamp_libc_bind(int, const struct sockaddr *, socklen_t) __asm__("bind");
extern int wirestamp_libc_connect(int, const struct sockaddr *, socklen_t) __asm__("connect");
extern ssize_t wirestamp_libc_send(int, const void *, size_t, int) __asm__("send");
extern ssize_t wirestamp_libc_recv(int, void *, size_t, int) __asm__("recv");
extern ssize_t wirestamp_libc_sendto(int, const void *, size_t, int, const struct sockaddr *, socklen_t)
    __asm__("sendto");
extern ssize_t wirestamp_libc_recvfrom(int, void *, size_t, int, struct sockaddr *, socklen_t *)
    __asm__("recvfrom");
extern ssize_t wirestamp_libc_sendmsg(int, const struct msghdr *, int) __asm__("sendmsg");
extern ssize_t wirestamp_libc_recvmsg(int, struct msghdr *, int) __asm__("recvmsg");
extern int wirestamp_libc_setsockopt(int, int, int, const void *, socklen_t) __asm__("setsockopt");
extern int wirestamp_libc_getsockopt(int, int, int, void *, socklen_t *) __asm__("getsockopt");
extern int wirestamp_libc_getsockname(int, struct sockaddr *, socklen_t *) __asm__("getsockname");
extern int wirestamp_libc_getpeername(int, struct sockaddr *, socklen_t *) __asm__("getpeername");
extern int wirestamp_libc_shutdown(int, int) __asm__("shutdown");
extern int wirestamp_libc_listen(int, int) __asm__("listen");
extern int wirestamp_libc_accept(int, struct sockaddr *, socklen_t *) __asm__("accept");
extern int wirestamp_libc_poll(struct pollfd *, nfds_t, int) __asm__("poll");
extern int wirestamp_libc_select(int, fd_set *, fd_set *, fd_set *, struct timeval *) __asm__("select");
extern int wirestamp_libc_inet_pton(int, const char *, void *) __asm__("inet_pton");
extern const char *wirestamp_libc_inet_ntop(int, const void *, char *, socklen_t) __asm__("inet_ntop");
#ifdef __cplusplus
}
#endif

/* The C library's numbers, before winsock's take their names (ws2def.h, ws2ipdef.h, winsock2.h). */
enum wirestamp_libc_number {
    WIRESTAMP_LIBC_AF_INET6 = AF_INET6,
    WIRESTAMP_LIBC_SOL_SOCKET = SOL_SOCKET,
    WIRESTAMP_LIBC_SO_REUSEADDR = SO_REUSEADDR,
    WIRESTAMP_LIBC_SO_KEEPALIVE = SO_KEEPALIVE,
    WIRESTAMP_LIBC_SO_DONTROUTE = SO_DONTROUTE,
    WIRESTAMP_LIBC_SO_BROADCAST = SO_BROADCAST,
    WIRESTAMP_LIBC_SO_LINGER = SO_LINGER,
    WIRESTAMP_LIBC_SO_OOBINLINE = SO_OOBINLINE,
    WIRESTAMP_LIBC_SO_SNDBUF = SO_SNDBUF,
    WIRESTAMP_LIBC_SO_RCVBUF = SO_RCVBUF,
    WIRESTAMP_LIBC_SO_SNDTIMEO = SO_SNDTIMEO,
    WIRESTAMP_LIBC_SO_RCVTIMEO = SO_RCVTIMEO,
    WIRESTAMP_LIBC_SO_ERROR = SO_ERROR,
    WIRESTAMP_LIBC_SO_TYPE = SO_TYPE,
    WIRESTAMP_LIBC_MSG_WAITALL = 0x100,
    WIRESTAMP_LIBC_MSG_TRUNC = 0x20,
    WIRESTAMP_LIBC_MSG_CTRUNC = 0x08,
    WIRESTAMP_LIBC_FIONREAD = FIONREAD,
    WIRESTAMP_LIBC_FIONBIO = FIONBIO,
    WIRESTAMP_LIBC_IP_TTL = IP_TTL,
    WIRESTAMP_LIBC_IP_MULTICAST_IF = IP_MULTICAST_IF,
    WIRESTAMP_LIBC_IP_MULTICAST_TTL = IP_MULTICAST_TTL,
    WIRESTAMP_LIBC_IP_MULTICAST_LOOP = IP_MULTICAST_LOOP,
    WIRESTAMP_LIBC_IP_ADD_MEMBERSHIP = IP_ADD_MEMBERSHIP,
    WIRESTAMP_LIBC_IP_DROP_MEMBERSHIP = IP_DROP_MEMBERSHIP,
    WIRESTAMP_LIBC_IPV6_UNICAST_HOPS = IPV6_UNICAST_HOPS,
    WIRESTAMP_LIBC_IPV6_MULTICAST_IF = IPV6_MULTICAST_IF,
    WIRESTAMP_LIBC_IPV6_MULTICAST_HOPS = IPV6_MULTICAST_HOPS,
    WIRESTAMP_LIBC_IPV6_MULTICAST_LOOP = IPV6_MULTICAST_LOOP,
    WIRESTAMP_LIBC_IPV6_V6ONLY = IPV6_V6ONLY
};

#include "libc_numbers.h"

#endif
