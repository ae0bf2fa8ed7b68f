/* Waiting for several sockets: select with its sets, and WSAPoll. Included by winsock2.h.
 *
 * A set is a count and sockets, as on Windows; the C library's sets are bits, and a SOCKET is no bit in them. */
#ifndef WIRESTAMP_WAITING_H
#define WIRESTAMP_WAITING_H

#include "winsock_names.h"

/* As many sockets a set has room for: 64, if the program does not say otherwise before winsock2.h. */
#ifdef WIRESTAMP_FD_SETSIZE_IS_THE_PROGRAMS
#pragma pop_macro("FD_SETSIZE")
#else
#undef FD_SETSIZE
#define FD_SETSIZE 64
#endif

#define select wirestamp_win32_select
#define fd_set wirestamp_win32_fd_set
#undef FD_SET
#undef FD_CLR
#undef FD_ISSET
#undef FD_ZERO
#define FD_SET(s, set) wirestamp_fd_set_add(s, set)
#define FD_CLR(s, set) wirestamp_fd_set_remove(s, set)
#define FD_ISSET(s, set) wirestamp_fd_set_has(s, set)
#define FD_ZERO(set) (((fd_set *)(set))->fd_count = 0)

#ifndef timerisset
#define timerisset(time) ((time)->tv_sec || (time)->tv_usec)
#define timerclear(time) ((time)->tv_sec = (time)->tv_usec = 0)
#endif

#define POLLRDNORM 0x0100
#define POLLRDBAND 0x0200
#define POLLIN (POLLRDNORM | POLLRDBAND)
#define POLLPRI 0x0400
#define POLLWRNORM 0x0010
#define POLLOUT (POLLWRNORM)
#define POLLWRBAND 0x0020
#define POLLERR 0x0001
#define POLLHUP 0x0002
#define POLLNVAL 0x0004

WIRESTAMP_BEGIN

typedef struct fd_set {
    unsigned int fd_count;
    SOCKET fd_array[FD_SETSIZE];
} fd_set, *PFD_SET, *LPFD_SET;
typedef struct timeval TIMEVAL, *PTIMEVAL, *LPTIMEVAL;

/* Not the C library's structure: a SOCKET has 64 bits. */
#define pollfd wirestamp_win32_pollfd
typedef struct pollfd {
    SOCKET fd;
    SHORT events;
    SHORT revents;
} WSAPOLLFD, *PWSAPOLLFD, *LPWSAPOLLFD;
WIRESTAMP_SIZE(WSAPOLLFD, 16);
WIRESTAMP_FIELD(WSAPOLLFD, events, 8, 2);

/* A full set takes no more, and a socket is in it once. */
static inline void wirestamp_fd_set_add(SOCKET s, fd_set *set)
{
    unsigned int i;
    for (i = 0; i < set->fd_count; i++)
        if (set->fd_array[i] == s) return;
    if (set->fd_count < FD_SETSIZE) set->fd_array[set->fd_count++] = s;
}

static inline void wirestamp_fd_set_remove(SOCKET s, fd_set *set)
{
    unsigned int i, kept = 0;
    for (i = 0; i < set->fd_count; i++)
        if (set->fd_array[i] != s) set->fd_array[kept++] = set->fd_array[i];
    set->fd_count = kept;
}

static inline int wirestamp_fd_set_has(SOCKET s, const fd_set *set)
{
    unsigned int i;
    for (i = 0; i < set->fd_count; i++)
        if (set->fd_array[i] == s) return 1;
    return 0;
}

/* Returns how many sockets are ready; 0 when the time is over. `count` is not looked at. No time: waits without end.
 * Sockets are ready to be written to at once, and never exceptional. */
int WSAAPI wirestamp_win32_select(int count, fd_set *read, fd_set *write, fd_set *except, const struct timeval *time);
#define __WSAFDIsSet(s, set) wirestamp_fd_set_has(s, set)

/* `timeout`: milliseconds; negative: without end. A closed socket has POLLNVAL. POLLPRI, POLLWRBAND: WSAEINVAL. */
int WSAAPI WSAPoll(LPWSAPOLLFD sockets, ULONG count, INT timeout);

WIRESTAMP_END

#endif
