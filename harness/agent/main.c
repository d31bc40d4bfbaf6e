/* fcvi-agent: the upper tester over VIPL, for one client after another. */
#include "../lines/calls.h"
#include "../lines/serve.h"
#include "agent.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: fcvi-agent [--device NAME] [--on fcoe:IFACE|vitcp:ADDR:PORT|stream] [--revision 2007|rev1] "
    "[--token FILE]\n"
    "                  [--idle SECONDS] [unix:PATH | tcp:HOST:PORT]\n"
    "The upper tester: the control part of the DUT protocol over VIPL, in real time. Without an\n"
    "address it serves standard input and output. NAME is for VipOpenNic (default VINIC); given twice it "
    "names\n"
    "the NICs of both ends of a run that makes calls alone (fcvi run --dut api).\n"
    "--on puts the reference port on an Ethernet interface; or on TCP, where it speaks VI/TCP at ADDR and "
    "PORT\n"
    "and calls the same PORT of others; or with stream its frames among the lines of\n"
    "its client; a vendor's NIC is on its own wire, and --on vitcp says that it speaks VI/TCP.\n"
    "--revision: the edition of FC-VI that hello names and that holds where reset names none (default "
    "2007).\n"
    "The reference port takes either; of a vendor's NIC it is only told.\n"
    "unix: serves processes of the same user, tcp: this host alone (tcp::PORT is tcp:127.0.0.1:PORT).\n"
    "--token: a file whose first line a client has to name in hello; needed for any other address.\n"
    "--idle: a client that says nothing for so long is let go (default 3600; 10 for its first line).\n"
    "Exit status: 0 the client has gone or a signal came, 2 wrong usage or no such address, 3 a line too "
    "long.\n";

struct options {
    const char *device, *on, *revision;
    const char *devices[AGENT_DEVICES];
    size_t device_count;
};

static struct client *begin(struct serve *s, int sink)
{
    const struct options *o = s->context;
    struct agent *a = agent_new(sink, o->device);
    if (a == NULL)
        return NULL;
    a->revision = o->revision;
    memcpy(a->devices, o->devices, sizeof a->devices);
    a->device_count = o->device_count > 0 ? o->device_count : provider_devices(a->devices, AGENT_DEVICES);
    return &a->client;
}

static void end(struct client *c)
{
    (void)provider_frames_to(NULL, NULL);
    agent_free(agent_of(c));
}

/* False with one line on standard error. */
static bool read_options(int argc, char **argv, struct serve *s, struct options *o)
{
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        const char *value = argv[at + 1];
        enum serve_option common = serve_option(s, argv[at], value);
        if (common == SERVE_WRONG)
            return false;
        if (strcmp(argv[at], "--device") == 0) {
            if (o->device_count == AGENT_DEVICES) {
                fputs("fcvi-agent: --device can be given twice: one NIC for each end\n", stderr);
                return false;
            }
            o->devices[o->device_count++] = value;
            o->device = o->devices[0];
        } else if (strcmp(argv[at], "--on") == 0) {
            o->on = value;
        } else if (strcmp(argv[at], "--revision") == 0) {
            o->revision = value;
            if (strcmp(value, "2007") != 0 && strcmp(value, "rev1") != 0) {
                fprintf(stderr, "fcvi-agent: --revision %s: must be 2007 or rev1\n", value);
                return false;
            }
        } else if (common == SERVE_UNKNOWN) {
            break;
        }
    }
    if (argc - at > 1 || (at < argc && argv[at][0] == '-')) {
        fputs(usage, stderr);
        return false;
    }
    s->address = at < argc ? argv[at] : NULL;
    return true;
}

int main(int argc, char **argv)
{
    struct options o = {.revision = "2007"};
    struct serve s = {
        .program = "fcvi-agent", .idle_ms = 3600 * 1000L, .begin = begin, .end = end, .context = &o};
    char why[512];
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (!read_options(argc, argv, &s, &o))
        return 2;
    serve_prepare(&s);
    provider_when_waiting(calls_wait_begins);
    if (o.on != NULL && !provider_on(o.on, why, sizeof why)) {
        fprintf(stderr, "fcvi-agent: --on %s: %s\n", o.on, why);
        return 2;
    }
    return serve_run(&s);
}
