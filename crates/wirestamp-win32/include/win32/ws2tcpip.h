/* IPv6, the text of addresses, and their names: getaddrinfo and its sisters, with Windows' numbers and structures.
 * inet_pton is declared with winsock2.h already. */
#ifndef WIRESTAMP_WS2TCPIP_H
#define WIRESTAMP_WS2TCPIP_H

#include "winsock2.h"
#include "ws2ipdef.h"

#define InetPtonA inet_pton
#define InetNtopA inet_ntop
#undef INET_ADDRSTRLEN
#undef INET6_ADDRSTRLEN
#define INET_ADDRSTRLEN 22
#define INET6_ADDRSTRLEN 65

#define AI_ADDRCONFIG 0x00000400
#define AI_ALL 0x00000100
#define AI_CANONNAME 0x00000002
#define AI_DISABLE_IDN_ENCODING 0x00080000
#define AI_FILESERVER 0x00040000
#define AI_FQDN 0x00020000
#define AI_NON_AUTHORITATIVE 0x00004000
#define AI_NUMERICHOST 0x00000004
#define AI_NUMERICSERV 0x00000008
#define AI_PASSIVE 0x00000001
#define AI_RETURN_PREFERRED_NAMES 0x00010000
#define AI_SECURE 0x00008000
#define AI_V4MAPPED 0x00000800

#define NI_NOFQDN 0x01
#define NI_NUMERICHOST 0x02
#define NI_NAMEREQD 0x04
#define NI_NUMERICSERV 0x08
#define NI_DGRAM 0x10
#define NI_MAXHOST 1025
#define NI_MAXSERV 32

/* What getaddrinfo and getnameinfo answer. */
#define EAI_AGAIN WSATRY_AGAIN
#define EAI_BADFLAGS WSAEINVAL
#define EAI_FAIL WSANO_RECOVERY
#define EAI_FAMILY WSAEAFNOSUPPORT
#define EAI_MEMORY WSA_NOT_ENOUGH_MEMORY
#define EAI_NODATA 11004
#define EAI_NONAME WSAHOST_NOT_FOUND
#define EAI_SERVICE WSATYPE_NOT_FOUND
#define EAI_SOCKTYPE WSAESOCKTNOSUPPORT

#define addrinfo wirestamp_win32_addrinfo
#define getaddrinfo wirestamp_win32_getaddrinfo
#define freeaddrinfo wirestamp_win32_freeaddrinfo
#define getnameinfo wirestamp_win32_getnameinfo
#define gai_strerror wirestamp_win32_gai_strerror
#define gai_strerrorA wirestamp_win32_gai_strerror
#define GetAddrInfoA getaddrinfo
#define FreeAddrInfoA freeaddrinfo
#define GetNameInfoA getnameinfo

WIRESTAMP_BEGIN

/* Name before address, unlike Linux' structure of this name. */
typedef struct addrinfo {
    int ai_flags;
    int ai_family;
    int ai_socktype;
    int ai_protocol;
    size_t ai_addrlen;
    char *ai_canonname;
    struct sockaddr *ai_addr;
    struct addrinfo *ai_next;
} ADDRINFOA, *PADDRINFOA, ADDRINFO, *LPADDRINFO;
WIRESTAMP_SIZE(ADDRINFOA, 48);
WIRESTAMP_FIELD(ADDRINFOA, ai_canonname, 24, 8);

/* Returns its error (EAI_*), and sets WSAGetLastError. The list goes back by freeaddrinfo. */
INT WSAAPI getaddrinfo(PCSTR node, PCSTR service, const ADDRINFOA *hints, PADDRINFOA *list);
VOID WSAAPI freeaddrinfo(PADDRINFOA list);
INT WSAAPI getnameinfo(const struct sockaddr *address, int length, PCHAR node, DWORD node_size, PCHAR service,
                       DWORD service_size, INT flags);
const char *WSAAPI gai_strerror(int code);

INT WSAAPI InetPtonW(INT family, PCWSTR text, PVOID address);
PCWSTR WSAAPI InetNtopW(INT family, const VOID *address, PWSTR text, size_t size);
#ifdef UNICODE
#define InetPton InetPtonW
#define InetNtop InetNtopW
#else
#define InetPton InetPtonA
#define InetNtop InetNtopA
#endif

WIRESTAMP_END

#endif
