/* The build with faults: --fault NAME, and --faults for the list of them. */
#include "faults.h"

#include <stdio.h>

static const struct fault *const tables[] = {
    faults_poll, faults_post, faults_objects, faults_memory, faults_events, faults_odd, NULL};
static struct layer chosen;

/* A layer has pointers to functions alone. */
static void put_before(struct layer *layer, const struct layer *calls)
{
    void (*one)(void);
    for (size_t at = 0; at < sizeof *layer; at += sizeof one) {
        memcpy(&one, (const char *)calls + at, sizeof one);
        if (one != NULL)
            memcpy((char *)layer + at, &one, sizeof one);
    }
}

const struct layer *layer_choose(const char *name)
{
    if (name == NULL)
        return &layer_plain;
    for (const struct fault *const *table = tables; *table != NULL; table++)
        for (const struct fault *f = *table; f->name != NULL; f++)
            if (strcmp(f->name, name) == 0) {
                chosen = layer_plain;
                chosen.destroy_pretended = faults_destroy_pretended;
                put_before(&chosen, &f->calls);
                faults_forget = f->forget;
                return &chosen;
            }
    return NULL;
}

const char *layer_usage(void)
{
    return "--fault NAME: makes the provider a faulty one. --faults lists the faults: name and text; one "
           "whose "
           "name begins with odd- conforms.\n";
}

bool layer_list(void)
{
    for (const struct fault *const *table = tables; *table != NULL; table++)
        for (const struct fault *f = *table; f->name != NULL; f++)
            printf("%s\t%s\n", f->name, f->text);
    return true;
}
