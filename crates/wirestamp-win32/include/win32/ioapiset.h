/* Overlapped operations by HANDLE: completion ports, cancelling, results. A SOCKET is a HANDLE here as on Windows; there
 * are no files. */
#ifndef WIRESTAMP_IOAPISET_H
#define WIRESTAMP_IOAPISET_H

#include "wirestamp/system.h"

WIRESTAMP_BEGIN

typedef struct _OVERLAPPED_ENTRY {
    ULONG_PTR lpCompletionKey;
    LPOVERLAPPED lpOverlapped;
    ULONG_PTR Internal; /* the status */
    DWORD dwNumberOfBytesTransferred;
} OVERLAPPED_ENTRY, *LPOVERLAPPED_ENTRY;
WIRESTAMP_SIZE(OVERLAPPED_ENTRY, 32);
WIRESTAMP_FIELD(OVERLAPPED_ENTRY, lpOverlapped, 8, 8);
WIRESTAMP_FIELD(OVERLAPPED_ENTRY, Internal, 16, 8);
WIRESTAMP_FIELD(OVERLAPPED_ENTRY, dwNumberOfBytesTransferred, 24, 4);

/* `file`: a socket to associate, or INVALID_HANDLE_VALUE. `threads` is ignored. */
HANDLE WINAPI CreateIoCompletionPort(HANDLE file, HANDLE existing_port, ULONG_PTR key, DWORD threads);
/* FALSE with *overlapped NULL: nothing was taken (WAIT_TIMEOUT; ERROR_ABANDONED_WAIT_0 once the port is closed).
 * FALSE with *overlapped set: that operation failed. */
BOOL WINAPI GetQueuedCompletionStatus(HANDLE port, LPDWORD bytes, PULONG_PTR key, LPOVERLAPPED *overlapped,
                                      DWORD milliseconds);
BOOL WINAPI GetQueuedCompletionStatusEx(HANDLE port, LPOVERLAPPED_ENTRY entries, ULONG count, PULONG removed,
                                        DWORD milliseconds, BOOL alertable);
BOOL WINAPI PostQueuedCompletionStatus(HANDLE port, DWORD bytes, ULONG_PTR key, LPOVERLAPPED overlapped);

/* What is cancelled completes with ERROR_OPERATION_ABORTED. CancelIo: what this thread asked for. */
BOOL WINAPI CancelIo(HANDLE file);
BOOL WINAPI CancelIoEx(HANDLE file, LPOVERLAPPED overlapped);
BOOL WINAPI GetOverlappedResult(HANDLE file, LPOVERLAPPED overlapped, LPDWORD transferred, BOOL wait);

#define HasOverlappedIoCompleted(overlapped) \
    (__atomic_load_n(&(overlapped)->Internal, __ATOMIC_ACQUIRE) != 0x00000103 /* STATUS_PENDING */)

WIRESTAMP_END

#endif
