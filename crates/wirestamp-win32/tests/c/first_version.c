/* The interface as Windows 10 1809 had it: structures with a Version, other names, another order of arguments. The parts
 * that both versions share: adapters.c. */
#define NTDDI_VERSION NTDDI_WIN10_RS5
#include "sockets.h"

static NET_LUID adapter(const WCHAR *alias)
{
    NET_LUID luid;
    CHECK_EQUAL(ConvertInterfaceAliasToLuid(alias, &luid), NO_ERROR);
    return luid;
}

static void a_cross_timestamp_has_32_bytes(void)
{
    NET_LUID luid = adapter(L"sim0");
    struct {
        INTERFACE_HARDWARE_CROSSTIMESTAMP cross;
        unsigned char behind[64];
    } guarded;
    ULONG64 before = counter();
    int i;
    memset(&guarded, 0xA5, sizeof(guarded));
    guarded.cross.Version = INTERFACE_HARDWARE_CROSSTIMESTAMP_VERSION_1;
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &guarded.cross), NO_ERROR);
    CHECK_EQUAL(guarded.cross.Version, 1);
    CHECK(before <= guarded.cross.SystemTimestamp1);
    CHECK(guarded.cross.SystemTimestamp1 <= guarded.cross.SystemTimestamp2);
    CHECK(guarded.cross.SystemTimestamp2 <= counter());
    CHECK(guarded.cross.HardwareClockTimestamp != 0 && guarded.cross.HardwareClockTimestamp != 0xA5A5A5A5A5A5A5A5);
    for (i = 0; i < 64; i++) CHECK_EQUAL(guarded.behind[i], 0xA5);
}

static void another_version_is_refused(void)
{
    NET_LUID luid = adapter(L"sim0");
    INTERFACE_HARDWARE_CROSSTIMESTAMP cross;
    memset(&cross, 0, sizeof(cross));
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &cross), ERROR_INVALID_PARAMETER);
    cross.Version = 2;
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &cross), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(cross.HardwareClockTimestamp, 0);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, NULL), ERROR_INVALID_PARAMETER);
    cross.Version = 1;
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(NULL, &cross), ERROR_INVALID_PARAMETER);
}

static INTERFACE_TIMESTAMP_CAPABILITIES
capabilities(DWORD(WINAPI *function)(const NET_LUID *, PINTERFACE_TIMESTAMP_CAPABILITIES), const WCHAR *alias)
{
    NET_LUID luid = adapter(alias);
    struct {
        INTERFACE_TIMESTAMP_CAPABILITIES capabilities;
        unsigned char behind[64];
    } guarded;
    int i;
    memset(&guarded, 0xA5, sizeof(guarded));
    CHECK_EQUAL(function(&luid, &guarded.capabilities), NO_ERROR);
    for (i = 0; i < 64; i++) CHECK_EQUAL(guarded.behind[i], 0xA5);
    CHECK_EQUAL(guarded.capabilities.Version, INTERFACE_TIMESTAMP_CAPABILITIES_VERSION_1);
    return guarded.capabilities;
}

static void capabilities_have_56_bytes(void)
{
    INTERFACE_TIMESTAMP_CAPABILITIES now = capabilities(GetInterfaceCurrentTimestampCapabilities, L"sim0");
    INTERFACE_TIMESTAMP_CAPABILITIES could = capabilities(GetInterfaceHardwareTimestampCapabilities, L"sim0");
    CHECK_EQUAL(now.TimestampFlags.AllReceiveHw, TRUE);
    CHECK_EQUAL(now.TimestampFlags.TaggedTransmitHw, TRUE);
    CHECK_EQUAL(now.TimestampFlags.AllReceiveSw, FALSE);
    CHECK_EQUAL(now.CrossTimestamp, TRUE);
    CHECK_EQUAL(could.HardwareClockFrequencyHz, 156250000);
    now = capabilities(GetInterfaceCurrentTimestampCapabilities, L"lo");
    CHECK_EQUAL(now.TimestampFlags.AllReceiveHw, FALSE);
    CHECK_EQUAL(now.TimestampFlags.AllReceiveSw, TRUE);
    CHECK_EQUAL(now.CrossTimestamp, FALSE);
}

static HANDLE called;
static VOID CALLBACK call(PVOID context)
{
    if (context == &called) SetEvent(called);
}

static void the_context_comes_first(void)
{
    HIFTIMESTAMPCHANGE handle;
    called = CreateEvent(NULL, TRUE, FALSE, NULL);
    CHECK_EQUAL(NotifyIfTimestampConfigChange(&called, call, &handle), NO_ERROR);
    CHECK_EQUAL(WaitForSingleObject(called, 20000), WAIT_OBJECT_0);
    CancelIfTimestampConfigChange(handle); /* VOID, as in the SDK */
    CancelIfTimestampConfigChange(handle);
    CancelIfTimestampConfigChange(NULL);
    CHECK_EQUAL(NotifyIfTimestampConfigChange(&called, NULL, &handle), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(NotifyIfTimestampConfigChange(&called, call, NULL), ERROR_INVALID_PARAMETER);
}

/* The page's spellings. */
static void both_spellings_are_one_field(void)
{
    TIMESTAMPING_CONFIG config;
    memset(&config, 0, sizeof(config));
    config.flags |= TIMESTAMPING_FLAG_TX;
    config.txTimestampsBuffered = 3;
    CHECK_EQUAL(config.Flags, TIMESTAMPING_FLAG_TX);
    CHECK_EQUAL(config.TxTimestampsBuffered, 3);
}

static const struct test tests[] = {
    { "both_spellings_are_one_field", both_spellings_are_one_field, NULL },
    { "a_cross_timestamp_has_32_bytes", a_cross_timestamp_has_32_bytes, "WIRESTAMP_SIM=windows-modern" },
    { "another_version_is_refused", another_version_is_refused, "WIRESTAMP_SIM=windows-modern" },
    { "capabilities_have_56_bytes", capabilities_have_56_bytes, "WIRESTAMP_SIM=windows-modern" },
    { "the_context_comes_first", the_context_comes_first, "WIRESTAMP_SIM=" TESTS "/change.toml" },
};
RUN_TESTS(tests)
