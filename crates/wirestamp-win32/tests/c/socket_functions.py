"""Compares the functions that mingw-w64's Winsock headers declare with those that the headers in include/win32 declare
and with the table "Not there" of ABI.md: each is in exactly one of the two.

usage: socket_functions.py CRATE MINGW_COMPILER
"""

import re
import subprocess
import sys
from pathlib import Path

HEADERS = ("winsock2.h", "ws2tcpip.h", "mswsock.h")
# Of the headers that these include, what a program on timestamps calls (the row of the list).
OTHERS = """QueryPerformanceCounter QueryPerformanceFrequency GetSystemTimePreciseAsFileTime GetTickCount64 Sleep
    if_nametoindex if_indextoname GetBestInterfaceEx GetBestInterface GetAdaptersInfo GetIfTable2 GetIfEntry2
    ConvertInterfaceAliasToLuid ConvertInterfaceLuidToAlias ConvertInterfaceIndexToLuid ConvertInterfaceLuidToIndex
    ConvertInterfaceGuidToLuid ConvertInterfaceLuidToGuid ConvertInterfaceNameToLuidW ConvertInterfaceLuidToNameW
    InitializeCriticalSection EnterCriticalSection LeaveCriticalSection DeleteCriticalSection TryEnterCriticalSection
    InitializeSRWLock AcquireSRWLockExclusive ReleaseSRWLockExclusive AcquireSRWLockShared ReleaseSRWLockShared
    CancelIo CancelIoEx CreateIoCompletionPort GetQueuedCompletionStatus GetQueuedCompletionStatusEx
    PostQueuedCompletionStatus SetConsoleCtrlHandler FormatMessageA FormatMessageW GetOverlappedResult LocalFree
    ConvertInterfaceNameToLuidA ConvertInterfaceLuidToNameA GetSystemTimeAsFileTime GetTickCount SwitchToThread
    InterlockedIncrement InterlockedDecrement InterlockedExchange InterlockedExchangeAdd InterlockedCompareExchange
    InitializeConditionVariable SleepConditionVariableCS SleepConditionVariableSRW WakeConditionVariable
    WakeAllConditionVariable WaitForSingleObjectEx SleepEx QueueUserAPC GetCurrentThread GetCurrentProcess
    SetThreadPriority SetThreadAffinityMask SetPriorityClass timeBeginPeriod timeEndPeriod timeGetTime
    CreateWaitableTimerA CreateWaitableTimerW SetWaitableTimer CreateMutexA CreateMutexW CreateSemaphoreA
    CreateSemaphoreW QueryUnbiasedInterruptTime FileTimeToSystemTime SystemTimeToFileTime GetSystemTime LoadLibraryA
    LoadLibraryW LoadLibraryExW GetProcAddress FreeLibrary GetModuleHandleA ExitProcess
    SetFileCompletionNotificationModes NotifyIpInterfaceChange NotifyAddrChange GetUnicastIpAddressTable
    GetBestRoute2 GetPerAdapterInfo""".split()
DECLARED = re.compile(r"\b(?:dllimport\)\)\s*)[\w\s*]*?\b(\w+)\s*\(")


def of_windows(compiler):
    text = "".join(f"#include <{header}>\n" for header in HEADERS)
    command = [compiler, "-D_WIN32_WINNT=0x0A00", "-E", "-x", "c", "-"]
    output = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    names, where = set(), ""
    for line in output.splitlines():
        if marker := re.match(r'# \d+ "(.*?)"', line):
            where = Path(marker.group(1)).name
        elif where in (*HEADERS, "_socket_types.h", "_ip_types.h"):
            names.update(DECLARED.findall(line))
    assert len(names) > 80, f"only {len(names)} functions of Winsock were read"
    return names | set(OTHERS)


def main():
    crate, compiler = Path(sys.argv[1]), sys.argv[2]
    windows = of_windows(compiler)
    headers = "\n".join(path.read_text() for path in sorted((crate / "include/win32").rglob("*.h")))
    headers = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
    # The C library's, whose headers winsock2.h includes, and which mean the same there.
    c_library = set("htonl htons ntohl ntohs inet_addr inet_ntoa gethostbyname gethostbyaddr".split())
    declared = set(re.findall(r"\b(\w+)\b", headers)) | c_library
    table = re.search(r"## Not there\n(.*?)(?:\n## |\Z)", (crate / "ABI.md").read_text(), re.S).group(1)
    absent = set(re.findall(r"`(\w+)`", table))
    refused = set("listen accept WSAAccept WSAConnect WSASendDisconnect WSARecvDisconnect".split())
    wrong = [f"{name}: neither declared nor in the table" for name in sorted(windows - declared - absent)]
    wrong += [f"{name}: in the table, and declared" for name in sorted(absent & declared - refused)]
    wrong += [f"{name}: in the table, and no function of Windows" for name in sorted(absent - windows)]
    wrong += [f"{name}: does not compile, and is not in the table" for name in sorted(refused - absent)]
    print("\n".join(wrong))
    print(f"functions: {len(windows & declared - absent)} there, {len(absent)} not, {len(wrong)} wrong")
    sys.exit(bool(wrong))


main()
