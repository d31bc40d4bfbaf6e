/* Whose process is at the other end of a connection. */
#ifndef FCVI_LINES_OWNER_H
#define FCVI_LINES_OWNER_H

#include <stdbool.h>

/** Whether it is of our user, or root's: through a Unix socket as the kernel says, through a TCP connection
 * of this host as its table of sockets says. False also where nobody can say. */
bool owner_is_ours(int client);

#endif
