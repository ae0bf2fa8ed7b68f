// >>> added
// Winsock timestamping, "Estimating latency of socket send path".
// The sample as the page prints it, and what the page leaves to its reader, between ">>> added" and
// "<<<". Changed in what is printed: typographic quotes are plain ones, without which nothing compiles.
// The printed parts are under the licence of the page that they come from, which was not looked up here.
//
// INTERFACE=eth0 ./winsock_send: datagrams on an interface (default lo), with software stamps.
// HARDWARE=1: with hardware stamps.
// PEER: the interface that receives (default: the same). COUNT: how many datagrams (default 20).

// The sample is for the interface of Windows 10 1809: crossTimestamp has a Version.
#define NTDDI_VERSION NTDDI_WIN10_RS5
#include <stdio.h>
#include <assert.h>
#include <winsock2.h>
#include <mswsock.h>
#include <mstcpip.h>
#include <iphlpapi.h>
#include "setting.h"

// ASSERT is from kernel mode, and `timestamp` is a variable that the sample does not declare.
#define ASSERT assert
#define timestamp socketTimestamp

static LPFN_WSASENDMSG sendmsg; // each socket is asked for it
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

void estimate_send_latency(SOCKET sock,
    PSOCKADDR_STORAGE addr,
    NET_LUID* interfaceLuid,
    BOOLEAN hardwareTimestampSource)
{
    DWORD numBytes;
    INT error;
    CHAR data[512];
    CHAR control[WSA_CMSG_SPACE(sizeof(UINT32))] = { 0 };
    WSABUF dataBuf;
    WSABUF controlBuf;
    WSAMSG wsaMsg;
    ULONG64 appLevelTimestamp;

    dataBuf.buf = data;
    dataBuf.len = sizeof(data);
    controlBuf.buf = control;
    controlBuf.len = sizeof(control);
    wsaMsg.name = (PSOCKADDR)addr;
    wsaMsg.namelen = (INT)INET_SOCKADDR_LENGTH(addr->ss_family);
    wsaMsg.lpBuffers = &dataBuf;
    wsaMsg.dwBufferCount = 1;
    wsaMsg.Control = controlBuf;
    wsaMsg.dwFlags = 0;

    // Configure tx timestamp reception.
    TIMESTAMPING_CONFIG config = { 0 };
    config.flags |= TIMESTAMPING_FLAG_TX;
    config.txTimestampsBuffered = 1;
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

    // Assign a tx timestamp ID to this datagram.
    UINT32 txTimestampId = 123;
    PCMSGHDR cmsg = WSA_CMSG_FIRSTHDR(&wsaMsg);
    cmsg->cmsg_len = WSA_CMSG_LEN(sizeof(UINT32));
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SO_TIMESTAMP_ID;
    *(PUINT32)WSA_CMSG_DATA(cmsg) = txTimestampId;

    // Capture app-layer timestamp prior to send call.
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

    error =
        sendmsg(
            sock,
            &wsaMsg,
            0,
            &numBytes,
            NULL,
            NULL);
    if (error == SOCKET_ERROR) {
        printf("sendmsg failed %d\n", WSAGetLastError());
        return;
    }

    printf("sent packet\n");

    // Poll for the socket tx timestamp value. The timestamp may not be available
    // immediately.
    UINT64 socketTimestamp;
    ULONG maxTimestampPollAttempts = 6;
    ULONG txTstampRetrieveIntervalMs = 1;
    BOOLEAN retrievedTimestamp = FALSE;
    for (ULONG i = 0; i < maxTimestampPollAttempts; i++) {
        error =
            WSAIoctl(
                sock,
                SIO_GET_TX_TIMESTAMP,
                &txTimestampId,
                sizeof(txTimestampId),
                &socketTimestamp,
                sizeof(socketTimestamp),
                &numBytes,
                NULL,
                NULL);
        if (error != SOCKET_ERROR) {
            ASSERT(numBytes == sizeof(timestamp));
            ASSERT(timestamp != 0);
            retrievedTimestamp = TRUE;
            break;
        }

        error = WSAGetLastError();
        if (error != WSAEWOULDBLOCK) {
            printf("WSAIoctl failed % d\n", error);
            break;
        }

        Sleep(txTstampRetrieveIntervalMs);
        txTstampRetrieveIntervalMs *= 2;
    }

    if (retrievedTimestamp) {
        LARGE_INTEGER clockFrequency;
        ULONG64 elapsedMicroseconds;

        if (hardwareTimestampSource) {
            QueryHardwareClockFrequency(&clockFrequency);
        }
        else { // software source
            QueryPerformanceFrequency(&clockFrequency);
        }

        // Compute socket send path latency.
        elapsedMicroseconds = socketTimestamp - appLevelTimestamp;
        elapsedMicroseconds *= 1000000;
        elapsedMicroseconds /= clockFrequency.QuadPart;
        printf("socket send path latency estimation: %lld microseconds\n",
            elapsedMicroseconds);
    }
    else {
        printf("failed to retrieve TX timestamp\n");
    }
}

// >>> added
int main(void)
{
    WCHAR *interface = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    GUID id = WSAID_WSASENDMSG;
    WSADATA wsa;
    SOCKET sender, receiver;
    SOCKADDR_STORAGE to;
    char datagram[512];
    int i, n = datagrams();

    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    check(ConvertInterfaceAliasToLuid(interface, &adapter) == NO_ERROR, "ConvertInterfaceAliasToLuid", 0);
    sender = socket_on(interface);
    receiver = socket_on(peer);
    to = name_of(receiver);
    extension(sender, id, &sendmsg, sizeof(sendmsg));
    for (i = 0; i < n; i++) {
        estimate_send_latency(sender, &to, &adapter, getenv("HARDWARE") != NULL);
        check(recv(receiver, datagram, sizeof(datagram), 0) == 512, "recv", (DWORD)WSAGetLastError());
    }
    closesocket(sender);
    closesocket(receiver);
    return WSACleanup();
}
// <<<
