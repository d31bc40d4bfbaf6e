/* Memory Regions. */
#include "agent.h"
#include "words.h"

#include <errno.h>

/* The library checks rights by a word that is an unsigned int or an int, as the call goes. */
static unsigned rights(struct params *p, const char *name)
{
    if (!params_has(p, name))
        params_wrong(p, name, "a list of rights");
    return words_flags(p, name, words_access, 0);
}

struct range {
    struct thing *mem;
    unsigned char *at;
    uint64_t length;
};

/* The length is not compared with that of the memory: a page that nobody may touch stands behind it. */
static struct range range_of(struct verbs *v, struct params *p)
{
    struct range r = {.mem = things_take(v, p, "mem", KIND_MEM)};
    const uint64_t longest = (1ull << 53) - 1;
    uint64_t offset = params_number(p, "offset", longest, true, 0);
    if (r.mem != NULL && p->why[0] == '\0' && offset > r.mem->length)
        params_wrong(p, "offset", "within the memory");
    if (r.mem == NULL || p->why[0] != '\0')
        return r;
    r.at = r.mem->bytes + offset;
    r.length = params_number(p, "length", longest, true, r.mem->length - offset);
    return r;
}

json_t *verb_register_mr(struct verbs *v, struct params *p)
{
    struct outcome o;
    json_t *result = NULL;
    bool by_iova = params_has(p, "iova");
    uint64_t iova = params_hex64(p, "iova", true, 0);
    unsigned access = rights(p, "access");
    struct thing *pd = things_take(v, p, "pd", KIND_PD);
    struct range r = range_of(v, p);
    struct thing *t = p->why[0] == '\0' ? things_new(v, p, KIND_MR) : NULL;
    if (t != NULL && pd != NULL) {
        outcome_begin(&o);
        struct ibv_mr *mr = by_iova ? ibv_reg_mr_iova(pd->pd, r.at, (size_t)r.length, iova, access)
                                    : ibv_reg_mr(pd->pd, r.at, (size_t)r.length, access);
        outcome_good(&o, mr != NULL);
        result = outcome_json(&o);
        if (mr != NULL) {
            uint64_t va = by_iova                                 ? iova
                          : (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0
                                                                  : (uint64_t)(uintptr_t)r.at;
            json_object_set_new(result, "mr", things_publish(v, t, mr));
            json_object_set_new(result, "lkey", json_integer(mr->lkey));
            json_object_set_new(result, "rkey", json_integer(mr->rkey));
            json_object_set_new(result, "va", verbs_hex64(va));
        } else {
            things_forget(v, t);
        }
    }
    things_drop(v, r.mem);
    things_drop(v, pd);
    return result;
}

json_t *verb_reregister_mr(struct verbs *v, struct params *p)
{
    struct outcome o;
    struct range r = {NULL, NULL, 0};
    json_t *result = NULL;
    int flags = (int)words_flags(p, "flags", words_rereg, 0);
    unsigned access = words_flags(p, "access", words_access, 0);
    struct thing *pd = things_take_or_none(v, p, "pd", KIND_PD), *t = things_take(v, p, "mr", KIND_MR);
    if (params_has(p, "mem"))
        r = range_of(v, p);
    if (t != NULL && p->why[0] == '\0') {
        outcome_begin(&o);
        int code =
            ibv_rereg_mr(t->mr, flags, pd != NULL ? pd->pd : NULL, r.at, (size_t)r.length, (int)access);
        int left = errno;
        outcome_good(&o, code == 0);
        if (code != 0)
            o.error = left > 0 ? left : code < 0 ? -code : code;
        result = outcome_json(&o);
        json_object_set_new(result, "code", json_integer(code));
        if (code == 0) {
            json_object_set_new(result, "lkey", json_integer(t->mr->lkey));
            json_object_set_new(result, "rkey", json_integer(t->mr->rkey));
        }
    }
    things_drop(v, r.mem);
    things_drop(v, t);
    things_drop(v, pd);
    return result;
}

VERB_GIVES_BACK(verb_deregister_mr, "mr", KIND_MR, ibv_dereg_mr(t->mr))
