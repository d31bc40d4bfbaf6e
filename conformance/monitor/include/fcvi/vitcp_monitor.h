/* The monitor of VI/TCP (draft-dicecco-vitcp-00): what the PDUs of one TCP connection contradict, seen from
 * outside.
 *
 * It follows both directions of a connection. What an end knew when it sent is taken from the acknowledgement
 * of the TCP segment, never from the order in which a capture shows the directions. What a capture does not
 * show is not judged. It allocates nothing; a connection takes fcvi_vitcp_monitor_size() bytes. */
#ifndef FCVI_VITCP_MONITOR_H
#define FCVI_VITCP_MONITOR_H

#include <fcvi/pdu.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fcvi_vitcp_monitor;

/** Bytes of memory that a connection needs. */
size_t fcvi_vitcp_monitor_size(void);

/** Begin a connection in memory of that size, aligned for uint64_t. The profile stays the caller's. */
struct fcvi_vitcp_monitor *fcvi_vitcp_monitor_init(void *memory, const struct fcvi_profile *profile);

/** A direction (0 or 1) is followed. whole: from its first byte; initiator: its end opened the TCP connection
 * (only where whole). */
void fcvi_vitcp_monitor_opened(struct fcvi_vitcp_monitor *monitor, unsigned direction, bool whole,
                               bool initiator);

/** The end of a direction is a tester, which may break any rule: what it sends is followed and not judged.
 * Once it has broken one the other direction is judged by itself alone. */
void fcvi_vitcp_monitor_tester(struct fcvi_vitcp_monitor *monitor, unsigned direction);

/** Bytes of a direction are missing, and no PDU of it follows. */
void fcvi_vitcp_monitor_lost(struct fcvi_vitcp_monitor *monitor, unsigned direction);

/** Whether a PDU of a direction goes on with a message that has begun, for the `later` of the PDU. */
bool fcvi_vitcp_monitor_later(const struct fcvi_vitcp_monitor *monitor, unsigned direction,
                              const struct fcvi_pdu *pdu);

/** A whole PDU. The headers have to be there; data is not looked at. */
struct fcvi_vitcp_seen {
    const struct fcvi_pdu *pdu; /* data_length is that of the whole PDU */
    unsigned direction;
    uint64_t begin, end; /* bytes of its stream before its first and its last byte, from the first byte on */
    bool acknowledges;   /* the segment with its first byte acknowledged the other direction: */
    uint64_t acknowledged; /* up to this byte of it, */
    uint64_t delivered;    /* of which so many have been given here */
    unsigned worst;        /* of the codec's findings in it, as struct fcvi_findings has it */
};

/** Why rules that look at more than one PDU were not applied. */
enum fcvi_vitcp_unjudged {
    FCVI_VITCP_JUDGED,
    FCVI_VITCP_SETUP,   /* the setup is not in the capture */
    FCVI_VITCP_PROFILE, /* the connection has numbers that are not the profile's */
    FCVI_VITCP_BREACH,  /* a rule was broken before */
    FCVI_VITCP_UNJUDGED_COUNT
};

/** Follow one PDU and judge it. Findings are added to the list, with places counted from the first byte of
 * the PDU. */
enum fcvi_vitcp_unjudged fcvi_vitcp_monitor_pdu(struct fcvi_vitcp_monitor *monitor,
                                                const struct fcvi_vitcp_seen *seen,
                                                struct fcvi_findings *findings);

/** A Segment Header, or its beginning, came again in the stream (2.2.2.2.5): Rx Descriptors Posted may be a
 * newer one. begin: byte of the stream that the PDU begins at; length: bytes of it that came again, from byte
 * first on. What it says is compared with the header that came first. */
void fcvi_vitcp_monitor_again(struct fcvi_vitcp_monitor *monitor, unsigned direction, uint64_t begin,
                              const uint8_t *bytes, size_t length, struct fcvi_findings *findings);

/** The reason in words; "" for FCVI_VITCP_JUDGED. */
const char *fcvi_vitcp_unjudged_text(enum fcvi_vitcp_unjudged reason);

/** What was seen of one direction. */
struct fcvi_vitcp_side {
    bool whole, initiator, lost;
    uint8_t setup; /* enum fcvi_pdu_type of its first CE PDU; FCVI_PDU_NONE: none */
    bool reliable, flow_control;
    uint32_t mtu;                      /* MTU Size of its CE Header, 0 without */
    uint64_t pdus[FCVI_PDU_COUNT + 1]; /* by type */
    uint64_t messages, data;           /* messages begun; bytes of Consumer's Data */
    uint64_t errors;                   /* PDUs with a VI Error Type */
    uint64_t responses;                /* RDMA Read Responses of which the last segment came */
    bool open, responding;             /* the last segment of a message, of a Response, has not come */
};
/** It lives as long as the connection. */
const struct fcvi_vitcp_side *fcvi_vitcp_monitor_side(const struct fcvi_vitcp_monitor *monitor,
                                                      unsigned direction);

#ifdef __cplusplus
}
#endif

#endif
