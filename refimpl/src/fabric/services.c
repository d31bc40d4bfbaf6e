/* The well-known addresses FFFFFEh (F_Port, FL_Port) and FFFFFCh (Name Server): links services (FC-FS). */
#include "internal.h"

enum { PROTOCOL_ERROR = 0x07, UNABLE = 0x09, NOT_SUPPORTED = 0x0B, LOGIN_REQUIRED = 0x1E, BAD_LENGTH = 0x2D };
enum { LOGIN_PAYLOAD = FCVI_ELS_LENGTH + FCVI_LOGIN_LENGTH, SIZE = 2112 };

/* ---- replies ---- */

static void accept(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request)
{
    uint8_t out[24 + FCVI_ELS_LENGTH] = {0};
    fcvi_set_ELS_ELS_Command(out + 24, FCVI_ELS_LS_ACC);
    fcvi_fabric_reply(f, at, port, request, out, FCVI_ELS_LENGTH);
}

static void reject(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request,
                   uint8_t reason, uint8_t explanation)
{
    uint8_t out[24 + FCVI_ELS_LENGTH + FCVI_LS_RJT_LENGTH] = {0};
    fcvi_set_ELS_ELS_Command(out + 24, FCVI_ELS_LS_RJT);
    fcvi_set_LS_RJT_LS_Reason(out + 28, reason);
    fcvi_set_LS_RJT_LS_Explanation(out + 28, explanation);
    fcvi_fabric_reply(f, at, port, request, out, FCVI_ELS_LENGTH + FCVI_LS_RJT_LENGTH);
}

/* ---- logins ---- */

/* What FLOGI and PLOGI have in common: sizes, names, both classes valid. Sequential delivery is promised
 * where the Fabric keeps it. */
static uint8_t *login_accept(const struct fcvi_fabric *f, uint8_t *out)
{
    uint8_t *login = out + 24 + FCVI_ELS_LENGTH;
    memset(out, 0, 24 + LOGIN_PAYLOAD);
    fcvi_set_ELS_ELS_Command(out + 24, FCVI_ELS_LS_ACC);
    fcvi_set_LOGIN_FC_PH_Version(login, 0x2020);
    fcvi_set_LOGIN_BB_Credit(login, 16);
    fcvi_set_LOGIN_Receive_Data_Field_Size(login, SIZE);
    fcvi_set_LOGIN_E_D_TOV(login, f->config.e_d_tov_us / 1000);
    fcvi_set_LOGIN_Port_Name(login, f->config.port_name);
    fcvi_set_LOGIN_Node_Name(login, f->config.node_name);
    uint16_t options = f->config.out_of_order ? 0x8000 : 0x8800;
    fcvi_store(login + FCVI_LOGIN_Class_2_BYTE, 2, options);
    fcvi_store(login + FCVI_LOGIN_Class_3_BYTE, 2, options);
    return login;
}

/* The port without an N_Port Identifier gets the first that is free; on a loop an AL_PA in the FL_Port's
 * Area.
 */
static void assign_id(struct fcvi_fabric *f, uint32_t port)
{
    uint32_t id = 0x010100;
    if (f->config.topology == FCVI_PUBLIC_LOOP && fabric_port_at(f, port)->on_loop) {
        fcvi_fabric_loop_address(f, port, id);
        return;
    }
    while (fcvi_fabric_find(f, id) != FABRIC_NONE)
        id += 0x100;
    fabric_port_at(f, port)->id = id;
}

static void flogi(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request)
{
    uint8_t out[24 + LOGIN_PAYLOAD], *login = login_accept(f, out);
    struct fabric_port *p = fabric_port_at(f, port);
    if (p->id == 0)
        assign_id(f, port);
    p->names_size = 0; /* FLOGI ends the logins of before */
    fcvi_set_LOGIN_F_Port(login, 1);
    fcvi_set_LOGIN_Alternate_BB_Credit(login, f->config.topology == FCVI_PUBLIC_LOOP);
    fcvi_set_LOGIN_Broadcast(login, 1);
    fcvi_set_LOGIN_Word_2(login, f->config.r_a_tov_us / 1000);
    fcvi_fabric_reply(f, at, port, request, out, LOGIN_PAYLOAD);
}

static void plogi(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request)
{
    uint8_t out[24 + LOGIN_PAYLOAD], *login = login_accept(f, out);
    uint32_t size = (uint32_t)fcvi_LOGIN_Receive_Data_Field_Size(request->payload + FCVI_ELS_LENGTH);
    fabric_port_at(f, port)->names_size = (uint16_t)(size >= 256 && size <= SIZE ? size : 256);
    fcvi_set_LOGIN_CIRO(login, 1); /* bit 31 (E17) */
    fcvi_set_LOGIN_SEQ_CNT_S(login, 1);
    fcvi_set_LOGIN_Word_2(login, 0x00FF001F);
    for (unsigned at_class = FCVI_LOGIN_Class_2_BYTE; at_class <= FCVI_LOGIN_Class_3_BYTE; at_class += 16) {
        fcvi_store(login + at_class + 6, 2, SIZE);
        fcvi_store(login + at_class + 8, 2, 255);
        login[at_class + 13] = 1; /* open Sequences per Exchange */
    }
    fcvi_store(login + FCVI_LOGIN_Class_2_BYTE + 10, 2, 16); /* end-to-end credit */
    fcvi_fabric_reply(f, at, port, request, out, LOGIN_PAYLOAD);
}

/* ---- dispatch ---- */

static void els(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request)
{
    bool names = fcvi_FC_D_ID(request->fc) == FABRIC_NAME_SERVER;
    uint8_t command = (uint8_t)fcvi_ELS_ELS_Command(request->payload),
            login = names ? FCVI_ELS_PLOGI : FCVI_ELS_FLOGI;
    struct fabric_port *p = fabric_port_at(f, port);
    if (command == login && request->payload_length < LOGIN_PAYLOAD)
        reject(f, at, port, request, PROTOCOL_ERROR, BAD_LENGTH);
    else if (command == login)
        (names ? plogi : flogi)(f, at, port, request);
    else if (names && p->names_size == 0)
        reject(f, at, port, request, UNABLE, LOGIN_REQUIRED);
    else if (command != FCVI_ELS_LOGO)
        reject(f, at, port, request, NOT_SUPPORTED, 0);
    else
        accept(f, at, port, request);
    if (command == FCVI_ELS_LOGO)
        p->names_size = 0; /* a logout from the Fabric is one from the Name Server too */
}

/* A service keeps nothing of an Exchange: the whole of it is aborted. */
static void abts(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_frame *request)
{
    uint8_t out[24 + FCVI_BA_ACC_LENGTH] = {0};
    fcvi_set_BA_ACC_BA_OX_ID(out + 24, fcvi_FC_OX_ID(request->fc));
    fcvi_set_BA_ACC_BA_RX_ID(out + 24, fcvi_FC_RX_ID(request->fc));
    fcvi_set_BA_ACC_High_SEQ_CNT(out + 24, 0xFFFF);
    fcvi_fabric_reply(f, at, port, request, out, FCVI_BA_ACC_LENGTH);
}

/* A frame that is not valid is discarded without any answer. */
static bool valid(const struct fcvi_input *in)
{
    return in->crc == FCVI_CRC_OK && (in->eof == FCVI_EOF_N || in->eof == FCVI_EOF_T);
}

void fcvi_fabric_serve(struct fcvi_fabric *f, uint64_t at, uint32_t port, const struct fcvi_input *in)
{
    struct fcvi_frame request;
    fcvi_decode(in, &request, NULL);
    uint8_t r_ctl = (uint8_t)fcvi_FC_R_CTL(request.fc);
    if (!valid(in) || request.kind == FCVI_KIND_LINK_CONTROL)
        return;
    if (fabric_class2(in->sof))
        fcvi_fabric_link_control(f, at, port, request.fc, FCVI_R_CTL_ACK_1, 0, 1);
    if (request.kind == FCVI_KIND_ELS && r_ctl == FCVI_R_CTL_ELS_REQUEST &&
        request.payload_length >= FCVI_ELS_LENGTH)
        els(f, at, port, &request);
    else if (r_ctl == FCVI_R_CTL_ABTS)
        abts(f, at, port, &request);
    else if (r_ctl == FCVI_R_CTL_UNSOLICITED_CONTROL && fcvi_FC_TYPE(request.fc) == FCVI_TYPE_CT &&
             fcvi_FC_D_ID(request.fc) == FABRIC_NAME_SERVER)
        fcvi_fabric_names_serve(f, at, port, &request);
}
