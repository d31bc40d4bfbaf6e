/* Reading captures: pcap in place where it is of the usual kind, else through libpcap. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): fopencookie */
#include "classic.h"
#include "envelope.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 16 }; /* bytes for libpcap at a time */

struct capture {
    struct source *source;
    struct classic classic;
    pcap_t *pcap; /* NULL: it is classic */
    int linktype;
    uint64_t number;
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
    (void)setvbuf(file, NULL, _IOFBF, BUFFER);
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

bool fcvi_capture_has_next(const struct capture *c)
{
    return c->pcap == NULL && fcvi_classic_has(c->source);
}

void fcvi_capture_progress(const struct capture *c, uint64_t *read, uint64_t *size)
{
    fcvi_source_progress(c->source, read, size);
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
    if (c->source != NULL)
        fcvi_source_close(c->source);
    free(c);
}
