/* The timestamp capabilities of adapters, their clocks, and callbacks on changes. Timestamps of packets: mstcpip.h.
 *
 * All functions return a Windows error number; GetLastError is not the channel. The structures
 * of the first version (NTDDI_VERSION below NTDDI_WIN10_FE): wirestamp/iphlpapi_first.h.
 *
 * Microsoft's pages leave open what follows. Here it is so (ABI.md has the whole table):
 * - A null pointer: ERROR_INVALID_PARAMETER. An unknown adapter: ERROR_FILE_NOT_FOUND (an unknown alias:
 *   ERROR_INVALID_PARAMETER).
 * - An adapter without a clock: CaptureInterfaceHardwareCrossTimestamp answers ERROR_NOT_SUPPORTED; a clock that
 *   the program may not read, ERROR_ACCESS_DENIED.
 * - Changes that come while a callback runs are one more call. There is none at registration.
 * - A callback may unregister itself. */
#ifndef WIRESTAMP_IPHLPAPI_H
#define WIRESTAMP_IPHLPAPI_H

#include "windows.h"
#include "ws2ipdef.h"
#include "iptypes.h"
#include "netioapi.h"

WIRESTAMP_BEGIN

/* Fills a list into `addresses`, `size` bytes long. ERROR_BUFFER_OVERFLOW: `size` says how many are needed. */
ULONG WINAPI GetAdaptersAddresses(ULONG family, ULONG flags, PVOID reserved, PIP_ADAPTER_ADDRESSES addresses,
                                  PULONG size);

/* The index of the interface that packets to an address leave by. ERROR_NETWORK_UNREACHABLE: there is no route. */
typedef ULONG IPAddr; /* in network byte order */
DWORD WINAPI GetBestInterface(IPAddr destination, PDWORD index);
DWORD WINAPI GetBestInterfaceEx(struct sockaddr *destination, PDWORD index);

/* Called on a thread of the library's, one call at a time. It says neither which adapter nor what has changed. */
typedef VOID CALLBACK INTERFACE_TIMESTAMP_CONFIG_CHANGE_CALLBACK(PVOID context);
typedef INTERFACE_TIMESTAMP_CONFIG_CHANGE_CALLBACK *PINTERFACE_TIMESTAMP_CONFIG_CHANGE_CALLBACK;
DECLARE_HANDLE(HIFTIMESTAMPCHANGE);

WIRESTAMP_END

#if WIRESTAMP_FIRST_VERSION
#include "wirestamp/iphlpapi_first.h"
#else
#include "wirestamp/iphlpapi_current.h"
#endif

#endif
