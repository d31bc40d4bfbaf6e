/* A rule was broken. */
#include "explore.h"

#include <stdarg.h>
#include <stdio.h>

/* The first one counts. */
void fcvi_explore_breach(struct breach *b, const char *rule, const char *format, ...)
{
    va_list args;
    if (b->rule != NULL)
        return;
    b->rule = rule;
    va_start(args, format);
    vsnprintf(b->text, sizeof b->text, format, args);
    va_end(args);
}
