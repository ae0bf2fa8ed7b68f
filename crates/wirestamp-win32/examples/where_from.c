/* A receiver with IP_PKTINFO and 256 bytes of control: which address and adapter each datagram came to, and when. */
#include "receiving.h"
#include "setting.h"

int main(void)
{
    WCHAR *adapter = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    GUID id_of_receive = WSAID_WSARECVMSG;
    LPFN_WSARECVMSG receive = NULL;
    SOCKADDR_STORAGE to;
    SOCKET receiver, sender;
    WSADATA wsa;
    DWORD on = 1, timeout = 2000;
    int i, n = datagrams();

    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    receiver = socket_on(adapter);
    sender = socket_on(peer);
    to = name_of(receiver);
    extension(receiver, id_of_receive, &receive, sizeof(receive));
    check(setsockopt(receiver, IPPROTO_IP, IP_PKTINFO, (char *)&on, sizeof(on)) == 0, "IP_PKTINFO",
          (DWORD)WSAGetLastError());
    check(setsockopt(receiver, SOL_SOCKET, SO_RCVTIMEO, (char *)&timeout, sizeof(timeout)) == 0, "SO_RCVTIMEO",
          (DWORD)WSAGetLastError());
    ask_for_receive_timestamps(receiver);
    for (i = 0; i < n; i++) {
        char data[64] = "", text[INET_ADDRSTRLEN] = "";
        ULONG64 control[256 / sizeof(ULONG64)], timestamp = 0;
        WSABUF buffer;
        WSAMSG message;
        PWSACMSGHDR each;
        ULONG index = 0;
        DWORD bytes = 0;
        check(sendto(sender, data, sizeof(data), 0, (SOCKADDR *)&to, sizeof(SOCKADDR_IN)) == sizeof(data), "sendto",
              (DWORD)WSAGetLastError());
        buffer.buf = data, buffer.len = sizeof(data);
        memset(&message, 0, sizeof(message));
        message.lpBuffers = &buffer;
        message.dwBufferCount = 1;
        message.Control.buf = (char *)control;
        message.Control.len = sizeof(control);
        check(receive(receiver, &message, &bytes, NULL, NULL) == 0, "WSARecvMsg", (DWORD)WSAGetLastError());
        check((message.dwFlags & MSG_CTRUNC) == 0, "room for control messages", message.dwFlags);
        for (each = WSA_CMSG_FIRSTHDR(&message); each != NULL; each = WSA_CMSG_NXTHDR(&message, each)) {
            if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SO_TIMESTAMP) {
                memcpy(&timestamp, WSA_CMSG_DATA(each), sizeof(timestamp));
            } else if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_PKTINFO) {
                IN_PKTINFO information;
                memcpy(&information, WSA_CMSG_DATA(each), sizeof(information));
                index = information.ipi_ifindex;
                check(inet_ntop(AF_INET, &information.ipi_addr, text, sizeof(text)) != NULL, "inet_ntop", 0);
            }
        }
        printf("to %s on adapter %u: %s\n", text, (unsigned)index, timestamp != 0 ? "timestamped" : "no timestamp");
    }
    closesocket(sender);
    closesocket(receiver);
    return WSACleanup();
}
