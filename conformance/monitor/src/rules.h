/* The rules, by clause. */
#ifndef FCVI_MONITOR_RULES_H
#define FCVI_MONITOR_RULES_H

#include "connections.h"

/* Everything here is the monitor's own: calls need not go through the tables of a shared library. */
#ifndef FCVI_INTERNALS_IN_SIGHT /* of tests that link the shared library: make mutants */
#pragma GCC visibility push(hidden)
#endif

/* ---- the rules, by clause; those that return false end the judgement of the frame ---- */

bool mon_rules_5_2(struct judged_frame *s); /* requests and responses of a Message */
/** A response to a Send or RDMA Write of a Connection whose level was not seen. Who ends the Exchange where a
 *  response is due errs, and so does who answers where none is: nobody can tell which. */
bool mon_may_be_due(struct judged_frame *s);
bool mon_rules_5_3(struct judged_frame *s);   /* order and handles of a setup */
void mon_rules_5_3_4(struct judged_frame *s); /* arbitration between Peers */
void mon_rules_5_4_reuse(struct judged_frame *s);
bool mon_rules_5_4(struct judged_frame *s); /* Exchanges begin once and end */
void mon_rules_5_5(struct judged_frame *s); /* Sequences and SEQ_IDs */
bool mon_rules_5_6(struct judged_frame *s); /* SEQ_CNT and Relative Offset; false: the frame came before */
void mon_rules_5_6_login(struct judged_frame *s);
void mon_rules_5_8(struct judged_frame *s);  /* RX_ID, Sequence Initiative, PREF */
void mon_rules_5_9(struct judged_frame *s);  /* handles and FCVI_MSG_ID of requests */
void mon_rules_6_2(struct judged_frame *s);  /* fields of Message IUs, 6.2 to 6.7 */
void mon_rules_6_8(struct judged_frame *s);  /* fields of setup IUs, 6.8 to 6.11 */
void mon_rules_6_12(struct judged_frame *s); /* Disconnect IUs, 6.12 and 6.13 */
void mon_rules_5_8_rx_id(struct judged_frame *s);
void mon_rules_5_8_abort(struct judged_frame *s);
void mon_rules_7_3(struct judged_frame *s);        /* attributes */
void mon_rules_7_3_rights(struct judged_frame *s); /* to serve RDMA */
void mon_rules_5_8_2(struct judged_frame *s);      /* Preference */
void mon_rules_7_3_depth(struct judged_frame *s);  /* Messages without confirmation */
/** A Message that waits makes room for another Exchange: its response will not be known for one. */
void mon_depth_lost(struct fcvi_monitor *m, const struct exchange *x);
void mon_rules_7_5(struct judged_frame *s, uint8_t command); /* FARP-REQ, FARP-REPLY */
void mon_rules_7_7(struct judged_frame *s);                  /* no FC-VI after a logout */
void mon_rules_8_4(struct judged_frame *s);                  /* handles in use */
void mon_rules_8_4_abort(struct judged_frame *s);            /* a Message is aborted */
void mon_rules_8_5(struct judged_frame *s);                  /* retries and FCVI_CONNECTION_IDs */

void mon_link_services(struct judged_frame *s); /* ABTS, BA_ACC */
void mon_link_control(struct judged_frame *s);  /* ACK, busy, reject */
void mon_login_services(struct judged_frame *s);

#ifndef FCVI_INTERNALS_IN_SIGHT
#pragma GCC visibility pop
#endif

#endif
