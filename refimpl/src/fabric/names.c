/* The Name Server: GID_IPP and RIPP_ID (7.6, FC-GS). */
#include "internal.h"

enum { GID_IPP = 0x01B1, RIPP_ID = 0x021B, CT_REJECT = 0x8001, CT_ACCEPT = 0x8002 };
enum { DIRECTORY = 0xFC, NAMES = 0x02, REVISION = 0x01, LAST_ENTRY = 0x80 };
enum { BAD_VERSION = 0x02, BAD_SIZE = 0x04, UNABLE = 0x09, NOT_SUPPORTED = 0x0B };
enum { NO_PORT_ID = 0x01, NO_ADDRESS = 0x0B, TABLE_FULL = 0xF2 };
enum { RIPP_ID_LENGTH = FCVI_PORT_ID_LENGTH + 16, LONGEST = 2112 };

/* ---- answers ---- */

/* The CT header of an answer: that of the request but for revision, command and sizes. */
static uint8_t *answer(const struct fcvi_frame *request, uint8_t *out, uint16_t code)
{
    uint8_t *ct = out + 24;
    memset(out, 0, 24 + FCVI_CT_LENGTH);
    memcpy(ct, request->payload, 7); /* IN_ID, type, subtype and options */
    fcvi_set_CT_CT_Revision(ct, REVISION);
    fcvi_set_CT_CT_Command(ct, code);
    return ct;
}

static void reject(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request,
                   uint8_t reason, uint8_t explanation)
{
    uint8_t out[24 + FCVI_CT_LENGTH], *ct = answer(request, out, CT_REJECT);
    fcvi_set_CT_CT_Reason(ct, reason);
    fcvi_set_CT_CT_Explanation(ct, explanation);
    fcvi_fabric_reply(f, at, port, request, out, FCVI_CT_LENGTH);
}

/* ---- the table ---- */

static struct fabric_name *registration(struct fcvi_fabric *f, uint32_t port)
{
    for (uint32_t i = 0; i < f->limits.names; i++)
        if (fabric_name_at(f, i)->used && fabric_name_at(f, i)->port == port)
            return fabric_name_at(f, i);
    return NULL;
}

static struct fabric_name *free_place(struct fcvi_fabric *f)
{
    for (uint32_t i = 0; i < f->limits.names; i++)
        if (!fabric_name_at(f, i)->used)
            return fabric_name_at(f, i);
    return NULL;
}

void fcvi_fabric_names_forget(struct fcvi_fabric *f, uint32_t port)
{
    struct fabric_name *n = registration(f, port);
    if (n != NULL)
        n->used = false;
}

/* The addresses that a port was attached with count as registered (E84). */
static bool owns(struct fcvi_fabric *f, uint32_t port, const uint8_t *host)
{
    const struct fabric_port *p = fabric_port_at(f, port);
    const struct fabric_name *n = registration(f, port);
    for (uint32_t i = 0; i < p->hosts; i++)
        if (memcmp(p->host[i], host, 16) == 0)
            return true;
    return n != NULL && memcmp(n->host, host, 16) == 0;
}

/* ---- commands ---- */

/* As many identifiers as the port takes in one frame and the request allows; the residual counts the rest. */
static void gid_ipp(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request)
{
    uint8_t out[24 + LONGEST], *ct = answer(request, out, CT_ACCEPT);
    uint32_t room = ((uint32_t)fabric_port_at(f, port)->names_size - FCVI_CT_LENGTH) / FCVI_PORT_ID_LENGTH;
    uint32_t most = (uint32_t)fcvi_CT_CT_Residual(request->payload), count = 0, rest = 0;
    uint8_t *list = ct + FCVI_CT_LENGTH, *last = NULL;
    if (most != 0 && most < room)
        room = most;
    for (uint32_t i = 0; i < f->ports; i++) {
        const struct fabric_port *p = fabric_port_at(f, i);
        if (!p->up || p->id == 0 || !owns(f, i, request->payload + FCVI_CT_LENGTH))
            continue;
        if (count == room) {
            rest++;
            continue;
        }
        last = list + (size_t)FCVI_PORT_ID_LENGTH * count++;
        fcvi_store(last, FCVI_PORT_ID_LENGTH, p->id);
    }
    if (last == NULL) {
        reject(f, at, port, request, UNABLE, NO_ADDRESS);
        return;
    }
    fcvi_set_PORT_ID_PORT_ID_Control(last, LAST_ENTRY);
    fcvi_set_CT_CT_Residual(ct, rest);
    fcvi_fabric_reply(f, at, port, request, out, FCVI_CT_LENGTH + FCVI_PORT_ID_LENGTH * count);
}

/* A port has one address; a second registration replaces the first. */
static void ripp_id(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request)
{
    const uint8_t *data = request->payload + FCVI_CT_LENGTH;
    uint32_t subject = fcvi_fabric_find(f, (uint32_t)fcvi_PORT_ID_PORT_ID_Identifier(data));
    if (subject == FABRIC_NONE) {
        reject(f, at, port, request, UNABLE, NO_PORT_ID);
        return;
    }
    struct fabric_name *n = registration(f, subject);
    if (n == NULL)
        n = free_place(f);
    if (n == NULL) {
        reject(f, at, port, request, UNABLE, TABLE_FULL);
        return;
    }
    n->used = true;
    n->port = subject;
    memcpy(n->host, data + FCVI_PORT_ID_LENGTH, 16);
    uint8_t out[24 + FCVI_CT_LENGTH];
    answer(request, out, CT_ACCEPT);
    fcvi_fabric_reply(f, at, port, request, out, FCVI_CT_LENGTH);
}

/* Without a login a query is discarded, as any frame of an FC-4. */
void fcvi_fabric_names_serve(struct fcvi_fabric *f, uint64_t at, uint32_t port,
                             const struct fcvi_frame *request)
{
    const uint8_t *ct = request->payload;
    if (fabric_port_at(f, port)->names_size == 0 || request->payload_length < FCVI_CT_LENGTH)
        return;
    uint32_t data = request->payload_length - FCVI_CT_LENGTH;
    bool directory = fcvi_CT_GS_Type(ct) == DIRECTORY && fcvi_CT_GS_Subtype(ct) == NAMES;
    uint16_t command = (uint16_t)fcvi_CT_CT_Command(ct);
    if (fcvi_CT_CT_Revision(ct) != REVISION)
        reject(f, at, port, request, BAD_VERSION, 0);
    else if (!directory || (command != GID_IPP && command != RIPP_ID))
        reject(f, at, port, request, NOT_SUPPORTED, 0);
    else if (data < (command == GID_IPP ? (uint32_t)FCVI_GID_IPP_LENGTH : (uint32_t)RIPP_ID_LENGTH))
        reject(f, at, port, request, BAD_SIZE, 0);
    else
        (command == GID_IPP ? gid_ipp : ripp_id)(f, at, port, request);
}
