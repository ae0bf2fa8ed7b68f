/* Owns a line through the latest cross timestamps.
 * Not when they are taken. A counter that goes backwards has started anew: what was known is forgotten. */
#include <windows.h>
#include <iphlpapi.h>
#include "correlation.h"

void ComputeCorrelationOfHardwareAndSystemTimestamps(INTERFACE_HARDWARE_CROSSTIMESTAMP *crossTimestamp);
ULONG64 ConvertHardwareTimestampToQpc(ULONG64 HardwareTimestamp);

enum { KEPT = 32 };
static struct {
    ULONG64 hardware, system;
} samples[KEPT];
static int known, latest;
static HANDLE turn; /* an event that lets one thread through */

void PrepareCorrelation(void) { turn = CreateEvent(NULL, FALSE, TRUE, NULL); }
static void enter(void) { if (turn != NULL) WaitForSingleObject(turn, INFINITE); }
static void leave(void) { if (turn != NULL) SetEvent(turn); }

void ForgetCorrelation(void)
{
    enter();
    known = 0;
    leave();
}

void ComputeCorrelationOfHardwareAndSystemTimestamps(INTERFACE_HARDWARE_CROSSTIMESTAMP *crossTimestamp)
{
    ULONG64 before = crossTimestamp->SystemTimestamp1, after = crossTimestamp->SystemTimestamp2;
    enter();
    if (known > 0 && crossTimestamp->HardwareClockTimestamp < samples[latest].hardware) known = 0;
    latest = known == 0 ? 0 : (latest + 1) % KEPT;
    samples[latest].hardware = crossTimestamp->HardwareClockTimestamp;
    samples[latest].system = before + (after - before) / 2;
    if (known < KEPT) known++;
    leave();
}

/* Least squares, on differences to the latest sample: performance counter ticks for a hardware tick,
 * and the ticks by which the line passes the latest sample. */
static double slope_and_offset(double *offset)
{
    double sh = 0, sq = 0, shh = 0, shq = 0, slope;
    int i;
    for (i = 0; i < known; i++) {
        double h = -(double)(samples[latest].hardware - samples[i].hardware);
        double q = -(double)(samples[latest].system - samples[i].system);
        sh += h, sq += q, shh += h * h, shq += h * q;
    }
    slope = (known * shq - sh * sq) / (known * shh - sh * sh);
    *offset = (sq - slope * sh) / known;
    return slope;
}

double CorrelatedFrequency(void)
{
    LARGE_INTEGER performance;
    double offset, frequency = 0;
    QueryPerformanceFrequency(&performance);
    enter();
    if (known >= 2) frequency = (double)performance.QuadPart / slope_and_offset(&offset);
    leave();
    return frequency;
}

/* Whether the counter still runs as it did when the samples were taken: the time lies within a minute of them. */
static int covered(ULONG64 hardware)
{
    double offset, ticks;
    LARGE_INTEGER performance;
    if (known < 2) return 0;
    QueryPerformanceFrequency(&performance);
    ticks = (double)(LONGLONG)(hardware - samples[latest].hardware) * slope_and_offset(&offset);
    return hardware > samples[latest].hardware ? ticks < 60.0 * (double)performance.QuadPart
                                               : ticks > -0.5 * (double)performance.QuadPart;
}

ULONG64 ConvertHardwareTimestampToQpc(ULONG64 HardwareTimestamp)
{
    int tries;
    /* A stamp outside of what is known: the counter has just started anew, the notice is under way. */
    for (tries = 0; tries < 1000; tries++) {
        double offset, slope;
        ULONG64 answer = 0;
        enter();
        if (covered(HardwareTimestamp)) {
            LONGLONG ticks = (LONGLONG)(HardwareTimestamp - samples[latest].hardware);
            slope = slope_and_offset(&offset);
            answer = samples[latest].system + (ULONG64)(LONGLONG)((double)ticks * slope + offset);
        }
        leave();
        if (answer != 0) return answer;
        Sleep(1);
    }
    return 0; /* a latency as long as the system runs: nobody takes it for one */
}
