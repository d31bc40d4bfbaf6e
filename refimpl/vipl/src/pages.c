/* Whether a process may read and write pages: a VI NIC pins what is registered, and a library that copies has
 * to ask. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "internal.h"

uint32_t vipl_page_rest(const void *address, size_t length)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return (uint32_t)(-((uintptr_t)address + length) & (page - 1));
}

bool vipl_pages_usable(const void *address, size_t length)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return true; /* nobody can be asked */
    uintptr_t reached = (uintptr_t)address;
    const uintptr_t end = reached + length;
    char line[512];
    bool begins = true;
    while (reached < end && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        char may[5];
        bool whole = begins;
        begins = false;
        for (const char *c = line; *c != '\0'; c++)
            begins = *c == '\n'; /* a long path goes on in the next piece */
        if (!whole || sscanf(line, "%lx-%lx %4s", &from, &to, may) != 3 || to <= reached)
            continue;
        if (from > reached || may[0] != 'r' || may[1] != 'w')
            break;
        reached = to;
    }
    fclose(maps);
    return reached >= end;
}
