/* Winsock's functions whose names the C library has, too. The others: winsock2.h.
 *
 * The library exports them as wirestamp_win32_NAME. Where the C library's name is free (it always is,
 * unless the program included <sys/socket.h> before winsock2.h), the plain name is declared as a
 * function of winsock: members called `send`, pointers to functions and std::bind are untouched.
 * Where the C library's declaration stands already, C++ gets overloads (SOCKET is not int), and C
 * gets macros. */
#ifndef WIRESTAMP_WINSOCK_NAMES_H
#define WIRESTAMP_WINSOCK_NAMES_H

#include "libc_sockets.h"
#include "types.h"

typedef UINT_PTR SOCKET;

#if WIRESTAMP_LIBC_FIRST
#define WIRESTAMP_NAME(name) wirestamp_win32_##name
#define WIRESTAMP_LABEL(name)
#else
#define WIRESTAMP_NAME(name) name
#define WIRESTAMP_LABEL(name) __asm__("wirestamp_win32_" #name)
#endif

/* Of a function that is not there: what the compiler says where a program uses it. */
#if defined(__has_attribute)
#if __has_attribute(unavailable)
#define WIRESTAMP_ABSENT(reason) __attribute__((unavailable(reason)))
#endif
#endif
#ifndef WIRESTAMP_ABSENT
#define WIRESTAMP_ABSENT(reason) __attribute__((error(reason)))
#endif
#define WIRESTAMP_NO_STREAMS \
    WIRESTAMP_ABSENT("wirestamp-win32 has datagram sockets only: packet timestamps are those of UDP, not of TCP")

WIRESTAMP_BEGIN

SOCKET WSAAPI WIRESTAMP_NAME(socket)(int family, int type, int protocol)
    WIRESTAMP_LABEL(socket);
int WSAAPI WIRESTAMP_NAME(bind)(SOCKET s, const struct sockaddr *address, int length)
    WIRESTAMP_LABEL(bind);
int WSAAPI WIRESTAMP_NAME(connect)(SOCKET s, const struct sockaddr *address, int length)
    WIRESTAMP_LABEL(connect);
int WSAAPI WIRESTAMP_NAME(send)(SOCKET s, const char *data, int length, int flags)
    WIRESTAMP_LABEL(send);
int WSAAPI WIRESTAMP_NAME(recv)(SOCKET s, char *data, int length, int flags)
    WIRESTAMP_LABEL(recv);
int WSAAPI WIRESTAMP_NAME(sendto)(SOCKET s, const char *data, int length, int flags, const struct sockaddr *to,
                                  int to_length)
    WIRESTAMP_LABEL(sendto);
int WSAAPI WIRESTAMP_NAME(recvfrom)(SOCKET s, char *data, int length, int flags, struct sockaddr *from,
                                    int *from_length)
    WIRESTAMP_LABEL(recvfrom);
int WSAAPI WIRESTAMP_NAME(setsockopt)(SOCKET s, int level, int option, const char *value, int length)
    WIRESTAMP_LABEL(setsockopt);
int WSAAPI WIRESTAMP_NAME(getsockopt)(SOCKET s, int level, int option, char *value, int *length)
    WIRESTAMP_LABEL(getsockopt);
int WSAAPI WIRESTAMP_NAME(getsockname)(SOCKET s, struct sockaddr *name, int *length)
    WIRESTAMP_LABEL(getsockname);
int WSAAPI WIRESTAMP_NAME(getpeername)(SOCKET s, struct sockaddr *name, int *length)
    WIRESTAMP_LABEL(getpeername);
int WSAAPI WIRESTAMP_NAME(shutdown)(SOCKET s, int how)
    WIRESTAMP_LABEL(shutdown);
int WSAAPI WIRESTAMP_NAME(listen)(SOCKET s, int backlog)
    WIRESTAMP_LABEL(listen) WIRESTAMP_NO_STREAMS;
SOCKET WSAAPI WIRESTAMP_NAME(accept)(SOCKET s, struct sockaddr *address, int *length)
    WIRESTAMP_LABEL(accept) WIRESTAMP_NO_STREAMS;
INT WSAAPI WIRESTAMP_NAME(inet_pton)(INT family, PCSTR text, PVOID address)
    WIRESTAMP_LABEL(inet_pton);
PCSTR WSAAPI WIRESTAMP_NAME(inet_ntop)(INT family, const VOID *address, PSTR text, size_t size)
    WIRESTAMP_LABEL(inet_ntop);

WIRESTAMP_END

#if WIRESTAMP_LIBC_FIRST && defined(__cplusplus)
/* Same arguments as the C library's: no overload is possible. */
#define socket(family, type, protocol) wirestamp_win32_socket(family, type, protocol)
#define inet_pton(family, text, address) wirestamp_win32_inet_pton(family, text, address)
#define inet_ntop(family, address, text, size) wirestamp_win32_inet_ntop(family, address, text, size)
inline int bind(SOCKET s, const struct sockaddr *address, int length)
{
    return wirestamp_win32_bind(s, address, length);
}
inline int connect(SOCKET s, const struct sockaddr *address, int length)
{
    return wirestamp_win32_connect(s, address, length);
}
inline int send(SOCKET s, const char *data, int length, int flags)
{
    return wirestamp_win32_send(s, data, length, flags);
}
inline int recv(SOCKET s, char *data, int length, int flags)
{
    return wirestamp_win32_recv(s, data, length, flags);
}
inline int sendto(SOCKET s, const char *data, int length, int flags, const struct sockaddr *to, int to_length)
{
    return wirestamp_win32_sendto(s, data, length, flags, to, to_length);
}
inline int recvfrom(SOCKET s, char *data, int length, int flags, struct sockaddr *from, int *from_length)
{
    return wirestamp_win32_recvfrom(s, data, length, flags, from, from_length);
}
inline int setsockopt(SOCKET s, int level, int option, const char *value, int length)
{
    return wirestamp_win32_setsockopt(s, level, option, value, length);
}
inline int getsockopt(SOCKET s, int level, int option, char *value, int *length)
{
    return wirestamp_win32_getsockopt(s, level, option, value, length);
}
inline int getsockname(SOCKET s, struct sockaddr *name, int *length)
{
    return wirestamp_win32_getsockname(s, name, length);
}
inline int getpeername(SOCKET s, struct sockaddr *name, int *length)
{
    return wirestamp_win32_getpeername(s, name, length);
}
inline int shutdown(SOCKET s, int how)
{
    return wirestamp_win32_shutdown(s, how);
}
inline int listen(SOCKET, int) WIRESTAMP_NO_STREAMS;
inline SOCKET accept(SOCKET, struct sockaddr *, int *) WIRESTAMP_NO_STREAMS;
#elif WIRESTAMP_LIBC_FIRST
#define listen wirestamp_win32_listen
#define accept wirestamp_win32_accept
#define socket wirestamp_win32_socket
#define bind wirestamp_win32_bind
#define connect wirestamp_win32_connect
#define send wirestamp_win32_send
#define recv wirestamp_win32_recv
#define sendto wirestamp_win32_sendto
#define recvfrom wirestamp_win32_recvfrom
#define setsockopt wirestamp_win32_setsockopt
#define getsockopt wirestamp_win32_getsockopt
#define getsockname wirestamp_win32_getsockname
#define getpeername wirestamp_win32_getpeername
#define shutdown wirestamp_win32_shutdown
#define inet_pton wirestamp_win32_inet_pton
#define inet_ntop wirestamp_win32_inet_ntop
#endif

#undef WIRESTAMP_NAME
#undef WIRESTAMP_LABEL

#endif
