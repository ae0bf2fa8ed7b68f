/* A STAMP session-sender and a reflector in one program: the sender sets the TTL of its test packets, the reflector
 * reads the TTL that arrived and copies it into its reply, as RFC 8762 wants. Both wait with select. */
#include "receiving.h"
#include "setting.h"

#define TEST_TTL 255
/* Sequence number, and in a reply the TTL at which the test packet came, at offsets of RFC 8762. */
#define PACKET_BYTES 44
#define TTL_AT 40

static BOOL wait_for_datagram(SOCKET s)
{
    fd_set readable;
    struct timeval second = { 2, 0 };
    FD_ZERO(&readable);
    FD_SET(s, &readable);
    return select(0, &readable, NULL, NULL, &second) == 1 && FD_ISSET(s, &readable);
}

/* Receives one test packet; its TTL goes to `ttl`, and its sender to `from`. */
static DWORD receive_test_packet(SOCKET s, LPFN_WSARECVMSG receive, char *packet, INT *ttl, SOCKADDR_STORAGE *from)
{
    ULONG64 control[32];
    WSABUF buffer;
    WSAMSG message;
    PWSACMSGHDR each;
    DWORD bytes = 0;
    buffer.len = PACKET_BYTES;
    buffer.buf = packet;
    memset(&message, 0, sizeof(message));
    message.name = (SOCKADDR *)from;
    message.namelen = sizeof(*from);
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    message.Control.buf = (char *)control;
    message.Control.len = sizeof(control);
    check(receive(s, &message, &bytes, NULL, NULL) == 0, "WSARecvMsg", (DWORD)WSAGetLastError());
    *ttl = -1;
    for (each = WSA_CMSG_FIRSTHDR(&message); each != NULL; each = WSA_CMSG_NXTHDR(&message, each))
        if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_TTL) memcpy(ttl, WSA_CMSG_DATA(each), sizeof(*ttl));
    return bytes;
}

int main(void)
{
    WCHAR *adapter = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    GUID id_of_receive = WSAID_WSARECVMSG;
    LPFN_WSARECVMSG receive = NULL;
    SOCKADDR_STORAGE to, from;
    SOCKET sender, reflector;
    WSADATA wsa;
    DWORD ttl = TEST_TTL, on = 1;
    int i, n = datagrams();

    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    sender = socket_on(adapter);
    reflector = socket_on(peer);
    to = name_of(reflector);
    extension(reflector, id_of_receive, &receive, sizeof(receive));
    check(setsockopt(sender, IPPROTO_IP, IP_TTL, (char *)&ttl, sizeof(ttl)) == 0, "IP_TTL", (DWORD)WSAGetLastError());
    check(setsockopt(reflector, IPPROTO_IP, IP_TTL, (char *)&ttl, sizeof(ttl)) == 0, "IP_TTL",
          (DWORD)WSAGetLastError());
    check(setsockopt(reflector, IPPROTO_IP, IP_RECVTTL, (char *)&on, sizeof(on)) == 0, "IP_RECVTTL",
          (DWORD)WSAGetLastError());
    for (i = 0; i < n; i++) {
        char packet[PACKET_BYTES] = { 0 };
        DWORD sequence = htonl((DWORD)i), answered;
        INT arrived;
        memcpy(packet, &sequence, sizeof(sequence));
        check(sendto(sender, packet, sizeof(packet), 0, (SOCKADDR *)&to, sizeof(SOCKADDR_IN)) == sizeof(packet),
              "sendto", (DWORD)WSAGetLastError());
        check(wait_for_datagram(reflector), "waiting for a test packet", WSAETIMEDOUT);
        check(receive_test_packet(reflector, receive, packet, &arrived, &from) == PACKET_BYTES, "its length", 0);
        packet[TTL_AT] = arrived < 0 ? 0 : (char)arrived; /* 0: not known, as nothing arrives with it */
        check(sendto(reflector, packet, sizeof(packet), 0, (SOCKADDR *)&from, sizeof(SOCKADDR_IN)) == sizeof(packet),
              "sendto", (DWORD)WSAGetLastError());
        check(wait_for_datagram(sender), "waiting for a reply", WSAETIMEDOUT);
        check(recv(sender, packet, sizeof(packet), 0) == sizeof(packet), "recv", (DWORD)WSAGetLastError());
        memcpy(&answered, packet, sizeof(answered));
        printf("reply %u: TTL %d\n", (unsigned)ntohl(answered), packet[TTL_AT] & 0xFF);
    }
    closesocket(sender);
    closesocket(reflector);
    return WSACleanup();
}
