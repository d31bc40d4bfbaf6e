/* Loop Initialization as the ports see it: AL_PAs and the FAN of the FL_Port (7.7.3, 7.7.4, FC-AL, FC-FLA).
 */
#include "internal.h"

enum { HIGHEST_AL_PA = 0xEF };
enum { FAN_FRAME = 24 + FCVI_ELS_LENGTH + FCVI_FAN_LENGTH };

static bool has_loop(const struct fcvi_fabric *f)
{
    return f->config.topology == FCVI_PRIVATE_LOOP || f->config.topology == FCVI_PUBLIC_LOOP;
}

/* An AL_PA is a byte whose 8B/10B character has as many ones as zeros. That is so when both parts of it, of
 * the lower five and the upper three bits, are balanced or neither is. */
static bool is_al_pa(uint32_t byte)
{
    const uint32_t unbalanced_5 = 0xE9818117; /* 0, 1, 2, 4, 8, 15, 16, 23, 24, 27, 29, 30, 31 */
    const uint32_t unbalanced_3 = 0x91;       /* 0, 4, 7 */
    return (unbalanced_5 >> (byte & 31) & 1u) == (unbalanced_3 >> (byte >> 5) & 1u);
}

/* Give a port the next AL_PA after that of `id` that nobody with the same Domain and Area has. */
void fcvi_fabric_loop_address(struct fcvi_fabric *f, uint32_t port, uint32_t id)
{
    uint32_t al_pa = id & 0xFF;
    for (unsigned i = 0; i < HIGHEST_AL_PA; i++) {
        al_pa = al_pa >= HIGHEST_AL_PA ? 1 : al_pa + 1;
        if (is_al_pa(al_pa) && fcvi_fabric_set_id(f, port, (id & 0xFFFF00) | al_pa))
            return;
    }
}

/* FAN has no reply, so it ends its Exchange and passes nothing. */
static void send_fan(struct fcvi_fabric *f, uint64_t at, uint32_t port)
{
    uint8_t out[FAN_FRAME] = {0}, *fan = out + 24 + FCVI_ELS_LENGTH;
    uint32_t id = fcvi_fabric_id(f, port);
    fcvi_set_FC_R_CTL(out, FCVI_R_CTL_ELS_REQUEST);
    fcvi_set_FC_D_ID(out, id);
    fcvi_set_FC_S_ID(out, FABRIC_F_PORT);
    fcvi_set_FC_TYPE(out, FCVI_TYPE_ELS);
    fcvi_set_FC_First_Sequence(out, 1);
    fcvi_set_FC_Last_Sequence(out, 1);
    fcvi_set_FC_End_Sequence(out, 1);
    fcvi_set_FC_SEQ_ID(out, f->seq_id++);
    fcvi_set_FC_OX_ID(out, f->ox_id++ & 0x7FFF);
    fcvi_set_FC_RX_ID(out, FC_X_ID_UNASSIGNED);
    fcvi_set_ELS_ELS_Command(out + 24, FCVI_ELS_FAN);
    fcvi_set_FAN_Loop_Fabric_Address(fan, id & 0xFFFF00); /* the FL_Port has AL_PA 00h */
    fcvi_set_FAN_FAN_Port_Name(fan, f->config.port_name);
    fcvi_set_FAN_FAN_Node_Name(fan, f->config.node_name);
    fcvi_fabric_emit(f, at, port, out, FAN_FRAME, FCVI_SOF_I3, FCVI_EOF_T);
}

uint32_t fcvi_fabric_lip(struct fcvi_fabric *fabric, uint64_t now, unsigned flags)
{
    uint32_t count = 0;
    fabric_advance(fabric, now);
    for (uint32_t i = 0; has_loop(fabric) && i < fabric->ports; i++) {
        const struct fabric_port *p = fabric_port_at(fabric, i);
        if (!p->up || !p->on_loop)
            continue;
        count++;
        if (flags & FCVI_LIP_NEW_ADDRESSES)
            fcvi_fabric_loop_address(fabric, i, p->id);
        if (fabric->config.topology == FCVI_PUBLIC_LOOP && p->id >> 8 != 0 && !(flags & FCVI_LIP_NO_FAN))
            send_fan(fabric, now + fabric->config.fan_delay_us, i);
    }
    return count;
}
