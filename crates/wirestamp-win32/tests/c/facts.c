/* What Windows answers, with the source, and where this system answers something else, with the reason.
 *
 * One program for Linux (scripts/c-api) and for Windows and Wine (scripts/windows/consumers). It fails for an answer that
 * is neither Windows' nor a difference of the table, and for a difference that is none any more. Sources: "page": the
 * page of the function in Microsoft's documentation; "Wine": Wine's own tests, which pass on Windows; "field": somebody's
 * program on Windows 11. On Windows: x86_64-w64-mingw32-gcc -D_WIN32_WINNT=0x0A00 facts.c -o facts.exe -lws2_32 -liphlpapi,
 * and scripts/windows/verify.ps1 runs it. */
#include "facts_waits.h"

struct fact {
    const char *what;
    const char *source;
    int (*ask)(void);
    int windows;
    int linux_says, wine_says; /* AS_WINDOWS, or what this system says */
    const char *reason;
};

#define AS_WINDOWS (-1)
#define SAME AS_WINDOWS, AS_WINDOWS, NULL
#define ON_WINE(answer, reason) AS_WINDOWS, answer, reason
static const struct fact facts[] = {
    { "WSAStartup, version 0", "page", version_zero, WSAVERNOTSUPPORTED, SAME },
    { "SIO_GET_TX_TIMESTAMP, never on", "field", timestamp_before_on, WSAEOPNOTSUPP, SAME },
    { "SIO_TIMESTAMPING on a stream", "page", timestamps_of_a_stream, WSAEOPNOTSUPP, SAME },
    { "WSAIoctl without a place for the count", "Wine", no_place_for_the_count, WSAEFAULT, SAME },
    { "WSAIoctl, unknown code", "Wine", unknown_ioctl, WSAEOPNOTSUPP, SAME },
    { "recv, not bound", "page", receive_unbound, WSAEINVAL, ON_WINE(WSAETIMEDOUT, "Wine waits for datagrams") },
    { "WSARecvMsg, not bound", "page", message_unbound, WSAEINVAL, ON_WINE(WSAETIMEDOUT, "Wine waits for datagrams") },
    { "recv, non-blocking, nothing there", "page", nothing_there, WSAEWOULDBLOCK, SAME },
    { "recv, SO_RCVTIMEO is over", "page", timed_out, WSAETIMEDOUT, SAME },
    { "recv, MSG_OOB", "page", out_of_band, WSAEOPNOTSUPP, ON_WINE(WSAETIMEDOUT, "Wine ignores the flag") },
    { "recv, datagram longer than the buffer", "page", cut_datagram, WSAEMSGSIZE, SAME },
    { "WSARecvMsg, datagram longer than the buffer", "page", cut_message, WSAEMSGSIZE, SAME },
    { "WSARecvMsg, too little control room", "Wine", no_room_for_control, WSAEMSGSIZE, SAME },
    { "type of the message of IP_RECVTTL", "Wine", message_of_a_ttl, 4, SAME },
    { "recvfrom, too little room for the address", "page", short_name, WSAEFAULT,
      ON_WINE(0, "Wine cuts the address") },
    { "recv after that", "page", datagram_after_a_short_name, 0,
      ON_WINE(WSAETIMEDOUT, "Wine has given the datagram") },
    { "last error after a success", "field", last_error_of_success, 0, SAME },
    { "FIONREAD, 8 and 5 bytes wait", "Wine", bytes_of_two, 13, 8, 8, "Linux counts the next datagram only" },
    { "setsockopt, unknown option", "page", unknown_option, WSAENOPROTOOPT, SAME },
    { "setsockopt, SO_RCVTIMEO of 2 bytes", "page", short_option, WSAEFAULT, SAME },
    { "getsockname, not bound", "page", name_of_unbound, WSAEINVAL, SAME },
    { "getpeername, not connected", "page", peer_of_unconnected, WSAENOTCONN, SAME },
    { "send, not connected", "page", send_unconnected, WSAENOTCONN, SAME },
    { "sendto, 65508 bytes", "page", send_too_much, WSAEMSGSIZE, SAME },
    { "bind, twice", "page", bind_twice, WSAEINVAL, SAME },
    { "recv, closed socket", "page", closed_socket, WSAENOTSOCK, SAME },
    { "shutdown, unknown direction", "page", wrong_shutdown, WSAEINVAL, SAME },
    { "recv after SD_RECEIVE", "page", receive_after_shutdown, WSAESHUTDOWN, SAME },
    { "recv after a refused datagram, connected", "page", refused_connected, WSAECONNRESET,
      ON_WINE(WSAETIMEDOUT, "Wine drops the error") },
    { "recv after a refused datagram, not connected", "page", refused_unconnected, WSAECONNRESET, WSAETIMEDOUT,
      WSAETIMEDOUT, "Linux reports it on connected sockets only" },
    { "IPV6_V6ONLY of a new socket", "page", only_ipv6, 1, SAME },
    { "SO_MAX_MSG_SIZE", "Wine", longest_datagram, 65507, SAME },
    { "SO_TYPE", "page", kind_of_socket, SOCK_DGRAM, SAME },
    { "select without sockets", "page", select_nothing, WSAEINVAL, SAME },
    { "WSAPoll, POLLPRI", "page", poll_priority, WSAEINVAL, ON_WINE(0, "Wine ignores the flag") },
    { "WSAPoll, no sockets", "page", poll_nothing, WSAEINVAL, SAME },
    { "FIONBIO 0 after WSAEventSelect", "page", blocking_while_selected, WSAEINVAL, SAME },
    { "network events of a datagram that is left", "page", event_again, FD_READ, SAME },
    { "WSAGetOverlappedResult while it waits", "page", result_while_it_waits, WSA_IO_INCOMPLETE, SAME },
    { "WSAEventSelect, no event", "Wine", select_no_event, WSAEINVAL, SAME },
    { "WSAEnumNetworkEvents, no event", "Wine", enumerate_no_event, WSAENOTSOCK, SAME },
    { "WSARecv, hEvent is no event", "Wine", receive_with_no_event, WSAENOTSOCK, SAME },
    { "GetOverlappedResult after closesocket", "page", result_of_closed, ERROR_OPERATION_ABORTED,
      ON_WINE(676, "Wine says that the handle was closed") },
    { "CancelIoEx, nothing waits", "page", cancel_nothing, ERROR_NOT_FOUND, SAME },
    { "WSAGetOverlappedResult, cancelled", "page", cancelled, WSA_OPERATION_ABORTED, SAME },
    { "completion port, nothing there", "page", dequeue_nothing, WAIT_TIMEOUT, SAME },
    { "completion port, datagram longer than the buffer", "Wine", dequeue_cut, ERROR_MORE_DATA, SAME },
    { "completion port, cancelled", "page", dequeue_cancelled, ERROR_OPERATION_ABORTED, SAME },
    { "second completion port of a socket", "Wine", second_port, ERROR_INVALID_PARAMETER, SAME },
    { "ConvertInterfaceAliasToLuid, unknown", "Wine", unknown_alias, ERROR_INVALID_PARAMETER, SAME },
    { "ConvertInterfaceIndexToLuid, unknown", "Wine", unknown_index, ERROR_FILE_NOT_FOUND, SAME },
    { "GetAdaptersAddresses without room", "page", size_of_the_list, ERROR_BUFFER_OVERFLOW, SAME },
    { "inet_pton, unknown family", "page", unknown_family, WSAEAFNOSUPPORT, SAME },
    { "ticks of the performance counter", "page", ticks_a_second, 10000000, SAME },
};

/* Which column says what differs here: 'l' Linux, 'w' Wine, 0 Windows itself. */
static char system_here(void)
{
#ifdef _WIN32
    HMODULE library = GetModuleHandleA("ntdll.dll");
    return library != NULL && GetProcAddress(library, "wine_get_version") != NULL ? 'w' : 0;
#else
    return 'l';
#endif
}

int main(void)
{
    WSADATA data;
    char here = system_here();
    int wrong = 0, differ = 0;
    size_t i, count = sizeof(facts) / sizeof(*facts);
    if (WSAStartup(MAKEWORD(2, 2), &data) != 0) return 2;
    for (i = 0; i < count; i++) {
        const struct fact *fact = &facts[i];
        int own = here == 'l' ? fact->linux_says : here == 'w' ? fact->wine_says : AS_WINDOWS;
        int expected = own != AS_WINDOWS ? own : fact->windows, answer = fact->ask();
        if (answer != expected) {
            printf("%s is %d, expected %d (Windows: %d by %s)\n", fact->what, answer, expected, fact->windows,
                   fact->source);
            wrong++;
        } else if (answer != fact->windows) {
            printf("differs: %s is %d, on Windows %d: %s\n", fact->what, answer, fact->windows, fact->reason);
            differ++;
        }
    }
    printf("facts: %d as on Windows, %d differ, %d wrong\n", (int)count - differ - wrong, differ, wrong);
    return wrong != 0;
}
