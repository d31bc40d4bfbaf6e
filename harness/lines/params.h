/* Parameters of a request, checked: everything a client sends is hostile. */
#ifndef FCVI_LINES_PARAMS_H
#define FCVI_LINES_PARAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Parameters of a request. The first that is missing or wrong is told in `why`. */
struct params {
    const json_t *object;
    char why[128];
    bool room; /* what is wrong is the agent's own lack of room */
};

bool params_has(const struct params *p, const char *name);
uint64_t params_number(struct params *p, const char *name, uint64_t most, bool optional, uint64_t otherwise);
bool params_flag(struct params *p, const char *name);
const char *params_choice(struct params *p, const char *name, const char *const *names);
/** Whether a value is lower-case hexadecimal of so many bytes. */
bool params_is_hex(const json_t *value, size_t least, size_t most);
/** Bytes of a hexadecimal string into out; returns their number. */
size_t params_hex(struct params *p, const char *name, unsigned char *out, size_t least, size_t most);
struct params params_table(struct params *p, const char *name);
void params_wrong(struct params *p, const char *name, const char *wanted);
/** The agent has no room for more of these: told as LINE_ROOM. */
void params_no_room(struct params *p, const char *what);
/** The agent itself cannot do it, for the reason in `why`: told as LINE_ROOM. */
void params_cannot(struct params *p, const char *why);

#endif
