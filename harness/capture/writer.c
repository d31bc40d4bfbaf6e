/* Writing captures through libpcap. */
#include "envelope.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 14 + 14 + 24 + 2112 + 8 };

struct capture_writer {
    pcap_t *pcap;
    pcap_dumper_t *dumper;
    int linktype;
};

struct capture_writer *fcvi_capture_create(const char *path, int linktype, char *error, size_t size)
{
    struct capture_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        snprintf(error, size, "%s: out of memory", path);
        return NULL;
    }
    w->linktype = linktype;
    w->pcap = pcap_open_dead(linktype, 65535);
    w->dumper = w->pcap != NULL ? pcap_dump_open(w->pcap, path) : NULL;
    if (w->dumper == NULL) {
        snprintf(error, size, "%s", w->pcap != NULL ? pcap_geterr(w->pcap) : "out of memory");
        if (w->pcap != NULL)
            pcap_close(w->pcap);
        free(w);
        return NULL;
    }
    return w;
}

static size_t record_of(const struct capture_writer *w, const struct fcvi_input *frame, uint8_t *out)
{
    if (w->linktype == CAPTURE_FC_2_DELIMS)
        return fcvi_capture_delimited(frame, out, LONGEST);
    if (w->linktype == CAPTURE_ETHERNET)
        return fcvi_envelope_fcoe(frame, out, LONGEST);
    if (frame->length > LONGEST)
        return 0;
    memcpy(out, frame->bytes, frame->length);
    return frame->length;
}

int fcvi_capture_write(struct capture_writer *w, uint64_t time_us, const struct fcvi_input *frame)
{
    uint8_t record[LONGEST];
    size_t length = record_of(w, frame, record);
    if (length == 0)
        return -1;
    struct pcap_pkthdr header = {.caplen = (bpf_u_int32)length, .len = (bpf_u_int32)length};
    header.ts.tv_sec = (time_t)(time_us / 1000000u);
    header.ts.tv_usec = (suseconds_t)(time_us % 1000000u);
    pcap_dump((u_char *)w->dumper, &header, record);
    return 0;
}

int fcvi_capture_finish(struct capture_writer *w)
{
    int status = pcap_dump_flush(w->dumper);
    pcap_dump_close(w->dumper);
    pcap_close(w->pcap);
    free(w);
    return status;
}
