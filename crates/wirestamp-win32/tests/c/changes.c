/* Callbacks on changes of the timestamping configuration. The configuration itself: adapters.c. */
#include "sockets.h"

/* Counts calls, and says when the first came. */
struct calls {
    int number;
    HANDLE event, handle;
};
static VOID CALLBACK count(PVOID context)
{
    struct calls *calls = (struct calls *)context;
    __atomic_fetch_add(&calls->number, 1, __ATOMIC_SEQ_CST);
    SetEvent(calls->event);
}

static void a_change_is_notified_to_all_who_registered(void)
{
    struct calls calls[2];
    HIFTIMESTAMPCHANGE handles[2];
    int i;
    for (i = 0; i < 2; i++) {
        calls[i].number = 0;
        calls[i].event = CreateEvent(NULL, TRUE, FALSE, NULL);
        CHECK_EQUAL(RegisterInterfaceTimestampConfigChange(count, &calls[i], &handles[i]), NO_ERROR);
        CHECK(handles[i] != NULL);
    }
    CHECK_EQUAL(WaitForSingleObject(calls[0].event, 20000), WAIT_OBJECT_0);
    CHECK_EQUAL(WaitForSingleObject(calls[1].event, 20000), WAIT_OBJECT_0);
    for (i = 0; i < 2; i++) UnregisterInterfaceTimestampConfigChange(handles[i]);
}

static void registering_is_no_change(void)
{
    struct calls calls;
    HIFTIMESTAMPCHANGE handle;
    calls.number = 0;
    calls.event = CreateEvent(NULL, TRUE, FALSE, NULL);
    CHECK_EQUAL(RegisterInterfaceTimestampConfigChange(count, &calls, &handle), NO_ERROR);
    CHECK_EQUAL(WaitForSingleObject(calls.event, 1500), WAIT_TIMEOUT);
    UnregisterInterfaceTimestampConfigChange(handle);
}

static void none_is_called_once_unregistered(void)
{
    struct calls calls[2];
    HIFTIMESTAMPCHANGE handles[2];
    int i;
    for (i = 0; i < 2; i++) {
        calls[i].number = 0;
        calls[i].event = CreateEvent(NULL, TRUE, FALSE, NULL);
        CHECK_EQUAL(RegisterInterfaceTimestampConfigChange(count, &calls[i], &handles[i]), NO_ERROR);
    }
    UnregisterInterfaceTimestampConfigChange(handles[0]);
    CHECK_EQUAL(WaitForSingleObject(calls[1].event, 20000), WAIT_OBJECT_0);
    CHECK_EQUAL(calls[0].number, 0);
    UnregisterInterfaceTimestampConfigChange(handles[1]);
}

static VOID CALLBACK unregister_itself(PVOID context)
{
    struct calls *calls = (struct calls *)context;
    UnregisterInterfaceTimestampConfigChange((HIFTIMESTAMPCHANGE)calls->handle);
    SetEvent(calls->event);
}

static void a_callback_may_unregister_itself(void)
{
    struct calls calls;
    HIFTIMESTAMPCHANGE handle;
    calls.event = CreateEvent(NULL, TRUE, FALSE, NULL);
    CHECK_EQUAL(RegisterInterfaceTimestampConfigChange(unregister_itself, &calls, &handle), NO_ERROR);
    calls.handle = handle;
    CHECK_EQUAL(WaitForSingleObject(calls.event, 20000), WAIT_OBJECT_0);
}

static VOID CALLBACK slowly(PVOID context)
{
    struct calls *calls = (struct calls *)context;
    SetEvent(calls->event);
    Sleep(300);
    __atomic_fetch_add(&calls->number, 1, __ATOMIC_SEQ_CST);
}

static void unregistering_waits_for_the_call_that_runs(void)
{
    struct calls calls;
    HIFTIMESTAMPCHANGE handle;
    calls.number = 0;
    calls.event = CreateEvent(NULL, TRUE, FALSE, NULL);
    CHECK_EQUAL(RegisterInterfaceTimestampConfigChange(slowly, &calls, &handle), NO_ERROR);
    CHECK_EQUAL(WaitForSingleObject(calls.event, 20000), WAIT_OBJECT_0);
    UnregisterInterfaceTimestampConfigChange(handle);
    CHECK_EQUAL(calls.number, 1);
}

static void registering_wants_a_callback_and_a_place(void)
{
    HIFTIMESTAMPCHANGE handle = NULL;
    CHECK_EQUAL(RegisterInterfaceTimestampConfigChange(NULL, NULL, &handle), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(RegisterInterfaceTimestampConfigChange(count, NULL, NULL), ERROR_INVALID_PARAMETER);
    CHECK(handle == NULL);
    UnregisterInterfaceTimestampConfigChange(NULL);
    UnregisterInterfaceTimestampConfigChange((HIFTIMESTAMPCHANGE)(ULONG_PTR)0x1234);
}

static void a_restart_shows_in_the_counter(void)
{
    struct calls calls;
    HIFTIMESTAMPCHANGE handle;
    NET_LUID luid = luid_of(L"sim0");
    INTERFACE_HARDWARE_CROSSTIMESTAMP before, after;
    double ticks, expected;
    int tries = 0;
    calls.number = 0;
    calls.event = CreateEvent(NULL, FALSE, FALSE, NULL);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &before), NO_ERROR);
    CHECK_EQUAL(RegisterInterfaceTimestampConfigChange(count, &calls, &handle), NO_ERROR);
    /* On a busy machine the first call may be about a change that came before the reading. */
    do {
        CHECK_EQUAL(WaitForSingleObject(calls.event, 20000), WAIT_OBJECT_0);
        CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &after), NO_ERROR);
        CHECK(after.SystemTimestamp1 > before.SystemTimestamp2);
        ticks = (double)(LONG64)(after.HardwareClockTimestamp - before.HardwareClockTimestamp);
        expected = (double)(after.SystemTimestamp1 - before.SystemTimestamp1) * 15.625;
    } while (ticks >= 0.9 * expected && ++tries < 3);
    CHECK(ticks < 0.9 * expected);
    UnregisterInterfaceTimestampConfigChange(handle);
}

#define ROW(name) { #name, name, NULL }
#define CHANGING(name) { #name, name, "WIRESTAMP_SIM=" TESTS "/change.toml" }
static const struct test tests[] = {
    ROW(registering_wants_a_callback_and_a_place),
    { "registering_is_no_change", registering_is_no_change, "WIRESTAMP_SIM=windows-modern" },
    CHANGING(a_change_is_notified_to_all_who_registered),
    CHANGING(none_is_called_once_unregistered),
    CHANGING(a_callback_may_unregister_itself),
    CHANGING(unregistering_waits_for_the_call_that_runs),
    CHANGING(a_restart_shows_in_the_counter),
};
RUN_TESTS(tests)
