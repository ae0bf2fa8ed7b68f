/* A sender that fetches each transmit timestamp by its id, in a loop of Sleep(0), and fits cross timestamps where the
 * adapter timestamps in hardware. */
#include "correlation.h"
#include "setting.h"

int main(void)
{
    WCHAR *adapter = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    BOOL hardware = getenv("HARDWARE") != NULL, stamped;
    CORRELATION line;
    SOCKADDR_STORAGE to;
    SOCKET sender, receiver;
    NET_LUID luid;
    WSADATA wsa;
    DWORD got;
    int i, n = datagrams();

    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    check(ConvertInterfaceAliasToLuid(adapter, &luid) == NO_ERROR, "ConvertInterfaceAliasToLuid", 0);
    sender = socket_on(adapter);
    receiver = socket_on(peer);
    to = name_of(receiver);
    stamped = configure_timestamps(sender, TIMESTAMPING_FLAG_TX, 64);
    memset(&line, 0, sizeof(line));
    if (hardware) check(correlation_sample(&line, &luid, 16) == NO_ERROR, "a cross timestamp", 0);
    for (i = 0; i < n; i++) {
        ULONG64 control[WSA_CMSG_SPACE(sizeof(UINT32)) / sizeof(ULONG64)] = { 0 }, before, left = 0;
        PWSACMSGHDR header = (PWSACMSGHDR)(void *)control;
        UINT32 id = (UINT32)i + 1;
        char data[64] = "";
        WSABUF buffer;
        WSAMSG message;
        buffer.buf = data, buffer.len = sizeof(data);
        memset(&message, 0, sizeof(message));
        message.name = (SOCKADDR *)&to;
        message.namelen = sizeof(SOCKADDR_IN);
        message.lpBuffers = &buffer;
        message.dwBufferCount = 1;
        message.Control.buf = (char *)control;
        message.Control.len = sizeof(control);
        header->cmsg_len = WSA_CMSG_LEN(sizeof(id));
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SO_TIMESTAMP_ID;
        memcpy(WSA_CMSG_DATA(header), &id, sizeof(id));
        before = counter_now();
        check(WSASendMsg(sender, &message, 0, &got, NULL, NULL) == 0, "WSASendMsg", (DWORD)WSAGetLastError());
        while (stamped &&
               WSAIoctl(sender, SIO_GET_TX_TIMESTAMP, &id, sizeof(id), &left, sizeof(left), &got, NULL, NULL) != 0) {
            check(WSAGetLastError() == WSAEWOULDBLOCK, "SIO_GET_TX_TIMESTAMP", (DWORD)WSAGetLastError());
            check(nanoseconds((LONGLONG)(counter_now() - before)) < 2000000000, "waiting for a timestamp", WSAETIMEDOUT);
            Sleep(0);
        }
        check(!stamped || left != 0, "a timestamp that is none", 0);
        printf("id %u: %s\n", (unsigned)id, stamped ? "timestamped" : "no timestamp");
        check(recv(receiver, data, sizeof(data), 0) == sizeof(data), "recv", (DWORD)WSAGetLastError());
    }
    closesocket(sender);
    closesocket(receiver);
    return WSACleanup();
}
