/* Capabilities and cross timestamps as Windows 10 1809 had them: structures with a Version. The current version:
 * iphlpapi_current.h. Included by iphlpapi.h only.
 *
 * The functions have the same names in both versions and other structures: the library exports
 * them a second time, with _rs5 at the end. */
#ifndef WIRESTAMP_IPHLPAPI_FIRST_H
#define WIRESTAMP_IPHLPAPI_FIRST_H

WIRESTAMP_BEGIN

#define INTERFACE_TIMESTAMP_CAPABILITIES_VERSION_1 1
#define INTERFACE_HARDWARE_CROSSTIMESTAMP_VERSION_1 1

typedef struct _INTERFACE_TIMESTAMP_CAPABILITY_FLAGS {
    BOOLEAN PtpV2OverUdpIPv4EventMsgReceiveHw;
    BOOLEAN PtpV2OverUdpIPv4AllMsgReceiveHw;
    BOOLEAN PtpV2OverUdpIPv4EventMsgTransmitHw;
    BOOLEAN PtpV2OverUdpIPv4AllMsgTransmitHw;
    BOOLEAN PtpV2OverUdpIPv6EventMsgReceiveHw;
    BOOLEAN PtpV2OverUdpIPv6AllMsgReceiveHw;
    BOOLEAN PtpV2OverUdpIPv6EventMsgTransmitHw;
    BOOLEAN PtpV2OverUdpIPv6AllMsgTransmitHw;
    BOOLEAN AllReceiveHw;
    BOOLEAN AllTransmitHw;
    BOOLEAN TaggedTransmitHw;
    BOOLEAN AllReceiveSw;
    BOOLEAN AllTransmitSw;
    BOOLEAN TaggedTransmitSw;
} INTERFACE_TIMESTAMP_CAPABILITY_FLAGS, *PINTERFACE_TIMESTAMP_CAPABILITY_FLAGS;
WIRESTAMP_SIZE(INTERFACE_TIMESTAMP_CAPABILITY_FLAGS, 14);

typedef struct _INTERFACE_TIMESTAMP_CAPABILITIES {
    ULONG Version; /* out: 1 */
    ULONG64 HardwareClockFrequencyHz;
    BOOLEAN CrossTimestamp;
    ULONG64 Reserved1;
    ULONG64 Reserved2;
    INTERFACE_TIMESTAMP_CAPABILITY_FLAGS TimestampFlags;
} INTERFACE_TIMESTAMP_CAPABILITIES, *PINTERFACE_TIMESTAMP_CAPABILITIES;
WIRESTAMP_SIZE(INTERFACE_TIMESTAMP_CAPABILITIES, 56);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, HardwareClockFrequencyHz, 8, 8);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, CrossTimestamp, 16, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, Reserved1, 24, 8);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, Reserved2, 32, 8);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, TimestampFlags.PtpV2OverUdpIPv4EventMsgReceiveHw, 40, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, TimestampFlags.AllReceiveHw, 48, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, TimestampFlags.AllReceiveSw, 51, 1);
WIRESTAMP_FIELD(INTERFACE_TIMESTAMP_CAPABILITIES, TimestampFlags.TaggedTransmitSw, 53, 1);

typedef struct _INTERFACE_HARDWARE_CROSSTIMESTAMP {
    ULONG Version; /* in: INTERFACE_HARDWARE_CROSSTIMESTAMP_VERSION_1 */
    ULONG Flags;   /* reserved */
    ULONG64 SystemTimestamp1;
    ULONG64 HardwareClockTimestamp;
    ULONG64 SystemTimestamp2;
} INTERFACE_HARDWARE_CROSSTIMESTAMP, *PINTERFACE_HARDWARE_CROSSTIMESTAMP;
WIRESTAMP_SIZE(INTERFACE_HARDWARE_CROSSTIMESTAMP, 32);
WIRESTAMP_FIELD(INTERFACE_HARDWARE_CROSSTIMESTAMP, Version, 0, 4);
WIRESTAMP_FIELD(INTERFACE_HARDWARE_CROSSTIMESTAMP, Flags, 4, 4);
WIRESTAMP_FIELD(INTERFACE_HARDWARE_CROSSTIMESTAMP, SystemTimestamp1, 8, 8);
WIRESTAMP_FIELD(INTERFACE_HARDWARE_CROSSTIMESTAMP, HardwareClockTimestamp, 16, 8);
WIRESTAMP_FIELD(INTERFACE_HARDWARE_CROSSTIMESTAMP, SystemTimestamp2, 24, 8);

/* What is switched on, and what could be. */
DWORD WINAPI GetInterfaceCurrentTimestampCapabilities(const NET_LUID *luid,
                                                      PINTERFACE_TIMESTAMP_CAPABILITIES capabilities)
    __asm__("wirestamp_win32_GetInterfaceCurrentTimestampCapabilities_rs5");
DWORD WINAPI GetInterfaceHardwareTimestampCapabilities(const NET_LUID *luid,
                                                       PINTERFACE_TIMESTAMP_CAPABILITIES capabilities)
    __asm__("wirestamp_win32_GetInterfaceHardwareTimestampCapabilities_rs5");

/* ERROR_INVALID_PARAMETER: another Version than 1. */
DWORD WINAPI CaptureInterfaceHardwareCrossTimestamp(const NET_LUID *luid,
                                                    PINTERFACE_HARDWARE_CROSSTIMESTAMP cross_timestamp)
    __asm__("wirestamp_win32_CaptureInterfaceHardwareCrossTimestamp_rs5");

/* The context comes first here. */
DWORD WINAPI NotifyIfTimestampConfigChange(PVOID context, PINTERFACE_TIMESTAMP_CONFIG_CHANGE_CALLBACK callback,
                                           HIFTIMESTAMPCHANGE *handle);
/* When it returns, no call is running and none will follow. */
VOID WINAPI CancelIfTimestampConfigChange(HIFTIMESTAMPCHANGE handle);

WIRESTAMP_END

#endif
