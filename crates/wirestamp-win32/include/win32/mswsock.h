/* The extension functions of winsock: pointers that each socket is asked for. Exported functions: winsock2.h. */
#ifndef WIRESTAMP_MSWSOCK_H
#define WIRESTAMP_MSWSOCK_H

#include "winsock2.h"

/* WSAIoctl(s, SIO_GET_EXTENSION_FUNCTION_POINTER, GUID in, pointer out). */
#define WSAID_WSARECVMSG \
    { 0xf689d7c8, 0x6f1f, 0x436b, { 0x8a, 0x53, 0xe5, 0x4f, 0xe3, 0x51, 0xc3, 0x22 } }
#define WSAID_WSASENDMSG \
    { 0xa441e712, 0x754f, 0x43ca, { 0x84, 0xa7, 0x0d, 0xee, 0x44, 0xcf, 0x60, 0x6d } }

/* The one call that delivers control messages, SO_TIMESTAMP among them. */
typedef INT(WINAPI *LPFN_WSARECVMSG)(SOCKET s, LPWSAMSG message, LPDWORD received, LPWSAOVERLAPPED overlapped,
                                     LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);
typedef INT(WINAPI *LPFN_WSASENDMSG)(SOCKET s, LPWSAMSG message, DWORD flags, LPDWORD sent, LPWSAOVERLAPPED overlapped,
                                     LPWSAOVERLAPPED_COMPLETION_ROUTINE routine);

#endif
