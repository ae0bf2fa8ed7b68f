/* The time of day as FILETIME, and the milliseconds since the start. */
#ifndef WIRESTAMP_SYSINFOAPI_H
#define WIRESTAMP_SYSINFOAPI_H

#include "wirestamp/types.h"

WIRESTAMP_BEGIN

/* 100 ns since 1601, UTC. */
typedef struct _FILETIME {
    DWORD dwLowDateTime;
    DWORD dwHighDateTime;
} FILETIME, *PFILETIME, *LPFILETIME;
WIRESTAMP_SIZE(FILETIME, 8);

VOID WINAPI GetSystemTimePreciseAsFileTime(LPFILETIME time);
#define GetSystemTimeAsFileTime GetSystemTimePreciseAsFileTime
ULONGLONG WINAPI GetTickCount64(void);
#define GetTickCount() ((DWORD)GetTickCount64())

WIRESTAMP_END

#endif
