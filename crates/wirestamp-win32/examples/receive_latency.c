/* Receive path latency: from the receive timestamp to the return of WSARecvMsg, for each of COUNT datagrams.
 *
 * PEER (default: the same adapter) sends, INTERFACE (default lo) receives. HARDWARE=1: the NIC's timestamps,
 * converted to the performance counter. Link correlation.c and the math library. */
#include "receiving.h"
#include "correlation.h"

int main(void)
{
    WCHAR *adapter = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    BOOL hardware = getenv("HARDWARE") != NULL;
    GUID id_of_receive = WSAID_WSARECVMSG;
    LPFN_WSARECVMSG receive;
    CORRELATION line;
    NET_LUID luid;
    WSADATA wsa;
    SOCKET sender, receiver;
    SOCKADDR_STORAGE to;
    int i, n = datagrams();

    memset(&line, 0, sizeof(line));
    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    check(ConvertInterfaceAliasToLuid(adapter, &luid) == NO_ERROR, "ConvertInterfaceAliasToLuid", 0);
    sender = socket_on(peer);
    receiver = socket_on(adapter);
    to = name_of(receiver);
    extension(receiver, id_of_receive, &receive, sizeof(receive));
    ask_for_receive_timestamps(receiver);
    if (hardware) check(correlation_sample(&line, &luid, 16) == NO_ERROR, "a cross timestamp", 0);
    for (i = 0; i < n; i++) {
        ULONG64 timestamp, arrived;
        check(sendto(sender, "datagram", 8, 0, (PSOCKADDR)&to, sizeof(SOCKADDR_IN)) == 8, "sendto",
              (DWORD)WSAGetLastError());
        check(receive_with_timestamp(receiver, receive, &timestamp, &arrived), "finding a receive timestamp", 0);
        if (hardware) {
            check(correlation_sample(&line, &luid, 1) == NO_ERROR, "a cross timestamp", 0);
            check(correlation_convert(&line, timestamp, &timestamp), "converting a hardware timestamp", 0);
        }
        printf("receive path: %lld ns\n", (long long)nanoseconds((LONGLONG)(arrived - timestamp)));
    }
    closesocket(sender);
    closesocket(receiver);
    return WSACleanup();
}
