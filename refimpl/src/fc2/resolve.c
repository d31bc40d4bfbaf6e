/* From Host Address to N_Port Identifier: FARP (7.5) and the Name Server (7.6). */
#include "fc2.h"

enum { MATCH_IP = 0x04, SEND_REPLY = 0x02 }; /* 7.5 steps 1 and 2 */
enum { DIRECTORY = 0xFC, NAMES = 0x02 };
enum { GID_IPP = 0x01B1, CT_ACCEPT = 0x8002 };

/* ---- FARP ---- */

/* An OX_ID for an Exchange that is not kept: a FARP-REQ ends its own, and no one waits for the LS_ACC to a
 * FARP-REPLY. False when there is none. */
static bool transient_ox_id(struct fcvi_port *p, uint32_t peer, uint16_t *ox_id)
{
    struct exchange *x = fcvi_fc2_exchange_open(p, X_LATE, NONE, peer);
    if (x == NULL)
        return false;
    *ox_id = x->ox_id;
    fcvi_fc2_exchange_free(p, exchange_index(p, x));
    return true;
}

/* A frame with room for a FARP payload; broadcasts are class 3 only. */
static uint8_t *farp_frame(struct fcvi_port *p, uint32_t d_id, uint8_t command)
{
    uint16_t ox_id;
    if (!transient_ox_id(p, d_id, &ox_id))
        return NULL;
    uint8_t *out = fcvi_fc2_control_new(p, 24 + 4 + FCVI_FARP_LENGTH, FCVI_EOF_T);
    if (out == NULL)
        return NULL;
    fcvi_fc2_class3_frame(out);
    fcvi_fc2_put_header(p, out, FCVI_R_CTL_ELS_REQUEST, FCVI_TYPE_ELS, d_id);
    fcvi_set_FC_First_Sequence(out, 1);
    fcvi_set_FC_OX_ID(out, ox_id);
    fcvi_set_ELS_ELS_Command(out + 24, command);
    return out;
}

void fcvi_fc2_farp_ask(struct fcvi_port *p, const struct resolution *r)
{
    uint8_t *out = farp_frame(p, BROADCAST, FCVI_ELS_FARP_REQ);
    if (out == NULL)
        return;
    fcvi_set_FC_Last_Sequence(out, 1);
    fcvi_set_FC_Sequence_Initiative(out, 0);
    uint8_t *farp = out + 28;
    fcvi_set_FARP_Match_Code_Points(farp, MATCH_IP);
    fcvi_set_FARP_Responder_Action(farp, SEND_REPLY);
    fcvi_set_FARP_Requesting_N_Port_Identifier(farp, p->own_id);
    fcvi_set_FARP_Requesting_Port_Name(farp, p->config.self.port_name);
    fcvi_set_FARP_Requesting_Node_Name(farp, p->config.self.node_name);
    memcpy(farp + FCVI_FARP_Requesting_IP_Address_BYTE, r->own_host, 16);
    memcpy(farp + FCVI_FARP_Responding_IP_Address_BYTE, r->host, 16);
}

/* Steps 11 to 13; when one fails, nothing is done. */
static bool farp_for_us(const struct fcvi_port *p, const uint8_t *farp)
{
    bool own = false;
    for (uint32_t i = 0; i < p->config.self.hosts; i++)
        own |= memcmp(p->config.self.host[i], fcvi_FARP_Responding_IP_Address(farp), 16) == 0;
    return own && fcvi_FARP_Match_Code_Points(farp) == MATCH_IP &&
           fcvi_FARP_Responder_Action(farp) == SEND_REPLY;
}

void fcvi_fc2_farp_request(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (f->payload_length < 4 + FCVI_FARP_LENGTH || !farp_for_us(p, f->payload + 4))
        return;
    const uint8_t *in = f->payload + 4;
    uint8_t *out = farp_frame(p, (uint32_t)fcvi_FARP_Requesting_N_Port_Identifier(in), FCVI_ELS_FARP_REPLY);
    if (out == NULL)
        return;
    uint8_t *farp = out + 28; /* steps 14 to 23; the names as step 21 and, for the Port_Name, E35 */
    memcpy(farp, in, FCVI_FARP_LENGTH);
    fcvi_set_FARP_Responding_N_Port_Identifier(farp, p->own_id);
    fcvi_set_FARP_Responding_Port_Name(farp, p->config.self.port_name);
    fcvi_set_FARP_Responding_Node_Name(farp, p->config.self.node_name);
}

/* 7.7.1: a mapping has to be valid. Zero, the well-known addresses (FC-FS) and our own identifier, which
 * stands for our own addresses alone, are no port to connect to. */
static bool is_destination(const struct fcvi_port *p, uint32_t id)
{
    return is_n_port_id(id) && id != p->own_id;
}

void fcvi_fc2_farp_reply(struct fcvi_port *p, const struct fcvi_frame *f)
{
    if (f->payload_length < 4 + FCVI_FARP_LENGTH) {
        fcvi_fc2_els_reject(p, f, 0x07, 0x2D); /* protocol error, invalid payload length */
        return;
    }
    fcvi_fc2_els_reply(p, f, FCVI_ELS_LS_ACC, 4);
    const uint8_t *farp = f->payload + 4; /* address and identifier are all that counts (E35) */
    uint32_t id = (uint32_t)fcvi_FARP_Responding_N_Port_Identifier(farp);
    if (is_destination(p, id))
        p->fc4->host_found(p, fcvi_FARP_Responding_IP_Address(farp), id);
}

/* ---- Name Server ---- */

/* Its Exchange, or NONE. The wait for the answer ends with the setup's own timer, which runs already. */
uint32_t fcvi_fc2_query(struct fcvi_port *p, const struct resolution *r)
{
    struct exchange *x = fcvi_fc2_exchange_open(p, X_QUERY, r->owner, NAME_SERVER);
    if (x == NULL)
        return NONE;
    uint8_t *out =
        fcvi_fc2_control_new(p, 24 + FCVI_CT_LENGTH + FCVI_GID_IPP_LENGTH, fcvi_fc2_eof_of(p, true));
    if (out == NULL) {
        fcvi_fc2_exchange_free(p, exchange_index(p, x));
        return NONE;
    }
    fcvi_fc2_put_header(p, out, FCVI_R_CTL_UNSOLICITED_CONTROL, FCVI_TYPE_CT, NAME_SERVER);
    fcvi_set_FC_First_Sequence(out, 1);
    fcvi_set_FC_OX_ID(out, x->ox_id);
    uint8_t *ct = out + 24;
    fcvi_set_CT_CT_Revision(ct, 1);
    fcvi_set_CT_GS_Type(ct, DIRECTORY);
    fcvi_set_CT_GS_Subtype(ct, NAMES);
    fcvi_set_CT_CT_Command(ct, GID_IPP);
    memcpy(ct + FCVI_CT_LENGTH, r->host, 16);
    return exchange_index(p, x);
}

bool fcvi_fc2_name_server_ready(struct fcvi_port *p)
{
    const struct remote_port *server = fcvi_fc2_remote_find(p, NAME_SERVER);
    return server != NULL && server->logged_in;
}

/* The answer to a query. Of several N_Port Identifiers the first is taken (7.6). */
void fcvi_fc2_ct_receive(struct fcvi_port *p, const struct fcvi_frame *f)
{
    struct exchange *x = fcvi_fc2_exchange_of(p, f);
    if (fcvi_FC_R_CTL(f->fc) != FCVI_R_CTL_SOLICITED_CONTROL || x == NULL || x->kind != X_QUERY ||
        f->payload_length < FCVI_CT_LENGTH)
        return;
    bool accepted = fcvi_CT_CT_Command(f->payload) == CT_ACCEPT &&
                    f->payload_length >= FCVI_CT_LENGTH + FCVI_PORT_ID_LENGTH;
    uint32_t id = accepted ? (uint32_t)fcvi_PORT_ID_PORT_ID_Identifier(f->payload + FCVI_CT_LENGTH) : 0;
    p->fc4->query_answered(p, x, is_destination(p, id) ? id : 0);
}
