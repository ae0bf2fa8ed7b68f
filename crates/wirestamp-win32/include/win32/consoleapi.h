/* What a program does when it is interrupted or ended. */
#ifndef WIRESTAMP_CONSOLEAPI_H
#define WIRESTAMP_CONSOLEAPI_H

#include "wirestamp/types.h"

#define CTRL_C_EVENT 0        /* SIGINT */
#define CTRL_BREAK_EVENT 1    /* never comes */
#define CTRL_CLOSE_EVENT 2    /* SIGTERM */
#define CTRL_LOGOFF_EVENT 5   /* SIGHUP */
#define CTRL_SHUTDOWN_EVENT 6 /* never comes */

WIRESTAMP_BEGIN

/* Called on a thread of the library's, the newest handler first, until one returns TRUE. If none does, the program ends. */
typedef BOOL(WINAPI *PHANDLER_ROUTINE)(DWORD event);
BOOL WINAPI SetConsoleCtrlHandler(PHANDLER_ROUTINE handler, BOOL add);

WIRESTAMP_END

#endif
