/* fcvi-explore: explores the scenarios that are named and says what it found, as JSON lines. The command
 * `fcvi explore` calls it and makes captures and ladder diagrams of what it says. */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: fcvi-explore [option=value]... scenario...\n"
    "losses= duplications= reorderings=         how often that may happen to frames (2, 0, 1)\n"
    "resets= cuts=                              how often that may happen to streams (2, 1)\n"
    "races=                                     how often a timer may be faster than what is under way (0)\n"
    "fabric=in-order|out-of-order  class=2|3  reduction=0|1  monitor=0|1  memory=MiB  states=N\n"
    "list                                       names and titles of the scenarios\n";

static bool number(const char *value, unsigned long long most, unsigned long long *out)
{
    char *end;
    *out = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && *end == '\0' && *out <= most;
}

static bool fault(struct options *o, const char *name, unsigned long long value)
{
    static const char *const names[] = {"losses", "duplications", "reorderings", "races", "resets", "cuts"};
    for (unsigned i = 0; i < FAULTS; i++)
        if (strcmp(name, names[i]) == 0 && value <= 255) {
            o->budget[i] = (uint8_t)value;
            return true;
        }
    return false;
}

static bool option(struct options *o, const char *argument)
{
    char name[32];
    const char *value = strchr(argument, '=');
    unsigned long long n;
    if (value == NULL || (size_t)(value - argument) >= sizeof name)
        return false;
    memcpy(name, argument, (size_t)(value - argument));
    name[value++ - argument] = '\0';
    if (strcmp(name, "fabric") == 0) {
        o->out_of_order = strcmp(value, "out-of-order") == 0;
        return o->out_of_order || strcmp(value, "in-order") == 0;
    }
    if (!number(value, UINT32_MAX, &n))
        return false;
    if (strcmp(name, "class") == 0)
        o->service_class = (uint8_t)n;
    else if (strcmp(name, "reduction") == 0)
        o->reduce = n != 0;
    else if (strcmp(name, "monitor") == 0)
        o->monitor = n != 0;
    else if (strcmp(name, "memory") == 0)
        o->memory = n << 20;
    else if (strcmp(name, "states") == 0)
        o->states = n;
    else
        return fault(o, name, n);
    return o->service_class == 2 || o->service_class == 3;
}

static const struct scenario *find(const char *name)
{
    for (unsigned i = 0; i < fcvi_explore_scenario_count; i++)
        if (strcmp(fcvi_explore_scenarios[i].name, name) == 0)
            return &fcvi_explore_scenarios[i];
    return NULL;
}

/* 0: nothing was found; 1: a rule is broken; 3: there was no room to begin; 4: a bound was reached first. */
static int explore(const struct scenario *scenario, const struct options *given)
{
    static struct result r;
    struct scenario own = *scenario;
    struct options with = *given;
    const struct options *o = &with;
    struct system s;
    if (own.streams)
        with.budget[LOSS] = with.budget[DUPLICATION] = with.budget[REORDERING] = 0;
    else
        with.budget[RESET] = with.budget[CUT] = 0;
    /* FC-FS delivers no frame twice. A port answers each copy of a request; the monitor knows of one, and
     * would take the second answer for a deviation of the port's. */
    with.monitor = with.monitor && with.budget[DUPLICATION] == 0;
    if (own.level == 0)
        own.level = FCVI_RELIABLE_DELIVERY;
    if (!fcvi_explore_system_make(&s, &own, o)) {
        fcvi_explore_system_free(&s);
        fprintf(stderr, "fcvi-explore: %s cannot begin\n", own.name);
        return 3;
    }
    fcvi_explore_search(&s, &r);
    fcvi_explore_path_result(&s, &r);
    if (r.breach.rule != NULL)
        fcvi_explore_path_replay(&s, &r);
    fflush(stdout);
    fcvi_explore_system_free(&s);
    return r.breach.rule != NULL ? 1 : r.complete ? 0 : 4;
}

static int list(void)
{
    for (unsigned i = 0; i < fcvi_explore_scenario_count; i++)
        printf("{\"scenario\":\"%s\",\"title\":\"%s\"}\n", fcvi_explore_scenarios[i].name,
               fcvi_explore_scenarios[i].title);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {.budget = {[LOSS] = 2, [REORDERING] = 1, [RESET] = 2, [CUT] = 1},
                        .out_of_order = true,
                        .reduce = true,
                        .monitor = true,
                        .service_class = 3,
                        .memory = 1024ULL << 20,
                        .states = UINT32_MAX};
    int status = 0, explored = 0;
    for (int i = 1; i < argc; i++) {
        const struct scenario *s = find(argv[i]);
        if (strcmp(argv[i], "list") == 0)
            return list();
        if (s == NULL && !option(&o, argv[i])) {
            fprintf(stderr, "fcvi-explore: what is '%s'?\n%s", argv[i], usage);
            return 2;
        }
        if (s == NULL)
            continue;
        int one = explore(s, &o);
        explored++;
        status = one == 1 || status == 0 ? one : status;
    }
    if (explored == 0)
        fputs(usage, stderr);
    return explored == 0 ? 2 : status;
}
