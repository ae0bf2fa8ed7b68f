/* Owns the collection that programs include first: types, error numbers, threads and events.
 * Not the rest of Windows. Sockets are in winsock2.h, interfaces in iphlpapi.h. */
#ifndef WIRESTAMP_WINDOWS_H
#define WIRESTAMP_WINDOWS_H

#include "sdkddkver.h"
#include "wirestamp/types.h"
#include "wirestamp/error_codes.h"
#include "wirestamp/system.h"
#include "profileapi.h"

#endif
