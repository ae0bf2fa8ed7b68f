/* An NTP client that receives in overlapped mode with an auto-reset event, and a server of four answers beside it, so
 * that the program needs no network. */
#include "receiving.h"
#include "setting.h"

#define NTP_BYTES 48

static SOCKET server;

/* Answers each request as a server of stratum 1; its timestamps do not matter here. */
static DWORD WINAPI answer(LPVOID unused)
{
    char packet[NTP_BYTES];
    SOCKADDR_STORAGE from;
    int length = sizeof(from);
    (void)unused;
    while (recvfrom(server, packet, sizeof(packet), 0, (SOCKADDR *)&from, &length) == sizeof(packet)) {
        memcpy(packet + 24, packet + 40, 8); /* the client's transmit time is the origin of the answer */
        packet[0] = 0x24;                    /* version 4, server */
        packet[1] = 1;
        if (sendto(server, packet, sizeof(packet), 0, (SOCKADDR *)&from, length) != sizeof(packet)) break;
        length = sizeof(from);
    }
    return 0;
}

int main(void)
{
    WCHAR *adapter = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    GUID id_of_receive = WSAID_WSARECVMSG;
    LPFN_WSARECVMSG receive = NULL;
    WSAOVERLAPPED overlapped;
    SOCKADDR_STORAGE to;
    SOCKET client;
    HANDLE thread;
    WSADATA wsa;
    int i, n = datagrams();

    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    client = socket_on(adapter);
    server = socket_on(peer);
    to = name_of(server);
    check(connect(client, (SOCKADDR *)&to, sizeof(SOCKADDR_IN)) == 0, "connect", (DWORD)WSAGetLastError());
    extension(client, id_of_receive, &receive, sizeof(receive));
    ask_for_receive_timestamps(client);
    thread = CreateThread(NULL, 0, answer, NULL, 0, NULL);
    check(thread != NULL, "CreateThread", GetLastError());
    memset(&overlapped, 0, sizeof(overlapped));
    overlapped.hEvent = CreateEventW(NULL, FALSE, FALSE, NULL);
    for (i = 0; i < n; i++) {
        char request[NTP_BYTES] = { 0x23 }, reply[NTP_BYTES];
        ULONG64 control[8], sent = counter_now(), stamp = 0;
        WSABUF out, in;
        WSAMSG message;
        PWSACMSGHDR each;
        DWORD bytes = 0, flags = 0;
        memcpy(request + 40, &sent, sizeof(sent));
        in.buf = reply, in.len = sizeof(reply);
        memset(&message, 0, sizeof(message));
        message.lpBuffers = &in;
        message.dwBufferCount = 1;
        message.Control.buf = (char *)control;
        message.Control.len = sizeof(control);
        if (receive(client, &message, &bytes, &overlapped, NULL) != 0)
            check(WSAGetLastError() == WSA_IO_PENDING, "WSARecvMsg", (DWORD)WSAGetLastError());
        out.buf = request, out.len = sizeof(request);
        check(WSASend(client, &out, 1, &bytes, 0, NULL, NULL) == 0, "WSASend", (DWORD)WSAGetLastError());
        check(WaitForSingleObject(overlapped.hEvent, 5000) == WAIT_OBJECT_0, "waiting for an answer", GetLastError());
        check(WSAGetOverlappedResult(client, &overlapped, &bytes, FALSE, &flags), "WSAGetOverlappedResult",
              (DWORD)WSAGetLastError());
        check(bytes == NTP_BYTES && memcmp(reply + 24, &sent, sizeof(sent)) == 0, "the answer's origin", bytes);
        for (each = WSA_CMSG_FIRSTHDR(&message); each != NULL; each = WSA_CMSG_NXTHDR(&message, each))
            if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SO_TIMESTAMP)
                memcpy(&stamp, WSA_CMSG_DATA(each), sizeof(stamp));
        printf("answer %d: %s\n", i, stamp != 0 ? "timestamped" : "no timestamp");
    }
    closesocket(client);
    shutdown(server, SD_BOTH);
    closesocket(server);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    CloseHandle(overlapped.hEvent);
    return WSACleanup();
}
