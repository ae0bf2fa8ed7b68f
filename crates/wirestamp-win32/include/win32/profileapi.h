/* The performance counter, the clock of software timestamps. The clock of an adapter: iphlpapi.h. */
#ifndef WIRESTAMP_PROFILEAPI_H
#define WIRESTAMP_PROFILEAPI_H

#include "wirestamp/types.h"

WIRESTAMP_BEGIN

/* The counter: steps of the real-time clock do not touch it. */
BOOL WINAPI QueryPerformanceCounter(LARGE_INTEGER *count);
/* Its ticks in a second, the same in every run: 10,000,000. */
BOOL WINAPI QueryPerformanceFrequency(LARGE_INTEGER *frequency);

WIRESTAMP_END

#endif
