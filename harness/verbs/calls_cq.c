/* Completion Queues and their handlers. */
#include "agent.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WC_FILL = 0xa5, EAGER_US = 2000, NAP_NS = 50 * 1000, STEP_MS = 20 };

json_t *verb_set_handler(struct verbs *v, struct params *p)
{
    struct outcome o;
    struct thing *rnic = things_take(v, p, "rnic", KIND_RNIC);
    struct thing *t = rnic != NULL ? things_new(v, p, KIND_HANDLER) : NULL;
    json_t *result = NULL;
    if (t != NULL) {
        outcome_begin(&o);
        struct ibv_comp_channel *channel = ibv_create_comp_channel(rnic->context);
        outcome_good(&o, channel != NULL);
        result = outcome_json(&o);
        if (channel != NULL) {
            int flags = fcntl(channel->fd, F_GETFL);
            (void)fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK);
            json_object_set_new(result, "handler", things_publish(v, t, channel));
        } else {
            things_forget(v, t);
        }
    }
    things_drop(v, rnic);
    return result;
}

VERB_GIVES_BACK(verb_clear_handler, "handler", KIND_HANDLER, ibv_destroy_comp_channel(t->channel))

/* Waits in steps, so that a reset, or the end of the handler, is seen. False: the time is up. */
static bool event_is_there(struct verbs *v, const struct thing *t, uint64_t until)
{
    struct pollfd fd = {.fd = t->channel->fd, .events = POLLIN};
    for (;;) {
        uint64_t now = verbs_now_us();
        uint64_t left_ms = until > now ? (until - now + 999) / 1000 : 0;
        if (poll(&fd, 1, left_ms < STEP_MS ? (int)left_ms : STEP_MS) > 0)
            return true;
        if (verbs_now_us() >= until || v->calls.ending || t->going)
            return false;
    }
}

json_t *verb_get_event(struct verbs *v, struct params *p)
{
    struct ibv_cq *cq = NULL;
    void *of = NULL;
    struct outcome o;
    uint64_t timeout = params_timeout(p, 0);
    struct thing *t = things_take(v, p, "handler", KIND_HANDLER);
    if (t == NULL || p->why[0] != '\0') {
        things_drop(v, t);
        return NULL;
    }
    const uint64_t until = verbs_now_us() + timeout;
    outcome_begin(&o);
    int got = -1;
    do {
        if (!event_is_there(v, t, until)) {
            got = 0;
            break;
        }
        errno = 0;
        got = ibv_get_cq_event(t->channel, &cq, &of);
    } while (got != 0 && errno == EAGAIN); /* another thread of the suite's was faster, or it is none */
    outcome_int(&o, got);
    json_t *result = outcome_json(&o);
    if (got == 0)
        json_object_set_new(result, "cq", things_number(v, KIND_CQ, cq));
    if (got == 0 && cq != NULL)
        ibv_ack_cq_events(cq, 1);
    things_drop(v, t);
    return result;
}

json_t *verb_create_cq(struct verbs *v, struct params *p)
{
    struct outcome o;
    json_t *result = NULL;
    int entries = params_int(p, "entries");
    int vector = (int)params_number(p, "vector", INT32_MAX, true, 0);
    struct thing *rnic = things_take(v, p, "rnic", KIND_RNIC);
    struct thing *handler = things_take_or_none(v, p, "handler", KIND_HANDLER);
    struct thing *t = p->why[0] == '\0' && rnic != NULL ? things_new(v, p, KIND_CQ) : NULL;
    if (t != NULL) {
        outcome_begin(&o);
        struct ibv_cq *cq = v->layer->create_cq(rnic->context, entries, NULL,
                                                handler != NULL ? handler->channel : NULL, vector);
        outcome_good(&o, cq != NULL);
        result = outcome_json(&o);
        if (cq != NULL) {
            json_object_set_new(result, "cq", things_publish(v, t, cq));
            json_object_set_new(result, "entries", json_integer(cq->cqe));
        } else {
            things_forget(v, t);
        }
    }
    things_drop(v, handler);
    things_drop(v, rnic);
    return result;
}

/* libibverbs has no call for it: the structure says it. */
json_t *verb_query_cq(struct verbs *v, struct params *p)
{
    struct outcome o;
    struct thing *t = things_take(v, p, "cq", KIND_CQ);
    if (t == NULL)
        return NULL;
    outcome_begin(&o);
    outcome_int(&o, 0);
    json_t *result = outcome_json(&o);
    json_object_set_new(result, "entries", json_integer(t->cq->cqe));
    things_drop(v, t);
    return result;
}

json_t *verb_resize_cq(struct verbs *v, struct params *p)
{
    struct outcome o;
    int entries = params_int(p, "entries");
    struct thing *t = things_take(v, p, "cq", KIND_CQ);
    json_t *result = NULL;
    if (t != NULL && p->why[0] == '\0') {
        outcome_begin(&o);
        outcome_int(&o, ibv_resize_cq(t->cq, entries));
        result = outcome_json(&o);
        if (o.error == 0)
            json_object_set_new(result, "entries", json_integer(t->cq->cqe));
    }
    things_drop(v, t);
    return result;
}

VERB_GIVES_BACK(verb_destroy_cq, "cq", KIND_CQ, ibv_destroy_cq(t->cq))

json_t *verb_request_notification(struct verbs *v, struct params *p)
{
    struct outcome o;
    bool solicited = params_flag(p, "solicited");
    struct thing *t = things_take(v, p, "cq", KIND_CQ);
    json_t *result = NULL;
    if (t != NULL && p->why[0] == '\0') {
        outcome_begin(&o);
        outcome_int(&o, ibv_req_notify_cq(t->cq, solicited));
        result = outcome_json(&o);
    }
    things_drop(v, t);
    return result;
}

/* ---- polling ---- */

static json_t *wc_json(struct verbs *v, const struct ibv_context *context, const struct ibv_wc *wc)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:I, s:I, s:I}", "wr_id", verbs_hex64(wc->wr_id),
                     "status", words_name(words_wc_status, (uint32_t)wc->status), "opcode",
                     words_name(words_wc_opcode, (uint32_t)wc->opcode), "byte_len", (json_int_t)wc->byte_len,
                     "qp_num", (json_int_t)wc->qp_num, "qp", things_number_of_qp(v, context, wc->qp_num),
                     "flags", words_list(words_wc_flags, wc->wc_flags), "invalidated",
                     (json_int_t)wc->invalidated_rkey, "vendor_err", (json_int_t)wc->vendor_err, "at_us",
                     (json_int_t)verbs_now_us());
}

struct polled {
    struct ibv_wc wcs[VERBS_WCS + 1]; /* one more, so that one WC too many has a place */
    json_t *said;
    int wanted, got; /* got: also what the call returned when it failed */
};

/* One call of ibv_poll_cq. False: it failed, or gave more than was asked for. */
static bool poll_once(struct verbs *v, const struct thing *t, struct polled *s)
{
    int left = s->wanted - (int)json_array_size(s->said);
    memset(s->wcs, WC_FILL, sizeof s->wcs);
    s->got = v->layer->poll_cq(t->cq, left, s->wcs);
    for (int i = 0; i < s->got && i < left; i++) {
        if (s->wcs[i].status == IBV_WC_SUCCESS && s->wcs[i].opcode == IBV_WC_BIND_MW)
            things_end_bind(v, s->wcs[i].wr_id);
        json_array_append_new(s->said, wc_json(v, t->cq->context, &s->wcs[i]));
    }
    return s->got >= 0 && s->got <= left;
}

json_t *verb_poll_cq(struct verbs *v, struct params *p)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    struct outcome o;
    uint64_t timeout = params_timeout(p, 0);
    int wanted = (int)params_number(p, "max", VERBS_WCS, true, 1);
    if (wanted == 0)
        params_wrong(p, "max", "1 to 128");
    struct thing *t = things_take(v, p, "cq", KIND_CQ);
    struct polled *s = p->why[0] == '\0' ? calloc(1, sizeof *s) : NULL;
    if (s == NULL || t == NULL) {
        if (p->why[0] == '\0')
            params_no_room(p, "completions");
        things_drop(v, t);
        free(s);
        return NULL;
    }
    s->said = json_array();
    s->wanted = wanted;
    outcome_begin(&o);
    const uint64_t began = verbs_now_us();
    bool good = poll_once(v, t, s);
    while (good && timeout > 0 && (int)json_array_size(s->said) < wanted && !v->calls.ending && !t->going) {
        uint64_t now = verbs_now_us();
        if (now - began >= timeout)
            break;
        if (now - began > EAGER_US)
            nanosleep(&nap, NULL);
        good = poll_once(v, t, s);
    }
    if (!good && s->got > 0)
        errno = EOVERFLOW;
    outcome_int(&o, good ? 0 : s->got > 0 ? -1 : s->got);
    json_t *result = outcome_json(&o);
    json_object_set_new(result, "wcs", s->said);
    if (!good)
        json_object_set_new(result, "returned", json_integer(s->got));
    free(s);
    things_drop(v, t);
    return result;
}
