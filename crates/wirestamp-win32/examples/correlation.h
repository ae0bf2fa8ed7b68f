/* Owns the "mathematical techniques" that the page on packet timestamping leaves to its reader.
 * Not what the page declares itself: ComputeCorrelationOfHardwareAndSystemTimestamps and
 * ConvertHardwareTimestampToQpc. */
#ifndef CORRELATION_H
#define CORRELATION_H

void PrepareCorrelation(void);     /* before there is more than one thread */
void ForgetCorrelation(void);      /* the counter has started anew */
double CorrelatedFrequency(void);  /* of the hardware clock, in Hz; 0 if unknown */

#endif
