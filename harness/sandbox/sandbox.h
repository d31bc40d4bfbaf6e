/* The process that reads captures gives up what reading does not need: files for writing, connections,
 * programs, other processes. What a parser that was taken over may still do is to read, to compute and to
 * write to the streams that it was started with. */
#ifndef FCVI_SANDBOX_H
#define FCVI_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

/** What the process may take; 0: as much as it likes. */
struct fcvi_sandbox_limits {
    uint64_t memory; /* bytes of address space */
    uint64_t cpu_s;  /* seconds of the processor's time */
    uint64_t output; /* bytes of each file that it writes to */
};

/** The version of Landlock's interface that this kernel has; 0: it has none, or it is switched off. */
int fcvi_sandbox_landlock(void);

/** Whether this kernel takes seccomp filters. */
int fcvi_sandbox_seccomp(void);

/** Confine this process for good. It ends when parent does. readable: folders and files that may be opened
 * for reading; those that do not exist are passed over. Streams above the standard ones that could be written
 * to are closed, but for keep (-1: none). 0, or -1 with one line in error. */
int fcvi_sandbox_enter(int parent, int keep, const struct fcvi_sandbox_limits *limits, char *const *readable,
                       size_t count, char *error, size_t size);

#endif
