/* What a file is that is no capture which can be read. */
#ifndef FCVI_FORMATS_H
#define FCVI_FORMATS_H

#include <stddef.h>
#include <stdint.h>

/** What to do with a file that begins so, in words; NULL: nothing is known of it. */
const char *fcvi_format_hint(const uint8_t *bytes, size_t length);

#endif
