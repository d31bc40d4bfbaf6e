/* What gzip wrote, by ISA-L: unlike libarchive it compares the check value at the end. */
#ifndef FCVI_GUNZIP_H
#define FCVI_GUNZIP_H

#include "unpack.h"

struct gunzip;
/** NULL: out of memory. */
struct gunzip *fcvi_gunzip_open(void);
/** More compressed bytes, which stay where they are until all of them are taken (fcvi_gunzip_hungry). */
void fcvi_gunzip_feed(struct gunzip *gunzip, const uint8_t *bytes, size_t length);
/** All that was fed is taken. */
bool fcvi_gunzip_hungry(const struct gunzip *gunzip);
/** At most capacity bytes out of what was fed. 0: more has to be fed; when nothing follows, the file is whole
 * if fcvi_gunzip_ended. -1 with what is wrong in *why. */
ssize_t fcvi_gunzip_next(struct gunzip *gunzip, uint8_t *out, size_t capacity, const char **why);
/** What was fed so far ends as a compressed file does. */
bool fcvi_gunzip_ended(const struct gunzip *gunzip);
void fcvi_gunzip_close(struct gunzip *gunzip);

#endif
