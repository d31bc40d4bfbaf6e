/* The configuration of a reset, checked. */
#include "agent.h"

#include <string.h>

static void check_hosts(struct params *p)
{
    const json_t *hosts = json_object_get(p->object, "host");
    if (!json_is_array(hosts) || json_array_size(hosts) < 1 || json_array_size(hosts) > 4) {
        params_wrong(p, "host", "an array of 1 to 4 addresses");
        return;
    }
    for (size_t i = 0; i < json_array_size(hosts); i++)
        if (!params_is_hex(json_array_get(hosts, i), 16, 16))
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
