/* Atomic operations on 32 and 64 bits, as Windows names them. */
#ifndef WIRESTAMP_INTERLOCKED_H
#define WIRESTAMP_INTERLOCKED_H

#include "types.h"
#include <sched.h>

/* The new value. */
#define InterlockedIncrement(at) __atomic_add_fetch((at), 1, __ATOMIC_SEQ_CST)
#define InterlockedDecrement(at) __atomic_sub_fetch((at), 1, __ATOMIC_SEQ_CST)
/* The value before. */
#define InterlockedExchange(at, value) __atomic_exchange_n((at), (value), __ATOMIC_SEQ_CST)
#define InterlockedExchangeAdd(at, value) __atomic_fetch_add((at), (value), __ATOMIC_SEQ_CST)
static inline LONG InterlockedCompareExchange(volatile LONG *at, LONG value, LONG expected)
{
    __atomic_compare_exchange_n(at, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
static inline LONG64 InterlockedCompareExchange64(volatile LONG64 *at, LONG64 value, LONG64 expected)
{
    __atomic_compare_exchange_n(at, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
#define InterlockedIncrement64 InterlockedIncrement
#define InterlockedDecrement64 InterlockedDecrement
#define InterlockedExchange64 InterlockedExchange
#define InterlockedExchangeAdd64 InterlockedExchangeAdd
#define MemoryBarrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* Lets another thread run; whether one did is not known. */
static inline BOOL SwitchToThread(void) { return sched_yield() == 0; }

#endif
