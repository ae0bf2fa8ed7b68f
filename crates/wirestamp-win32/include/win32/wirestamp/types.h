/* The basic Windows types with their Windows sizes, and the annotations of declarations.
 *
 * `long` has 64 bits on Linux and 32 on Windows: nothing here is made of it. WCHAR is the C
 * library's wchar_t (32 bits), so that L"eth0" and wcscmp mean what the program says. */
#ifndef WIRESTAMP_TYPES_H
#define WIRESTAMP_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#ifdef __cplusplus
#define WIRESTAMP_BEGIN extern "C" {
#define WIRESTAMP_END }
#define WIRESTAMP_STATIC_ASSERT(condition) static_assert(condition, #condition)
#define WIRESTAMP_ALIGNOF(type) alignof(type)
#else
#define WIRESTAMP_BEGIN
#define WIRESTAMP_END
#define WIRESTAMP_STATIC_ASSERT(condition) _Static_assert(condition, #condition)
#define WIRESTAMP_ALIGNOF(type) _Alignof(type)
#endif

/* Size of a type; place and size of a field in it. */
#define WIRESTAMP_SIZE(type, size) WIRESTAMP_STATIC_ASSERT(sizeof(type) == (size))
#define WIRESTAMP_FIELD(type, field, offset, size) \
    WIRESTAMP_STATIC_ASSERT(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (size))

#if !defined(__LP64__)
#error "the headers of wirestamp-win32 have the layouts of 64-bit Windows: a 64-bit system is needed"
#endif

/* The C calling convention: on 64-bit systems there is one. */
#define WINAPI
#define CALLBACK
#define APIENTRY
#define WSAAPI
#define NTAPI
#ifndef FORCEINLINE
#define FORCEINLINE static inline
#endif

/* Annotations of Microsoft's analyser. */
#define _In_
#define _In_opt_
#define _Out_
#define _Out_opt_
#define _Inout_
#define _Inout_opt_
#define _In_reads_bytes_(size)
#define _Out_writes_bytes_(size)

#define VOID void
#define CONST const
typedef void *PVOID, *LPVOID;
typedef const void *LPCVOID;
typedef char CHAR, *PCHAR, *PSTR, *LPSTR;
typedef const char *PCSTR, *LPCSTR;
typedef wchar_t WCHAR, *PWCHAR, *PWSTR, *LPWSTR;
typedef const wchar_t *PCWSTR, *LPCWSTR;
typedef unsigned char UCHAR, *PUCHAR, BYTE, *PBYTE, *LPBYTE, BOOLEAN, *PBOOLEAN;
typedef int8_t INT8;
typedef uint8_t UINT8, *PUINT8;
typedef short SHORT, *PSHORT;
typedef unsigned short USHORT, *PUSHORT, WORD, *PWORD, *LPWORD;
typedef int16_t INT16;
typedef uint16_t UINT16, *PUINT16;
typedef int INT, *PINT, *LPINT, LONG, *PLONG, *LPLONG, BOOL, *PBOOL, *LPBOOL, INT32, *PINT32;
typedef unsigned int UINT, *PUINT, ULONG, *PULONG, DWORD, *PDWORD, *LPDWORD, UINT32, *PUINT32, ULONG32, DWORD32;
typedef long long LONGLONG, *PLONGLONG, LONG64, *PLONG64, INT64, *PINT64;
typedef unsigned long long ULONGLONG, *PULONGLONG, ULONG64, *PULONG64, UINT64, *PUINT64, DWORD64, *PDWORD64, DWORDLONG;
typedef intptr_t INT_PTR, LONG_PTR;
typedef uintptr_t UINT_PTR, ULONG_PTR, *PULONG_PTR, DWORD_PTR;
typedef size_t SIZE_T, *PSIZE_T;

typedef void *HANDLE, **PHANDLE, **LPHANDLE;
#define DECLARE_HANDLE(name) \
    struct name##__ {        \
        int unused;          \
    };                       \
    typedef struct name##__ *name
#define INVALID_HANDLE_VALUE ((HANDLE)(LONG_PTR)-1)

#ifndef FALSE
#define FALSE 0
#endif
#ifndef TRUE
#define TRUE 1
#endif

typedef union _LARGE_INTEGER {
    __extension__ struct {
        DWORD LowPart;
        LONG HighPart;
    };
    struct {
        DWORD LowPart;
        LONG HighPart;
    } u;
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef struct _GUID {
    ULONG Data1;
    USHORT Data2;
    USHORT Data3;
    UCHAR Data4[8];
} GUID, *LPGUID;

#define MAKEWORD(low, high) ((WORD)(((BYTE)((low) & 0xff)) | (((WORD)((BYTE)((high) & 0xff))) << 8)))
#define LOBYTE(word) ((BYTE)((word) & 0xff))
#define HIBYTE(word) ((BYTE)(((word) >> 8) & 0xff))
#define UNREFERENCED_PARAMETER(parameter) ((void)(parameter))

WIRESTAMP_SIZE(DWORD, 4);
WIRESTAMP_SIZE(LONG, 4);
WIRESTAMP_SIZE(BOOL, 4);
WIRESTAMP_SIZE(BOOLEAN, 1);
WIRESTAMP_SIZE(ULONG64, 8);
WIRESTAMP_SIZE(HANDLE, 8);
WIRESTAMP_SIZE(LARGE_INTEGER, 8);
WIRESTAMP_SIZE(GUID, 16);

#endif
