/* Frames, when the client's stream is the wire. */
#include "agent.h"

#include <string.h>

static const char *const sof_names[] = {"i2", "n2", "i3", "n3", NULL};
static const uint8_t sof_codes[] = {0x2D, 0x35, 0x2E, 0x36};
static const char *const eof_names[] = {"n", "t", "ni", "a", NULL};
static const uint8_t eof_codes[] = {0x41, 0x42, 0x49, 0x50};
enum { LONGEST_FRAME = 24 + 2112, F_CTL = 9, SEQ_CNT = 14, END_SEQUENCE = 0x08 };

static const char *word_of(uint8_t code, const char *const *names, const uint8_t *codes)
{
    size_t i = 0;
    while (names[i + 1] != NULL && codes[i] != code)
        i++;
    return names[i];
}

static uint8_t code_of_word(const char *name, const char *const *names, const uint8_t *codes)
{
    size_t i = 0;
    while (names[i + 1] != NULL && strcmp(names[i], name) != 0)
        i++;
    return codes[i];
}

void agent_send_frame(void *context, const struct provider_frame *frame)
{
    static const char digits[] = "0123456789abcdef";
    struct agent *a = context;
    char hex[2 * LONGEST_FRAME + 1];
    size_t length = frame->length <= LONGEST_FRAME ? frame->length : LONGEST_FRAME;
    for (size_t i = 0; i < length; i++) {
        hex[2 * i] = digits[frame->bytes[i] >> 4];
        hex[2 * i + 1] = digits[frame->bytes[i] & 15];
    }
    hex[2 * length] = '\0';
    client_notify(&a->client, "frame",
                  json_pack("{s:s, s:s, s:s, s:s}", "hex", hex, "sof",
                            word_of(frame->sof, sof_names, sof_codes), "eof",
                            word_of(frame->eof, eof_names, eof_codes), "crc", frame->crc_ok ? "ok" : "bad"));
}

void agent_take_frame(struct params *p)
{
    static const char *const states[] = {"ok", "bad", NULL};
    unsigned char bytes[LONGEST_FRAME];
    size_t length = params_hex(p, "hex", bytes, 0, sizeof bytes);
    const char *sof = params_has(p, "sof") ? params_choice(p, "sof", sof_names) : NULL;
    const char *eof = params_has(p, "eof") ? params_choice(p, "eof", eof_names) : NULL;
    const char *crc = params_has(p, "crc") ? params_choice(p, "crc", states) : states[0];
    if (p->why[0] != '\0')
        return;
    bool later = length > SEQ_CNT + 1 && (bytes[SEQ_CNT] | bytes[SEQ_CNT + 1]) != 0;
    bool ends = length <= F_CTL || (bytes[F_CTL] & END_SEQUENCE) != 0;
    const struct provider_frame frame = {bytes, length,
                                         code_of_word(sof != NULL ? sof
                                                      : later     ? "n3"
                                                                  : "i3",
                                                      sof_names, sof_codes),
                                         code_of_word(eof != NULL ? eof
                                                      : ends      ? "t"
                                                                  : "n",
                                                      eof_names, eof_codes),
                                         strcmp(crc, "ok") == 0};
    (void)provider_frame(&frame);
}
