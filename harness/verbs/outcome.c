/* What a call came to, and the forms of values that libibverbs has and the parameters of fcvi-agent have not.
 */
#include "../lines/clock.h"
#include "agent.h"

#include <errno.h>
#include <stdlib.h>

uint64_t verbs_now_us(void)
{
    return clock_us();
}

void outcome_begin(struct outcome *o)
{
    *o = (struct outcome){.began_ns = clock_ns()};
    errno = 0;
}

static void ended(struct outcome *o, int error)
{
    uint64_t now = clock_ns();
    o->error = error;
    o->us = (now - o->began_ns) / 1000;
    o->at_us = now / 1000;
}

/* Some calls return an errno, some a negative one, some -1 and leave the reason in errno (B36). */
void outcome_int(struct outcome *o, int returned)
{
    int left = errno;
    if (returned == -1 && left > 0)
        ended(o, left);
    else
        ended(o, returned >= 0 ? returned : -returned);
}

void outcome_good(struct outcome *o, bool good)
{
    int left = errno;
    ended(o, good ? 0 : left > 0 ? left : EIO);
}

json_t *outcome_json(const struct outcome *o)
{
    return json_pack("{s:s, s:i, s:I, s:I}", "return", o->error == 0 ? "success" : "immediate-error", "errno",
                     o->error, "us", (json_int_t)o->us, "at_us", (json_int_t)o->at_us);
}

json_t *verbs_bytes(const unsigned char *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(2 * length + 1);
    if (text == NULL)
        return json_null();
    for (size_t i = 0; i < length; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    json_t *said = json_stringn(text, 2 * length);
    free(text);
    return said;
}

json_t *verbs_hex64(uint64_t value)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (56 - 8 * i));
    return verbs_bytes(bytes, sizeof bytes);
}

uint64_t params_hex64(struct params *p, const char *name, bool optional, uint64_t otherwise)
{
    unsigned char bytes[8];
    uint64_t value = 0;
    if (optional && !params_has(p, name))
        return otherwise;
    if (params_hex(p, name, bytes, sizeof bytes, sizeof bytes) != sizeof bytes)
        return 0;
    for (unsigned i = 0; i < 8; i++)
        value = value << 8 | bytes[i];
    return value;
}

int params_int(struct params *p, const char *name)
{
    const json_t *value = json_object_get(p->object, name);
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < INT32_MIN || number > INT32_MAX) {
        params_wrong(p, name, "an integer of 32 bits");
        return 0;
    }
    return (int)number;
}

uint64_t params_timeout(struct params *p, uint64_t otherwise)
{
    const uint64_t hour = 3600 * 1000000ull;
    return params_number(p, "Timeout", hour, true, otherwise);
}
