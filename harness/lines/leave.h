/* What is left behind when the agent ends. */
#ifndef FCVI_LINES_LEAVE_H
#define FCVI_LINES_LEAVE_H

/* Remove this socket file when the process exits or is told to end (SIGTERM, SIGINT, SIGHUP). One file a
 * process. */
void leave_remove_on_exit(const char *path);

#endif
