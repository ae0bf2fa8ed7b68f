/* The options of IPv4 and IPv6: Windows' numbers do what Windows says they do, and those that Linux has no like of are
 * refused. The numbers themselves are compared by socket_numbers.py. */
#include "sockets.h"

static int set(SOCKET s, int level, int name, DWORD value)
{
    return code(setsockopt(s, level, name, (char *)&value, sizeof(value)));
}

static int get(SOCKET s, int level, int name)
{
    DWORD value = 0xEEEEEEEE;
    int length = sizeof(value), answer = code(getsockopt(s, level, name, (char *)&value, &length));
    return answer != 0 ? -answer : (int)value;
}

/* The INT of a control message of the next datagram; -1 if there is none of this kind. */
static int received_number(SOCKET s, int level, int type)
{
    char data[16];
    ULONG64 control[32];
    WSABUF buffer = { sizeof(data), data };
    WSAMSG message;
    LPWSACMSGHDR each;
    DWORD bytes = 0;
    INT value;
    memset(&message, 0, sizeof(message));
    message.lpBuffers = &buffer;
    message.dwBufferCount = 1;
    message.Control.buf = (char *)control;
    message.Control.len = sizeof(control);
    CHECK_EQUAL(code(receive_function(s)(s, &message, &bytes, NULL, NULL)), 0);
    for (each = WSA_CMSG_FIRSTHDR(&message); each != NULL; each = WSA_CMSG_NXTHDR(&message, each)) {
        if (each->cmsg_level != level || each->cmsg_type != type) continue;
        CHECK_EQUAL(each->cmsg_len, WSA_CMSG_LEN(sizeof(INT)));
        memcpy(&value, WSA_CMSG_DATA(each), sizeof(value));
        return value;
    }
    return -1;
}

static void ttl_and_type_of_service_are_set_and_reported(void)
{
    SOCKET s, from;
    start();
    s = open_udp(), from = open_udp();
    CHECK_EQUAL(set(from, IPPROTO_IP, IP_TTL, 33), 0);
    CHECK_EQUAL(set(from, IPPROTO_IP, IP_TOS, 0xB9), 0);
    CHECK_EQUAL(get(from, IPPROTO_IP, IP_TTL), 33);
    CHECK_EQUAL(get(from, IPPROTO_IP, IP_TOS), 0xB9);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(received_number(s, IPPROTO_IP, IP_TTL), -1); /* nobody asked */
    CHECK_EQUAL(set(s, IPPROTO_IP, IP_RECVTTL, 1), 0);
    CHECK_EQUAL(get(s, IPPROTO_IP, IP_HOPLIMIT), 1);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(received_number(s, IPPROTO_IP, IP_TTL), 33);
    CHECK_EQUAL(set(s, IPPROTO_IP, IP_RECVTOS, 1), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(received_number(s, IPPROTO_IP, IP_TOS), 0xB9);
    CHECK_EQUAL(set(s, IPPROTO_IP, IP_RECVTOS, 0), 0);
    CHECK_EQUAL(set(s, IPPROTO_IP, IP_ECN, 1), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(received_number(s, IPPROTO_IP, IP_ECN), 1);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(received_number(s, IPPROTO_IP, IP_TOS), -1);
    CHECK_EQUAL(get(s, IPPROTO_IP, IP_MULTICAST_TTL), 1); /* what Linux calls 33 is untouched */
}

static void hop_limit_and_traffic_class_are_set_and_reported(void)
{
    SOCKET s, from;
    start();
    s = open_udp6(), from = open_udp6();
    CHECK_EQUAL(set(from, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 44), 0);
    CHECK_EQUAL(set(from, IPPROTO_IPV6, IPV6_TCLASS, 0x2E), 0);
    CHECK_EQUAL(set(s, IPPROTO_IPV6, IPV6_HOPLIMIT, 1), 0);
    CHECK_EQUAL(set(s, IPPROTO_IPV6, IPV6_RECVTCLASS, 1), 0);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(received_number(s, IPPROTO_IPV6, IPV6_HOPLIMIT), 44);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(received_number(s, IPPROTO_IPV6, IPV6_TCLASS), 0x2E);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(received_number(s, IPPROTO_IPV6, IPV6_ECN), -1);
}

static void the_path_mtu_is_asked_for(void)
{
    SOCKET s, to;
    SOCKADDR_STORAGE name;
    int length;
    start();
    s = open_udp(), to = open_udp();
    CHECK_EQUAL(set(s, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO), 0);
    CHECK_EQUAL(get(s, IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_DO);
    CHECK_EQUAL(set(s, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_MAX), WSAEINVAL);
    CHECK_EQUAL(set(s, IPPROTO_IP, IP_DONTFRAGMENT, 1), 0);
    CHECK_EQUAL(get(s, IPPROTO_IP, IP_MTU), -WSAENOTCONN);
    name = name_of(to, &length);
    CHECK_EQUAL(code(connect(s, (SOCKADDR *)&name, length)), 0);
    CHECK(get(s, IPPROTO_IP, IP_MTU) >= 1280);
    CHECK_EQUAL(get(s, SOL_SOCKET, SO_MAX_MSG_SIZE), 65507);
}

static SOCKADDR_IN at(const char *text, USHORT port)
{
    SOCKADDR_IN address;
    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_port = port;
    CHECK_EQUAL(inet_pton(AF_INET, text, &address.sin_addr), 1);
    return address;
}

/* Sends `text` to a group from an address of this host. */
static void send_to_group(const char *from, const SOCKADDR_IN *group, const char *text)
{
    SOCKADDR_IN source = at(from, 0);
    SOCKET s = open_at((SOCKADDR *)&source, sizeof(source));
    CHECK_EQUAL(code(setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, (char *)&source.sin_addr, 4)), 0);
    CHECK_EQUAL(sendto(s, text, 2, 0, (const SOCKADDR *)group, sizeof(*group)), 2);
    CHECK_EQUAL(closesocket(s), 0);
}

static void only_the_chosen_source_of_a_group_is_heard(void)
{
    SOCKADDR_IN any = at("0.0.0.0", 0), group;
    struct ip_mreq_source request;
    GROUP_SOURCE_REQ by_index;
    SOCKADDR_STORAGE name;
    SOCKET s;
    int length;
    char data[8] = "";
    start();
    s = open_at((SOCKADDR *)&any, sizeof(any));
    name = name_of(s, &length);
    group = at("232.1.2.3", ((SOCKADDR_IN *)&name)->sin_port);
    request.imr_multiaddr = group.sin_addr;
    request.imr_sourceaddr = at("127.0.0.2", 0).sin_addr;
    request.imr_interface = at("127.0.0.1", 0).sin_addr;
    CHECK_EQUAL(code(setsockopt(s, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, (char *)&request, sizeof(request))), 0);
    send_to_group("127.0.0.1", &group, "no");
    send_to_group("127.0.0.2", &group, "go");
    CHECK_EQUAL(recv(s, data, sizeof(data), 0), 2);
    CHECK_EQUAL(memcmp(data, "go", 2), 0);
    CHECK_EQUAL(code(setsockopt(s, IPPROTO_IP, IP_DROP_SOURCE_MEMBERSHIP, (char *)&request, sizeof(request))), 0);

    memset(&by_index, 0, sizeof(by_index));
    by_index.gsr_interface = 1; /* lo */
    memcpy(&by_index.gsr_group, &group, sizeof(group));
    any = at("127.0.0.3", 0);
    memcpy(&by_index.gsr_source, &any, sizeof(any));
    CHECK_EQUAL(code(setsockopt(s, IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, (char *)&by_index, sizeof(by_index))), 0);
    send_to_group("127.0.0.2", &group, "no");
    send_to_group("127.0.0.3", &group, "on");
    CHECK_EQUAL(recv(s, data, sizeof(data), 0), 2);
    CHECK_EQUAL(memcmp(data, "on", 2), 0);
    CHECK_EQUAL(code(setsockopt(s, IPPROTO_IP, MCAST_LEAVE_SOURCE_GROUP, (char *)&by_index, sizeof(by_index))), 0);
    CHECK_EQUAL(code(setsockopt(s, IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, (char *)&by_index, 200)), WSAEFAULT);
    CHECK_EQUAL(code(setsockopt(s, IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP, (char *)&by_index, sizeof(by_index))),
                WSAEADDRNOTAVAIL);
}

static void what_linux_has_not_is_no_option(void)
{
    static const int of_ipv4[] = { IP_OPTIONS,  IP_HDRINCL,    IP_RECEIVE_BROADCAST,   IP_RECVIF,
                                   IP_IFLIST,   IP_ADD_IFLIST, IP_ORIGINAL_ARRIVAL_IF, IP_PKTINFO_EX,
                                   IP_USER_MTU, IP_RTHDR,      IP_WFP_REDIRECT_RECORDS };
    static const int of_ipv6[] = { IPV6_HOPOPTS, IPV6_HDRINCL, IPV6_PROTECTION_LEVEL, IPV6_CHECKSUM,
                                   IPV6_RTHDR,   IPV6_IFLIST,  IPV6_USER_MTU,         IPV6_PKTINFO_EX };
    static const int of_sockets[] = { SO_CONDITIONAL_ACCEPT, SO_GROUP_ID, SO_UPDATE_ACCEPT_CONTEXT, SO_OPENTYPE };
    SOCKET s, six;
    size_t i;
    start();
    s = open_udp(), six = open_udp6();
    for (i = 0; i < sizeof(of_ipv4) / sizeof(*of_ipv4); i++)
        CHECK_EQUAL(set(s, IPPROTO_IP, of_ipv4[i], 1), WSAENOPROTOOPT);
    for (i = 0; i < sizeof(of_ipv6) / sizeof(*of_ipv6); i++)
        CHECK_EQUAL(set(six, IPPROTO_IPV6, of_ipv6[i], 1), WSAENOPROTOOPT);
    for (i = 0; i < sizeof(of_sockets) / sizeof(*of_sockets); i++)
        CHECK_EQUAL(set(s, SOL_SOCKET, of_sockets[i], 1), WSAENOPROTOOPT);
    CHECK_EQUAL(get(s, IPPROTO_IP, IP_TTL), 64);
    CHECK_EQUAL(get(s, IPPROTO_IP, IP_MULTICAST_TTL), 1);
    CHECK_EQUAL(get(s, IPPROTO_IP, MCAST_JOIN_GROUP), -WSAENOPROTOOPT);
}

static void after_success_the_last_error_is_0(void)
{
    SOCKET s, from;
    char data[8];
    start();
    s = open_udp(), from = open_udp();
    WSASetLastError(1234);
    CHECK_EQUAL(send_plain(from, s), 0);
    CHECK_EQUAL(WSAGetLastError(), 0);
    WSASetLastError(1234);
    CHECK_EQUAL(recv(s, data, sizeof(data), 0), 8);
    CHECK_EQUAL(WSAGetLastError(), 0);
    WSASetLastError(1234);
    CHECK_EQUAL(set(s, IPPROTO_IP, IP_TTL, 9), 0);
    CHECK_EQUAL(GetLastError(), 0);
    CHECK_EQUAL(set(s, IPPROTO_IP, IP_HDRINCL, 9), WSAENOPROTOOPT);
    CHECK_EQUAL(WSAGetLastError(), WSAENOPROTOOPT);
}

#define ROW(name) { #name, name, NULL }
static const struct test tests[] = {
    ROW(ttl_and_type_of_service_are_set_and_reported),
    ROW(hop_limit_and_traffic_class_are_set_and_reported),
    ROW(the_path_mtu_is_asked_for),
    ROW(only_the_chosen_source_of_a_group_is_heard),
    ROW(what_linux_has_not_is_no_option),
    ROW(after_success_the_last_error_is_0),
};
RUN_TESTS(tests)
