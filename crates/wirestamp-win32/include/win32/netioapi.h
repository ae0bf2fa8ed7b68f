/* Converts between the names of an interface: LUID, index, alias, GUID. The list of interfaces: iphlpapi.h.
 *
 * The alias of an interface is its Linux name, "eth0". The name of its LUID is "ethernet_2" or "loopback_1", as on
 * Windows. */
#ifndef WIRESTAMP_NETIOAPI_H
#define WIRESTAMP_NETIOAPI_H

#include "ifdef.h"
#include "wirestamp/error_codes.h"

WIRESTAMP_BEGIN

typedef DWORD NETIO_STATUS;
NETIO_STATUS WINAPI ConvertInterfaceIndexToLuid(NET_IFINDEX index, PNET_LUID luid);
NETIO_STATUS WINAPI ConvertInterfaceLuidToIndex(const NET_LUID *luid, PNET_IFINDEX index);
NETIO_STATUS WINAPI ConvertInterfaceAliasToLuid(const WCHAR *alias, PNET_LUID luid);
/* `length`: characters, the terminating zero among them; NDIS_IF_MAX_STRING_SIZE + 1 always suffice. */
NETIO_STATUS WINAPI ConvertInterfaceLuidToAlias(const NET_LUID *luid, PWSTR alias, SIZE_T length);
NETIO_STATUS WINAPI ConvertInterfaceLuidToNameA(const NET_LUID *luid, PSTR name, SIZE_T length);
NETIO_STATUS WINAPI ConvertInterfaceLuidToNameW(const NET_LUID *luid, PWSTR name, SIZE_T length);
NETIO_STATUS WINAPI ConvertInterfaceNameToLuidA(const CHAR *name, PNET_LUID luid);
NETIO_STATUS WINAPI ConvertInterfaceNameToLuidW(const WCHAR *name, PNET_LUID luid);
/* Made up here from the LUID; no other program knows it. */
NETIO_STATUS WINAPI ConvertInterfaceLuidToGuid(const NET_LUID *luid, GUID *guid);
NETIO_STATUS WINAPI ConvertInterfaceGuidToLuid(const GUID *guid, PNET_LUID luid);

/* By the Linux name or the name of the LUID; 0: there is none. The C library's know no simulated interface. */
#ifdef _NET_IF_H
#define if_nametoindex wirestamp_win32_if_nametoindex
#define if_indextoname wirestamp_win32_if_indextoname
#define WIRESTAMP_LABEL(name)
#else
#define WIRESTAMP_LABEL(name) __asm__("wirestamp_win32_" #name)
#endif
#ifdef __cplusplus
#define WIRESTAMP_NOTHROW noexcept /* as the C library declares them, should the program include its header later */
#else
#define WIRESTAMP_NOTHROW
#endif
NET_IFINDEX WINAPI if_nametoindex(PCSTR name) WIRESTAMP_NOTHROW WIRESTAMP_LABEL(if_nametoindex);
/* Writes the Linux name, or that of the LUID where it has more than 15 characters. NULL: there is none. */
PCHAR WINAPI if_indextoname(NET_IFINDEX index, PCHAR name) WIRESTAMP_NOTHROW WIRESTAMP_LABEL(if_indextoname);
#undef WIRESTAMP_LABEL
#undef WIRESTAMP_NOTHROW

WIRESTAMP_END

#undef IF_NAMESIZE
#define IF_NAMESIZE NDIS_IF_MAX_STRING_SIZE

#endif
