/* fcvi-verbs-agent: the upper tester over libibverbs and librdmacm, for one client after another. */
#include "../lines/serve.h"
#include "agent.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const char usage[] =
    "usage: fcvi-verbs-agent [--device NAME] [--address ADDR] [--extended] [--lossy] [--token FILE]\n"
    "                        [--idle SECONDS] [unix:PATH | tcp:HOST:PORT]\n"
    "The upper tester for RDMA verbs: the control part of the DUT protocol over libibverbs and librdmacm, "
    "in\n"
    "real time. Without an address to serve at it serves standard input and output. NAME is an RDMA device\n"
    "(ibv_devices lists them; default: the first); given twice it names the devices of both ends.\n"
    "--address: the address of the first device; without it the first that librdmacm finds on it.\n"
    "--extended: posts by ibv_wr_* and polls by ibv_start_poll, the second data path of a provider.\n"
    "--lossy: the link between the ends loses frames; the suite gives more time, and what is lost is sent "
    "again sooner.\n"
    "--without-device: serves although the machine has no RDMA device; every verb fails.\n"
    "unix: serves processes of the same user, tcp: this host alone (tcp::PORT is tcp:127.0.0.1:PORT).\n"
    "--token: a file whose first line a client has to name in hello; needed for any other address.\n"
    "--idle: a client that says nothing for so long is let go (default 3600; 10 for its first line).\n"
    "Exit status: 0 the client has gone or a signal came, 2 wrong usage or no such address, 3 "
    "there is no RDMA device, or a line is too long.\n";

struct options {
    const char *names[DEVICES], *address;
    size_t count;
    bool without, extended, lossy;
    struct devices devices;
    const struct layer *layer;
};

static struct client *begin(struct serve *s, int sink)
{
    const struct options *o = s->context;
    struct verbs *v = verbs_new(sink, o->layer, &o->devices);
    return v != NULL ? &v->client : NULL;
}

static void end(struct client *c)
{
    verbs_free(verbs_of(c));
}

static bool read_option(struct serve *s, struct options *o, const char *name, const char *value)
{
    if (strcmp(name, "--device") == 0) {
        if (o->count == DEVICES) {
            fputs("fcvi-verbs-agent: --device can be given twice: one device for each end\n", stderr);
            return false;
        }
        o->names[o->count++] = value;
        return true;
    }
    if (strcmp(name, "--address") == 0) {
        o->address = value;
        return true;
    }
    enum serve_option known = serve_option(s, name, value);
    if (known == SERVE_UNKNOWN)
        fputs(usage, stderr);
    return known == SERVE_TAKEN;
}

/* False with one line, or the usage, on standard error. */
static bool read_options(int argc, char **argv, struct serve *s, struct options *o)
{
    int at = 1;
    while (at < argc && strncmp(argv[at], "--", 2) == 0) {
        bool *flag = strcmp(argv[at], "--without-device") == 0 ? &o->without
                     : strcmp(argv[at], "--extended") == 0     ? &o->extended
                     : strcmp(argv[at], "--lossy") == 0        ? &o->lossy
                                                               : NULL;
        if (flag != NULL) {
            *flag = true;
            at++;
            continue;
        }
        if (at + 1 == argc || !read_option(s, o, argv[at], argv[at + 1])) {
            if (at + 1 == argc)
                fputs(usage, stderr);
            return false;
        }
        at += 2;
    }
    if (argc - at > 1 || (at < argc && argv[at][0] == '-')) {
        fputs(usage, stderr);
        return false;
    }
    s->address = at < argc ? argv[at] : NULL;
    return true;
}

/* Providers count what is registered against what a process may lock. */
static void lock_as_much_as_may_be(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return;
    const struct rlimit most = {limit.rlim_max, limit.rlim_max}, all = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_MEMLOCK, &all) != 0)
        (void)setrlimit(RLIMIT_MEMLOCK, &most);
}

int main(int argc, char **argv)
{
    struct options o = {.count = 0};
    struct serve s = {
        .program = "fcvi-verbs-agent", .idle_ms = 3600 * 1000L, .begin = begin, .end = end, .context = &o};
    char why[256];
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (!read_options(argc, argv, &s, &o))
        return 2;
    o.layer = o.extended ? &layer_extended : &layer_plain;
    serve_prepare(&s);
    lock_as_much_as_may_be();
    if (!o.without && !devices_find(&o.devices, o.names, o.count, o.address, why, sizeof why)) {
        fprintf(stderr, "fcvi-verbs-agent: %s\n", why);
        devices_free(&o.devices);
        return 3;
    }
    if (o.lossy)
        devices_are_lossy(&o.devices);
    int status = serve_run(&s);
    devices_free(&o.devices);
    return status;
}
