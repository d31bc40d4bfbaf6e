/* The seccomp filter, made from make_filter.c when the suite is built. */
#ifndef FCVI_SANDBOX_FILTER_H
#define FCVI_SANDBOX_FILTER_H

#include <linux/filter.h>

extern const struct sock_filter fcvi_sandbox_filter[];
extern const unsigned short fcvi_sandbox_filter_length;

#endif
