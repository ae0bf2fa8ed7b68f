/* A receiver as capture programs are: a ring of receives, whose completions a worker thread takes from a completion port.
 * It is ended by a completion of the program's own, and what still waits is cancelled. */
#include "receiving.h"
#include "setting.h"

#define RING 8
#define STOP 1

struct place {
    OVERLAPPED overlapped; /* first: a completion leads back to its place in the ring */
    char data[64];
    ULONG64 control[16];
    WSABUF buffer;
    WSAMSG message;
};

static struct place ring[RING];
static LPFN_WSARECVMSG receive;
static SOCKET receiver;
static HANDLE port, all_here;
static int wanted;

static void ask(struct place *one)
{
    DWORD bytes;
    memset(&one->overlapped, 0, sizeof(one->overlapped));
    memset(&one->message, 0, sizeof(one->message));
    one->buffer.buf = one->data, one->buffer.len = sizeof(one->data);
    one->message.lpBuffers = &one->buffer;
    one->message.dwBufferCount = 1;
    one->message.Control.buf = (char *)one->control;
    one->message.Control.len = sizeof(one->control);
    if (receive(receiver, &one->message, &bytes, &one->overlapped, NULL) != 0)
        check(WSAGetLastError() == WSA_IO_PENDING, "WSARecvMsg", (DWORD)WSAGetLastError());
}

static BOOL has_timestamp(WSAMSG *message)
{
    PWSACMSGHDR each;
    ULONG64 timestamp = 0;
    for (each = WSA_CMSG_FIRSTHDR(message); each != NULL; each = WSA_CMSG_NXTHDR(message, each))
        if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SO_TIMESTAMP)
            memcpy(&timestamp, WSA_CMSG_DATA(each), sizeof(timestamp));
    return timestamp != 0;
}

static DWORD WINAPI work(LPVOID unused)
{
    DWORD bytes, cancelled = 0;
    int taken = 0;
    (void)unused;
    for (;;) {
        ULONG_PTR key = 0;
        OVERLAPPED *done = NULL;
        BOOL good = GetQueuedCompletionStatus(port, &bytes, &key, &done, INFINITE);
        struct place *one = (struct place *)(void *)done;
        if (good && key == STOP) {
            check(CancelIoEx((HANDLE)receiver, NULL), "CancelIoEx", GetLastError());
        } else if (!good) {
            check(done != NULL && GetLastError() == ERROR_OPERATION_ABORTED, "GetQueuedCompletionStatus", GetLastError());
            if (++cancelled == RING) return cancelled;
        } else {
            printf("datagram %d of %u bytes: %s\n", taken, (unsigned)bytes,
                   has_timestamp(&one->message) ? "timestamped" : "no timestamp");
            ask(one);
            if (++taken == wanted) SetEvent(all_here);
        }
    }
}

int main(void)
{
    WCHAR *adapter = interface_name("INTERFACE", "lo");
    WCHAR *peer = interface_name("PEER", getenv("INTERFACE") ? getenv("INTERFACE") : "lo");
    GUID id_of_receive = WSAID_WSARECVMSG;
    SOCKADDR_STORAGE to;
    SOCKET sender;
    HANDLE thread;
    WSADATA wsa;
    DWORD cancelled = 0;
    int i;

    check(WSAStartup(MAKEWORD(2, 2), &wsa) == 0, "WSAStartup", 0);
    receiver = socket_on(adapter);
    sender = socket_on(peer);
    to = name_of(receiver);
    wanted = datagrams();
    extension(receiver, id_of_receive, &receive, sizeof(receive));
    ask_for_receive_timestamps(receiver);
    all_here = CreateEventA(NULL, TRUE, FALSE, NULL);
    port = CreateIoCompletionPort((HANDLE)receiver, NULL, 0, 1);
    check(port != NULL && all_here != NULL, "CreateIoCompletionPort", GetLastError());
    for (i = 0; i < RING; i++) ask(&ring[i]);
    thread = CreateThread(NULL, 0, work, NULL, 0, NULL);
    check(thread != NULL, "CreateThread", GetLastError());
    for (i = 0; i < wanted; i++) {
        char data[48] = "";
        check(sendto(sender, data, sizeof(data), 0, (SOCKADDR *)&to, sizeof(SOCKADDR_IN)) == sizeof(data), "sendto",
              (DWORD)WSAGetLastError());
    }
    check(WaitForSingleObject(all_here, 5000) == WAIT_OBJECT_0, "waiting for the datagrams", GetLastError());
    check(PostQueuedCompletionStatus(port, 0, STOP, NULL), "PostQueuedCompletionStatus", GetLastError());
    check(WaitForSingleObject(thread, 5000) == WAIT_OBJECT_0, "waiting for the worker", GetLastError());
    check(GetExitCodeThread(thread, &cancelled), "GetExitCodeThread", GetLastError());
    printf("cancelled: %u\n", (unsigned)cancelled);
    CloseHandle(thread);
    CloseHandle(port);
    CloseHandle(all_here);
    closesocket(receiver);
    closesocket(sender);
    return WSACleanup();
}
