/* Giving up what only the opening of an interface needs. */
#ifndef FCVI_AGENT_PRIVILEGES_H
#define FCVI_AGENT_PRIVILEGES_H

#include <stdbool.h>

/* Become the user who called sudo, if one did, and give up every capability for good: of this process and
 * of what it starts. False, with errno, when that fails. Call it before there is a second thread:
 * capabilities belong to threads. */
bool agent_drop_privileges(void);

#endif
