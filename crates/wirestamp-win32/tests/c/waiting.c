/* Waiting for several sockets, by select and WSAPoll, and the names of addresses. */
#define ROWS_ON_SIM0
#include "sockets.h"

static struct timeval milliseconds(long number)
{
    struct timeval time;
    time.tv_sec = number / 1000;
    time.tv_usec = number % 1000 * 1000;
    return time;
}

static void select_leaves_the_sockets_that_are_ready(void)
{
    SOCKET s, other, from;
    fd_set read, write, except;
    struct timeval none = milliseconds(0), some = milliseconds(10000);
    char data[8];
    start();
    s = open_udp(), other = open_udp(), from = open_udp();
    FD_ZERO(&read);
    FD_SET(s, &read);
    FD_SET(other, &read);
    FD_SET(s, &read);
    CHECK_EQUAL(read.fd_count, 2);
    CHECK_EQUAL(select(0, &read, NULL, NULL, &none), 0);
    CHECK_EQUAL(read.fd_count, 0);

    CHECK_EQUAL(send_plain(from, s), 0);
    FD_SET(other, &read);
    FD_SET(s, &read);
    FD_ZERO(&except);
    FD_SET(s, &except);
    CHECK_EQUAL(select(0, &read, NULL, &except, &some), 1);
    CHECK(FD_ISSET(s, &read) && !FD_ISSET(other, &read) && read.fd_count == 1 && except.fd_count == 0);
    CHECK_EQUAL(recv(s, data, sizeof(data), 0), 8);

    FD_ZERO(&write);
    FD_SET(other, &write);
    FD_CLR(from, &write);
    CHECK_EQUAL(select(99, &read, &write, NULL, NULL), 1); /* at once: `read` has nothing any more */
    CHECK(read.fd_count == 0 && FD_ISSET(other, &write));
}

static void wrong_sets_are_refused(void)
{
    SOCKET s;
    fd_set read;
    struct timeval negative = milliseconds(0);
    start();
    s = open_udp();
    FD_ZERO(&read);
    CHECK_EQUAL(code(select(0, &read, NULL, NULL, NULL)), WSAEINVAL);
    CHECK_EQUAL(code(select(0, NULL, NULL, NULL, NULL)), WSAEINVAL);
    FD_SET(s, &read);
    negative.tv_sec = -1;
    CHECK_EQUAL(code(select(0, &read, NULL, NULL, &negative)), WSAEINVAL);
    CHECK_EQUAL(closesocket(s), 0);
    CHECK_EQUAL(code(select(0, &read, NULL, NULL, NULL)), WSAENOTSOCK);
#ifndef _WIN32 /* Wine's own function reads so many, and asks last whether Winsock was started */
    read.fd_count = 0xFFFFFFFF;
    CHECK_EQUAL(code(select(0, &read, NULL, NULL, NULL)), WSAEINVAL);
    CHECK_EQUAL(WSACleanup(), 0);
    CHECK_EQUAL(code(select(0, &read, NULL, NULL, NULL)), WSANOTINITIALISED);
#endif
}

static SOCKET sender, receiver;
static DWORD WINAPI send_later(LPVOID wanted)
{
    Sleep(50);
    if (wanted != NULL) CHECK_EQUAL(send_plain(sender, receiver), 0);
    else CHECK_EQUAL(closesocket(receiver), 0);
    return 0;
}

static void a_datagram_or_a_close_ends_a_wait(void)
{
    fd_set read;
    HANDLE thread;
    WSAPOLLFD polled;
    char data[8];
    start();
    receiver = open_udp(), sender = open_udp();
    FD_ZERO(&read);
    FD_SET(receiver, &read);
    thread = CreateThread(NULL, 0, send_later, &read, 0, NULL);
    CHECK_EQUAL(select(0, &read, NULL, NULL, NULL), 1);
    CHECK_EQUAL(recv(receiver, data, sizeof(data), 0), 8);
    CHECK_EQUAL(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
    CHECK(CloseHandle(thread));

    polled.fd = receiver;
    polled.events = POLLIN;
    thread = CreateThread(NULL, 0, send_later, &read, 0, NULL);
    CHECK_EQUAL(WSAPoll(&polled, 1, -1), 1);
    CHECK_EQUAL(polled.revents, POLLRDNORM);
    CHECK_EQUAL(recv(receiver, data, sizeof(data), 0), 8);
    CHECK_EQUAL(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
    CHECK(CloseHandle(thread));

    thread = CreateThread(NULL, 0, send_later, NULL, 0, NULL);
    CHECK_EQUAL(code(select(0, &read, NULL, NULL, NULL)), WSAENOTSOCK);
    CHECK_EQUAL(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
    CHECK(CloseHandle(thread));
}

static void poll_reports_each_socket(void)
{
    SOCKET s, from;
    WSAPOLLFD polled[4];
    start();
    s = open_udp(), from = open_udp();
    memset(polled, 0xEE, sizeof(polled));
    polled[0].fd = s, polled[0].events = POLLRDNORM;
    polled[1].fd = from, polled[1].events = POLLOUT | POLLIN;
    polled[2].fd = 12, polled[2].events = POLLIN;
    polled[3].fd = INVALID_SOCKET, polled[3].events = POLLIN; /* left out, as on Windows */
    CHECK_EQUAL(WSAPoll(polled, 1, 0), 0);
    CHECK_EQUAL(polled[0].revents, 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(WSAPoll(polled, 4, 10000), 3);
    CHECK(polled[0].revents == POLLRDNORM && polled[1].revents == POLLWRNORM);
    CHECK(polled[2].revents == POLLNVAL && polled[3].revents == 0);
    polled[0].events = POLLIN | POLLPRI;
    CHECK_EQUAL(code(WSAPoll(polled, 4, 0)), WSAEINVAL);
    CHECK_EQUAL(code(WSAPoll(NULL, 1, 0)), WSAEFAULT);
    CHECK_EQUAL(code(WSAPoll(polled, 0, 0)), WSAEINVAL);
}

static void sockets_here_and_in_the_simulation_are_waited_for_together(void)
{
    SOCKET here, there, from;
    fd_set read;
    char data[8];
    start();
    here = open_udp(), there = open_on(L"sim0"), from = open_on(L"sim1");
    FD_ZERO(&read);
    FD_SET(here, &read);
    FD_SET(there, &read);
    CHECK_EQUAL(send_plain(from, there), 0);
    CHECK_EQUAL(select(0, &read, NULL, NULL, NULL), 1);
    CHECK(FD_ISSET(there, &read) && !FD_ISSET(here, &read));
    CHECK_EQUAL(recv(there, data, sizeof(data), 0), 8);
    FD_SET(here, &read);
    CHECK_EQUAL(send_plain(here, here), 0);
    CHECK_EQUAL(select(0, &read, NULL, NULL, NULL), 1);
    CHECK(FD_ISSET(here, &read));
}

static void names_have_windows_numbers(void)
{
    ADDRINFOA wanted, *found = NULL;
    SOCKADDR_IN6 six;
    char node[NI_MAXHOST], service[NI_MAXSERV];
    start();
    memset(&wanted, 0, sizeof(wanted));
    wanted.ai_family = AF_INET6;
    wanted.ai_socktype = SOCK_DGRAM;
    wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    CHECK_EQUAL(getaddrinfo("::1", "319", &wanted, &found), 0);
    CHECK(found != NULL && found->ai_next == NULL && found->ai_canonname == NULL);
    CHECK_EQUAL(found->ai_family, AF_INET6);
    CHECK_EQUAL(found->ai_addr->sa_family, AF_INET6);
    CHECK_EQUAL(found->ai_addrlen, sizeof(SOCKADDR_IN6));
    CHECK_EQUAL(found->ai_socktype, SOCK_DGRAM);
    memcpy(&six, found->ai_addr, sizeof(six));
    CHECK_EQUAL(ntohs(six.sin6_port), 319);
    CHECK_EQUAL(getnameinfo(found->ai_addr, (int)found->ai_addrlen, node, sizeof(node), service, sizeof(service),
                            NI_NUMERICHOST | NI_NUMERICSERV),
                0);
    CHECK(strcmp(node, "::1") == 0 && strcmp(service, "319") == 0);
    /* Who asks for the service alone asks no name server. */
    CHECK_EQUAL(inet_pton(AF_INET6, "2001:db8::77", &six.sin6_addr), 1);
    CHECK_EQUAL(getnameinfo((SOCKADDR *)&six, sizeof(six), NULL, 0, service, sizeof(service),
                            NI_NAMEREQD | NI_NUMERICSERV),
                0);
    CHECK_EQUAL(strcmp(service, "319"), 0);
    CHECK_EQUAL(getnameinfo((SOCKADDR *)&six, sizeof(six), NULL, 0, NULL, 0, 0), EAI_NONAME);
    freeaddrinfo(found);
    freeaddrinfo(NULL);
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_flags |= AI_CANONNAME;
    CHECK_EQUAL(getaddrinfo("127.0.0.1", NULL, &wanted, &found), 0);
    CHECK(found->ai_family == AF_INET && strcmp(found->ai_canonname, "127.0.0.1") == 0);
    freeaddrinfo(found);
    CHECK_EQUAL(getaddrinfo("no address", NULL, &wanted, &found), WSAHOST_NOT_FOUND);
    CHECK_EQUAL(WSAGetLastError(), WSAHOST_NOT_FOUND);
    CHECK(found == NULL && strlen(gai_strerror(WSAHOST_NOT_FOUND)) > 0);
    CHECK_EQUAL(getaddrinfo(NULL, NULL, NULL, &found), EAI_NONAME);
    wanted.ai_flags = 0x40000000;
    CHECK_EQUAL(getaddrinfo("127.0.0.1", NULL, &wanted, &found), EAI_BADFLAGS);
    wanted.ai_flags = 0;
    wanted.ai_family = 99;
    CHECK_EQUAL(getaddrinfo("127.0.0.1", NULL, &wanted, &found), EAI_FAMILY);
    CHECK_EQUAL(getaddrinfo("127.0.0.1", NULL, NULL, NULL), WSAEFAULT);
}

static void texts_of_addresses_have_their_port(void)
{
    SOCKADDR_STORAGE address;
    char text[64], given[] = "[2001:db8::1]:319";
    WCHAR wide[64], given_wide[] = L"192.0.2.1:7";
    DWORD length = sizeof(text);
    int size = sizeof(address);
    IN_ADDR octets;
    start();
    CHECK_EQUAL(code(WSAStringToAddressA(given, AF_INET6, NULL, (SOCKADDR *)&address, &size)), 0);
    CHECK(size == sizeof(SOCKADDR_IN6) && address.ss_family == AF_INET6);
    CHECK_EQUAL(ntohs(((SOCKADDR_IN6 *)&address)->sin6_port), 319);
    CHECK_EQUAL(code(WSAAddressToStringA((SOCKADDR *)&address, (DWORD)size, NULL, text, &length)), 0);
    CHECK(strcmp(text, given) == 0 && length == strlen(given) + 1);
    length = 5;
    CHECK_EQUAL(code(WSAAddressToStringA((SOCKADDR *)&address, (DWORD)size, NULL, text, &length)), WSAEFAULT);
    CHECK_EQUAL(length, strlen(given) + 1); /* so many are needed */
    size = sizeof(address);
    CHECK_EQUAL(code(WSAStringToAddressW(given_wide, AF_INET, NULL, (SOCKADDR *)&address, &size)), 0);
    length = 64;
    CHECK_EQUAL(code(WSAAddressToStringW((SOCKADDR *)&address, (DWORD)size, NULL, wide, &length)), 0);
    CHECK(wcscmp(wide, given_wide) == 0);
    CHECK_EQUAL(code(WSAStringToAddressA(given, AF_INET, NULL, (SOCKADDR *)&address, &size)), WSAEINVAL);
    size = 3;
    CHECK_EQUAL(code(WSAStringToAddressW(given_wide, AF_INET, NULL, (SOCKADDR *)&address, &size)), WSAEFAULT);
    CHECK_EQUAL(InetPtonW(AF_INET, L"127.0.0.1", &octets), 1);
    CHECK_EQUAL(octets.s_addr, htonl(INADDR_LOOPBACK));
    CHECK(InetNtopW(AF_INET, &octets, wide, 64) == wide && wcscmp(wide, L"127.0.0.1") == 0);
    CHECK(InetNtopW(AF_INET, &octets, wide, 5) == NULL && WSAGetLastError() == WSAEINVAL);
    CHECK_EQUAL(InetPtonW(AF_INET, L"nonsense", &octets), 0);
    CHECK_EQUAL(InetPtonW(AF_INET, NULL, &octets), -1);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(select_leaves_the_sockets_that_are_ready),
    ROW(wrong_sets_are_refused),
    ROW(a_datagram_or_a_close_ends_a_wait),
    ROW(poll_reports_each_socket),
    { "sockets_here_and_in_the_simulation_are_waited_for_together",
      sockets_here_and_in_the_simulation_are_waited_for_together, "WIRESTAMP_SIM=windows-modern" },
    { "names_have_windows_numbers", names_have_windows_numbers, OF_LINUX },
    { "texts_of_addresses_have_their_port", texts_of_addresses_have_their_port, OF_LINUX },
};
RUN_TESTS(tests)
