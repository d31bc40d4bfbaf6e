/* What is known of a connection of VI/TCP. */
#ifndef FCVI_VITCP_CONNECTION_H
#define FCVI_VITCP_CONNECTION_H

#include <fcvi/report.h>
#include <fcvi/vitcp_monitor.h>

#pragma GCC visibility push(hidden)

enum { VITCP_RING = 64, VITCP_HEADERS = 32, VITCP_BORROWED = 8 };

/* A message of several segments, of which the last has not come. Data of RDMA segments behind the first begin
 * at byte 40, or at byte 24 by the other reading (V10); which one it is Data Offset shows. */
enum vitcp_odd { VITCP_SAME, VITCP_OTHER_LENGTH, VITCP_OTHER_HANDLE, VITCP_OTHER_ADDRESS };
struct vitcp_message {
    bool open, with_header, without_header, failed;
    uint8_t pdu, segments;
    bool immediate, immediate_now;
    uint32_t number, immediate_data;
    uint64_t sum, sum_without, total;
    uint64_t address; /* of the RDMA Header in its first segment */
    uint32_t handle;
    uint8_t odd; /* enum vitcp_odd: what was first seen otherwise in a later one, and how */
    uint64_t odd_value;
};

/* A message that was sent whole, and a count that was told: at which byte of the stream. */
struct vitcp_mark {
    uint64_t begin, end, value;
};
/* A ring of marks that the other end has not acknowledged; what falls out counts as known to it. */
struct vitcp_marks {
    uint32_t first, count;
    struct vitcp_mark mark[VITCP_RING];
};

struct vitcp_read {
    bool used;
    uint32_t number, length;
    uint64_t end;
};

struct vitcp_header {
    uint64_t begin;
    uint8_t bytes[FCVI_SEG_LENGTH];
};

/* Readings of Message Number: one count (3.1), one for each type (V18), or one in which NOPs count (V17). */
enum { VITCP_ONE_COUNT = 1, VITCP_BY_TYPE = 2, VITCP_WITH_NOPS = 4, VITCP_READINGS = 7 };

struct vitcp_side {
    uint64_t setup_end; /* of its CE PDU */
    uint64_t nops;
    uint64_t count,
        count_known;    /* Rx Descriptors Posted: the highest, and the highest that the other end has */
    uint64_t consumers; /* messages that consume a receive Descriptor */
    struct vitcp_message message, response;
    struct fcvi_vitcp_side seen;
    struct vitcp_header headers[VITCP_HEADERS];
    struct vitcp_read reads[VITCP_RING];
    struct vitcp_marks sent;   /* messages by number */
    struct vitcp_marks counts; /* Rx Descriptors Posted, unwrapped */
    uint32_t last, last_type[3];
    uint32_t known,
        begun; /* numbers of the last message that the other end had whole, or the first byte of */
    uint32_t borrowed[VITCP_BORROWED]; /* Message Numbers of PDUs that are no messages (V16, V17) */
    uint32_t borrowings;
    uint32_t header;
    uint16_t window;
    uint8_t readings;
    bool tester;    /* not judged */
    bool unsettled; /* a tester that has broken a rule: what it says means nothing to the other end's PDUs */
    bool any;
    bool numbered, numbered_type[3];
    bool has_known, has_begun;
    bool counted;
    bool uncounted; /* or more consumers */
    bool unread;    /* a read may be under way that is not in reads */
    bool reported;  /* a VI Error Type: Message ACK means nothing from then on (V48) */
    bool astray;    /* its Message ACK named what it had not received, which was told once */
};

struct fcvi_vitcp_monitor {
    const struct fcvi_profile *profile;
    bool breach, foreign; /* not the profile's numbers */
    struct vitcp_side side[2];
};

struct vitcp_now {
    struct fcvi_vitcp_monitor *m;
    struct vitcp_side *from, *to;
    const struct fcvi_vitcp_seen *seen;
    const struct fcvi_pdu *pdu;
    struct fcvi_findings *findings;
    bool informed; /* what the sender had received is known, all of it */
};

/** The place of a field of the profile. */
struct fcvi_place fcvi_vitcp_monitor_place(const char *name, uint16_t byte, uint16_t size);
void fcvi_vitcp_monitor_breach(const struct vitcp_now *n, struct fcvi_place place, uint64_t seen,
                               const char *id, const char *words, const char *required, uint64_t value);
void fcvi_vitcp_monitor_notice(const struct vitcp_now *n, struct fcvi_place place, uint64_t seen,
                               const char *id, const char *erratum, const char *words, uint64_t value);

static inline uint64_t vitcp_get(const struct vitcp_now *n, enum fcvi_profile_field field)
{
    return fcvi_profile_get(n->m->profile, field, n->pdu->bytes);
}
/* Both ends' CE Headers are there. */
static inline bool vitcp_is_set_up(const struct fcvi_vitcp_monitor *m)
{
    return (m->side[0].seen.setup == FCVI_PDU_CONNECT_REQUEST &&
            m->side[1].seen.setup == FCVI_PDU_CONNECT_ACCEPT) ||
           (m->side[1].seen.setup == FCVI_PDU_CONNECT_REQUEST &&
            m->side[0].seen.setup == FCVI_PDU_CONNECT_ACCEPT);
}

void fcvi_vitcp_monitor_mark(struct vitcp_marks *marks, struct vitcp_mark mark, struct vitcp_mark *out);
void fcvi_vitcp_monitor_setup(const struct vitcp_now *n);
void fcvi_vitcp_monitor_segment(const struct vitcp_now *n);
void fcvi_vitcp_monitor_credit(const struct vitcp_now *n);
void fcvi_vitcp_monitor_acknowledgement(const struct vitcp_now *n);

#pragma GCC visibility pop

#endif
