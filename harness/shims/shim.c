/*
 * The fault: "CALL FROM TO" has a call return the code TO where the provider returned FROM (-1: any error),
 * and "CALL WHAT" has a Descriptor that the call brings be wrong in WHAT; "all CODE" has every call return
 * that code and do nothing. A provider without the variable stays as it is.
 */
#include "shim.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fits(long from, VIP_RETURN code)
{
    return from == (long)code || (from == -1 && code != VIP_SUCCESS);
}

static void spoil(const char *what, VIP_DESCRIPTOR *d)
{
    if (strcmp(what, "length") == 0)
        d->CS.Length++;
    else if (strcmp(what, "not-done") == 0)
        d->CS.Status &= ~(VIP_ULONG)VIP_STATUS_DONE;
    else if (strcmp(what, "reserved") == 0)
        d->CS.Status |= (VIP_ULONG)1 << 24;
    else if (strcmp(what, "operation") == 0)
        d->CS.Status |= (VIP_ULONG)7 << 16;
    else if (strcmp(what, "error") == 0)
        d->CS.Status |= (VIP_ULONG)VIP_STATUS_LENGTH_ERROR;
    else if (strcmp(what, "immediate") == 0)
        d->CS.ImmediateData ^= 1;
    else if (strcmp(what, "byte") == 0 && d->CS.SegCount > 0 && d->CS.Length > 0 && d->DS[0].Local.Length > 0)
        *(unsigned char *)d->DS[0].Local.Data.Address ^= 1;
}

bool vipl_shim_answers(VIP_RETURN *code)
{
    const char *fault = getenv("FCVI_VIPL_FAULT");
    if (fault == NULL || strncmp(fault, "all ", 4) != 0)
        return false;
    *code = (VIP_RETURN)strtol(fault + 4, NULL, 10);
    return true;
}

VIP_RETURN vipl_shim_changed(const char *call, VIP_RETURN code, VIP_DESCRIPTOR *descriptor)
{
    const char *fault = getenv("FCVI_VIPL_FAULT");
    char name[40], what[40], to[40];
    int words = fault != NULL ? sscanf(fault, "%39s %39s %39s", name, what, to) : 0;
    if (words < 2 || strcmp(name, call) != 0)
        return code;
    if (words == 2 && descriptor != NULL)
        spoil(what, descriptor);
    if (words == 3 && fits(strtol(what, NULL, 10), code))
        return (VIP_RETURN)strtol(to, NULL, 10);
    return code;
}
