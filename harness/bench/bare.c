/* What libpcap's own loop over a capture costs: bench_bare FILE. Prints the records. */
#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char error[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *header;
    const u_char *bytes;
    pcap_t *p = argc > 1 ? pcap_open_offline(argv[1], error) : NULL;
    if (p == NULL) {
        fprintf(stderr, "usage: bench_bare FILE\n");
        return 2;
    }
    uint64_t records = 0;
    while (pcap_next_ex(p, &header, &bytes) == 1)
        records++;
    printf("%llu\n", (unsigned long long)records);
    pcap_close(p);
    return 0;
}
