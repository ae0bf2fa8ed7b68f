/* Send path latency: from before WSASendMsg to the transmit timestamp, for each of COUNT datagrams.
 *
 * INTERFACE (default lo) sends, PEER (default: the same) receives. HARDWARE=1: the NIC's timestamps, converted
 * to the performance counter; otherwise software timestamps. Link correlation.c and the math library. */
#include "setting.h"
#include "correlation.h"

typedef struct {
    SOCKET socket;
    LPFN_WSASENDMSG send;
    NET_LUID luid;
    BOOL hardware;
    CORRELATION line;
} SENDER;

static void ask_for_transmit_timestamps(SENDER *sender)
{
    TIMESTAMPING_CONFIG config;
    DWORD got;
    memset(&config, 0, sizeof(config));
    config.Flags = TIMESTAMPING_FLAG_TX;
    config.TxTimestampsBuffered = 8;
    check(WSAIoctl(sender->socket, SIO_TIMESTAMPING, &config, sizeof(config), NULL, 0, &got, NULL, NULL) == 0,
          "SIO_TIMESTAMPING", (DWORD)WSAGetLastError());
}

/* The id comes with the datagram, so that its timestamp can be asked for by that id. */
static void send_with_id(SENDER *sender, SOCKADDR_STORAGE *to, UINT32 id)
{
    char payload[64] = "send_latency", control[WSA_CMSG_SPACE(sizeof(UINT32))];
    WSABUF buffer;
    WSAMSG message;
    PWSACMSGHDR header;
    DWORD sent;

    memset(control, 0, sizeof(control));
    memset(&message, 0, sizeof(message));
    buffer.buf = payload;
    buffer.len = sizeof(payload);
    message.name = (PSOCKADDR)to;
    message.namelen = sizeof(SOCKADDR_IN);
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    message.Control.buf = control;
    message.Control.len = sizeof(control);
    header = WSA_CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SO_TIMESTAMP_ID;
    header->cmsg_len = WSA_CMSG_LEN(sizeof(id));
    memcpy(WSA_CMSG_DATA(header), &id, sizeof(id));
    check(sender->send(sender->socket, &message, 0, &sent, NULL, NULL) == 0, "WSASendMsg", (DWORD)WSAGetLastError());
}

/* WSAEWOULDBLOCK: the timestamp is still on its way. */
static ULONG64 transmit_timestamp(const SENDER *sender, UINT32 id)
{
    UINT64 timestamp = 0;
    DWORD got;
    int tries;
    for (tries = 0; tries < 500; tries++) {
        int answer = WSAIoctl(sender->socket, SIO_GET_TX_TIMESTAMP, &id, sizeof(id), &timestamp, sizeof(timestamp),
                              &got, NULL, NULL);
        if (answer == 0) return timestamp;
        check(WSAGetLastError() == WSAEWOULDBLOCK, "SIO_GET_TX_TIMESTAMP", (DWORD)WSAGetLastError());
        Sleep(1);
    }
    check(0, "waiting half a second for the transmit timestamp", WSAEWOULDBLOCK);
    return 0;
}

static ULONG64 on_the_counter(SENDER *sender, ULONG64 timestamp)
{
    ULONG64 counter;
    if (!sender->hardware) return timestamp;
    check(correlation_sample(&sender->line, &sender->luid, 1) == NO_ERROR, "a cross timestamp", 0);
    check(correlation_convert(&sender->line, timestamp, &counter), "converting a hardware timestamp", 0);
    return counter;
}

int main(void)
{
    WCHAR *adapter = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    GUID id_of_send = WSAID_WSASENDMSG;
    WSADATA wsa;
    SENDER sender;
    SOCKADDR_STORAGE to;
    SOCKET receiver;
    char datagram[64];
    int i, n = datagrams();

    memset(&sender, 0, sizeof(sender));
    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    check(ConvertInterfaceAliasToLuid(adapter, &sender.luid) == NO_ERROR, "ConvertInterfaceAliasToLuid", 0);
    sender.hardware = getenv("HARDWARE") != NULL;
    sender.socket = socket_on(adapter);
    receiver = socket_on(peer);
    to = name_of(receiver);
    extension(sender.socket, id_of_send, &sender.send, sizeof(sender.send));
    ask_for_transmit_timestamps(&sender);
    if (sender.hardware)
        check(correlation_sample(&sender.line, &sender.luid, 16) == NO_ERROR, "a cross timestamp", 0);
    for (i = 0; i < n; i++) {
        ULONG64 before = counter_now(), left;
        send_with_id(&sender, &to, (UINT32)i);
        left = on_the_counter(&sender, transmit_timestamp(&sender, (UINT32)i));
        printf("send path: %lld ns\n", (long long)nanoseconds((LONGLONG)(left - before)));
        check(recv(receiver, datagram, sizeof(datagram), 0) == sizeof(datagram), "recv", (DWORD)WSAGetLastError());
    }
    closesocket(sender.socket);
    closesocket(receiver);
    return WSACleanup();
}
