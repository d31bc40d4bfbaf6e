/* Words of libibverbs without their prefix, and their numbers. */
#ifndef FCVI_VERBS_WORDS_H
#define FCVI_VERBS_WORDS_H

#include "../lines/params.h"

struct word {
    const char *name; /* NULL: the end of the table */
    uint32_t value;
};

extern const struct word words_access[], words_opcode[], words_send_flags[], words_wc_status[],
    words_wc_opcode[], words_wc_flags[], words_state[], words_qp_type[], words_event[], words_cm_event[],
    words_port_state[], words_rereg[], words_transport[];

/** A word or a number of up to 32 bits. */
uint32_t words_value(struct params *p, const char *name, const struct word *words, bool optional,
                     uint32_t otherwise);
/** A list of words or numbers, put together. A missing list is `otherwise`. */
uint32_t words_flags(struct params *p, const char *name, const struct word *words, uint32_t otherwise);
/** The word of a value, or its number. */
json_t *words_name(const struct word *words, uint32_t value);
/** The words of the bits that have one, and the rest as a number. */
json_t *words_list(const struct word *words, uint32_t value);

#endif
