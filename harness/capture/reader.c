/* Reading captures: pcap in place where it is of the usual kind, else through libpcap. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): fopencookie */
#include "classic.h"
#include "envelope.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 1 << 16 }; /* records in which nothing is found, before the caller hears of it */

/* Records that are in the buffer already are taken together: what the monitor will want of one is fetched
 * while the others are decoded. */
enum { BATCH = 16 };
struct entry {
    struct capture_record record;
    struct fcvi_frame frame;
    struct fcvi_monitor_hint hint;
    bool fault; /* the codec has findings */
};

struct capture {
    struct source *source;
    struct classic classic;
    pcap_t *pcap; /* NULL: it is classic */
    int linktype;
    uint64_t number, before;
    unsigned next, ready; /* of the batch */
    struct entry batch[BATCH];
};

/* ---- libpcap, on the bytes of the source ---- */

static ssize_t give(void *context, char *out, size_t capacity)
{
    struct capture *c = context;
    enum source_status status = fcvi_source_have(c->source, 1);
    if (status == SOURCE_BROKEN || status == SOURCE_INTERRUPTED) {
        errno = status == SOURCE_INTERRUPTED ? EINTR : EIO;
        return -1;
    }
    struct window w = fcvi_source_window(c->source);
    size_t n = w.length < capacity ? w.length : capacity;
    memcpy(out, w.bytes, n);
    fcvi_source_skip(c->source, n);
    return (ssize_t)n;
}

static int refuse(char *error, size_t size, const char *path, const char *why)
{
    snprintf(error, size, "%s: %s", path, why);
    return -1;
}

static int open_other(struct capture *c, const char *path, char *error, size_t size)
{
    char why[PCAP_ERRBUF_SIZE] = "";
    FILE *file = fopencookie(c, "r", (cookie_io_functions_t){.read = give});
    if (file == NULL)
        return refuse(error, size, path, "out of memory");
    (void)setvbuf(file, NULL, _IOFBF, STEP);
    c->pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_MICRO, why);
    if (c->pcap == NULL) {
        const char *broken = fcvi_source_why(c->source);
        fclose(file);
        return refuse(error, size, path, *broken != '\0' ? broken : why);
    }
    c->linktype = pcap_datalink(c->pcap);
    if (c->linktype == CAPTURE_FC_2 || c->linktype == CAPTURE_FC_2_DELIMS || c->linktype == CAPTURE_ETHERNET)
        return 0;
    snprintf(error, size, "%s: linktype %d holds no FC-2 frames; 224, 225 and Ethernet with FCoE do", path,
             c->linktype);
    return -1;
}

static int other_next(struct capture *c, struct classic_record *out, char *error, size_t size)
{
    struct pcap_pkthdr *header;
    const u_char *bytes;
    int status = pcap_next_ex(c->pcap, &header, &bytes);
    if (status == PCAP_ERROR_BREAK)
        return 0;
    if (status != 1) {
        const char *broken = fcvi_source_why(c->source);
        snprintf(error, size, "%s", *broken != '\0' ? broken : pcap_geterr(c->pcap));
        return -1;
    }
    out->time_us = (uint64_t)header->ts.tv_sec * 1000000u + (uint64_t)header->ts.tv_usec;
    out->bytes = bytes;
    out->length = header->caplen;
    out->original = header->len;
    return 1;
}

/* ---- either ---- */

static int open_format(struct capture *c, const char *path, char *error, size_t size)
{
    enum source_status status = fcvi_source_have(c->source, CLASSIC_HEADER);
    if (status == SOURCE_BROKEN)
        return refuse(error, size, path, fcvi_source_why(c->source));
    if (status == SOURCE_INTERRUPTED)
        return refuse(error, size, path, "interrupted");
    if (status != SOURCE_READY || !fcvi_classic_begin(&c->classic, fcvi_source_window(c->source).bytes))
        return open_other(c, path, error, size);
    fcvi_source_skip(c->source, CLASSIC_HEADER);
    fcvi_source_wait_briefly(c->source);
    c->linktype = (int)c->classic.linktype;
    return 0;
}

struct capture *fcvi_capture_open(const char *path, char *error, size_t size)
{
    struct capture *c = calloc(1, sizeof *c);
    if (c == NULL) {
        refuse(error, size, path, "out of memory");
        return NULL;
    }
    c->source = fcvi_source_open(path, error, size);
    if (c->source != NULL && open_format(c, path, error, size) == 0)
        return c;
    fcvi_capture_close(c);
    return NULL;
}

int fcvi_capture_next(struct capture *c, struct capture_record *out, char *error, size_t size)
{
    struct classic_record r = {0};
    char why[PCAP_ERRBUF_SIZE];
    int status = c->pcap == NULL ? fcvi_classic_next(&c->classic, c->source, &r, why, sizeof why)
                                 : other_next(c, &r, why, sizeof why);
    if (status < 0)
        snprintf(error, size, "after record %llu: %s", (unsigned long long)c->number, why);
    if (status != 1)
        return status;
    out->number = ++c->number;
    out->time_us = r.time_us;
    fcvi_envelope_open(c->linktype, r.bytes, r.length, r.length < r.original, out);
    return 1;
}

void fcvi_capture_continue(struct capture *c, uint64_t before)
{
    c->before = before;
}

void fcvi_capture_progress(const struct capture *c, uint64_t *read, uint64_t *size)
{
    fcvi_source_progress(c->source, read, size);
}

bool fcvi_capture_is_file(const struct capture *c)
{
    return fcvi_source_is_file(c->source);
}

/* ---- what is wrong ---- */

static void decode(struct entry *e)
{
    struct fcvi_findings any = {NULL, 0, 0, 0};
    if (e->record.kind == CAPTURE_FRAME)
        fcvi_decode(&e->record.frame, &e->frame, &any);
    e->fault = any.count != 0;
}

/* At least one record, which may have to be waited for, and those behind it that are there. */
static int fill(struct capture *c, const struct fcvi_monitor *monitor, char *error, size_t size)
{
    c->next = c->ready = 0;
    do {
        struct entry *e = &c->batch[c->ready];
        int status = fcvi_capture_next(c, &e->record, error, size);
        if (status != 1)
            return c->ready > 0 ? 1 : status;
        decode(e);
        if (monitor != NULL && e->record.kind == CAPTURE_FRAME)
            e->hint = fcvi_monitor_expect(monitor, &e->frame, e->record.network);
        c->ready++;
    } while (c->ready < BATCH && c->pcap == NULL && fcvi_classic_has(c->source));
    return 1;
}

static void watch(struct fcvi_monitor *monitor, uint64_t number, const struct entry *e, bool broken,
                  struct fcvi_monitor_findings *breaches)
{
    struct fcvi_monitor_frame seen = {&e->frame, number, e->record.time_us, e->record.network, broken};
    fcvi_monitor_expected(monitor, &seen, e->hint, breaches);
}

/* A connect IU in several frames is put together and checked by the caller. */
static bool is_part(const struct fcvi_frame *f)
{
    return (f->iu == FCVI_IU_CONNECT_RQST || f->iu == FCVI_IU_CONNECT_RESP1) &&
           (!fcvi_FC_End_Sequence(f->fc) || fcvi_FC_Parameter(f->fc) != 0);
}

/* Whether the caller is to see it. */
static bool judge(struct capture *c, const struct entry *e, struct fcvi_findings *findings,
                  struct fcvi_monitor *monitor, struct fcvi_monitor_findings *breaches,
                  struct capture_tally *tally)
{
    const struct capture_record *r = &e->record;
    tally->records++;
    if (monitor != NULL && (r->kind == CAPTURE_MALFORMED || r->kind == CAPTURE_CUT))
        fcvi_monitor_gap(monitor);
    if (r->kind != CAPTURE_FRAME) {
        tally->skipped += r->kind != CAPTURE_MALFORMED;
        return r->kind == CAPTURE_MALFORMED;
    }
    tally->frames++;
    tally->fcvi += e->frame.kind == FCVI_KIND_IU;
    if (e->fault) {
        struct fcvi_frame again;
        fcvi_decode(&r->frame, &again, findings);
    }
    if (monitor != NULL)
        watch(monitor, c->before + r->number, e, findings->worst > 1u + FCVI_NOTICE, breaches);
    return e->fault || is_part(&e->frame) || (monitor != NULL && breaches->count > 0);
}

int fcvi_capture_next_finding(struct capture *c, struct capture_record *out, struct fcvi_frame *frame,
                              struct fcvi_findings *findings, struct fcvi_monitor *monitor,
                              struct fcvi_monitor_findings *breaches, struct capture_tally *tally,
                              char *error, size_t size)
{
    findings->count = 0;
    findings->worst = 0;
    if (monitor != NULL)
        breaches->count = 0;
    for (unsigned step = 0; step < STEP; step++) {
        int status = c->next < c->ready ? 1 : fill(c, monitor, error, size);
        if (status != 1)
            return status;
        const struct entry *e = &c->batch[c->next++];
        if (!judge(c, e, findings, monitor, breaches, tally))
            continue;
        *out = e->record;
        *frame = e->frame;
        return 1;
    }
    return 2;
}

void fcvi_capture_close(struct capture *c)
{
    if (c == NULL)
        return;
    if (c->pcap != NULL)
        pcap_close(c->pcap);
    if (c->source != NULL)
        fcvi_source_close(c->source);
    free(c);
}
