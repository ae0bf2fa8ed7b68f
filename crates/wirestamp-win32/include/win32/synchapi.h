/* Critical sections and slim reader/writer locks, by the C library's threads. Events and waiting: windows.h. */
#ifndef WIRESTAMP_SYNCHAPI_H
#define WIRESTAMP_SYNCHAPI_H

#include "wirestamp/interlocked.h"
#include "wirestamp/system.h"
#include <pthread.h>

WIRESTAMP_BEGIN

/* May be entered again by the thread that is in it. */
typedef struct _RTL_CRITICAL_SECTION {
    pthread_mutex_t wirestamp_mutex;
    DWORD wirestamp_owner; /* a thread's number; 0: nobody */
    DWORD wirestamp_depth;
} CRITICAL_SECTION, *PCRITICAL_SECTION, *LPCRITICAL_SECTION;

static inline VOID InitializeCriticalSection(LPCRITICAL_SECTION section)
{
    pthread_mutex_init(&section->wirestamp_mutex, NULL);
    section->wirestamp_owner = section->wirestamp_depth = 0;
}
static inline BOOL InitializeCriticalSectionAndSpinCount(LPCRITICAL_SECTION section, DWORD count)
{
    (void)count;
    InitializeCriticalSection(section);
    return TRUE;
}
static inline BOOL TryEnterCriticalSection(LPCRITICAL_SECTION section)
{
    DWORD self = GetCurrentThreadId();
    if (__atomic_load_n(&section->wirestamp_owner, __ATOMIC_RELAXED) != self) {
        if (pthread_mutex_trylock(&section->wirestamp_mutex) != 0) return FALSE;
        __atomic_store_n(&section->wirestamp_owner, self, __ATOMIC_RELAXED);
    }
    section->wirestamp_depth++;
    return TRUE;
}
static inline VOID EnterCriticalSection(LPCRITICAL_SECTION section)
{
    DWORD self = GetCurrentThreadId();
    if (__atomic_load_n(&section->wirestamp_owner, __ATOMIC_RELAXED) != self) {
        pthread_mutex_lock(&section->wirestamp_mutex);
        __atomic_store_n(&section->wirestamp_owner, self, __ATOMIC_RELAXED);
    }
    section->wirestamp_depth++;
}
static inline VOID LeaveCriticalSection(LPCRITICAL_SECTION section)
{
    if (--section->wirestamp_depth > 0) return;
    __atomic_store_n(&section->wirestamp_owner, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&section->wirestamp_mutex);
}
static inline VOID DeleteCriticalSection(LPCRITICAL_SECTION section)
{
    pthread_mutex_destroy(&section->wirestamp_mutex);
}

/* Not to be entered again by its holder, as on Windows; and as large as there. */
typedef struct _RTL_SRWLOCK {
    UINT_PTR wirestamp_state; /* readers, or all bits: a writer */
} SRWLOCK, *PSRWLOCK;
#define SRWLOCK_INIT { 0 }
WIRESTAMP_SIZE(SRWLOCK, 8);

static inline VOID InitializeSRWLock(PSRWLOCK lock) { lock->wirestamp_state = 0; }
static inline BOOLEAN TryAcquireSRWLockExclusive(PSRWLOCK lock)
{
    UINT_PTR none = 0;
    return __atomic_compare_exchange_n(&lock->wirestamp_state, &none, ~(UINT_PTR)0, 0, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}
static inline BOOLEAN TryAcquireSRWLockShared(PSRWLOCK lock)
{
    UINT_PTR seen = __atomic_load_n(&lock->wirestamp_state, __ATOMIC_RELAXED);
    while (seen < ~(UINT_PTR)1) {
        if (__atomic_compare_exchange_n(&lock->wirestamp_state, &seen, seen + 1, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}
/* After a few tries it sleeps: a thread of real-time priority that only yields would never let the holder run. */
static inline VOID AcquireSRWLockExclusive(PSRWLOCK lock)
{
    int tries;
    for (tries = 0; !TryAcquireSRWLockExclusive(lock); tries++) Sleep(tries < 100 ? 0 : (DWORD)1);
}
static inline VOID AcquireSRWLockShared(PSRWLOCK lock)
{
    int tries;
    for (tries = 0; !TryAcquireSRWLockShared(lock); tries++) Sleep(tries < 100 ? 0 : (DWORD)1);
}
static inline VOID ReleaseSRWLockExclusive(PSRWLOCK lock)
{
    __atomic_store_n(&lock->wirestamp_state, 0, __ATOMIC_RELEASE);
}
static inline VOID ReleaseSRWLockShared(PSRWLOCK lock)
{
    __atomic_fetch_sub(&lock->wirestamp_state, 1, __ATOMIC_RELEASE);
}

WIRESTAMP_END

#endif
