/* Names that Windows' headers give to every program, whether it wants them or not. */
#ifndef WIRESTAMP_MINWINDEF_H
#define WIRESTAMP_MINWINDEF_H

#include "wirestamp/types.h"
#include <string.h>

#define MAX_PATH 260
/* Words of old compilers: a variable can't be called so on Windows. */
#define near
#define far
#define NEAR near
#define FAR far
#if !defined(NOMINMAX) && !defined(__cplusplus)
#ifndef max
#define max(a, b) (((a) > (b)) ? (a) : (b))
#endif
#ifndef min
#define min(a, b) (((a) < (b)) ? (a) : (b))
#endif
#endif

#define LOWORD(value) ((WORD)((DWORD_PTR)(value) & 0xffff))
#define HIWORD(value) ((WORD)(((DWORD_PTR)(value) >> 16) & 0xffff))
#ifndef ARRAYSIZE
#define ARRAYSIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

#define ZeroMemory(at, length) memset((at), 0, (length))
#define FillMemory(at, length, value) memset((at), (value), (length))
#define CopyMemory(to, from, length) memcpy((to), (from), (length))
#define MoveMemory(to, from, length) memmove((to), (from), (length))
#define RtlZeroMemory ZeroMemory
#define RtlCopyMemory CopyMemory

#endif
