/* Reading captures through libpcap. */
#include "envelope.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct capture {
    pcap_t *pcap;
    int linktype;
    uint64_t number;
};

static int refuse(char *error, size_t size, const char *path, const char *why)
{
    snprintf(error, size, "%s: %s", path, why);
    return -1;
}

static int check_path(const char *path, char *error, size_t size)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return 0;
    if (stat(path, &st) != 0)
        return refuse(error, size, path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return refuse(error, size, path, "is a directory; name a capture file");
    if (S_ISREG(st.st_mode) && st.st_size == 0)
        return refuse(error, size, path, "is empty; a capture has at least a file header");
    return 0;
}

struct capture *capture_open(const char *path, char *error, size_t size)
{
    char why[PCAP_ERRBUF_SIZE] = "";
    if (check_path(path, error, size) != 0)
        return NULL;
    pcap_t *pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_MICRO, why);
    if (pcap == NULL) {
        snprintf(error, size, "%s%s%s", strstr(why, path) == NULL ? path : "",
                 strstr(why, path) == NULL ? ": " : "", why);
        return NULL;
    }
    int linktype = pcap_datalink(pcap);
    if (linktype != CAPTURE_FC_2 && linktype != CAPTURE_FC_2_DELIMS && linktype != CAPTURE_ETHERNET) {
        snprintf(error, size, "%s: linktype %d holds no FC-2 frames; 224, 225 and Ethernet with FCoE do",
                 path, linktype);
        pcap_close(pcap);
        return NULL;
    }
    struct capture *c = calloc(1, sizeof *c);
    if (c == NULL) {
        snprintf(error, size, "%s: out of memory", path);
        pcap_close(pcap);
        return NULL;
    }
    c->pcap = pcap;
    c->linktype = linktype;
    return c;
}

int capture_next(struct capture *c, struct capture_record *out, char *error, size_t size)
{
    struct pcap_pkthdr *header;
    const u_char *bytes;
    int status = pcap_next_ex(c->pcap, &header, &bytes);
    if (status == PCAP_ERROR_BREAK)
        return 0;
    if (status != 1) {
        snprintf(error, size, "after record %llu: %s", (unsigned long long)c->number, pcap_geterr(c->pcap));
        return -1;
    }
    out->number = ++c->number;
    out->time_us = (uint64_t)header->ts.tv_sec * 1000000u + (uint64_t)header->ts.tv_usec;
    envelope_open(c->linktype, bytes, header->caplen, header->caplen < header->len, out);
    return 1;
}

static void watch(struct fcvi_monitor *monitor, const struct capture_record *r,
                  const struct fcvi_frame *frame, const struct fcvi_findings *findings,
                  struct fcvi_monitor_findings *breaches)
{
    struct fcvi_monitor_frame seen = {frame, r->number, r->time_us, r->network,
                                      findings->worst > 1u + FCVI_NOTICE};
    fcvi_monitor_frame(monitor, &seen, breaches);
}

int capture_next_finding(struct capture *c, struct capture_record *out, struct fcvi_frame *frame,
                         struct fcvi_findings *findings, struct fcvi_monitor *monitor,
                         struct fcvi_monitor_findings *breaches, struct capture_tally *tally, char *error,
                         size_t size)
{
    for (;;) {
        int status = capture_next(c, out, error, size);
        if (status != 1)
            return status;
        tally->records++;
        findings->count = 0;
        findings->worst = 0;
        if (monitor != NULL) {
            breaches->count = 0;
            if (out->kind == CAPTURE_MALFORMED || out->kind == CAPTURE_CUT)
                fcvi_monitor_gap(monitor);
        }
        if (out->kind == CAPTURE_MALFORMED)
            return 1;
        if (out->kind != CAPTURE_FRAME) {
            tally->skipped++;
            continue;
        }
        tally->frames++;
        fcvi_decode(&out->frame, frame, findings);
        tally->fcvi += frame->kind == FCVI_KIND_IU;
        /* a connect IU in several frames is put together and checked by the caller */
        bool part = (frame->iu == FCVI_IU_CONNECT_RQST || frame->iu == FCVI_IU_CONNECT_RESP1) &&
                    (!fcvi_FC_End_Sequence(frame->fc) || fcvi_FC_Parameter(frame->fc) != 0);
        if (monitor != NULL)
            watch(monitor, out, frame, findings, breaches);
        if (findings->count > 0 || part || (monitor != NULL && breaches->count > 0))
            return 1;
    }
}

void capture_close(struct capture *c)
{
    if (c != NULL)
        pcap_close(c->pcap);
    free(c);
}
