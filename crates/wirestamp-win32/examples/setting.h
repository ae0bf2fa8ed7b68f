/* What the examples share: an interface named by the environment, and sockets on it. Nothing in it is
 * special to Linux. */
#ifndef SETTING_H
#define SETTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "windows_headers.h"

static inline void fail(const char *what, DWORD code)
{
    fprintf(stderr, "%s failed: %u\n", what, (unsigned)code);
    exit(1);
}

/* A macro: `code` is looked at after the call that `good` makes. */
#define check(good, what, code)            \
    do {                                   \
        if (!(good)) fail((what), (code)); \
    } while (0)

/* The environment variable `name`, as the name of an interface; `otherwise` if it is not set. */
static inline WCHAR *interface_name(const char *name, const char *otherwise)
{
    static WCHAR wide[2][IF_MAX_STRING_SIZE + 1];
    static int used;
    const char *value = getenv(name);
    WCHAR *answer = wide[used++ % 2];
    if (value == NULL) value = otherwise;
    check(mbstowcs(answer, value, IF_MAX_STRING_SIZE) != (size_t)-1, "mbstowcs", 0);
    return answer;
}

/* How many datagrams: the environment variable COUNT, or 20. */
static inline int datagrams(void)
{
    const char *value = getenv("COUNT");
    return value == NULL ? 20 : atoi(value);
}

/* The first IPv4 address of an interface, with port 0. */
static inline SOCKADDR_IN address_of(const WCHAR *name)
{
    SOCKADDR_IN answer;
    ULONG size = 15000;
    PIP_ADAPTER_ADDRESSES all = (PIP_ADAPTER_ADDRESSES)malloc(size), each;
    PIP_ADAPTER_UNICAST_ADDRESS address = NULL;
    ULONG code = GetAdaptersAddresses(AF_INET, 0, NULL, all, &size);
    while (code == ERROR_BUFFER_OVERFLOW) {
        all = (PIP_ADAPTER_ADDRESSES)realloc(all, size);
        code = GetAdaptersAddresses(AF_INET, 0, NULL, all, &size);
    }
    check(code == NO_ERROR, "GetAdaptersAddresses", code);
    for (each = all; each != NULL; each = each->Next)
        if (wcscmp(each->FriendlyName, name) == 0) address = each->FirstUnicastAddress;
    check(address != NULL, "finding an address of the interface", ERROR_NOT_FOUND);
    memcpy(&answer, address->Address.lpSockaddr, sizeof(answer));
    answer.sin_port = 0;
    free(all);
    return answer;
}

/* A socket bound to an address of the interface. */
static inline SOCKET socket_on(const WCHAR *name)
{
    SOCKADDR_IN address = address_of(name);
    SOCKET s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    check(s != INVALID_SOCKET, "socket", (DWORD)WSAGetLastError());
    check(bind(s, (PSOCKADDR)&address, sizeof(address)) == 0, "bind", (DWORD)WSAGetLastError());
    return s;
}

static inline SOCKADDR_STORAGE name_of(SOCKET s)
{
    SOCKADDR_STORAGE name;
    int length = sizeof(name);
    check(getsockname(s, (PSOCKADDR)&name, &length) == 0, "getsockname", (DWORD)WSAGetLastError());
    return name;
}

/* Performance counter ticks in nanoseconds. */
static inline LONGLONG nanoseconds(LONGLONG ticks)
{
    LARGE_INTEGER frequency;
    QueryPerformanceFrequency(&frequency);
    return (LONGLONG)((double)ticks * 1e9 / (double)frequency.QuadPart);
}

static inline ULONG64 counter_now(void)
{
    LARGE_INTEGER now;
    QueryPerformanceCounter(&now);
    return (ULONG64)now.QuadPart;
}

/* Configures a socket's timestamps. FALSE: this system has none. */
static inline BOOL configure_timestamps(SOCKET s, ULONG flags, USHORT buffered)
{
    TIMESTAMPING_CONFIG config;
    DWORD got;
    memset(&config, 0, sizeof(config));
    config.Flags = flags;
    config.TxTimestampsBuffered = buffered;
    if (WSAIoctl(s, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0, &got, NULL, NULL) == 0) return TRUE;
    check(WSAGetLastError() == WSAEOPNOTSUPP, "SIO_TIMESTAMPING", (DWORD)WSAGetLastError());
    fprintf(stderr, "this system has no timestamps of packets\n");
    return FALSE;
}

/* Looks up an extension function of the socket. */
static inline void extension(SOCKET s, GUID id, void *pointer, DWORD size)
{
    DWORD got;
    int answer = WSAIoctl(s, SIO_GET_EXTENSION_FUNCTION_POINTER, &id, sizeof(id), pointer, size, &got, NULL, NULL);
    check(answer == 0 && got == size, "SIO_GET_EXTENSION_FUNCTION_POINTER", (DWORD)WSAGetLastError());
}

#endif
