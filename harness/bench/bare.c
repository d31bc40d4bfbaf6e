/* What libpcap's own loop over a capture costs: bench_bare FILE [header]. With "header" the 24 bytes of each
 * Frame_Header are looked at as well: addresses, TYPE, F_CTL, DF_CTL, SEQ_CNT and OX_ID. Prints the records.
 */
#include <fcvi/access.h>
#include <pcap/pcap.h>
#include <stdio.h>

enum { FC_2 = 224, FC_2_WITH_FRAME_DELIMS = 225, SOF = 4, ETHERNET_AND_FCOE = 28 };

static volatile uint64_t sink;

static uint64_t look(const uint8_t *fc)
{
    uint64_t odd = (fcvi_FC_S_ID(fc) == 0) | (fcvi_FC_D_ID(fc) == 0) | (fcvi_FC_TYPE(fc) != 0x58);
    odd += fcvi_FC_Exchange_Context(fc) | fcvi_FC_End_Sequence(fc) | fcvi_FC_Last_Sequence(fc);
    return odd + fcvi_FC_Device_Header(fc) + fcvi_FC_SEQ_CNT(fc) + fcvi_FC_OX_ID(fc);
}

int main(int argc, char **argv)
{
    char error[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *header;
    const u_char *bytes;
    pcap_t *p = argc > 1 ? pcap_open_offline(argv[1], error) : NULL;
    if (p == NULL) {
        fprintf(stderr, "usage: bench_bare FILE [header]\n");
        return 2;
    }
    int linktype = pcap_datalink(p);
    unsigned at = linktype == FC_2 ? 0 : linktype == FC_2_WITH_FRAME_DELIMS ? SOF : ETHERNET_AND_FCOE;
    uint64_t records = 0, sum = 0;
    while (pcap_next_ex(p, &header, &bytes) == 1) {
        records++;
        sum += header->caplen;
        if (argc > 2 && header->caplen >= at + 24)
            sum += look(bytes + at);
    }
    sink = sum;
    printf("%llu\n", (unsigned long long)records);
    pcap_close(p);
    return 0;
}
