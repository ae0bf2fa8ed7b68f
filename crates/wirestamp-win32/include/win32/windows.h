/* Types, error numbers, threads and events. Sockets are in winsock2.h, interfaces in iphlpapi.h. */
#ifndef WIRESTAMP_WINDOWS_H
#define WIRESTAMP_WINDOWS_H

#include "sdkddkver.h"
#include "wirestamp/types.h"
#include "wirestamp/error_codes.h"
#include "wirestamp/system.h"
#include "consoleapi.h"
#include "ioapiset.h"
#include "minwindef.h"
#include "profileapi.h"
#include "synchapi.h"
#include "sysinfoapi.h"
#include "winbase.h"

/* As combaseapi.h, which windows.h includes on Windows, too. */
#ifndef WIN32_LEAN_AND_MEAN
#define interface struct
#endif

#endif
