/* Threads, events and waiting, as far as programs on timestamps use them. Names and security attributes of objects are not
 * there: pass NULL. */
#ifndef WIRESTAMP_SYSTEM_H
#define WIRESTAMP_SYSTEM_H

#include "error_codes.h"
#include "types.h"

#define INFINITE 0xFFFFFFFFu /* wait without end */
#define WAIT_OBJECT_0 ((DWORD)0x00000000)
#define WAIT_ABANDONED ((DWORD)0x00000080)
#define WAIT_TIMEOUT ((DWORD)0x00000102)
#define WAIT_FAILED ((DWORD)0xFFFFFFFF)
#define WAIT_IO_COMPLETION ((DWORD)0x000000C0)
#define MAXIMUM_WAIT_OBJECTS 64
#define STILL_ACTIVE ((DWORD)0x00000103)

WIRESTAMP_BEGIN

typedef struct _SECURITY_ATTRIBUTES {
    DWORD nLength;
    LPVOID lpSecurityDescriptor;
    BOOL bInheritHandle;
} SECURITY_ATTRIBUTES, *PSECURITY_ATTRIBUTES, *LPSECURITY_ATTRIBUTES;

typedef struct _OVERLAPPED {
    ULONG_PTR Internal;     /* the status, when done */
    ULONG_PTR InternalHigh; /* the bytes, when done */
    __extension__ union {
        __extension__ struct {
            DWORD Offset;
            DWORD OffsetHigh;
        };
        PVOID Pointer;
    };
    HANDLE hEvent; /* set when done; or NULL */
} OVERLAPPED, *LPOVERLAPPED;

WIRESTAMP_SIZE(OVERLAPPED, 32);
WIRESTAMP_FIELD(OVERLAPPED, InternalHigh, 8, 8);
WIRESTAMP_FIELD(OVERLAPPED, Pointer, 16, 8);
WIRESTAMP_FIELD(OVERLAPPED, hEvent, 24, 8);

typedef DWORD(WINAPI *LPTHREAD_START_ROUTINE)(LPVOID parameter);

HANDLE WINAPI CreateThread(LPSECURITY_ATTRIBUTES attributes, SIZE_T stack_size, LPTHREAD_START_ROUTINE start,
                           LPVOID parameter, DWORD flags, LPDWORD thread_id);
BOOL WINAPI GetExitCodeThread(HANDLE thread, LPDWORD exit_code);
DWORD WINAPI GetCurrentThreadId(void);

/* `manual`: stays set until ResetEvent. Otherwise it lets one waiter through and is reset. */
HANDLE WINAPI CreateEventA(LPSECURITY_ATTRIBUTES attributes, BOOL manual, BOOL initially_set, LPCSTR name);
HANDLE WINAPI CreateEventW(LPSECURITY_ATTRIBUTES attributes, BOOL manual, BOOL initially_set, LPCWSTR name);
BOOL WINAPI SetEvent(HANDLE event);
BOOL WINAPI ResetEvent(HANDLE event);
#ifdef UNICODE
#define CreateEvent CreateEventW
#else
#define CreateEvent CreateEventA
#endif

/* Events, and threads until they end. */
DWORD WINAPI WaitForSingleObject(HANDLE handle, DWORD milliseconds);
DWORD WINAPI WaitForMultipleObjects(DWORD count, const HANDLE *handles, BOOL all, DWORD milliseconds);
BOOL WINAPI CloseHandle(HANDLE handle);
VOID WINAPI Sleep(DWORD milliseconds);

/* One number for each thread, the same that WSAGetLastError gives. */
DWORD WINAPI GetLastError(void);
VOID WINAPI SetLastError(DWORD code);

WIRESTAMP_END

#endif
