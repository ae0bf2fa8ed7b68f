/* Owns the conversions between the names of an interface: LUID, index, alias.
 * Not the list of interfaces: iphlpapi.h.
 *
 * The alias of an interface is its Linux name, "eth0". */
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

WIRESTAMP_END

#endif
