/* Two faults, a read past the end of the heap and a leak: scripts/c-api shows with them that the
 * sanitizers and valgrind are on. Not linked with the library. */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    volatile char *bytes = (volatile char *)calloc(16, 1);
    if (argc > 1 && strcmp(argv[1], "leak") == 0) {
        bytes = NULL;
        return bytes != NULL;
    }
    return bytes[16 + (argc > 5)] == 77;
}
