/* What single calls of sockets answer: each function makes a call that Windows' answer is known of, and returns it. */
#ifndef FACTS_SOCKETS_H
#define FACTS_SOCKETS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../examples/windows_headers.h"

/* The error of a call, 0 for success. */
static int error_of(int answer) { return answer == SOCKET_ERROR ? WSAGetLastError() : 0; }

/* A socket whose receives end after half a second. */
static SOCKET unbound(void)
{
    DWORD timeout = 500;
    SOCKET s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, (char *)&timeout, sizeof(timeout));
    return s;
}

static SOCKADDR_IN loopback(USHORT port)
{
    SOCKADDR_IN address;
    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = port;
    return address;
}

/* The same, on the loopback interface. */
static SOCKET bound(void)
{
    SOCKADDR_IN address = loopback(0);
    SOCKET s = unbound();
    if (bind(s, (struct sockaddr *)&address, sizeof(address)) != 0) abort();
    return s;
}

static USHORT port_number(SOCKET s)
{
    SOCKADDR_IN address;
    int length = sizeof(address);
    if (getsockname(s, (struct sockaddr *)&address, &length) != 0) abort();
    return address.sin_port;
}

static int send_bytes(SOCKET s, SOCKET to, int length)
{
    static char data[70000];
    SOCKADDR_IN address = loopback(port_number(to));
    return error_of(sendto(s, data, length, 0, (struct sockaddr *)&address, sizeof(address)));
}

static void nonblocking(SOCKET s)
{
    u_long on = 1;
    ioctlsocket(s, FIONBIO, &on);
}

static LPFN_WSARECVMSG receive_function(SOCKET s)
{
    GUID id = WSAID_WSARECVMSG;
    LPFN_WSARECVMSG function = NULL;
    DWORD got;
    WSAIoctl(s, SIO_GET_EXTENSION_FUNCTION_POINTER, &id, sizeof(id), &function, sizeof(function), &got, NULL, NULL);
    if (function == NULL) abort();
    return function;
}

/* Receives by WSARecvMsg with so much room for data and for control messages; the first one's type goes to `type`. */
static int receive_message(SOCKET s, ULONG room, ULONG control_room, int *type)
{
    ULONG64 control[16];
    char data[64];
    WSABUF buffer;
    WSAMSG message;
    DWORD got;
    int answer;
    memset(&message, 0, sizeof(message));
    buffer.buf = data, buffer.len = room;
    message.lpBuffers = &buffer, message.dwBufferCount = 1;
    message.Control.buf = (char *)control, message.Control.len = control_room;
    answer = receive_function(s)(s, &message, &got, NULL, NULL);
    if (type != NULL && WSA_CMSG_FIRSTHDR(&message) != NULL) *type = WSA_CMSG_FIRSTHDR(&message)->cmsg_type;
    return error_of(answer);
}

static int receive(SOCKET s, int room, int flags)
{
    char data[64];
    return error_of(recv(s, data, room, flags));
}

static int number_of(SOCKET s, int level, int name)
{
    int value = 0, length = sizeof(value);
    return getsockopt(s, level, name, (char *)&value, &length) == 0 ? value : -WSAGetLastError();
}

static int version_zero(void)
{
    WSADATA data;
    return WSAStartup(0, &data);
}
static int timestamp_before_on(void)
{
    UINT32 id = 1;
    UINT64 timestamp;
    DWORD got;
    return error_of(WSAIoctl(bound(), SIO_GET_TX_TIMESTAMP, &id, sizeof(id), &timestamp, sizeof(timestamp), &got, NULL,
                             NULL));
}
static int timestamps_of_a_stream(void)
{
    TIMESTAMPING_CONFIG config;
    DWORD got;
    memset(&config, 0, sizeof(config));
    return error_of(WSAIoctl(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP), SIO_TIMESTAMPING, &config, sizeof(config), NULL,
                             0, &got, NULL, NULL));
}
static int no_place_for_the_count(void)
{
    u_long on = 1;
    return error_of(WSAIoctl(bound(), (DWORD)FIONBIO, &on, sizeof(on), NULL, 0, NULL, NULL, NULL));
}
static int unknown_ioctl(void)
{
    DWORD got;
    return error_of(WSAIoctl(bound(), 0x98001234, NULL, 0, NULL, 0, &got, NULL, NULL));
}
static int receive_unbound(void) { return receive(unbound(), 8, 0); }
static int message_unbound(void) { return receive_message(unbound(), 8, 64, NULL); }
static int nothing_there(void)
{
    SOCKET s = bound();
    nonblocking(s);
    return receive(s, 8, 0);
}
static int timed_out(void) { return receive(bound(), 8, 0); }
static int out_of_band(void) { return receive(bound(), 8, MSG_OOB); }
static int cut_datagram(void)
{
    SOCKET s = bound();
    send_bytes(s, s, 9);
    return receive(s, 8, 0);
}
static int cut_message(void)
{
    SOCKET s = bound();
    send_bytes(s, s, 9);
    return receive_message(s, 8, 64, NULL);
}
static int no_room_for_control(void)
{
    DWORD on = 1;
    SOCKET s = bound();
    setsockopt(s, IPPROTO_IP, IP_PKTINFO, (char *)&on, sizeof(on));
    send_bytes(s, s, 8);
    return receive_message(s, 8, sizeof(WSACMSGHDR) + 1, NULL);
}
static int message_of_a_ttl(void)
{
    DWORD on = 1;
    int type = 0;
    SOCKET s = bound();
    setsockopt(s, IPPROTO_IP, 21 /* IP_RECVTTL */, (char *)&on, sizeof(on));
    send_bytes(s, s, 8);
    receive_message(s, 8, 64, &type);
    return type;
}
static int last_error_of_success(void)
{
    SOCKET s = bound();
    int after_send;
    WSASetLastError(55);
    send_bytes(s, s, 8);
    after_send = WSAGetLastError();
    WSASetLastError(55);
    nonblocking(s);
    return after_send + WSAGetLastError();
}
static int bytes_of_two(void)
{
    u_long bytes = 0;
    SOCKET s = bound();
    send_bytes(s, s, 8);
    send_bytes(s, s, 5);
    ioctlsocket(s, FIONREAD, &bytes);
    return (int)bytes;
}
/* An IPv4 address takes 16 bytes. */
static int receive_into_a_short_name(SOCKET s)
{
    SOCKADDR_IN address;
    char data[64];
    int length = 8;
    return error_of(recvfrom(s, data, sizeof(data), 0, (struct sockaddr *)&address, &length));
}
static int short_name(void)
{
    SOCKET s = bound();
    send_bytes(s, s, 8);
    return receive_into_a_short_name(s);
}
static int datagram_after_a_short_name(void)
{
    SOCKET s = bound();
    send_bytes(s, s, 8);
    receive_into_a_short_name(s);
    return receive(s, 8, 0);
}
static int unknown_option(void)
{
    int one = 1;
    return error_of(setsockopt(bound(), IPPROTO_IP, 999, (char *)&one, sizeof(one)));
}
static int short_option(void)
{
    int one = 1;
    return error_of(setsockopt(bound(), SOL_SOCKET, SO_RCVTIMEO, (char *)&one, 2));
}
static int name_of_unbound(void)
{
    SOCKADDR_IN address;
    int length = sizeof(address);
    return error_of(getsockname(unbound(), (struct sockaddr *)&address, &length));
}
static int peer_of_unconnected(void)
{
    SOCKADDR_IN address;
    int length = sizeof(address);
    return error_of(getpeername(bound(), (struct sockaddr *)&address, &length));
}
static int send_unconnected(void) { return error_of(send(bound(), "x", 1, 0)); }
static int send_too_much(void)
{
    SOCKET s = bound();
    return send_bytes(s, s, 65508);
}
static int bind_twice(void)
{
    SOCKADDR_IN address = loopback(0);
    return error_of(bind(bound(), (struct sockaddr *)&address, sizeof(address)));
}
static int closed_socket(void)
{
    SOCKET s = bound();
    closesocket(s);
    return receive(s, 8, 0);
}
static int wrong_shutdown(void) { return error_of(shutdown(bound(), 99)); }
static int receive_after_shutdown(void)
{
    SOCKET s = bound();
    shutdown(s, SD_RECEIVE);
    return receive(s, 8, 0);
}
/* A socket that has sent to a port that nobody has. */
static int refused(int connected)
{
    SOCKET s = bound(), gone = bound();
    SOCKADDR_IN address = loopback(port_number(gone));
    closesocket(gone);
    if (connected) connect(s, (struct sockaddr *)&address, sizeof(address));
    sendto(s, "x", 1, 0, (struct sockaddr *)&address, sizeof(address));
    return receive(s, 8, 0);
}
static int refused_connected(void) { return refused(1); }
static int refused_unconnected(void) { return refused(0); }
static int only_ipv6(void) { return number_of(socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP), IPPROTO_IPV6, IPV6_V6ONLY); }
static int longest_datagram(void) { return number_of(bound(), SOL_SOCKET, SO_MAX_MSG_SIZE); }
static int kind_of_socket(void) { return number_of(bound(), SOL_SOCKET, SO_TYPE); }

#endif
