#include <math.h>
#include "correlation.h"

void correlation_add(CORRELATION *line, const INTERFACE_HARDWARE_CROSSTIMESTAMP *cross)
{
    if (line->known > 0 && cross->HardwareClockTimestamp < line->hardware[line->latest]) line->known = 0;
    line->latest = line->known == 0 ? 0 : (line->latest + 1) % CORRELATION_KEPT;
    line->hardware[line->latest] = cross->HardwareClockTimestamp;
    line->counter[line->latest] = cross->SystemTimestamp1 + (cross->SystemTimestamp2 - cross->SystemTimestamp1) / 2;
    if (line->known < CORRELATION_KEPT) line->known++;
}

DWORD correlation_sample(CORRELATION *line, const NET_LUID *luid, int count)
{
    INTERFACE_HARDWARE_CROSSTIMESTAMP cross;
    DWORD error;
    int i;
    for (i = 0; i < count; i++) {
        error = CaptureInterfaceHardwareCrossTimestamp(luid, &cross);
        if (error != NO_ERROR) return error;
        correlation_add(line, &cross);
        Sleep(5);
    }
    return NO_ERROR;
}

/* Least squares over differences from the latest cross timestamp: the readings themselves have more digits
 * than a double. Returns counter ticks per hardware tick; `*above`: by how much the line passes the latest. */
static double fit(const CORRELATION *line, double *above)
{
    double n = line->known, sum_h = 0, sum_c = 0, sum_hh = 0, sum_hc = 0, slope;
    int i;
    for (i = 0; i < line->known; i++) {
        double h = (double)(LONGLONG)(line->hardware[i] - line->hardware[line->latest]);
        double c = (double)(LONGLONG)(line->counter[i] - line->counter[line->latest]);
        sum_h += h, sum_c += c, sum_hh += h * h, sum_hc += h * c;
    }
    slope = (n * sum_hc - sum_h * sum_c) / (n * sum_hh - sum_h * sum_h);
    *above = (sum_c - slope * sum_h) / n;
    return slope;
}

double correlation_frequency(const CORRELATION *line)
{
    LARGE_INTEGER counter;
    double above;
    if (line->known < 2) return 0;
    QueryPerformanceFrequency(&counter);
    return (double)counter.QuadPart / fit(line, &above);
}

BOOL correlation_convert(const CORRELATION *line, ULONG64 hardware, ULONG64 *counter)
{
    LARGE_INTEGER frequency;
    double above, ticks;
    if (line->known < 2) return FALSE;
    QueryPerformanceFrequency(&frequency);
    ticks = (double)(LONGLONG)(hardware - line->hardware[line->latest]) * fit(line, &above) + above;
    if (fabs(ticks) > 60.0 * (double)frequency.QuadPart) return FALSE;
    *counter = line->counter[line->latest] + (ULONG64)(LONGLONG)ticks;
    return TRUE;
}
