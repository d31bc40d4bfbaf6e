/* The ports that this one knows, and where a Host Address is (7.4, 7.7.1). */
#include "../block/table.h"
#include "fc2.h"

struct remote_port *fcvi_fc2_remote_find(struct fcvi_port *p, uint32_t id)
{
    const struct table *t = &p->by_port;
    for (uint32_t i = fcvi_table_first(p, t, fcvi_table_hash(id, 0)); i != NONE; i = fcvi_table_next(p, t, i))
        if (remote_at(p, i)->id == id)
            return remote_at(p, i);
    return NULL;
}

bool fcvi_fc2_may_send_to(struct fcvi_port *p, uint32_t id)
{
    const struct remote_port *r = fcvi_fc2_remote_find(p, id);
    return id == p->own_id || (p->link == LINK_UP && (r == NULL || !r->suspended));
}

/* A Fabric that a port logs in with again has no login of it with the Name Server any more (FC-FS). */
void fcvi_fc2_name_server_forgets(struct fcvi_port *p)
{
    struct remote_port *server = fcvi_fc2_remote_find(p, NAME_SERVER);
    if (server != NULL)
        server->logged_in = server->usable = false;
}

/* When the table is full, one that is not logged in makes room. */
static uint32_t place_for_one(struct fcvi_port *p)
{
    uint32_t i = p->free_remote;
    if (i != NONE) {
        p->free_remote = remote_at(p, i)->next_free;
        return i;
    }
    for (i = 0; i < p->limits.remote_ports; i++) {
        const struct remote_port *r = remote_at(p, i);
        if (r->logged_in || r->login != NONE)
            continue;
        fcvi_table_remove(p, &p->by_port, fcvi_table_hash(r->id, 0), i);
        return i;
    }
    return NONE;
}

struct remote_port *fcvi_fc2_remote_get(struct fcvi_port *p, uint32_t id)
{
    struct remote_port *r = fcvi_fc2_remote_find(p, id);
    if (r != NULL)
        return r;
    uint32_t i = place_for_one(p);
    if (i == NONE)
        return NULL;
    r = remote_at(p, i);
    *r = (struct remote_port){.used = true, .id = id, .login = NONE, .receive_size = 2112};
    fcvi_table_add(p, &p->by_port, fcvi_table_hash(id, 0), i);
    return r;
}

/* ---- Host Addresses ---- */

static uint32_t host_hash(const uint8_t *host)
{
    return fcvi_table_hash(fcvi_load(host, 8), fcvi_load(host + 8, 8));
}

static struct mapping *mapping_of(struct fcvi_port *p, const uint8_t *host)
{
    const struct table *t = &p->by_host;
    for (uint32_t i = fcvi_table_first(p, t, host_hash(host)); i != NONE; i = fcvi_table_next(p, t, i))
        if (memcmp(mapping_at(p, i)->host, host, 16) == 0)
            return mapping_at(p, i);
    return NULL;
}

/* The N_Port Identifier of a Host Address; our own is known without asking. */
bool fcvi_fc2_host_find(struct fcvi_port *p, const uint8_t *host, uint32_t *id)
{
    for (uint32_t i = 0; i < p->config.self.hosts; i++)
        if (memcmp(p->config.self.host[i], host, 16) == 0) {
            *id = p->own_id;
            return true;
        }
    const struct mapping *m = mapping_of(p, host);
    if (m != NULL)
        *id = m->id;
    return m != NULL;
}

static void mapping_forget(struct fcvi_port *p, uint32_t i)
{
    struct mapping *m = mapping_at(p, i);
    fcvi_table_remove(p, &p->by_host, host_hash(m->host), i);
    m->used = false;
}

/* A place for a new mapping. When there is none, an old one goes: it is asked for again when it is needed. */
static uint32_t mapping_new(struct fcvi_port *p)
{
    uint32_t all = p->limits.remote_ports * FCVI_MAX_HOSTS;
    for (uint32_t i = 0; i < all; i++)
        if (!mapping_at(p, i)->used)
            return i;
    if (++p->next_mapping >= all)
        p->next_mapping = 0;
    mapping_forget(p, p->next_mapping);
    return p->next_mapping;
}

void fcvi_fc2_host_add(struct fcvi_port *p, const uint8_t *host, uint32_t id)
{
    struct mapping *m = mapping_of(p, host);
    if (m == NULL) {
        uint32_t i = mapping_new(p);
        m = mapping_at(p, i);
        m->used = true;
        memcpy(m->host, host, 16);
        fcvi_table_add(p, &p->by_host, host_hash(host), i);
    }
    m->id = id;
}

/* The mappings to that port are invalid, or with NONE all of them (7.7.1, 7.7.3 to 7.7.5). */
void fcvi_fc2_hosts_forget(struct fcvi_port *p, uint32_t id)
{
    for (uint32_t i = 0; i < p->limits.remote_ports * FCVI_MAX_HOSTS; i++)
        if (mapping_at(p, i)->used && (id == NONE || mapping_at(p, i)->id == id))
            mapping_forget(p, i);
}

/* A port known beforehand. */
static bool know(struct fcvi_port *p, const struct fcvi_port_identity *peer)
{
    struct remote_port *r = fcvi_fc2_remote_get(p, peer->n_port_id);
    if (r == NULL)
        return false;
    r->port_name = peer->port_name;
    r->node_name = peer->node_name;
    if (!p->config.explicit_login || peer->n_port_id == p->own_id)
        r->logged_in = r->usable = true; /* a login that was made before stays */
    for (uint32_t i = 0; i < peer->hosts; i++)
        fcvi_fc2_host_add(p, peer->host[i], peer->n_port_id);
    return true;
}

bool fcvi_port_know(struct fcvi_port *port, uint64_t now, const struct fcvi_port_identity *peer)
{
    fcvi_port_run(port, now);
    return port->config.wire == FCVI_WIRE_FC && peer->n_port_id <= 0xFFFFFF &&
           peer->hosts <= FCVI_MAX_HOSTS && know(port, peer);
}
