/* Two NICs that are joined to each other, for a libvipl of their own: libvipl-pair.so is a provider as a
 * vendor's is, with devices VINIC0 and VINIC1 from the moment it is loaded. The plain agent, and programs of
 * one's own, are tried with it where there is no hardware. */
#include "provider.h"

#include <stdio.h>

void agent_waits(void) {} /* nobody asks */

__attribute__((constructor)) static void load(void)
{
    static const char *const devices[] = {"VINIC0", "VINIC1"};
    const char *why = NULL;
    if (!provider_start_calls(devices, 2, NULL, &why))
        fprintf(stderr, "libvipl-pair: there are no NICs: %s\n", why);
}
