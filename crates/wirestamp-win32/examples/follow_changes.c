/* Receive path latency while the NIC may be reconfigured: registers for changes of the timestamp
 * configuration, and starts the correlation anew after each.
 *
 * One datagram from PEER to INTERFACE (default lo) every 100 ms; COUNT: how many (default 20).
 * Link correlation.c and the math library. */
#include "receiving.h"
#include "capabilities.h"
#include "correlation.h"

/* Set by the notification, which comes on a thread of the system's: everything else is done by main. */
static HANDLE changed;

static VOID CALLBACK on_change(PVOID context)
{
    (void)context;
    SetEvent(changed);
}

/* After a change nothing that was known holds: neither which timestamps there are nor the correlation. */
static TIMESTAMPS begin(const NET_LUID *luid, CORRELATION *line)
{
    TIMESTAMPS usable = usable_timestamps(luid);
    memset(line, 0, sizeof(*line));
    if (usable == TIMESTAMPS_HARDWARE) {
        DWORD error = correlation_sample(line, luid, 8);
        check(error == NO_ERROR, "CaptureInterfaceHardwareCrossTimestamp", error);
    }
    printf("%s timestamps\n", timestamps_names[usable]);
    return usable;
}

int main(void)
{
    WCHAR *adapter = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    GUID id_of_receive = WSAID_WSARECVMSG;
    LPFN_WSARECVMSG receive;
    HIFTIMESTAMPCHANGE registration;
    CORRELATION line;
    TIMESTAMPS usable;
    NET_LUID luid;
    WSADATA wsa;
    SOCKET sender, receiver;
    SOCKADDR_STORAGE to;
    int i, n = datagrams();

    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    check(ConvertInterfaceAliasToLuid(adapter, &luid) == NO_ERROR, "ConvertInterfaceAliasToLuid", 0);
    changed = CreateEvent(NULL, FALSE, FALSE, NULL);
    /* first register, then look: no change is missed */
    check(RegisterInterfaceTimestampConfigChange(on_change, NULL, &registration) == NO_ERROR,
          "RegisterInterfaceTimestampConfigChange", 0);
    usable = begin(&luid, &line);
    sender = socket_on(peer);
    receiver = socket_on(adapter);
    to = name_of(receiver);
    extension(receiver, id_of_receive, &receive, sizeof(receive));
    ask_for_receive_timestamps(receiver);
    for (i = 0; i < n; i++) {
        ULONG64 timestamp, arrived;
        BOOL known;
        check(sendto(sender, "datagram", 8, 0, (PSOCKADDR)&to, sizeof(SOCKADDR_IN)) == 8, "sendto",
              (DWORD)WSAGetLastError());
        known = receive_with_timestamp(receiver, receive, &timestamp, &arrived);
        if (WaitForSingleObject(changed, 0) == WAIT_OBJECT_0) {
            printf("the configuration has changed\n");
            usable = begin(&luid, &line);
            known = FALSE; /* the timestamp may be of either configuration */
        }
        if (known && usable == TIMESTAMPS_HARDWARE) {
            correlation_sample(&line, &luid, 1);
            known = correlation_convert(&line, timestamp, &timestamp);
        }
        if (known)
            printf("receive path: %lld ns\n", (long long)nanoseconds((LONGLONG)(arrived - timestamp)));
        else
            printf("no timestamp\n");
        Sleep(100);
    }
    UnregisterInterfaceTimestampConfigChange(registration);
    closesocket(sender);
    closesocket(receiver);
    CloseHandle(changed);
    return WSACleanup();
}
