/* NTDDI_VERSION: the version of the interface that a program was written for. iphlpapi.h and mstcpip.h read it.
 *
 * Default: the current interface. A program for the interface of Windows 10 1809 (structures with
 * a Version, NotifyIfTimestampConfigChange, config.flags) says -DNTDDI_VERSION=NTDDI_WIN10_RS5. */
#ifndef WIRESTAMP_SDKDDKVER_H
#define WIRESTAMP_SDKDDKVER_H

#define _WIN32_WINNT_VISTA 0x0600
#define _WIN32_WINNT_WIN7 0x0601
#define _WIN32_WINNT_WIN8 0x0602
#define _WIN32_WINNT_WINBLUE 0x0603
#define _WIN32_WINNT_WIN10 0x0A00

#define NTDDI_VISTA 0x06000000
#define NTDDI_WIN7 0x06010000
#define NTDDI_WIN8 0x06020000
#define NTDDI_WINBLUE 0x06030000
#define NTDDI_WIN10 0x0A000000
#define NTDDI_WIN10_TH2 0x0A000001
#define NTDDI_WIN10_RS1 0x0A000002
#define NTDDI_WIN10_RS2 0x0A000003
#define NTDDI_WIN10_RS3 0x0A000004
#define NTDDI_WIN10_RS4 0x0A000005
#define NTDDI_WIN10_RS5 0x0A000006 /* 1809, Server 2019: first version of the timestamp interface */
#define NTDDI_WIN10_19H1 0x0A000007
#define NTDDI_WIN10_VB 0x0A000008
#define NTDDI_WIN10_MN 0x0A000009
#define NTDDI_WIN10_FE 0x0A00000A /* Server 2022: the current version */
#define NTDDI_WIN10_CO 0x0A00000B /* Windows 11 */
#define NTDDI_WIN10_NI 0x0A00000C
#define NTDDI_WIN10_CU 0x0A00000D

#ifndef NTDDI_VERSION
#define NTDDI_VERSION NTDDI_WIN10_CO
#endif
#ifndef _WIN32_WINNT
#define _WIN32_WINNT _WIN32_WINNT_WIN10
#endif
#ifndef WINVER
#define WINVER _WIN32_WINNT
#endif

/* Whether the program is written for the first version. */
#if NTDDI_VERSION < NTDDI_WIN10_FE
#define WIRESTAMP_FIRST_VERSION 1
#else
#define WIRESTAMP_FIRST_VERSION 0
#endif

#endif
