/* Reading captures: pcap of the usual kind and pcapng in place, all else through libpcap. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): fopencookie */
#include "envelope.h"
#include "fcip.h"
#include "formats.h"
#include "fragments.h"
#include "pcapng.h"
#include "point.h"
#include "reorder.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 16 /* bytes for libpcap at a time */, LINKTYPE_RAW = 101 };

/* Apart from the usual path, which would save their registers for each record and guard their buffers. */
#define RARE __attribute__((noinline, cold))

struct capture {
    struct source *source;
    struct classic classic;
    struct pcapng *pcapng; /* NULL: it is none */
    pcap_t *pcap;          /* NULL: it is classic or pcapng */
    struct envelope envelope;
    struct fcip *fcip;           /* NULL: none was seen yet, */
    struct fragments *fragments; /* and none of these */
    struct fcip_ports ports;
    int linktype;
    char *path;              /* NULL: it is not looked at a second time */
    struct point *point;     /* NULL: nothing odd was seen yet */
    struct reorder *reorder; /* NULL: as they are in the file */
    bool rare;               /* not usual, or FCIP was seen in it */
    bool usual;              /* read in place by classic.h */
    bool flushed;
    bool is_over;               /* with reorder: no further record comes, */
    int over;                   /* for this reason */
    bool broken;                /* it ended with an error, for the reason below */
    bool gap;                   /* the capture says that frames are missing before the record last read */
    struct classic_record read; /* last */
    uint64_t number, time_us, limit;
    uint64_t waiting;           /* fragments of datagrams that are not whole */
    char why[PCAP_ERRBUF_SIZE]; /* it failed. A buffer on the stack would cost each record its guard. */
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
    const struct window head = fcvi_source_window(c->source);
    const char *hint = fcvi_format_hint(head.bytes, head.length);
    FILE *file = fopencookie(c, "r", (cookie_io_functions_t){.read = give});
    if (file == NULL)
        return refuse(error, size, path, "out of memory");
    (void)setvbuf(file, NULL, _IOFBF, BUFFER);
    c->pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_MICRO, why);
    if (c->pcap == NULL) {
        const char *broken = fcvi_source_why(c->source);
        fclose(file);
        return refuse(error, size, path, *broken != '\0' ? broken : hint != NULL ? hint : why);
    }
    c->linktype = pcap_datalink(c->pcap);
    if (c->linktype == DLT_RAW)
        c->linktype = LINKTYPE_RAW;
    return 0;
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

static int open_pcapng(struct capture *c, const char *path, char *error, size_t size)
{
    c->pcapng = calloc(1, sizeof *c->pcapng);
    if (c->pcapng == NULL)
        return refuse(error, size, path, "out of memory");
    c->pcapng->source = c->source;
    fcvi_source_wait_briefly(c->source);
    return 0;
}

static int open_format(struct capture *c, const char *path, char *error, size_t size)
{
    enum source_status status = fcvi_source_have(c->source, CLASSIC_HEADER);
    if (status == SOURCE_BROKEN)
        return refuse(error, size, path, fcvi_source_why(c->source));
    if (status == SOURCE_SHORT && fcvi_source_window(c->source).length == 0)
        return refuse(error, size, path, "is empty; a capture has at least a file header");
    if (status == SOURCE_INTERRUPTED)
        return refuse(error, size, path, "interrupted");
    if (status == SOURCE_READY && fcvi_load(fcvi_source_window(c->source).bytes, 4) == PCAPNG_MAGIC)
        return open_pcapng(c, path, error, size);
    if (status != SOURCE_READY || !fcvi_classic_begin(&c->classic, c->source))
        return open_other(c, path, error, size);
    fcvi_source_wait_briefly(c->source);
    c->usual = true;
    c->rare = false;
    c->linktype = (int)c->classic.linktype;
    return 0;
}

static struct capture *open_once(const char *path, char *error, size_t size)
{
    struct capture *c = calloc(1, sizeof *c);
    if (c == NULL) {
        refuse(error, size, path, "out of memory");
        return NULL;
    }
    c->rare = true;
    c->envelope.tunnels = &fcvi_envelope_tunnels;
    c->source = fcvi_source_open(path, error, size);
    if (c->source != NULL && open_format(c, path, error, size) == 0)
        return c;
    fcvi_capture_close(c);
    return NULL;
}

struct capture *fcvi_capture_open(const char *path, char *error, size_t size)
{
    struct capture *c = open_once(path, error, size);
    if (c != NULL && fcvi_source_is_file(c->source))
        c->path = strdup(path);
    return c;
}

/* ---- records ---- */

static int next_other(struct capture *c, struct classic_record *r, bool *gap, char *why, size_t size)
{
    if (c->pcapng == NULL)
        return other_next(c, r, why, size);
    struct pcapng_record record = {0};
    int status = fcvi_pcapng_next(c->pcapng, &record, why, size);
    *r = record.record;
    *gap = record.gap;
    c->linktype = (int)record.linktype;
    return status;
}

static void stamp(struct capture *c, struct capture_record *out)
{
    out->number = c->number;
    out->time_us = c->time_us;
}

/* A fragment of IP. When its datagram is whole the record is what that holds, and the fragments before are
 * parts of it. */
RARE static int take_fragment(struct capture *c, struct capture_record *out, char *why, size_t size)
{
    if (c->fragments == NULL && (c->fragments = fcvi_fragments_open()) == NULL) {
        snprintf(why, size, "out of memory for fragments of IP");
        return -1;
    }
    out->parts = 0;
    while ((out->unusual & CAPTURE_FRAGMENT) !=
           0) { /* a datagram may hold a fragment of another, in a tunnel */
        if (!fcvi_fragments_take(c->fragments, out)) {
            c->waiting++;
            return 1;
        }
        const struct envelope_bytes whole = {out->frame.bytes, out->frame.length, out->frame.length};
        out->unusual = (uint8_t)((out->unusual & ~(unsigned)CAPTURE_FRAGMENT) | CAPTURE_PARTS);
        fcvi_envelope_datagram(&c->envelope, whole, out);
    }
    c->waiting -= out->parts;
    return 1;
}

/* A segment that may be of FCIP. */
RARE static int take_segment(struct capture *c, struct capture_record *out, char *why, size_t size)
{
    if (c->fcip == NULL && (c->fcip = fcvi_fcip_open(why, size)) == NULL)
        return -1;
    c->rare = true;
    return fcvi_fcip_take(c->fcip, out, why, size) == 0 ? 1 : -1;
}

/* TCP of another port may be FCIP as well. */
static bool is_other_tcp(const struct capture_record *r)
{
    return r->kind == CAPTURE_FOREIGN && r->protocol == CAPTURE_TCP;
}

/* What is, or may be, a part of something. */
RARE static int take_part(struct capture *c, struct capture_record *out, char *why, size_t size)
{
    if ((out->unusual & CAPTURE_FRAGMENT) != 0 && take_fragment(c, out, why, size) < 0)
        return -1;
    if ((out->unusual & CAPTURE_FRAGMENT) != 0)
        return 1;
    if (is_other_tcp(out))
        fcvi_fcip_recognise(&c->ports, out);
    return out->kind == CAPTURE_PART ? take_segment(c, out, why, size) : 1;
}

/* One more frame of the record before, or of the streams at the end. */
static int next_streamed(struct capture *c, unsigned unusual, struct capture_record *out)
{
    stamp(c, out);
    fcvi_fcip_next(c->fcip, out);
    out->unusual |= (uint8_t)unusual;
    return 1;
}

static int at_end(struct capture *c, struct capture_record *out, char *why, size_t size)
{
    if (c->fcip == NULL || c->flushed)
        return 0;
    c->flushed = true;
    if (fcvi_fcip_flush(c->fcip, why, size) != 0)
        return -1;
    return fcvi_fcip_more(c->fcip) ? next_streamed(c, CAPTURE_LATE, out) : 0;
}

/* No record came. */
RARE static int without(struct capture *c, int status, struct capture_record *out)
{
    if (status == 0)
        status = at_end(c, out, c->why, sizeof c->why);
    if (status >= 0)
        return status;
    /* Who reads in batches hears of it at the next call: it must not pass for a record that was not there. */
    c->broken = c->rare = true;
    return status;
}

RARE static int tell(const struct capture *c, int status, char *error, size_t size)
{
    if (status < 0)
        snprintf(error, size, "after record %llu: %s", (unsigned long long)c->number, c->why);
    return status;
}

/* What is not read in place, and what a stream still has. As fcvi_capture_next, or: the record is still to be
 * read in place, or it is in out already. */
enum { USUAL = 3, GIVEN = 4 };
RARE static int rare_next(struct capture *c, struct capture_record *out)
{
    c->gap = false;
    if (c->broken)
        return -1;
    if (c->fcip != NULL && fcvi_fcip_more(c->fcip)) {
        (void)next_streamed(c, CAPTURE_FURTHER | (c->flushed ? CAPTURE_LATE : 0u), out);
        return GIVEN;
    }
    return c->usual ? USUAL : next_other(c, &c->read, &c->gap, c->why, sizeof c->why);
}

static inline int next(struct capture *c, struct capture_record *out)
{
    const struct classic_record *r = &c->read;
    int status = c->rare ? rare_next(c, out) : USUAL;
    if (status == GIVEN)
        return 1;
    if (status == USUAL)
        status = fcvi_classic_next(&c->classic, &c->read, c->why, sizeof c->why);
    if (status != 1)
        return without(c, status, out);
    out->number = ++c->number;
    out->time_us = c->time_us = r->time_us;
    fcvi_envelope_open(&c->envelope, c->linktype, (struct envelope_bytes){r->bytes, r->length, r->original},
                       out);
    if ((out->kind == CAPTURE_PART || is_other_tcp(out)) && take_part(c, out, c->why, sizeof c->why) < 0)
        return without(c, -1, out);
    if (c->gap)
        out->unusual |= CAPTURE_GAP;
    return 1;
}

/* ---- what the capture point made of them ---- */

/* The capture is looked at a second time, from its beginning: one frame does not tell. */
RARE static void survey(struct capture *c)
{
    struct capture_record record = {0};
    struct capture *again = c->path == NULL ? NULL : open_once(c->path, c->why, sizeof c->why);
    if (again != NULL)
        fcvi_source_limit(again->source, c->limit);
    if (again != NULL)
        again->ports = c->ports;
    int status = again == NULL ? 0 : next(again, &record);
    while (status > 0 && (status == 2 || fcvi_point_look(c->point, &record)))
        status = next(again, &record);
    fcvi_point_conclude(c->point, again != NULL);
    fcvi_capture_close(again);
}

RARE static void mask(struct capture *c, struct capture_record *out)
{
    if (c->point == NULL) {
        c->point = fcvi_point_open();
        if (c->point == NULL)
            return;
        survey(c);
    }
    fcvi_point_mask(c->point, out);
}

/* What nearly every frame is: it is asked of each. */
static inline bool is_usual(const struct capture_record *r)
{
    const struct fcvi_input *f = &r->frame;
    return f->crc != FCVI_CRC_BAD &&
           (f->sof == FCVI_SOF_NONE || f->sof == FCVI_SOF_I3 || f->sof == FCVI_SOF_N3) &&
           (f->eof == FCVI_EOF_NONE || f->eof == FCVI_EOF_N || f->eof == FCVI_EOF_T);
}

static inline int next_masked(struct capture *c, struct capture_record *out)
{
    const int status = next(c, out);
    if (status == 1 && out->kind == CAPTURE_FRAME && !is_usual(out) && fcvi_point_is_odd(out))
        mask(c, out);
    return status;
}

const struct capture_artefacts *fcvi_capture_artefacts(const struct capture *c)
{
    static const struct capture_artefacts none;
    return c->point == NULL ? &none : fcvi_point_artefacts(c->point);
}

/* ---- in the order of their times ---- */

int fcvi_capture_reorder(struct capture *c, const struct capture_order *order)
{
    fcvi_reorder_close(c->reorder);
    c->reorder = fcvi_reorder_open(order);
    return c->reorder == NULL ? -1 : 0;
}

const uint64_t *fcvi_capture_numbers(const struct capture *c, size_t *count)
{
    *count = 0;
    return c->reorder == NULL ? NULL : fcvi_reorder_numbers(c->reorder, count);
}

RARE static int next_in_order(struct capture *c, struct capture_record *out, char *error, size_t size)
{
    for (;;) {
        if (fcvi_reorder_take(c->reorder, c->is_over, out))
            return 1;
        if (c->is_over)
            return tell(c, c->over, error, size);
        const int status = next_masked(c, out);
        if (status == 2)
            return 2;
        c->is_over = status != 1;
        c->over = status; /* what came before is told first */
        if (status == 1 && !fcvi_reorder_put(c->reorder, out)) {
            snprintf(error, size, "out of memory");
            return -1;
        }
    }
}

int fcvi_capture_next(struct capture *c, struct capture_record *out, char *error, size_t size)
{
    if (c->reorder != NULL)
        return next_in_order(c, out, error, size);
    const int status = next_masked(c, out);
    return status == 1 ? 1 : tell(c, status, error, size);
}

void fcvi_capture_limit(struct capture *c, uint64_t bytes)
{
    c->limit = bytes;
    fcvi_source_limit(c->source, bytes);
}

void fcvi_capture_progress(const struct capture *c, uint64_t *read, uint64_t *size)
{
    fcvi_source_progress(c->source, read, size);
}

uint64_t fcvi_capture_fragments(const struct capture *c)
{
    return c->waiting;
}

bool fcvi_capture_is_file(const struct capture *c)
{
    return fcvi_source_is_file(c->source);
}

void fcvi_capture_close(struct capture *c)
{
    if (c == NULL)
        return;
    if (c->pcap != NULL)
        pcap_close(c->pcap);
    fcvi_fcip_close(c->fcip);
    fcvi_fragments_close(c->fragments);
    fcvi_point_close(c->point);
    fcvi_reorder_close(c->reorder);
    free(c->path);
    free(c->pcapng);
    if (c->source != NULL)
        fcvi_source_close(c->source);
    free(c);
}
