/* Parameters, checked: everything a client sends is hostile. */
#include "agent.h"

#include <stdio.h>
#include <string.h>

void params_wrong(struct params *p, const char *name, const char *wanted)
{
    if (p->why[0] == '\0')
        snprintf(p->why, sizeof p->why, "%s must be %s", name, wanted);
}

void params_no_room(struct params *p, const char *what)
{
    if (p->why[0] != '\0')
        return;
    snprintf(p->why, sizeof p->why, "the agent itself has no room for more %s", what);
    p->room = true;
}

bool params_has(const struct params *p, const char *name)
{
    const json_t *value = json_object_get(p->object, name);
    return value != NULL && !json_is_null(value);
}

uint64_t params_number(struct params *p, const char *name, uint64_t most, bool optional, uint64_t otherwise)
{
    if (optional && !params_has(p, name))
        return otherwise;
    const json_t *value = json_object_get(p->object, name);
    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        (uint64_t)json_integer_value(value) <= most)
        return (uint64_t)json_integer_value(value);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "an integer from 0 to %llu", (unsigned long long)most);
    params_wrong(p, name, wanted);
    return 0;
}

bool params_flag(struct params *p, const char *name)
{
    const json_t *value = json_object_get(p->object, name);
    if (value != NULL && !json_is_boolean(value))
        params_wrong(p, name, "true or false");
    return json_is_true(value);
}

const char *params_choice(struct params *p, const char *name, const char *const *names)
{
    const char *value = json_string_value(json_object_get(p->object, name));
    for (; value != NULL && *names != NULL; names++)
        if (strcmp(value, *names) == 0)
            return *names;
    params_wrong(p, name, "one of the names of the DUT protocol");
    return NULL;
}

enum { NO_DIGIT = 16 };

static unsigned digit(char c)
{
    const char *digits = "0123456789abcdef", *found = c != '\0' ? strchr(digits, c) : NULL;
    return found != NULL ? (unsigned)(found - digits) : NO_DIGIT;
}

static bool is_hex(const json_t *value, size_t least, size_t most)
{
    size_t length = json_string_length(value);
    if (!json_is_string(value) || length % 2 != 0 || length / 2 < least || length / 2 > most)
        return false;
    for (size_t i = 0; i < length; i++)
        if (digit(json_string_value(value)[i]) == NO_DIGIT)
            return false;
    return true;
}

size_t params_hex(struct params *p, const char *name, unsigned char *out, size_t least, size_t most)
{
    const json_t *value = json_object_get(p->object, name);
    if (!is_hex(value, least, most)) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "lower-case hexadecimal of %zu to %zu bytes", least, most);
        params_wrong(p, name, wanted);
        return 0;
    }
    const char *text = json_string_value(value);
    size_t length = json_string_length(value) / 2;
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
    return length;
}

struct params params_table(struct params *p, const char *name)
{
    struct params inner = {.object = json_object_get(p->object, name)};
    if (!json_is_object(inner.object))
        params_wrong(p, name, "an object");
    return inner;
}

static void check_hosts(struct params *p)
{
    const json_t *hosts = json_object_get(p->object, "host");
    if (!json_is_array(hosts) || json_array_size(hosts) < 1 || json_array_size(hosts) > 4) {
        params_wrong(p, "host", "an array of 1 to 4 addresses");
        return;
    }
    for (size_t i = 0; i < json_array_size(hosts); i++)
        if (!is_hex(json_array_get(hosts, i), 16, 16))
            params_wrong(p, "host", "an array of addresses of 16 bytes");
}

static void check_identity(struct params *p)
{
    unsigned char bytes[16];
    params_hex(p, "port_name", bytes, 8, 8);
    params_hex(p, "node_name", bytes, 8, 8);
    params_hex(p, "n_port_id", bytes, 3, 3);
    check_hosts(p);
}

const char *params_check_stream_config(struct params *p)
{
    const uint64_t most = (1ull << 53) - 1;
    check_hosts(p);
    params_number(p, "seed", most, false, 0);
    if (params_number(p, "incoming_timeout_us", most, false, 0) == 0)
        params_wrong(p, "incoming_timeout_us", "positive");
    return p->why[0] != '\0' ? p->why : NULL;
}

const char *params_check_config(struct params *p)
{
    static const char *const topologies[] = {"point-to-point", "private-loop", "public-loop", "fabric", NULL};
    static const char *const fabrics[] = {"in-order", "out-of-order", NULL};
    static const char *const logins[] = {"implicit", "explicit", NULL};
    static const char *const revisions[] = {"2007", "rev1", NULL};
    const json_t *revision = json_object_get(p->object, "revision");
    const uint64_t most = (1ull << 53) - 1;
    struct params peer = params_table(p, "peer");
    check_identity(p);
    if (p->why[0] == '\0')
        check_identity(&peer);
    params_choice(p, "topology", topologies);
    params_choice(p, "fabric", fabrics);
    params_choice(p, "login", logins);
    if (revision != NULL && !json_is_null(revision))
        params_choice(p, "revision", revisions);
    uint64_t class = params_number(p, "class", 3, false, 0),
             size = params_number(p, "receive_size", 2112, false, 0);
    if (params_number(p, "e_d_tov_us", most, false, 0) == 0 ||
        params_number(p, "r_a_tov_us", most, false, 0) == 0)
        params_wrong(p, "e_d_tov_us and r_a_tov_us", "positive");
    params_number(p, "seed", most, false, 0);
    if (class < 2)
        params_wrong(p, "class", "2 or 3");
    if (size < 256)
        params_wrong(p, "receive_size", "256 to 2112");
    if (p->why[0] == '\0')
        memcpy(p->why, peer.why, sizeof p->why);
    return p->why[0] != '\0' ? p->why : NULL;
}
