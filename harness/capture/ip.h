/* The header of an IP packet, with the extension headers of IPv6 (RFC 791, RFC 8200). */
#ifndef FCVI_IP_H
#define FCVI_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IP_HOP_BY_HOP = 0,
    IP_IN_IP = 4,
    IP_TCP = 6,
    IP_UDP = 17,
    IP_V6 = 41,
    IP_FRAGMENT = 44,
    IP_GRE = 47,
    IP_ETHERNET = 97,
    IP_MPLS = 137,
    IP_NONE = 0xFF /* no header that is whole */
};
enum { IP_ADDRESS = 16, IP_LONGEST = 65535 };

struct ip_packet {
    uint8_t protocol;     /* of what follows the header and its extensions; IP_NONE without it */
    uint8_t address_size; /* 4 or 16 */
    size_t header;        /* bytes of the header and its extensions */
    size_t total;         /* bytes of the packet, as it says itself or, where it does not, as they came */
    bool fragment, more;  /* one of several; not the last */
    uint32_t offset;      /* of its data in the data of the datagram */
    uint32_t id;
    const uint8_t *from, *to;
};

/** Read the header of a packet of which `length` bytes are there, and `original` were. False when it is none,
 * or its headers are not all there: protocol then is IP_NONE. A later fragment has its datagram's protocol.
 */
bool fcvi_ip_open(const uint8_t *bytes, size_t length, size_t original, struct ip_packet *out);

#endif
