/* Decides which timestamps of an interface a PTPv2 program can use. */
#ifndef CAPABILITIES_H
#define CAPABILITIES_H

#include "setting.h"

typedef enum { TIMESTAMPS_NONE, TIMESTAMPS_SOFTWARE, TIMESTAMPS_HARDWARE } TIMESTAMPS;
static const char *const timestamps_names[] = { "no", "software", "hardware" };

/* Hardware timestamps count if both directions of PTP's event messages have them, over IPv4 and IPv6. */
static inline TIMESTAMPS usable_timestamps(const NET_LUID *luid)
{
    INTERFACE_TIMESTAMP_CAPABILITIES found;
    const INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES *nic = &found.HardwareCapabilities;
    BOOL receive4, receive6, transmit4, transmit6, every;
    DWORD error = GetInterfaceActiveTimestampCapabilities(luid, &found);
    if (error == ERROR_NOT_SUPPORTED) return TIMESTAMPS_NONE;
    check(error == NO_ERROR, "GetInterfaceActiveTimestampCapabilities", error);
    every = nic->AllTransmit || nic->TaggedTransmit;
    receive4 = nic->AllReceive || nic->PtpV2OverUdpIPv4EventMessageReceive || nic->PtpV2OverUdpIPv4AllMessageReceive;
    receive6 = nic->AllReceive || nic->PtpV2OverUdpIPv6EventMessageReceive || nic->PtpV2OverUdpIPv6AllMessageReceive;
    transmit4 = every || nic->PtpV2OverUdpIPv4EventMessageTransmit || nic->PtpV2OverUdpIPv4AllMessageTransmit;
    transmit6 = every || nic->PtpV2OverUdpIPv6EventMessageTransmit || nic->PtpV2OverUdpIPv6AllMessageTransmit;
    if (receive4 && receive6 && transmit4 && transmit6) return TIMESTAMPS_HARDWARE;
    every = found.SoftwareCapabilities.AllTransmit || found.SoftwareCapabilities.TaggedTransmit;
    return found.SoftwareCapabilities.AllReceive && every ? TIMESTAMPS_SOFTWARE : TIMESTAMPS_NONE;
}

#endif
