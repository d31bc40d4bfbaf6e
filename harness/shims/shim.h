/* What stands before a libvipl and makes it a faulty one; FCVI_VIPL_FAULT in the environment says how. */
#ifndef FCVI_SHIMS_SHIM_H
#define FCVI_SHIMS_SHIM_H

#include <stdbool.h>
#include <vipl.h>

/* Whether the provider is not asked at all; then code is what every call returns. */
bool vipl_shim_answers(VIP_RETURN *code);

/* What the application is to be told in place of code. descriptor: what the call brought, or NULL. */
VIP_RETURN vipl_shim_changed(const char *call, VIP_RETURN code, VIP_DESCRIPTOR *descriptor);

#endif
