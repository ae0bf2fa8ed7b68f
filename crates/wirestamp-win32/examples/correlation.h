/* Converts hardware timestamps to the performance counter: a straight line through the latest cross
 * timestamps of one NIC. For one thread at a time. */
#ifndef CORRELATION_H
#define CORRELATION_H

#include "windows_headers.h"

enum { CORRELATION_KEPT = 32 };

typedef struct {
    ULONG64 hardware[CORRELATION_KEPT], counter[CORRELATION_KEPT];
    int known, latest;
} CORRELATION;

/* Adds a cross timestamp. A hardware clock that has gone back was restarted: what was known is dropped. */
void correlation_add(CORRELATION *line, const INTERFACE_HARDWARE_CROSSTIMESTAMP *cross);

/* Takes so many cross timestamps of the interface, 5 ms apart. Returns NO_ERROR or the error code. */
DWORD correlation_sample(CORRELATION *line, const NET_LUID *luid, int count);

/* The hardware clock's frequency in Hz; 0 with fewer than two cross timestamps. */
double correlation_frequency(const CORRELATION *line);

/* FALSE if the timestamp cannot be converted: too little is known, or it is over a minute from the latest
 * cross timestamp, which happens when the hardware clock was restarted in between. */
BOOL correlation_convert(const CORRELATION *line, ULONG64 hardware, ULONG64 *counter);

#endif
