// >>> added
// Winsock timestamping, "Estimating latency of socket receive path".
// The sample as the page prints it, and what the page leaves to its reader, between ">>> added" and
// "<<<". Changed in what is printed: typographic quotes are plain ones, without which nothing compiles.
// The printed parts are under the licence of the page that they come from, which was not looked up here.
//
// INTERFACE=eth0 ./winsock_receive: datagrams on an interface (default lo), with software stamps.
// HARDWARE=1: with hardware stamps.
// PEER: the interface that sends (default: the same). COUNT: how many datagrams (default 20).

// The sample is for the interface of Windows 10 1809: crossTimestamp has a Version.
#define NTDDI_VERSION NTDDI_WIN10_RS5
#include <stdio.h>
#include <assert.h>
#include <winsock2.h>
#include <mswsock.h>
#include <mstcpip.h>
#include <iphlpapi.h>
#include "setting.h"

static LPFN_WSARECVMSG recvmsg; // each socket is asked for it
static NET_LUID adapter; // QueryHardwareClockFrequency has no argument that says which
// <<<

void QueryHardwareClockFrequency(LARGE_INTEGER* clockFrequency)
{
    // Returns the hardware clock frequency. This can be calculated by
    // collecting crosstimestamps via CaptureInterfaceHardwareCrossTimestamp
    // and forming a linear regression model.
// >>> added
    double q, h, sq = 0, sh = 0, sqq = 0, sqh = 0;
    LARGE_INTEGER performance;
    int i, n = 10;
    QueryPerformanceFrequency(&performance);
    for (i = 0; i < n; i++) {
        INTERFACE_HARDWARE_CROSSTIMESTAMP cross = { INTERFACE_HARDWARE_CROSSTIMESTAMP_VERSION_1, 0, 0, 0, 0 };
        static ULONG64 first_q, first_h;
        DWORD code = CaptureInterfaceHardwareCrossTimestamp(&adapter, &cross);
        check(code == NO_ERROR, "CaptureInterfaceHardwareCrossTimestamp", code);
        if (i == 0) {
            first_q = cross.SystemTimestamp1;
            first_h = cross.HardwareClockTimestamp;
        }
        // Differences only: the counters themselves have more digits than a double.
        q = (double)(cross.SystemTimestamp1 - first_q) + (double)(cross.SystemTimestamp2 - cross.SystemTimestamp1) / 2;
        h = (double)(cross.HardwareClockTimestamp - first_h);
        sq += q, sh += h, sqq += q * q, sqh += q * h;
        Sleep(5);
    }
    clockFrequency->QuadPart =
        (LONGLONG)((n * sqh - sq * sh) / (n * sqq - sq * sq) * (double)performance.QuadPart + 0.5);
// <<<
}

void estimate_receive_latency(SOCKET sock,
    NET_LUID* interfaceLuid,
    BOOLEAN hardwareTimestampSource)
{
    DWORD numBytes;
    INT error;
    CHAR data[512];
    CHAR control[WSA_CMSG_SPACE(sizeof(UINT64))] = { 0 };
    WSABUF dataBuf;
    WSABUF controlBuf;
    WSAMSG wsaMsg;
    UINT64 socketTimestamp = 0;
    ULONG64 appLevelTimestamp;

    dataBuf.buf = data;
    dataBuf.len = sizeof(data);
    controlBuf.buf = control;
    controlBuf.len = sizeof(control);
    wsaMsg.name = NULL;
    wsaMsg.namelen = 0;
    wsaMsg.lpBuffers = &dataBuf;
    wsaMsg.dwBufferCount = 1;
    wsaMsg.Control = controlBuf;
    wsaMsg.dwFlags = 0;

    // Configure rx timestamp reception.
    TIMESTAMPING_CONFIG config = { 0 };
    config.flags |= TIMESTAMPING_FLAG_RX;
    error =
        WSAIoctl(
            sock,
            SIO_TIMESTAMPING,
            &config,
            sizeof(config),
            NULL,
            0,
            &numBytes,
            NULL,
            NULL);
    if (error == SOCKET_ERROR) {
        printf("WSAIoctl failed %d\n", WSAGetLastError());
        return;
    }

    error =
        recvmsg(
            sock,
            &wsaMsg,
            &numBytes,
            NULL,
            NULL);
    if (error == SOCKET_ERROR) {
        printf("recvmsg failed %d\n", WSAGetLastError());
        return;
    }

    // Capture app-layer timestamp upon message reception.
    if (hardwareTimestampSource) {
        INTERFACE_HARDWARE_CROSSTIMESTAMP crossTimestamp = { 0 };
        crossTimestamp.Version = INTERFACE_HARDWARE_CROSSTIMESTAMP_VERSION_1;
        error = CaptureInterfaceHardwareCrossTimestamp(interfaceLuid, &crossTimestamp);
        if (error != NO_ERROR) {
            printf("CaptureInterfaceHardwareCrossTimestamp failed %d\n", error);
            return;
        }
        appLevelTimestamp = crossTimestamp.HardwareClockTimestamp;
    }
    else { // software source
        LARGE_INTEGER t1;
        QueryPerformanceCounter(&t1);
        appLevelTimestamp = t1.QuadPart;
    }

    printf("received packet\n");

    // Look for socket rx timestamp returned via control message.
    BOOLEAN retrievedTimestamp = FALSE;
    PCMSGHDR cmsg = WSA_CMSG_FIRSTHDR(&wsaMsg);
    while (cmsg != NULL) {
        if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SO_TIMESTAMP) {
            socketTimestamp = *(PUINT64)WSA_CMSG_DATA(cmsg);
            retrievedTimestamp = TRUE;
            break;
        }
        cmsg = WSA_CMSG_NXTHDR(&wsaMsg, cmsg);
    }

    if (retrievedTimestamp) {
        // Compute socket receive path latency.
        LARGE_INTEGER clockFrequency;
        ULONG64 elapsedMicroseconds;

        if (hardwareTimestampSource) {
            QueryHardwareClockFrequency(&clockFrequency);
        }
        else { // software source
            QueryPerformanceFrequency(&clockFrequency);
        }

        // Compute socket send path latency.
        elapsedMicroseconds = appLevelTimestamp - socketTimestamp;
        elapsedMicroseconds *= 1000000;
        elapsedMicroseconds /= clockFrequency.QuadPart;
        printf("RX latency estimation: %lld microseconds\n",
            elapsedMicroseconds);
    }
    else {
        printf("failed to retrieve RX timestamp\n");
    }
}

// >>> added
int main(void)
{
    WCHAR *interface = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    GUID id = WSAID_WSARECVMSG;
    TIMESTAMPING_CONFIG receive = { { TIMESTAMPING_FLAG_RX }, { 0 } };
    WSADATA wsa;
    SOCKET sender, receiver;
    SOCKADDR_STORAGE to;
    DWORD got;
    int i, n = datagrams();

    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    check(ConvertInterfaceAliasToLuid(interface, &adapter) == NO_ERROR, "ConvertInterfaceAliasToLuid", 0);
    sender = socket_on(peer);
    receiver = socket_on(interface);
    to = name_of(receiver);
    extension(receiver, id, &recvmsg, sizeof(recvmsg));
    // The sample asks for stamps just before it receives: too late for the datagram that waits already.
    check(WSAIoctl(receiver, SIO_TIMESTAMPING, &receive, sizeof(receive), NULL, 0, &got, NULL, NULL) == 0,
          "SIO_TIMESTAMPING", (DWORD)WSAGetLastError());
    for (i = 0; i < n; i++) {
        check(sendto(sender, "datagram", 8, 0, (PSOCKADDR)&to, sizeof(SOCKADDR_IN)) == 8, "sendto",
              (DWORD)WSAGetLastError());
        estimate_receive_latency(receiver, &adapter, getenv("HARDWARE") != NULL);
    }
    closesocket(sender);
    closesocket(receiver);
    return WSACleanup();
}
// <<<
