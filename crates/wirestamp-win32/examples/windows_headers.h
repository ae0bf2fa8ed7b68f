/* Windows' headers in an order that works everywhere, and what mingw-w64's lack of the Windows SDK's: the import library
 * that it is linked with is made by scripts/windows/consumers. */
#ifndef WINDOWS_HEADERS_H
#define WINDOWS_HEADERS_H

#include <winsock2.h>
#include <ws2tcpip.h>
#include <mswsock.h>
#include <mstcpip.h>
#include <iphlpapi.h>

#if defined(__MINGW32__) && !defined(SIO_TIMESTAMPING)
#define SIO_TIMESTAMPING _WSAIOW(IOC_VENDOR, 235)
#define SIO_GET_TX_TIMESTAMP _WSAIOW(IOC_VENDOR, 234)
#define TIMESTAMPING_FLAG_RX 0x1
#define TIMESTAMPING_FLAG_TX 0x2
#define SO_TIMESTAMP 0x300A
#define SO_TIMESTAMP_ID 0x300B
typedef struct _TIMESTAMPING_CONFIG {
    ULONG Flags;
    USHORT TxTimestampsBuffered;
} TIMESTAMPING_CONFIG, *PTIMESTAMPING_CONFIG;
#endif

#ifdef __MINGW32__
typedef struct _INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES {
    BOOLEAN PtpV2OverUdpIPv4EventMessageReceive, PtpV2OverUdpIPv4AllMessageReceive;
    BOOLEAN PtpV2OverUdpIPv4EventMessageTransmit, PtpV2OverUdpIPv4AllMessageTransmit;
    BOOLEAN PtpV2OverUdpIPv6EventMessageReceive, PtpV2OverUdpIPv6AllMessageReceive;
    BOOLEAN PtpV2OverUdpIPv6EventMessageTransmit, PtpV2OverUdpIPv6AllMessageTransmit;
    BOOLEAN AllReceive, AllTransmit, TaggedTransmit;
} INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES;
typedef struct _INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES {
    BOOLEAN AllReceive, AllTransmit, TaggedTransmit;
} INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES;
typedef struct _INTERFACE_TIMESTAMP_CAPABILITIES {
    ULONG64 HardwareClockFrequencyHz;
    BOOLEAN SupportsCrossTimestamp;
    INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES HardwareCapabilities;
    INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES SoftwareCapabilities;
} INTERFACE_TIMESTAMP_CAPABILITIES, *PINTERFACE_TIMESTAMP_CAPABILITIES;
typedef struct _INTERFACE_HARDWARE_CROSSTIMESTAMP {
    ULONG64 SystemTimestamp1, HardwareClockTimestamp, SystemTimestamp2;
} INTERFACE_HARDWARE_CROSSTIMESTAMP, *PINTERFACE_HARDWARE_CROSSTIMESTAMP;
typedef VOID CALLBACK INTERFACE_TIMESTAMP_CONFIG_CHANGE_CALLBACK(PVOID context);
DECLARE_HANDLE(HIFTIMESTAMPCHANGE);
#ifdef __cplusplus
extern "C" {
#endif
DWORD WINAPI GetInterfaceActiveTimestampCapabilities(const NET_LUID *luid, INTERFACE_TIMESTAMP_CAPABILITIES *found);
DWORD WINAPI GetInterfaceSupportedTimestampCapabilities(const NET_LUID *luid, INTERFACE_TIMESTAMP_CAPABILITIES *found);
DWORD WINAPI CaptureInterfaceHardwareCrossTimestamp(const NET_LUID *luid, INTERFACE_HARDWARE_CROSSTIMESTAMP *taken);
DWORD WINAPI RegisterInterfaceTimestampConfigChange(INTERFACE_TIMESTAMP_CONFIG_CHANGE_CALLBACK *callback, PVOID context,
                                                    HIFTIMESTAMPCHANGE *handle);
VOID WINAPI UnregisterInterfaceTimestampConfigChange(HIFTIMESTAMPCHANGE handle);
#ifdef __cplusplus
}
#endif
#endif

#endif
