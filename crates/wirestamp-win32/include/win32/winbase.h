/* The words for an error number. */
#ifndef WIRESTAMP_WINBASE_H
#define WIRESTAMP_WINBASE_H

#include "wirestamp/system.h"
#include <stdarg.h>

/* FROM_SYSTEM is needed; a program's own text (FROM_STRING) is refused, and there are no modules with texts. */
#define FORMAT_MESSAGE_ALLOCATE_BUFFER 0x00000100
#define FORMAT_MESSAGE_IGNORE_INSERTS 0x00000200
#define FORMAT_MESSAGE_FROM_STRING 0x00000400
#define FORMAT_MESSAGE_FROM_HMODULE 0x00000800
#define FORMAT_MESSAGE_FROM_SYSTEM 0x00001000
#define FORMAT_MESSAGE_ARGUMENT_ARRAY 0x00002000
#define FORMAT_MESSAGE_MAX_WIDTH_MASK 0x000000FF
/* The language is not looked at: the texts are English. */
#define LANG_NEUTRAL 0x00
#define LANG_ENGLISH 0x09
#define SUBLANG_DEFAULT 0x01
#define SUBLANG_ENGLISH_US 0x01
#define MAKELANGID(primary, sub) ((((WORD)(sub)) << 10) | (WORD)(primary))

WIRESTAMP_BEGIN

typedef HANDLE HLOCAL;

/* The text ends with \r\n, without them if MAX_WIDTH_MASK is given. With ALLOCATE_BUFFER `buffer` is the address of a
 * pointer, whose memory LocalFree gives back; NULL after a failure. */
DWORD WINAPI FormatMessageA(DWORD flags, LPCVOID source, DWORD message, DWORD language, LPSTR buffer, DWORD size,
                            va_list *arguments);
DWORD WINAPI FormatMessageW(DWORD flags, LPCVOID source, DWORD message, DWORD language, LPWSTR buffer, DWORD size,
                            va_list *arguments);
HLOCAL WINAPI LocalFree(HLOCAL memory);
#ifdef UNICODE
#define FormatMessage FormatMessageW
#else
#define FormatMessage FormatMessageA
#endif

WIRESTAMP_END

#endif
