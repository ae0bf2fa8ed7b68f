/* Shows which timestamps INTERFACE (default lo) has for PTPv2, and the frequency of its hardware clock as
 * cross timestamps tell it. Link correlation.c and the math library. */
#include "capabilities.h"
#include "correlation.h"

int main(void)
{
    WCHAR *adapter = interface_name("INTERFACE", "lo");
    CORRELATION line;
    TIMESTAMPS usable;
    NET_LUID luid;

    memset(&line, 0, sizeof(line));
    check(ConvertInterfaceAliasToLuid(adapter, &luid) == NO_ERROR, "ConvertInterfaceAliasToLuid", 0);
    usable = usable_timestamps(&luid);
    printf("%ls: %s timestamps for PTPv2\n", adapter, timestamps_names[usable]);
    if (usable == TIMESTAMPS_HARDWARE) {
        DWORD error = correlation_sample(&line, &luid, 20);
        check(error == NO_ERROR, "CaptureInterfaceHardwareCrossTimestamp", error);
        printf("hardware clock: %.0f Hz\n", correlation_frequency(&line));
    }
    return 0;
}
