/* Capabilities and cross timestamps as they are since NTDDI_WIN10_FE. The first version: iphlpapi_first.h. Included by
 * iphlpapi.h only. */
#ifndef WIRESTAMP_IPHLPAPI_CURRENT_H
#define WIRESTAMP_IPHLPAPI_CURRENT_H

WIRESTAMP_BEGIN

/* Event: Sync, Delay_Req, Pdelay_Req, Pdelay_Resp only. Tagged: a datagram sent with SO_TIMESTAMP_ID. */
typedef struct _INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES {
    BOOLEAN PtpV2OverUdpIPv4EventMessageReceive;
    BOOLEAN PtpV2OverUdpIPv4AllMessageReceive;
    BOOLEAN PtpV2OverUdpIPv4EventMessageTransmit;
    BOOLEAN PtpV2OverUdpIPv4AllMessageTransmit;
    BOOLEAN PtpV2OverUdpIPv6EventMessageReceive;
    BOOLEAN PtpV2OverUdpIPv6AllMessageReceive;
    BOOLEAN PtpV2OverUdpIPv6EventMessageTransmit;
    BOOLEAN PtpV2OverUdpIPv6AllMessageTransmit;
    BOOLEAN AllReceive;
    BOOLEAN AllTransmit;
    BOOLEAN TaggedTransmit;
} INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES, *PINTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES;
WIRESTAMP_SIZE(INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES, 11);

typedef struct _INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES {
    BOOLEAN AllReceive;
    BOOLEAN AllTransmit;
    BOOLEAN TaggedTransmit;
} INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES, *PINTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES;
WIRESTAMP_SIZE(INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES, 3);

typedef struct _INTERFACE_TIMESTAMP_CAPABILITIES {
    ULONG64 HardwareClockFrequencyHz; /* nominal; 0: unknown. Cross timestamps tell the true one. */
    BOOLEAN SupportsCrossTimestamp;
    INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES HardwareCapabilities;
    INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES SoftwareCapabilities;
} INTERFACE_TIMESTAMP_CAPABILITIES, *PINTERFACE_TIMESTAMP_CAPABILITIES;
WIRESTAMP_SIZE(INTERFACE_TIMESTAMP_CAPABILITIES, 24);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, SupportsCrossTimestamp, 8, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.PtpV2OverUdpIPv4EventMessageReceive, 9, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.PtpV2OverUdpIPv4AllMessageReceive, 10, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.PtpV2OverUdpIPv4EventMessageTransmit, 11, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.PtpV2OverUdpIPv4AllMessageTransmit, 12, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.PtpV2OverUdpIPv6EventMessageReceive, 13, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.PtpV2OverUdpIPv6AllMessageReceive, 14, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.PtpV2OverUdpIPv6EventMessageTransmit, 15, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.PtpV2OverUdpIPv6AllMessageTransmit, 16, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.AllReceive, 17, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.AllTransmit, 18, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareCapabilities.TaggedTransmit, 19, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, SoftwareCapabilities.AllReceive, 20, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, SoftwareCapabilities.AllTransmit, 21, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, SoftwareCapabilities.TaggedTransmit, 22, 1);

/* The adapter's counter between two readings of the performance counter. Equal readings: how far apart is unknown. */
typedef struct _INTERFACE_HARDWARE_CROSSTIMESTAMP {
    ULONG64 SystemTimestamp1;
    ULONG64 HardwareClockTimestamp;
    ULONG64 SystemTimestamp2;
} INTERFACE_HARDWARE_CROSSTIMESTAMP, *PINTERFACE_HARDWARE_CROSSTIMESTAMP;
WIRESTAMP_SIZE(INTERFACE_HARDWARE_CROSSTIMESTAMP, 24);
WIRESTAMP_FIELD(INTERFACE_HARDWARE_CROSSTIMESTAMP, SystemTimestamp1, 0, 8);
WIRESTAMP_FIELD(INTERFACE_HARDWARE_CROSSTIMESTAMP, HardwareClockTimestamp, 8, 8);
WIRESTAMP_FIELD(INTERFACE_HARDWARE_CROSSTIMESTAMP, SystemTimestamp2, 16, 8);

/* What is switched on, and what could be. ERROR_NOT_SUPPORTED: the adapter timestamps nothing. ERROR_BAD_DRIVER: its
 * configuration makes no sense. */
DWORD WINAPI GetInterfaceActiveTimestampCapabilities(const NET_LUID *luid,
                                                     PINTERFACE_TIMESTAMP_CAPABILITIES capabilities);
DWORD WINAPI GetInterfaceSupportedTimestampCapabilities(const NET_LUID *luid,
                                                        PINTERFACE_TIMESTAMP_CAPABILITIES capabilities);
DWORD WINAPI CaptureInterfaceHardwareCrossTimestamp(const NET_LUID *luid,
                                                    PINTERFACE_HARDWARE_CROSSTIMESTAMP cross_timestamp);

/* Register first, then ask for the capabilities: so no change is missed. */
DWORD WINAPI RegisterInterfaceTimestampConfigChange(PINTERFACE_TIMESTAMP_CONFIG_CHANGE_CALLBACK callback,
                                                    PVOID context, HIFTIMESTAMPCHANGE *handle);
/* When it returns, no call is running and none will follow: the context may go. */
VOID WINAPI UnregisterInterfaceTimestampConfigChange(HIFTIMESTAMPCHANGE handle);

/* The first version's names of the two queries, with this version's structure. */
DWORD WINAPI GetInterfaceCurrentTimestampCapabilities(const NET_LUID *luid,
                                                      PINTERFACE_TIMESTAMP_CAPABILITIES capabilities);
DWORD WINAPI GetInterfaceHardwareTimestampCapabilities(const NET_LUID *luid,
                                                       PINTERFACE_TIMESTAMP_CAPABILITIES capabilities);

WIRESTAMP_END

#endif
