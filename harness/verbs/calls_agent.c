/* What is no verb: devices, the state of the process, held events, the end. */
#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *verb_devices(struct verbs *v, struct params *p)
{
    (void)p;
    return json_pack("{s:o, s:o}", "devices", devices_names(v->devices), "addresses",
                     devices_addresses(v->devices));
}

/* A number of /proc/self/status; 0 when it cannot be read. */
static long long status(const char *name)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long long value = 0;
    size_t length = strlen(name);
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            value = strtoll(line + length + 1, NULL, 10);
    if (file != NULL)
        fclose(file);
    return value;
}

json_t *verb_state(struct verbs *v, struct params *p)
{
    json_t *open = json_object();
    (void)p;
    pthread_mutex_lock(&v->lock);
    for (size_t kind = 0; kind < KINDS; kind++) {
        json_int_t count = 0;
        for (size_t at = 0; things_next(v, (enum kind)kind, &at) != NULL;)
            count++;
        json_object_set_new(open, kind_names[kind], json_integer(count));
    }
    pthread_mutex_unlock(&v->lock);
    return json_pack("{s:I, s:I, s:o}", "threads", (json_int_t)status("Threads"), "memory",
                     (json_int_t)status("VmRSS") * 1024, "open", open);
}

json_t *verb_hold(struct verbs *v, struct params *p)
{
    if (!json_is_boolean(json_object_get(p->object, "async")))
        params_wrong(p, "async", "true or false");
    if (p->why[0] != '\0')
        return NULL;
    pthread_mutex_lock(&v->lock);
    v->hold_async = params_flag(p, "async");
    pthread_mutex_unlock(&v->lock);
    verbs_wake(v);
    return json_object();
}

json_t *verb_exit(struct verbs *v, struct params *p)
{
    (void)v, (void)p;
    _exit(0);
}
