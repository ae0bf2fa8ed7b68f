/* What real programs call, on simulated NICs: blocking and timed receives, select and WSAPoll with sockets of both kinds,
 * sends of a socket that is not bound, events of sockets, names of interfaces. One program for Linux (WIRESTAMP_SIM) and for Windows (Wine
 * with tests/windows-model); it prints what is wrong, and exits with its number. */
#include "../../examples/setting.h"

static int wrong;

#define EXPECT(condition)                                                                       \
    do {                                                                                        \
        if (!(condition)) printf("%d: not so: %s (%d)\n", __LINE__, #condition, WSAGetLastError()), wrong++; \
    } while (0)

static WCHAR sim0[] = L"sim0", sim1[] = L"sim1";

static SOCKET at_most(SOCKET s, DWORD milliseconds)
{
    EXPECT(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, (char *)&milliseconds, sizeof(milliseconds)) == 0);
    return s;
}

static int send_to(SOCKET s, SOCKET to)
{
    SOCKADDR_STORAGE name = name_of(to);
    return sendto(s, "datagram", 8, 0, (struct sockaddr *)&name, sizeof(SOCKADDR_IN));
}

static DWORD WINAPI send_later(LPVOID sockets)
{
    Sleep(100);
    return (DWORD)send_to(((SOCKET *)sockets)[1], ((SOCKET *)sockets)[0]);
}

static void receives_block_and_time_out(void)
{
    SOCKET pair[2];
    char data[8];
    HANDLE thread;
    pair[0] = at_most(socket_on(sim0), 200), pair[1] = socket_on(sim1);
    EXPECT(recv(pair[0], data, sizeof(data), 0) == SOCKET_ERROR && WSAGetLastError() == WSAETIMEDOUT);
    at_most(pair[0], 5000);
    thread = CreateThread(NULL, 0, send_later, pair, 0, NULL);
    EXPECT(recv(pair[0], data, sizeof(data), 0) == 8);
    WaitForSingleObject(thread, 5000);
}

/* A socket that is bound to nothing: its datagrams reach the simulated NIC, by each way to send them. */
static void unbound_sockets_send_into_the_simulation(void)
{
    SOCKET to = at_most(socket_on(sim1), 2000), s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    SOCKADDR_STORAGE name = name_of(to);
    GUID id = WSAID_WSASENDMSG;
    LPFN_WSASENDMSG send_message = NULL;
    WSAMSG message;
    WSABUF buffer;
    char data[8] = "";
    DWORD sent = 0, flags = 0;
    EXPECT(send_to(s, to) == 8 && recv(to, data, sizeof(data), 0) == 8);
    s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    EXPECT(connect(s, (struct sockaddr *)&name, sizeof(SOCKADDR_IN)) == 0 && send(s, data, 8, 0) == 8);
    buffer.buf = data, buffer.len = sizeof(data);
    EXPECT(WSARecv(to, &buffer, 1, &sent, &flags, NULL, NULL) == 0 && sent == 8);
    s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    extension(s, id, &send_message, sizeof(send_message));
    memset(&message, 0, sizeof(message));
    message.name = (struct sockaddr *)&name, message.namelen = sizeof(SOCKADDR_IN);
    message.lpBuffers = &buffer, message.dwBufferCount = 1;
    EXPECT(send_message(s, &message, 0, &sent, NULL, NULL) == 0);
    EXPECT(WSARecvFrom(to, &buffer, 1, &sent, &flags, NULL, NULL, NULL, NULL) == 0 && sent == 8);
}

static void both_kinds_are_waited_for_together(void)
{
    SOCKADDR_IN loopback;
    SOCKET there = socket_on(sim0), from = socket_on(sim1), here = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    struct timeval time = { 100, 0 }, none = { 0, 0 };
    WSAPOLLFD polled[2];
    char data[8];
    fd_set set;
    memset(&loopback, 0, sizeof(loopback));
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT(bind(here, (struct sockaddr *)&loopback, sizeof(loopback)) == 0);
    FD_ZERO(&set);
    FD_SET(here, &set);
    FD_SET(there, &set);
    EXPECT(select(0, &set, NULL, NULL, &none) == 0 && set.fd_count == 0);
    EXPECT(send_to(from, there) == 8);
    FD_SET(here, &set);
    FD_SET(there, &set);
    EXPECT(select(0, &set, NULL, NULL, &time) == 1 && FD_ISSET(there, &set) && !FD_ISSET(here, &set));
    EXPECT(recv(there, data, sizeof(data), 0) == 8);
    EXPECT(send_to(here, here) == 8);
    polled[0].fd = there, polled[1].fd = here;
    polled[0].events = polled[1].events = POLLIN;
    EXPECT(WSAPoll(polled, 2, 100000) == 1 && polled[0].revents == 0 && polled[1].revents == POLLRDNORM);
    EXPECT(recv(here, data, sizeof(data), 0) == 8);
    EXPECT(WSAPoll(polled, 2, 50) == 0);
}

/* Selected before it is bound, as programs do. */
static void datagrams_are_events(void)
{
    SOCKADDR_STORAGE local;
    SOCKET from = socket_on(sim1), s = socket_on(sim0);
    HANDLE event = WSACreateEvent();
    WSANETWORKEVENTS found;
    char data[8];
    int i;
    local = name_of(s);
    closesocket(s);
    s = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    EXPECT(WSAEventSelect(s, event, FD_READ | FD_WRITE) == 0);
    EXPECT(bind(s, (struct sockaddr *)&local, sizeof(SOCKADDR_IN)) == 0);
    for (i = 0; i < 3; i++) EXPECT(send_to(from, s) == 8);
    for (i = 0; i < 3;) {
        EXPECT(WSAWaitForMultipleEvents(1, &event, FALSE, 5000, FALSE) == WSA_WAIT_EVENT_0);
        if (WSAEnumNetworkEvents(s, event, &found) != 0 || wrong != 0) break;
        EXPECT((found.lNetworkEvents & ~(FD_READ | FD_WRITE)) == 0);
        if (!(found.lNetworkEvents & FD_READ)) continue;
        EXPECT(recv(s, data, sizeof(data), 0) == 8);
        i++;
    }
    EXPECT(recv(s, data, sizeof(data), 0) == SOCKET_ERROR && WSAGetLastError() == WSAEWOULDBLOCK);
    WSACloseEvent(event);
}

static void names_lead_to_the_interface(void)
{
    NET_LUID luid, back;
    NET_IFINDEX index = 0;
    WCHAR alias[IF_MAX_STRING_SIZE + 1];
    EXPECT(ConvertInterfaceAliasToLuid(sim1, &luid) == NO_ERROR);
    EXPECT(ConvertInterfaceLuidToIndex(&luid, &index) == NO_ERROR && index != 0);
    EXPECT(ConvertInterfaceIndexToLuid(index, &back) == NO_ERROR && back.Value == luid.Value);
    EXPECT(ConvertInterfaceLuidToAlias(&luid, alias, IF_MAX_STRING_SIZE + 1) == NO_ERROR && wcscmp(alias, sim1) == 0);
    EXPECT(ConvertInterfaceIndexToLuid(1, &back) == NO_ERROR && back.Value != luid.Value); /* the system's own */
}

int main(void)
{
    WSADATA data;
    check(WSAStartup(MAKEWORD(2, 2), &data) == 0, "WSAStartup", 0);
    receives_block_and_time_out();
    unbound_sockets_send_into_the_simulation();
    both_kinds_are_waited_for_together();
    datagrams_are_events();
    names_lead_to_the_interface();
    printf("simulated: %d wrong\n", wrong);
    return wrong;
}
