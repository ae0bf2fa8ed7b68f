/* Short forms in which the tests send, receive and fetch timestamps. Each returns the error code, 0 for success. */
#ifndef SOCKETS_H
#define SOCKETS_H

#include "harness.h"
#include "../../examples/windows_headers.h"

/* What the last call of winsock, which answered `answer`, failed with. */
static inline int code(int answer) { return answer == SOCKET_ERROR ? WSAGetLastError() : answer; }

static inline void start(void)
{
    WSADATA data;
    CHECK_EQUAL(WSAStartup(MAKEWORD(2, 2), &data), 0);
}

static inline NET_LUID luid_of(const WCHAR *alias)
{
    NET_LUID luid = { 0 };
    CHECK_EQUAL(ConvertInterfaceAliasToLuid(alias, &luid), NO_ERROR);
    CHECK(luid.Value != 0);
    return luid;
}

static inline ULONG64 counter(void)
{
    LARGE_INTEGER now;
    CHECK(QueryPerformanceCounter(&now));
    return (ULONG64)now.QuadPart;
}

static inline void wait_at_most(SOCKET s, DWORD milliseconds)
{
    CHECK_EQUAL(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, (char *)&milliseconds, sizeof(milliseconds)), 0);
}

static inline SOCKET open_at(const SOCKADDR *address, int length)
{
    SOCKET s = socket(address->sa_family, SOCK_DGRAM, IPPROTO_UDP);
    CHECK(s != INVALID_SOCKET);
    CHECK_EQUAL(code(bind(s, address, length)), 0);
    wait_at_most(s, 10000);
    return s;
}

/* A socket on an interface's first IPv4 address. */
static inline SOCKET open_on(const WCHAR *adapter)
{
    SOCKADDR_IN address;
    ULONG size = 0;
    PIP_ADAPTER_ADDRESSES all, each;
    int found = 0;
    CHECK_EQUAL(GetAdaptersAddresses(AF_INET, 0, NULL, NULL, &size), ERROR_BUFFER_OVERFLOW);
    all = (PIP_ADAPTER_ADDRESSES)malloc(size);
    CHECK_EQUAL(GetAdaptersAddresses(AF_INET, 0, NULL, all, &size), NO_ERROR);
    for (each = all; each != NULL; each = each->Next) {
        if (wcscmp(each->FriendlyName, adapter) != 0 || each->FirstUnicastAddress == NULL) continue;
        memcpy(&address, each->FirstUnicastAddress->Address.lpSockaddr, sizeof(address));
        found = 1;
    }
    CHECK(found);
    free(all);
    address.sin_port = 0;
    return open_at((SOCKADDR *)&address, sizeof(address));
}

/* A socket on the loopback interface, or on the simulated one where OPEN_ON_SIM0 is set. */
static inline SOCKET open_udp(void)
{
    SOCKADDR_IN address;
    if (getenv("OPEN_ON_SIM0") != NULL) return open_on(L"sim0");
    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return open_at((SOCKADDR *)&address, sizeof(address));
}

static inline SOCKET open_udp6(void)
{
    SOCKADDR_IN6 address;
    memset(&address, 0, sizeof(address));
    address.sin6_family = AF_INET6;
    CHECK_EQUAL(inet_pton(AF_INET6, getenv("OPEN_ON_SIM0") != NULL ? "2001:db8::1" : "::1", &address.sin6_addr), 1);
    return open_at((SOCKADDR *)&address, sizeof(address));
}

static inline SOCKADDR_STORAGE name_of(SOCKET s, int *length)
{
    SOCKADDR_STORAGE name;
    *length = sizeof(name);
    CHECK_EQUAL(code(getsockname(s, (SOCKADDR *)&name, length)), 0);
    return name;
}

static inline int configure(SOCKET s, ULONG flags, USHORT buffered)
{
    TIMESTAMPING_CONFIG config;
    DWORD got = 99;
    int answer;
    memset(&config, 0, sizeof(config));
    config.Flags = flags;
    config.TxTimestampsBuffered = buffered;
    answer = WSAIoctl(s, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0, &got, NULL, NULL);
    if (answer == 0) CHECK_EQUAL(got, 0);
    return code(answer);
}

static inline int fetch(SOCKET s, UINT32 id, UINT64 *timestamp)
{
    DWORD got = 0;
    int answer = WSAIoctl(s, SIO_GET_TX_TIMESTAMP, &id, sizeof(id), timestamp, sizeof(*timestamp), &got, NULL, NULL);
    if (answer == 0) CHECK_EQUAL(got, 8);
    return code(answer);
}

/* Polls until there is an answer, for ten seconds. */
static inline int fetch_soon(SOCKET s, UINT32 id, UINT64 *timestamp)
{
    int answer, tries;
    for (tries = 0; tries < 5000; tries++) {
        answer = fetch(s, id, timestamp);
        if (answer != WSAEWOULDBLOCK) return answer;
        Sleep(2);
    }
    return WSAEWOULDBLOCK;
}

/* Sends `length` bytes to the socket `to`, with control messages. */
static inline int send_with(SOCKET s, SOCKET to, int length, const void *control, ULONG control_length)
{
    static char data[70000];
    int name_length;
    SOCKADDR_STORAGE name = name_of(to, &name_length);
    WSABUF buffer;
    WSAMSG message;
    DWORD sent = 0;
    int answer;
    memset(&message, 0, sizeof(message));
    buffer.len = (ULONG)length;
    buffer.buf = data;
    message.name = (SOCKADDR *)&name;
    message.namelen = name_length;
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    message.Control.buf = (char *)(size_t)control;
    message.Control.len = control_length;
    answer = WSASendMsg(s, &message, 0, &sent, NULL, NULL);
    if (answer == 0) CHECK_EQUAL(sent, length);
    return code(answer);
}

/* Writes a control message; answers what it takes. */
static inline ULONG put_control(void *at, INT level, INT type, const void *data, SIZE_T length)
{
    WSACMSGHDR header;
    memset(at, 0, WSA_CMSG_SPACE(length));
    memset(&header, 0, sizeof(header));
    header.cmsg_len = WSA_CMSG_LEN(length);
    header.cmsg_level = level;
    header.cmsg_type = type;
    memcpy(at, &header, sizeof(header));
    memcpy(WSA_CMSG_DATA(at), data, length);
    return (ULONG)WSA_CMSG_SPACE(length);
}

static inline int send_id(SOCKET s, SOCKET to, UINT32 id)
{
    ULONG64 control[3];
    ULONG length = put_control(control, SOL_SOCKET, SO_TIMESTAMP_ID, &id, sizeof(id));
    return send_with(s, to, 8, control, length);
}

static inline int send_plain(SOCKET s, SOCKET to) { return send_with(s, to, 8, NULL, 0); }

struct received {
    int error;
    DWORD bytes;
    ULONG flags;          /* WSAMSG.dwFlags */
    ULONG control_length; /* WSAMSG.Control.len */
    int messages;         /* control messages of any kind */
    int timestamps;
    UINT64 timestamp;
    SOCKADDR_STORAGE from;
    int from_length;
    char data[128];
};

static inline LPFN_WSARECVMSG receive_function(SOCKET s)
{
    GUID id = WSAID_WSARECVMSG;
    LPFN_WSARECVMSG function = NULL;
    DWORD got = 0;
    CHECK_EQUAL(code(WSAIoctl(s, SIO_GET_EXTENSION_FUNCTION_POINTER, &id, sizeof(id), &function, sizeof(function), &got,
                              NULL, NULL)),
                0);
    CHECK(got == sizeof(function) && function != NULL);
    return function;
}

static inline struct received receive_with(SOCKET s, ULONG flags, ULONG data_room, ULONG control_room)
{
    struct received answer;
    ULONG64 control[64];
    WSABUF buffer;
    WSAMSG message;
    LPWSACMSGHDR each;
    memset(&answer, 0, sizeof(answer));
    memset(&message, 0, sizeof(message));
    buffer.len = data_room;
    buffer.buf = answer.data;
    message.name = (SOCKADDR *)&answer.from;
    message.namelen = sizeof(answer.from);
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    message.Control.buf = control_room ? (char *)control : NULL;
    message.Control.len = control_room;
    message.dwFlags = flags;
    answer.error = code(receive_function(s)(s, &message, &answer.bytes, NULL, NULL));
    answer.flags = message.dwFlags;
    if (answer.error != 0 && answer.error != WSAEMSGSIZE) return answer;
    answer.from_length = message.namelen;
    answer.control_length = message.Control.len;
    CHECK(message.Control.len <= control_room);
    for (each = WSA_CMSG_FIRSTHDR(&message); each != NULL; each = WSA_CMSG_NXTHDR(&message, each)) {
        answer.messages++;
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SO_TIMESTAMP) continue;
        CHECK_EQUAL(each->cmsg_len, WSA_CMSG_LEN(8));
        memcpy(&answer.timestamp, WSA_CMSG_DATA(each), 8);
        answer.timestamps++;
    }
    return answer;
}

static inline struct received receive(SOCKET s) { return receive_with(s, 0, 128, 512); }

#endif
