/* Winsock's functions. Extensions: mswsock.h; timestamps: mstcpip.h.
 *
 * It can be used together with the C library's socket headers, in either order: see
 * wirestamp/libc_sockets.h. Sockets are datagram sockets: calls of streams alone (listen, accept, WSAAccept, WSAConnect)
 * do not compile, and say so. */
#ifndef WIRESTAMP_WINSOCK2_H
#define WIRESTAMP_WINSOCK2_H
#define _WINSOCK2API_
#define _WINSOCKAPI_

#include "windows.h"
#include "ws2def.h"
#include "wirestamp/winsock_names.h"
#include "wirestamp/events.h"
#include "wirestamp/waiting.h"

/* 32 bits as on Windows; the C library's u_long has 64. */
#define u_long ULONG
typedef unsigned char u_char;
typedef unsigned short u_short;
typedef unsigned int u_int;

#define INVALID_SOCKET ((SOCKET)~(UINT_PTR)0)
#define SOCKET_ERROR (-1)
#define SD_RECEIVE 0
#define SD_SEND 1
#define SD_BOTH 2
#undef FIONREAD
#undef FIONBIO
#define FIONREAD 0x4004667F       /* ULONG out: bytes of the next datagram */
#define FIONBIO ((LONG)0x8004667E) /* ULONG in: 1 for non-blocking */
#define WSA_FLAG_OVERLAPPED 0x01
#define WSA_FLAG_NO_HANDLE_INHERIT 0x80 /* no handle is inherited, with and without it */
#define WINSOCK_VERSION MAKEWORD(2, 2)

#define WSAEVENT HANDLE
#define LPWSAEVENT LPHANDLE
#define WSA_INVALID_EVENT ((WSAEVENT)NULL)
#define WSA_MAXIMUM_WAIT_EVENTS MAXIMUM_WAIT_OBJECTS
#define WSA_WAIT_EVENT_0 WAIT_OBJECT_0
#define WSA_WAIT_TIMEOUT WAIT_TIMEOUT
#define WSA_WAIT_FAILED WAIT_FAILED
#define WSA_WAIT_IO_COMPLETION WAIT_IO_COMPLETION /* never comes: there are no completion routines */
#define WSA_INFINITE INFINITE

WIRESTAMP_BEGIN

typedef OVERLAPPED WSAOVERLAPPED, *LPWSAOVERLAPPED;
/* Never called: a call that names one is refused with WSAEINVAL. */
typedef VOID(CALLBACK *LPWSAOVERLAPPED_COMPLETION_ROUTINE)(DWORD error, DWORD bytes, LPWSAOVERLAPPED overlapped,
                                                           DWORD flags);
typedef struct _WSAPROTOCOL_INFOA *LPWSAPROTOCOL_INFOA; /* pass NULL */
typedef struct _WSAPROTOCOL_INFOW *LPWSAPROTOCOL_INFOW; /* pass NULL */
typedef unsigned int GROUP;

#define WSADESCRIPTION_LEN 256
#define WSASYS_STATUS_LEN 128
typedef struct WSAData {
    WORD wVersion;
    WORD wHighVersion;
    unsigned short iMaxSockets;
    unsigned short iMaxUdpDg;
    char *lpVendorInfo;
    char szDescription[WSADESCRIPTION_LEN + 1];
    char szSystemStatus[WSASYS_STATUS_LEN + 1];
} WSADATA, *LPWSADATA;
WIRESTAMP_SIZE(WSADATA, 408);
WIRESTAMP_FIELD(WSADATA, szDescription, 16, 257);
WIRESTAMP_FIELD(WSADATA, szSystemStatus, 273, 129);

/* Returns its error; every other function here returns SOCKET_ERROR and sets WSAGetLastError. */
int WSAAPI WSAStartup(WORD version, LPWSADATA data);
int WSAAPI WSACleanup(void);
int WSAAPI WSAGetLastError(void);
void WSAAPI WSASetLastError(int error);

SOCKET WSAAPI WSASocketA(int family, int type, int protocol, LPWSAPROTOCOL_INFOA info, GROUP group, DWORD flags);
SOCKET WSAAPI WSASocketW(int family, int type, int protocol, LPWSAPROTOCOL_INFOW info, GROUP group, DWORD flags);
#ifdef UNICODE
#define WSASocket WSASocketW
#else
#define WSASocket WSASocketA
#endif
int WSAAPI closesocket(SOCKET s);
int WSAAPI ioctlsocket(SOCKET s, LONG command, ULONG *argument);

/* Codes: SIO_TIMESTAMPING and SIO_GET_TX_TIMESTAMP (mstcpip.h), SIO_GET_EXTENSION_FUNCTION_POINTER.
 * All are answered at once, with an OVERLAPPED too. */
int WSAAPI WSAIoctl(SOCKET s, DWORD code, LPVOID in, DWORD in_size, LPVOID out, DWORD out_size, LPDWORD returned,
                    LPWSAOVERLAPPED overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);

/* Control message SO_TIMESTAMP_ID (UINT32): the id under which the timestamp is fetched. */
int WSAAPI WSASendMsg(SOCKET s, LPWSAMSG message, DWORD flags, LPDWORD sent, LPWSAOVERLAPPED overlapped,
                      LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);

SOCKET WSAAPI WSAAccept(SOCKET s, struct sockaddr *address, LPINT length, void *condition,
                        ULONG_PTR data) WIRESTAMP_NO_STREAMS;
int WSAAPI WSAConnect(SOCKET s, const struct sockaddr *name, int length, LPWSABUF caller, LPWSABUF callee, void *qos,
                      void *group_qos) WIRESTAMP_ABSENT("call connect: wirestamp-win32 has datagram sockets only");
int WSAAPI WSASendDisconnect(SOCKET s, LPWSABUF data) WIRESTAMP_NO_STREAMS;
int WSAAPI WSARecvDisconnect(SOCKET s, LPWSABUF data) WIRESTAMP_NO_STREAMS;

/* Through several buffers, overlapped or not; no control messages. */
int WSAAPI WSASend(SOCKET s, LPWSABUF buffers, DWORD count, LPDWORD sent, DWORD flags, LPWSAOVERLAPPED overlapped,
                   LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);
int WSAAPI WSASendTo(SOCKET s, LPWSABUF buffers, DWORD count, LPDWORD sent, DWORD flags, const struct sockaddr *to,
                     int to_length, LPWSAOVERLAPPED overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);
int WSAAPI WSARecv(SOCKET s, LPWSABUF buffers, DWORD count, LPDWORD received, LPDWORD flags,
                   LPWSAOVERLAPPED overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);
int WSAAPI WSARecvFrom(SOCKET s, LPWSABUF buffers, DWORD count, LPDWORD received, LPDWORD flags, struct sockaddr *from,
                       LPINT from_length, LPWSAOVERLAPPED overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);

BOOL WSAAPI WSAGetOverlappedResult(SOCKET s, LPWSAOVERLAPPED overlapped, LPDWORD transferred, BOOL wait,
                                   LPDWORD flags);
WSAEVENT WSAAPI WSACreateEvent(void);
BOOL WSAAPI WSACloseEvent(WSAEVENT event);
BOOL WSAAPI WSASetEvent(WSAEVENT event);
BOOL WSAAPI WSAResetEvent(WSAEVENT event);
DWORD WSAAPI WSAWaitForMultipleEvents(DWORD count, const WSAEVENT *events, BOOL all, DWORD milliseconds,
                                      BOOL alertable);

/* With the port, if there is one: "192.0.2.1:319", "[2001:db8::1]:319". `length`: characters, the end among them. */
INT WSAAPI WSAAddressToStringA(struct sockaddr *address, DWORD address_length, LPWSAPROTOCOL_INFOA info, LPSTR text,
                               LPDWORD length);
INT WSAAPI WSAAddressToStringW(struct sockaddr *address, DWORD address_length, LPWSAPROTOCOL_INFOW info, LPWSTR text,
                               LPDWORD length);
INT WSAAPI WSAStringToAddressA(LPSTR text, INT family, LPWSAPROTOCOL_INFOA info, struct sockaddr *address,
                               LPINT length);
INT WSAAPI WSAStringToAddressW(LPWSTR text, INT family, LPWSAPROTOCOL_INFOW info, struct sockaddr *address,
                               LPINT length);
#ifdef UNICODE
#define WSAAddressToString WSAAddressToStringW
#define WSAStringToAddress WSAStringToAddressW
#else
#define WSAAddressToString WSAAddressToStringA
#define WSAStringToAddress WSAStringToAddressA
#endif

WIRESTAMP_END

#endif
