/* RSCN: something has happened to the ports that it names. Mappings may have changed by a remote link event
 * (7.7.1); 7.7.5 leaves it to the port whether it wants to be told. */
#include "fc2.h"

/* A page names a port, an area, a domain or the whole Fabric: one byte less of the identifier counts each
 * time. */
static bool affected(uint32_t id, const uint8_t *page)
{
    uint32_t named = (uint32_t)fcvi_RSCN_PAGE_RSCN_Identifier(page);
    unsigned ignored = 8 * (unsigned)fcvi_RSCN_PAGE_RSCN_Format(page);
    return id >> ignored == named >> ignored;
}

/* Who is logged in is asked who it is, as after a LIP; of the others nothing is known any more. */
static void changed(struct fcvi_port *p, const uint8_t *page)
{
    for (uint32_t i = 0; i < p->limits.remote_ports; i++) {
        struct remote_port *r = remote_at(p, i);
        if (r->id == p->own_id || !is_n_port_id(r->id) || !affected(r->id, page))
            continue;
        if (r->logged_in)
            fcvi_fc2_remote_validate(p, r);
        else
            fcvi_fc2_hosts_forget(p, r->id);
    }
}

void fcvi_fc2_state_change(struct fcvi_port *p, const struct fcvi_frame *f)
{
    uint64_t word = fcvi_ELS_ELS_Word_0(f->payload);
    uint32_t length = word & 0xFFFF;
    if (word >> 16 != FCVI_RSCN_PAGE_LENGTH || length > f->payload_length || length % 4 != 0) {
        fcvi_fc2_els_reject(p, f, 0x07, 0x2D); /* protocol error, invalid payload length */
        return;
    }
    fcvi_fc2_els_reply(p, f, FCVI_ELS_LS_ACC, 4);
    for (uint32_t at = FCVI_ELS_LENGTH; at < length; at += FCVI_RSCN_PAGE_LENGTH)
        changed(p, f->payload + at);
}
