/* RNICs and Protection Domains. */
#include "agent.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

json_t *verb_open_rnic(struct verbs *v, struct params *p)
{
    const char *name = json_string_value(json_object_get(p->object, "device"));
    struct outcome o;
    if (name == NULL)
        params_wrong(p, "device", "the name of a device");
    struct thing *t = p->why[0] == '\0' ? things_new(v, p, KIND_RNIC) : NULL;
    if (t == NULL)
        return NULL;
    t->device = devices_named(v->devices, name);
    outcome_begin(&o);
    errno = ENODEV;
    struct ibv_context *context =
        t->device != NULL && t->device->device != NULL ? ibv_open_device(t->device->device) : NULL;
    outcome_good(&o, context != NULL);
    json_t *result = outcome_json(&o);
    if (context == NULL) {
        things_forget(v, t);
        return result;
    }
    int flags = fcntl(context->async_fd, F_GETFL);
    (void)fcntl(context->async_fd, F_SETFL,
                flags | O_NONBLOCK); /* the watcher reads when there is something */
    json_object_set_new(result, "rnic", things_publish(v, t, context));
    verbs_wake(v);
    return result;
}

VERB_GIVES_BACK(verb_close_rnic, "rnic", KIND_RNIC, ibv_close_device(t->context))

/* The members that are a plain number. */
#define NUMBER(member) json_object_set_new(said, #member, json_integer((json_int_t)a->member))
#define HEX(member, value) json_object_set_new(said, #member, verbs_hex64(value))

static uint64_t big_endian(uint64_t value)
{
    unsigned char bytes[sizeof value];
    uint64_t out = 0;
    memcpy(bytes, &value, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        out = out << 8 | bytes[i];
    return out;
}

static json_t *attributes_json(const struct ibv_device_attr *a)
{
    static const struct word caps[] = {
        {"NONE", IBV_ATOMIC_NONE}, {"HCA", IBV_ATOMIC_HCA}, {"GLOB", IBV_ATOMIC_GLOB}, {NULL, 0}};
    json_t *said = json_object();
    json_object_set_new(said, "fw_ver", json_string(""));
    if (memchr(a->fw_ver, '\0', sizeof a->fw_ver) != NULL)
        json_object_set_new(said, "fw_ver", json_string(a->fw_ver)); /* none, if it is no UTF-8 */
    HEX(node_guid, big_endian(a->node_guid));
    HEX(sys_image_guid, big_endian(a->sys_image_guid));
    HEX(max_mr_size, a->max_mr_size);
    HEX(page_size_cap, a->page_size_cap);
    NUMBER(vendor_id);
    NUMBER(vendor_part_id);
    NUMBER(hw_ver);
    NUMBER(max_qp);
    NUMBER(max_qp_wr);
    NUMBER(device_cap_flags);
    NUMBER(max_sge);
    NUMBER(max_sge_rd);
    NUMBER(max_cq);
    NUMBER(max_cqe);
    NUMBER(max_mr);
    NUMBER(max_pd);
    NUMBER(max_qp_rd_atom);
    NUMBER(max_ee_rd_atom);
    NUMBER(max_res_rd_atom);
    NUMBER(max_qp_init_rd_atom);
    NUMBER(max_ee_init_rd_atom);
    json_object_set_new(said, "atomic_cap", words_name(caps, (uint32_t)a->atomic_cap));
    NUMBER(max_ee);
    NUMBER(max_rdd);
    NUMBER(max_mw);
    NUMBER(max_raw_ipv6_qp);
    NUMBER(max_raw_ethy_qp);
    NUMBER(max_mcast_grp);
    NUMBER(max_mcast_qp_attach);
    NUMBER(max_total_mcast_qp_attach);
    NUMBER(max_ah);
    NUMBER(max_fmr);
    NUMBER(max_map_per_fmr);
    NUMBER(max_srq);
    NUMBER(max_srq_wr);
    NUMBER(max_srq_sge);
    NUMBER(max_pkeys);
    NUMBER(local_ca_ack_delay);
    NUMBER(phys_port_cnt);
    return said;
}

static json_t *port_json(const struct ibv_port_attr *a)
{
    json_t *said = json_object();
    json_object_set_new(said, "state", words_name(words_port_state, (uint32_t)a->state));
    NUMBER(max_mtu);
    NUMBER(active_mtu);
    NUMBER(gid_tbl_len);
    NUMBER(port_cap_flags);
    NUMBER(max_msg_sz);
    NUMBER(bad_pkey_cntr);
    NUMBER(qkey_viol_cntr);
    NUMBER(pkey_tbl_len);
    NUMBER(lid);
    NUMBER(sm_lid);
    NUMBER(lmc);
    NUMBER(max_vl_num);
    NUMBER(sm_sl);
    NUMBER(subnet_timeout);
    NUMBER(init_type_reply);
    NUMBER(active_width);
    NUMBER(active_speed);
    NUMBER(phys_state);
    NUMBER(link_layer);
    NUMBER(flags);
    NUMBER(port_cap_flags2);
    return said;
}

json_t *verb_query_rnic(struct verbs *v, struct params *p)
{
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    struct outcome o;
    struct thing *t = things_take(v, p, "rnic", KIND_RNIC);
    if (t == NULL)
        return NULL;
    memset(&attr, 0, sizeof attr);
    memset(&port, 0, sizeof port);
    outcome_begin(&o);
    outcome_int(&o, ibv_query_device(t->context, &attr));
    json_t *result = outcome_json(&o);
    if (o.error == 0) {
        json_object_set_new(result, "attributes", attributes_json(&attr));
        json_object_set_new(result, "transport",
                            words_name(words_transport, (uint32_t)t->context->device->transport_type));
        json_object_set_new(result, "vectors", json_integer(t->context->num_comp_vectors));
        json_object_set_new(result, "port",
                            ibv_query_port(t->context, 1, &port) == 0 ? port_json(&port) : json_null());
    }
    things_drop(v, t);
    return result;
}

json_t *verb_allocate_pd(struct verbs *v, struct params *p)
{
    struct outcome o;
    struct thing *rnic = things_take(v, p, "rnic", KIND_RNIC),
                 *t = rnic != NULL ? things_new(v, p, KIND_PD) : NULL;
    json_t *result = NULL;
    if (t != NULL) {
        outcome_begin(&o);
        struct ibv_pd *pd = ibv_alloc_pd(rnic->context);
        outcome_good(&o, pd != NULL);
        result = outcome_json(&o);
        if (pd != NULL)
            json_object_set_new(result, "pd", things_publish(v, t, pd));
        else
            things_forget(v, t);
    }
    things_drop(v, rnic);
    return result;
}

VERB_GIVES_BACK(verb_deallocate_pd, "pd", KIND_PD, ibv_dealloc_pd(t->pd))
