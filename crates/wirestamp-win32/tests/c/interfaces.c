/* Names of interfaces beyond alias and index, and the interface towards an address. */
#define _GNU_SOURCE
#include <sched.h>
#include "sockets.h"

static NET_IFINDEX index_of(const WCHAR *alias)
{
    NET_LUID luid = luid_of(alias);
    NET_IFINDEX index = 0;
    CHECK_EQUAL(ConvertInterfaceLuidToIndex(&luid, &index), NO_ERROR);
    return index;
}

static void the_name_of_a_luid_is_its_type_and_index(void)
{
    NET_LUID luid = luid_of(L"lo"), back;
    char name[IF_MAX_STRING_SIZE + 1], expected[32];
    WCHAR wide[IF_MAX_STRING_SIZE + 1];
    snprintf(expected, sizeof(expected), "loopback_%u", index_of(L"lo"));
    CHECK_EQUAL(ConvertInterfaceLuidToNameA(&luid, name, sizeof(name)), NO_ERROR);
    CHECK(strcmp(name, expected) == 0);
    CHECK_EQUAL(ConvertInterfaceNameToLuidA(name, &back), NO_ERROR);
    CHECK_EQUAL(back.Value, luid.Value);
    CHECK_EQUAL(ConvertInterfaceLuidToNameW(&luid, wide, IF_MAX_STRING_SIZE + 1), NO_ERROR);
    CHECK(wcslen(wide) == strlen(name));
    back.Value = 0;
    CHECK_EQUAL(ConvertInterfaceNameToLuidW(wide, &back), NO_ERROR);
    CHECK_EQUAL(back.Value, luid.Value);
    CHECK_EQUAL(ConvertInterfaceLuidToNameA(&luid, name, strlen(name)), ERROR_NOT_ENOUGH_MEMORY);
    CHECK_EQUAL(ConvertInterfaceLuidToNameA(NULL, name, sizeof(name)), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceLuidToNameA(&luid, NULL, sizeof(name)), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceNameToLuidA("lo", &back), ERROR_INVALID_NAME);
    CHECK_EQUAL(ConvertInterfaceNameToLuidA(NULL, &back), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceNameToLuidW(wide, NULL), ERROR_INVALID_PARAMETER);
}

static const char *text_of(const GUID *guid)
{
    static char text[40];
    const UCHAR *rest = guid->Data4;
    snprintf(text, sizeof(text), "{%08X-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X}", guid->Data1, guid->Data2,
             guid->Data3, rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6], rest[7]);
    return text;
}

/* What the list calls the adapter. */
static const char *adapter_name(NET_LUID luid)
{
    static ULONG64 list[8192];
    ULONG size = sizeof(list);
    PIP_ADAPTER_ADDRESSES each = (PIP_ADAPTER_ADDRESSES)list;
    CHECK_EQUAL(GetAdaptersAddresses(AF_UNSPEC, 0, NULL, each, &size), NO_ERROR);
    while (each != NULL && each->Luid.Value != luid.Value) each = each->Next;
    CHECK(each != NULL);
    return each->AdapterName;
}

static void a_guid_leads_back_to_its_interface(void)
{
    NET_LUID lo = luid_of(L"lo"), sim = luid_of(L"sim0"), back;
    GUID guid, other;
    CHECK_EQUAL(ConvertInterfaceLuidToGuid(&lo, &guid), NO_ERROR);
    CHECK_EQUAL(ConvertInterfaceLuidToGuid(&sim, &other), NO_ERROR);
    CHECK(memcmp(&guid, &other, sizeof(guid)) != 0);
    CHECK_EQUAL(ConvertInterfaceGuidToLuid(&other, &back), NO_ERROR);
    CHECK_EQUAL(back.Value, sim.Value);
    CHECK(strcmp(adapter_name(sim), text_of(&other)) == 0); /* as programs find one by the other */
    memset(&guid, 0x5A, sizeof(guid));
    CHECK_EQUAL(ConvertInterfaceGuidToLuid(&guid, &back), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceGuidToLuid(NULL, &back), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(ConvertInterfaceLuidToGuid(&lo, NULL), ERROR_INVALID_PARAMETER);
    lo.Value = ~0ull;
    CHECK_EQUAL(ConvertInterfaceLuidToGuid(&lo, &guid), ERROR_FILE_NOT_FOUND);
}

static void names_and_indices_of_both_systems(void)
{
    char name[IF_NAMESIZE];
    NET_IFINDEX lo = index_of(L"lo"), sim = index_of(L"sim1");
    NET_LUID luid = luid_of(L"sim1");
    CHECK_EQUAL(if_nametoindex("lo"), lo);
    CHECK_EQUAL(if_nametoindex("sim1"), sim);
    CHECK(if_indextoname(sim, name) == name && strcmp(name, "sim1") == 0);
    CHECK_EQUAL(ConvertInterfaceLuidToNameA(&luid, name, sizeof(name)), NO_ERROR);
    CHECK_EQUAL(if_nametoindex(name), sim);
    CHECK_EQUAL(if_nametoindex("ethernet_999999"), 0);
    CHECK_EQUAL(if_nametoindex("no such interface"), 0);
    CHECK_EQUAL(if_nametoindex(NULL), 0);
    CHECK(if_indextoname(0, name) == NULL && if_indextoname(lo, NULL) == NULL);
}

/* A program that includes <net/if.h> has room for 16 bytes. */
static void a_long_name_is_that_of_the_luid(void)
{
    char name[20];
    NET_IFINDEX index = index_of(L"a-simulated-interface");
    memset(name, '#', sizeof(name));
    CHECK(if_indextoname(index, name) == name);
    CHECK(strncmp(name, "ethernet_", 9) == 0 && strlen(name) < 16 && name[16] == '#');
    CHECK_EQUAL(if_nametoindex(name), index);
    CHECK_EQUAL(if_nametoindex("a-simulated-interface"), index);
}

static DWORD towards(int family, const char *text, DWORD *index)
{
    SOCKADDR_STORAGE address;
    memset(&address, 0, sizeof(address));
    *index = 0;
    address.ss_family = (ADDRESS_FAMILY)family;
    if (family == AF_INET6) CHECK_EQUAL(inet_pton(family, text, &((SOCKADDR_IN6 *)&address)->sin6_addr), 1);
    if (family == AF_INET) CHECK_EQUAL(inet_pton(family, text, &((SOCKADDR_IN *)&address)->sin_addr), 1);
    return GetBestInterfaceEx((SOCKADDR *)&address, index);
}

static void the_interface_towards_an_address(void)
{
    DWORD index;
    CHECK_EQUAL(towards(AF_INET, "127.0.0.1", &index), NO_ERROR);
    CHECK_EQUAL(index, index_of(L"lo"));
    CHECK_EQUAL(towards(AF_INET6, "::1", &index), NO_ERROR);
    CHECK_EQUAL(index, index_of(L"lo"));
    CHECK_EQUAL(GetBestInterface(htonl(INADDR_LOOPBACK), &index), NO_ERROR);
    CHECK_EQUAL(index, index_of(L"lo"));
    CHECK_EQUAL(towards(AF_INET, "192.0.2.2", &index), NO_ERROR);
    CHECK_EQUAL(index, index_of(L"sim1"));
    CHECK_EQUAL(towards(AF_INET, "192.0.2.77", &index), NO_ERROR);
    CHECK_EQUAL(index, index_of(L"sim0"));
    CHECK_EQUAL(towards(99, "", &index), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(GetBestInterfaceEx(NULL, &index), ERROR_INVALID_PARAMETER);
    CHECK_EQUAL(GetBestInterface(htonl(INADDR_LOOPBACK), NULL), ERROR_INVALID_PARAMETER);
    if (unshare(CLONE_NEWNET) != 0) return; /* an empty network namespace takes privileges */
    CHECK_EQUAL(towards(AF_INET, "198.51.100.1", &index), ERROR_NETWORK_UNREACHABLE);
}

#define ROW(name) { #name, name, NULL }
#define SIMULATED(name) { #name, name, "WIRESTAMP_SIM=windows-modern" }
static const struct test tests[] = {
    ROW(the_name_of_a_luid_is_its_type_and_index),
    SIMULATED(a_guid_leads_back_to_its_interface),
    SIMULATED(names_and_indices_of_both_systems),
    { "a_long_name_is_that_of_the_luid", a_long_name_is_that_of_the_luid,
      "WIRESTAMP_SIM=windows-modern WIRESTAMP_WIN32_SIM_NAMES=a-simulated-interface;sim1" },
    SIMULATED(the_interface_towards_an_address),
};
RUN_TESTS(tests)
