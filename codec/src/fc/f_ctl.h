/* What F_CTL has to say of each IU (Table 1 with 5.8.1, 5.8.4 and clause 6), for the checks and for the quick
 * look. */
#ifndef FCVI_CODEC_F_CTL_H
#define FCVI_CODEC_F_CTL_H

enum { FCVI_ANY, FCVI_ZERO, FCVI_ONE };

/* A field of one bit in the value of F_CTL. */
#define F_CTL(F) (1u << FCVI_FC_##F##_LO)

/* ROW(ident, Exchange_Context, First_Sequence, Last_Sequence, Sequence_Initiative, one_frame,
 *     requirement of Last_Sequence, of Sequence_Initiative, of the one frame)
 * Last_Sequence: ONE in the frame that ends the Sequence. Sequence_Initiative means something with
 * End_Sequence only. one_frame: the IU is one frame, which ends its Sequence. Sequence_Context is zero in
 * every IU. */
#define FCVI_F_CTL_TABLE(ROW)                                                                                \
    ROW(SEND_RQST, ZERO, ANY, ANY, ANY, 0, NULL, NULL, NULL)                                                 \
    ROW(WRITE_RQST, ZERO, ANY, ANY, ANY, 0, NULL, NULL, NULL)                                                \
    ROW(READ_RQST, ZERO, ONE, ZERO, ONE, 1, "FCVI-T01-READ_RQST-pos", "FCVI-6.6.1-05", "FCVI-6.6.1-04")      \
    ROW(SEND_RESP, ONE, ZERO, ONE, ANY, 1, "FCVI-6.3.1-06", NULL, "FCVI-6.3.1-05")                           \
    ROW(WRITE_RESP, ONE, ZERO, ONE, ANY, 1, "FCVI-6.5.1-06", NULL, "FCVI-6.5.1-05")                          \
    ROW(READ_RESP, ONE, ZERO, ANY, ANY, 0, NULL, NULL, NULL)                                                 \
    ROW(CONNECT_RQST, ZERO, ONE, ZERO, ONE, 0, "FCVI-T01-CONNECT_RQST-pos", "FCVI-5.8.4-04", NULL)           \
    ROW(DISCONNECT_RQST, ZERO, ONE, ZERO, ONE, 1, "FCVI-T01-DISCONNECT_RQST-pos", "FCVI-5.8.4-06",           \
        "FCVI-6.12.1-04")                                                                                    \
    ROW(CONNECT_RESP1, ONE, ZERO, ZERO, ONE, 0, "FCVI-T01-CONNECT_RESP1-pos", "FCVI-5.8.4-04", NULL)         \
    ROW(CONNECT_RESP2, ZERO, ZERO, ZERO, ONE, 1, "FCVI-T01-CONNECT_RESP2-pos", "FCVI-5.8.4-04",              \
        "FCVI-6.10.1-04")                                                                                    \
    ROW(CONNECT_RESP3, ONE, ZERO, ONE, ZERO, 1, "FCVI-5.8.4-05", "FCVI-5.3.1-04", "FCVI-6.11.1-04")          \
    ROW(DISCONNECT_RESP, ONE, ZERO, ONE, ZERO, 1, "FCVI-5.8.4-07", "FCVI-5.3.1-04", "FCVI-6.13.1-03")

/* The same of Rev 1.0 (its 5.3 and clause 6): the setup ends with FCVI_CONNECT_RESP2, and each connection IU
 * is one frame. ROW(ident, requirement of First_Sequence, then as above). That a Disconnect begins its
 * Exchange stood in a figure (R23). */
#define FCVI_REV1_F_CTL_TABLE(ROW)                                                                           \
    ROW(SEND_RQST, NULL, ZERO, ANY, ANY, ANY, 0, NULL, NULL, NULL)                                           \
    ROW(WRITE_RQST, NULL, ZERO, ANY, ANY, ANY, 0, NULL, NULL, NULL)                                          \
    ROW(READ_RQST, "FCVI-T01-READ_RQST-pos", ZERO, ONE, ZERO, ONE, 1, "FCVI-T01-READ_RQST-pos",              \
        "REV1-6.5-02", "REV1-6.5-02")                                                                        \
    ROW(SEND_RESP, "FCVI-T01-SEND_RESP-pos", ONE, ZERO, ONE, ANY, 1, "FCVI-6.3.1-06", NULL, "FCVI-6.3.1-05") \
    ROW(WRITE_RESP, "FCVI-T01-WRITE_RESP-pos", ONE, ZERO, ONE, ANY, 1, "FCVI-6.5.1-06", NULL,                \
        "FCVI-6.5.1-05")                                                                                     \
    ROW(READ_RESP, "FCVI-T01-READ_RESP-pos", ONE, ZERO, ANY, ANY, 0, NULL, NULL, NULL)                       \
    ROW(CONNECT_RQST, "FCVI-T01-CONNECT_RQST-pos", ZERO, ONE, ZERO, ONE, 1, "FCVI-T01-CONNECT_RQST-pos",     \
        "REV1-5.3-01", "REV1-6.7-01")                                                                        \
    ROW(DISCONNECT_RQST, NULL, ZERO, ANY, ZERO, ONE, 1, "REV1-6.10-02", "REV1-6.10-02", "REV1-6.10-02")      \
    ROW(CONNECT_RESP1, "FCVI-T01-CONNECT_RESP1-pos", ONE, ZERO, ZERO, ONE, 1, "FCVI-T01-CONNECT_RESP1-pos",  \
        "REV1-5.3-02", "REV1-6.8-01")                                                                        \
    ROW(CONNECT_RESP2, "REV1-5.3-03", ZERO, ZERO, ONE, ZERO, 1, "REV1-5.3-03", "REV1-5.3-03", "REV1-6.9-01") \
    ROW(DISCONNECT_RESP, "FCVI-T01-DISCONNECT_RESP-pos", ONE, ZERO, ONE, ZERO, 1, "REV1-6.11-01",            \
        "REV1-6.11-01", "REV1-6.11-01")

#endif
