/* How the arrays of a Fabric lie in its block; its ports and their links. */
#include "internal.h"

enum { MAX_PORTS = 256, MAX_FRAMES = 1 << 20, MAX_TABLE = 1 << 16, MILLION = 1000000 };
enum { SECOND = 1000000 }; /* in us */

static bool limits_in_range(const struct fcvi_fabric_limits *l)
{
    return l->ports >= 1 && l->ports <= MAX_PORTS && l->frames >= 1 && l->frames <= MAX_FRAMES &&
           l->rules <= MAX_TABLE && l->names <= MAX_TABLE;
}

static bool config_in_range(const struct fcvi_fabric_config *c)
{
    return c->topology <= FCVI_FABRIC && c->loss <= MILLION && c->duplication <= MILLION &&
           c->corruption <= MILLION && c->fan_delay_us <= SECOND && c->latency_us <= FCVI_FABRIC_LONGEST &&
           c->jitter_us <= FCVI_FABRIC_LONGEST && c->r_a_tov_us / 1000 <= UINT32_MAX &&
           c->e_d_tov_us / 1000 <= UINT32_MAX;
}

static size_t lay(size_t *at, size_t count, size_t size)
{
    size_t start = *at;
    *at = (start + count * size + 15) & ~(size_t)15;
    return start;
}

/* Offsets of all arrays for f->limits; returns the size of the block. */
static size_t place(struct fcvi_fabric *f)
{
    const struct fcvi_fabric_limits *l = &f->limits;
    size_t ends = (size_t)l->ports + 1; /* of a pair: the ports, and the Fabric itself */
    size_t at = (sizeof(struct fcvi_fabric) + 15) & ~(size_t)15;
    f->port_offset = lay(&at, l->ports, sizeof(struct fabric_port));
    f->pair_offset = lay(&at, ends * ends, sizeof(struct fabric_pair));
    f->entry_offset = lay(&at, l->frames, sizeof(struct fabric_entry));
    f->heap_offset = lay(&at, l->frames, sizeof(uint32_t));
    f->rule_offset = lay(&at, l->rules, sizeof(struct fabric_rule));
    f->name_offset = lay(&at, l->names, sizeof(struct fabric_name));
    return at;
}

size_t fcvi_fabric_size(const struct fcvi_fabric_limits *limits)
{
    struct fcvi_fabric f;
    f.limits = *limits;
    return limits_in_range(limits) ? place(&f) : 0;
}

struct fcvi_fabric *fcvi_fabric_init(void *memory, size_t size, const struct fcvi_fabric_limits *limits,
                                     const struct fcvi_fabric_config *config)
{
    size_t needed = fcvi_fabric_size(limits);
    if (needed == 0 || size < needed || !config_in_range(config))
        return NULL;
    memset(memory, 0, needed);
    struct fcvi_fabric *f = memory;
    f->limits = *limits;
    f->config = *config;
    f->random = config->seed;
    place(f);
    fcvi_fabric_queue_clear(f);
    return f;
}

/* ---- ports ---- */

/* Identifiers from FFFC01h on are well-known addresses and those of Domain controllers. */
static bool may_have(const struct fcvi_fabric *f, uint32_t n_port_id)
{
    return n_port_id < 0xFFFC00 && fcvi_fabric_find(f, n_port_id) == FABRIC_NONE;
}

uint32_t fcvi_fabric_attach(struct fcvi_fabric *fabric, const struct fcvi_port_identity *identity,
                            enum fcvi_fabric_place place_of_port)
{
    bool no_room = fabric->ports == fabric->limits.ports ||
                   (fabric->config.topology == FCVI_POINT_TO_POINT && fabric->ports == 2);
    if (no_room || identity->hosts > FCVI_MAX_HOSTS || !may_have(fabric, identity->n_port_id))
        return FABRIC_NONE;
    struct fabric_port *p = fabric_port_at(fabric, fabric->ports);
    p->port_name = identity->port_name;
    p->id = identity->n_port_id;
    p->hosts = identity->hosts;
    memcpy(p->host, identity->host, sizeof p->host);
    p->up = true;
    p->on_loop = place_of_port == FCVI_PLACE_LOOP;
    return fabric->ports++;
}

/* Nothing reaches the port that it was, and the Name Server knows no other. */
static void cut_off(struct fcvi_fabric *f, uint32_t port)
{
    struct fabric_port *p = fabric_port_at(f, port);
    p->epoch++;
    p->names_size = 0;
    fcvi_fabric_names_forget(f, port);
    fcvi_fabric_lose(f, port);
}

bool fcvi_fabric_set_id(struct fcvi_fabric *fabric, uint32_t port, uint32_t n_port_id)
{
    if (port >= fabric->ports)
        return false;
    struct fabric_port *p = fabric_port_at(fabric, port);
    if (p->id == n_port_id)
        return true;
    if (!may_have(fabric, n_port_id))
        return false;
    p->id = n_port_id;
    cut_off(fabric, port);
    return true;
}

uint32_t fcvi_fabric_id(const struct fcvi_fabric *fabric, uint32_t port)
{
    return port < fabric->ports ? fabric_port_at_c(fabric, port)->id : 0;
}

bool fcvi_fabric_link(struct fcvi_fabric *fabric, uint32_t port, bool up)
{
    if (port >= fabric->ports)
        return false;
    struct fabric_port *p = fabric_port_at(fabric, port);
    if (p->up && !up)
        cut_off(fabric, port);
    p->up = up;
    return true;
}

void fcvi_fabric_rename(struct fcvi_fabric *fabric, uint64_t port_name, uint64_t node_name)
{
    fabric->config.port_name = port_name;
    fabric->config.node_name = node_name;
}

/* ---- what is to be read ---- */

void fcvi_fabric_count(const struct fcvi_fabric *fabric, struct fcvi_fabric_counters *out)
{
    *out = fabric->counters;
}

uint64_t fcvi_fabric_now(const struct fcvi_fabric *fabric)
{
    return fabric->now;
}
