/* Adapters: their list, their names, capabilities, cross timestamps. Their changes: changes.c; the first version of the
 * interface: first_version.c. */
#include "sockets.h"

#define SIMULATED(preset) "WIRESTAMP_SIM=" preset

static PIP_ADAPTER_ADDRESSES list(ULONG family, ULONG flags)
{
    ULONG size = 0;
    PIP_ADAPTER_ADDRESSES all;
    CHECK_EQUAL(GetAdaptersAddresses(family, flags, NULL, NULL, &size), ERROR_BUFFER_OVERFLOW);
    CHECK(size >= sizeof(IP_ADAPTER_ADDRESSES));
    all = (PIP_ADAPTER_ADDRESSES)malloc(size);
    CHECK_EQUAL(GetAdaptersAddresses(family, flags, NULL, all, &size), NO_ERROR);
    return all;
}

static PIP_ADAPTER_ADDRESSES named(PIP_ADAPTER_ADDRESSES all, const WCHAR *name)
{
    while (all != NULL && wcscmp(all->FriendlyName, name) != 0) all = all->Next;
    CHECK(all != NULL);
    return all;
}

static void the_list_has_the_loopback_interface(void)
{
    PIP_ADAPTER_ADDRESSES all = list(AF_UNSPEC, 0), lo = named(all, L"lo");
    PIP_ADAPTER_UNICAST_ADDRESS each;
    NET_LUID luid;
    int found = 0;
    CHECK(lo->Length >= sizeof(*lo));
    CHECK_EQUAL(lo->IfType, IF_TYPE_SOFTWARE_LOOPBACK);
    CHECK_EQUAL(lo->OperStatus, IfOperStatusUp);
    CHECK(lo->Mtu > 0 && lo->AdapterName != NULL && lo->Description != NULL && lo->DnsSuffix != NULL);
    CHECK_EQUAL(ConvertInterfaceIndexToLuid(lo->IfIndex, &luid), NO_ERROR);
    CHECK_EQUAL(lo->Luid.Value, luid.Value);
    CHECK_EQUAL(lo->Luid.Info.IfType, IF_TYPE_SOFTWARE_LOOPBACK);
    for (each = lo->FirstUnicastAddress; each != NULL; each = each->Next) {
        SOCKADDR_IN address;
        CHECK(each->Length >= sizeof(*each));
        if (each->Address.lpSockaddr->sa_family != AF_INET) continue;
        CHECK_EQUAL(each->Address.iSockaddrLength, sizeof(address));
        memcpy(&address, each->Address.lpSockaddr, sizeof(address));
        CHECK_EQUAL(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
        CHECK_EQUAL(each->OnLinkPrefixLength, 8);
        found++;
    }
    CHECK_EQUAL(found, 1);
    free(all);
}

static void a_family_selects_addresses(void)
{
    PIP_ADAPTER_ADDRESSES all = list(AF_INET6, 0), each;
    PIP_ADAPTER_UNICAST_ADDRESS address;
    int addresses = 0;
    for (each = all; each != NULL; each = each->Next)
        for (address = each->FirstUnicastAddress; address != NULL; address = address->Next, addresses++)
            CHECK_EQUAL(address->Address.lpSockaddr->sa_family, 23);
    CHECK(addresses > 0);
    free(all);
    all = list(AF_INET, GAA_FLAG_SKIP_UNICAST);
    CHECK(named(all, L"lo")->FirstUnicastAddress == NULL);
    free(all);
}

static void a_list_wants_room_and_a_family(void)
{
    ULONG size = 10;
    char small[10];
    CHECK_EQUAL(GetAdaptersAddresses(AF_UNSPEC, 0, NULL, (PIP_ADAPTER_ADDRESSES)(void *)small, &size),
                ERROR_BUFFER_OVERFLOW);
    CHECK(size >= sizeof(IP_ADAPTER_ADDRESSES));
    CHECK_EQUAL(GetAdaptersAddresses(99, 0, NULL, NULL, &size), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(GetAdaptersAddresses(AF_UNSPEC, 0, NULL, NULL, NULL), ERROR_INVALID_PARAMETER);
}

static void names_convert_back_and_forth(void)
{
    NET_LUID luid = luid_of(L"lo"), again = { 0 };
    NET_IFINDEX index = 0;
    WCHAR alias[NDIS_IF_MAX_STRING_SIZE + 1];
    CHECK_EQUAL(ConvertInterfaceLuidToIndex(&luid, &index), NO_ERROR);
    CHECK(index != 0);
    CHECK_EQUAL(ConvertInterfaceIndexToLuid(index, &again), NO_ERROR);
    CHECK_EQUAL(luid.Value, again.Value);
    CHECK_EQUAL(ConvertInterfaceLuidToAlias(&luid, alias, NDIS_IF_MAX_STRING_SIZE + 1), NO_ERROR);
    CHECK(wcscmp(alias, L"lo") == 0);
    CHECK_EQUAL(ConvertInterfaceLuidToAlias(&luid, alias, 3), NO_ERROR);
    CHECK_EQUAL(ConvertInterfaceLuidToAlias(&luid, alias, 2), ERROR_NOT_ENOUGH_MEMORY);
}

static void unknown_names_are_refused(void)
{
    NET_LUID luid, unknown;
    NET_IFINDEX index;
    WCHAR alias[300];
    unknown.Value = 0xFFFFFFFFFFFFFFFF;
    CHECK_EQUAL(ConvertInterfaceIndexToLuid(0x7FFFFFFF, &luid), ERROR_FILE_NOT_FOUND);
    CHECK_EQUAL(ConvertInterfaceIndexToLuid(0, &luid), ERROR_FILE_NOT_FOUND);
    CHECK_EQUAL(ConvertInterfaceLuidToIndex(&unknown, &index), ERROR_FILE_NOT_FOUND);
    CHECK_EQUAL(ConvertInterfaceLuidToAlias(&unknown, alias, 300), ERROR_FILE_NOT_FOUND);
    CHECK_EQUAL(ConvertInterfaceAliasToLuid(L"no such interface", &luid), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceIndexToLuid(1, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceAliasToLuid(NULL, &luid), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceAliasToLuid(L"lo", NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceLuidToIndex(NULL, &index), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceLuidToAlias(NULL, alias, 300), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceLuidToAlias(&unknown, NULL, 300), ERROR_INVALID_PARAMETER);
}

/* 24 bytes are written, and nothing behind them. */
struct guarded {
    INTERFACE_TIMESTAMP_CAPABILITIES capabilities;
    unsigned char behind[64];
};

static INTERFACE_TIMESTAMP_CAPABILITIES
capabilities(DWORD(WINAPI *function)(const NET_LUID *, PINTERFACE_TIMESTAMP_CAPABILITIES), const WCHAR *alias)
{
    NET_LUID luid = luid_of(alias);
    struct guarded guarded;
    int i;
    memset(&guarded, 0xA5, sizeof(guarded));
    CHECK_EQUAL(function(&luid, &guarded.capabilities), NO_ERROR);
    for (i = 0; i < 64; i++) CHECK_EQUAL(guarded.behind[i], 0xA5);
    return guarded.capabilities;
}

static void loopback_timestamps_in_software(void)
{
    static INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES none;
    INTERFACE_TIMESTAMP_CAPABILITIES active = capabilities(GetInterfaceActiveTimestampCapabilities, L"lo");
    INTERFACE_TIMESTAMP_CAPABILITIES supported = capabilities(GetInterfaceSupportedTimestampCapabilities, L"lo");
    CHECK(memcmp(&active.HardwareCapabilities, &none, sizeof(none)) == 0);
    CHECK(memcmp(&supported.HardwareCapabilities, &none, sizeof(none)) == 0);
    CHECK_EQUAL(active.SoftwareCapabilities.AllReceive, TRUE);
    CHECK(active.SoftwareCapabilities.AllTransmit || active.SoftwareCapabilities.TaggedTransmit);
    CHECK_EQUAL(supported.SoftwareCapabilities.AllReceive, TRUE);
    CHECK_EQUAL(active.SupportsCrossTimestamp, FALSE);
}

static void an_adapter_that_is_switched_on_timestamps_in_hardware(void)
{
    INTERFACE_TIMESTAMP_CAPABILITIES active = capabilities(GetInterfaceActiveTimestampCapabilities, L"sim0");
    INTERFACE_TIMESTAMP_CAPABILITIES supported = capabilities(GetInterfaceSupportedTimestampCapabilities, L"sim0");
    CHECK_EQUAL(active.HardwareCapabilities.AllReceive, TRUE);
    CHECK_EQUAL(active.HardwareCapabilities.TaggedTransmit, TRUE);
    CHECK_EQUAL(active.SupportsCrossTimestamp, TRUE);
    CHECK_EQUAL(supported.SupportsCrossTimestamp, TRUE);
    CHECK_EQUAL(supported.HardwareClockFrequencyHz, 156250000);
    CHECK_EQUAL(active.SoftwareCapabilities.AllReceive, FALSE); /* both together are not supported */
}

#ifndef _WIN32 /* not in the import library that scripts/windows/consumers makes */
static void the_first_versions_names_have_this_versions_structure(void)
{
    INTERFACE_TIMESTAMP_CAPABILITIES one = capabilities(GetInterfaceCurrentTimestampCapabilities, L"sim0");
    INTERFACE_TIMESTAMP_CAPABILITIES other = capabilities(GetInterfaceActiveTimestampCapabilities, L"sim0");
    CHECK(memcmp(&one, &other, 23) == 0);
    one = capabilities(GetInterfaceHardwareTimestampCapabilities, L"sim0");
    other = capabilities(GetInterfaceSupportedTimestampCapabilities, L"sim0");
    CHECK(memcmp(&one, &other, 23) == 0);
}
#endif

static void queries_answer(DWORD active, DWORD supported, DWORD capture)
{
    NET_LUID luid = luid_of(L"sim0");
    INTERFACE_TIMESTAMP_CAPABILITIES capabilities;
    INTERFACE_HARDWARE_CROSSTIMESTAMP cross;
    CHECK_EQUAL(GetInterfaceActiveTimestampCapabilities(&luid, &capabilities), active);
    CHECK_EQUAL(GetInterfaceSupportedTimestampCapabilities(&luid, &capabilities), supported);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &cross), capture);
}
static void a_bad_driver_is_named(void) { queries_answer(ERROR_BAD_DRIVER, NO_ERROR, ERROR_BAD_DRIVER); }
static void a_rejected_query_is_named(void) { queries_answer(ERROR_CRC, ERROR_CRC, ERROR_CRC); }
static void an_unaware_adapter_is_not_supported(void)
{
    queries_answer(ERROR_NOT_SUPPORTED, ERROR_NOT_SUPPORTED, ERROR_NOT_SUPPORTED);
}
static void without_a_cross_timestamp_it_is_not_supported(void)
{
    queries_answer(NO_ERROR, NO_ERROR, ERROR_NOT_SUPPORTED);
}

static void a_clock_that_may_not_be_read_is_denied(void) { queries_answer(NO_ERROR, NO_ERROR, ERROR_ACCESS_DENIED); }

static void an_unknown_frequency_is_zero(void)
{
    CHECK_EQUAL(capabilities(GetInterfaceSupportedTimestampCapabilities, L"sim0").HardwareClockFrequencyHz, 0);
}

/* A driver that has a pair instead of a bracket. */
static void equal_readings_are_passed_on(void)
{
    NET_LUID luid = luid_of(L"sim0");
    INTERFACE_HARDWARE_CROSSTIMESTAMP cross;
    memset(&cross, 0, sizeof(cross));
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &cross), NO_ERROR);
    CHECK(cross.SystemTimestamp1 != 0 && cross.SystemTimestamp1 == cross.SystemTimestamp2);
}

static void an_adapter_that_is_off_has_no_active_capability(void)
{
    static INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES none;
    INTERFACE_TIMESTAMP_CAPABILITIES active = capabilities(GetInterfaceActiveTimestampCapabilities, L"sim0");
    INTERFACE_TIMESTAMP_CAPABILITIES supported = capabilities(GetInterfaceSupportedTimestampCapabilities, L"sim0");
    CHECK(memcmp(&active.HardwareCapabilities, &none, sizeof(none)) == 0);
    CHECK_EQUAL(supported.HardwareCapabilities.AllReceive, TRUE);
}

static void a_removed_adapter_is_not_found(void)
{
    NET_LUID luid = luid_of(L"sim0");
    INTERFACE_TIMESTAMP_CAPABILITIES capabilities;
    DWORD answer = NO_ERROR;
    int tries;
    for (tries = 0; tries < 500 && answer == NO_ERROR; tries++) {
        Sleep(20);
        answer = GetInterfaceActiveTimestampCapabilities(&luid, &capabilities);
    }
    CHECK_EQUAL(answer, ERROR_FILE_NOT_FOUND);
}

static void loopback_has_no_clock(void)
{
    NET_LUID luid = luid_of(L"lo");
    INTERFACE_HARDWARE_CROSSTIMESTAMP cross;
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &cross), ERROR_NOT_SUPPORTED);
}

static void a_cross_timestamp_is_bracketed(void)
{
    NET_LUID luid = luid_of(L"sim0");
    struct {
        INTERFACE_HARDWARE_CROSSTIMESTAMP cross;
        unsigned char behind[64];
    } guarded;
    ULONG64 hardware = 0, before;
    int i, j;
    for (i = 0; i < 20; i++) {
        memset(&guarded, 0xA5, sizeof(guarded));
        before = counter();
        CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &guarded.cross), NO_ERROR);
        CHECK(before <= guarded.cross.SystemTimestamp1);
        CHECK(guarded.cross.SystemTimestamp1 <= guarded.cross.SystemTimestamp2);
        CHECK(guarded.cross.SystemTimestamp2 <= counter());
        CHECK(guarded.cross.HardwareClockTimestamp > hardware);
        hardware = guarded.cross.HardwareClockTimestamp;
        for (j = 0; j < 64; j++) CHECK_EQUAL(guarded.behind[j], 0xA5);
        Sleep(1);
    }
}

/* The true rate, which is not the nominal one: 156,250,000 Hz - 23.456 ppm. */
static void cross_timestamps_tell_the_rate(void)
{
    NET_LUID luid = luid_of(L"sim0");
    INTERFACE_HARDWARE_CROSSTIMESTAMP first, last;
    double rate;
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &first), NO_ERROR);
    Sleep(1000);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&luid, &last), NO_ERROR);
    rate = (double)(last.HardwareClockTimestamp - first.HardwareClockTimestamp) /
           (double)(last.SystemTimestamp1 - first.SystemTimestamp1) * 1e7;
    CHECK(rate > 156250000 * (1 - 40e-6) && rate < 156250000 * (1 - 8e-6));
}

static void null_and_unknown_adapters_are_refused(void)
{
    NET_LUID lo = luid_of(L"lo"), unknown;
    INTERFACE_TIMESTAMP_CAPABILITIES capabilities;
    INTERFACE_HARDWARE_CROSSTIMESTAMP cross;
    unknown.Value = 0x0006000012345600;
    CHECK_EQUAL(GetInterfaceActiveTimestampCapabilities(NULL, &capabilities), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(GetInterfaceActiveTimestampCapabilities(&lo, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(GetInterfaceActiveTimestampCapabilities(&unknown, &capabilities), ERROR_FILE_NOT_FOUND);
    CHECK_EQUAL(GetInterfaceSupportedTimestampCapabilities(NULL, &capabilities), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(GetInterfaceSupportedTimestampCapabilities(&lo, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(GetInterfaceSupportedTimestampCapabilities(&unknown, &capabilities), ERROR_FILE_NOT_FOUND);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(NULL, &cross), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&lo, NULL), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(CaptureInterfaceHardwareCrossTimestamp(&unknown, &cross), ERROR_FILE_NOT_FOUND);
}

static void a_wrong_simulation_is_refused(void)
{
    WSADATA data;
    NET_LUID luid;
#ifdef _WIN32
    CHECK(freopen("NUL", "w", stderr) != NULL);
#else
    CHECK(freopen("/dev/null", "w", stderr) != NULL); /* where the reason is told */
#endif
    CHECK_EQUAL(WSAStartup(MAKEWORD(2, 2), &data), WSASYSNOTREADY);
#ifdef _WIN32
    (void)luid; /* the model has the system answer */
#else
    CHECK_EQUAL(ConvertInterfaceAliasToLuid(L"lo", &luid), ERROR_INVALID_PARAMETER);
#endif
}

#define ROW(name) { #name, name, NULL }
#define ON(preset, name) { #name, name, SIMULATED(preset) }
static const struct test tests[] = {
    ROW(the_list_has_the_loopback_interface),
    ROW(a_family_selects_addresses),
    ROW(a_list_wants_room_and_a_family),
    ROW(names_convert_back_and_forth),
    ROW(unknown_names_are_refused),
    ROW(loopback_timestamps_in_software),
    ROW(loopback_has_no_clock),
    ROW(null_and_unknown_adapters_are_refused),
    ON("windows-modern", an_adapter_that_is_switched_on_timestamps_in_hardware),
#ifndef _WIN32
    ON("windows-modern", the_first_versions_names_have_this_versions_structure),
#endif
    ON("windows-modern", a_cross_timestamp_is_bracketed),
    ON("windows-modern", cross_timestamps_tell_the_rate),
    ON("windows-bad-driver", a_bad_driver_is_named),
    ON("windows-oid-rejected", a_rejected_query_is_named),
    ON("windows-no-api", an_unaware_adapter_is_not_supported),
    ON("unprivileged", a_clock_that_may_not_be_read_is_denied),
    ON("windows-no-frequency", an_unknown_frequency_is_zero),
    ON("equal-brackets", equal_readings_are_passed_on),
    ON("windows-api-off WIRESTAMP_WIN32_SIM_HARDWARE=off", an_adapter_that_is_off_has_no_active_capability),
    ON("vanishing", a_removed_adapter_is_not_found),
    ON("hardware-no-cross", without_a_cross_timestamp_it_is_not_supported),
    ON("no-such-preset", a_wrong_simulation_is_refused),
};
RUN_TESTS(tests)
