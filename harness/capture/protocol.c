/* Protocols of foreign records, in words. */
#include "capture.h"

#include <stdio.h>

static const char *name_of(enum capture_protocol family, unsigned number)
{
    static const struct {
        uint8_t family;
        uint16_t number;
        const char *name;
    } names[] = {
        {CAPTURE_EMPTY, 0, "records without a byte"},
        {CAPTURE_ETHERTYPE, 0, "Ethernet, too short"},
        {CAPTURE_ETHERTYPE, 0x0806, "ARP"},
        {CAPTURE_ETHERTYPE, 0x88CC, "LLDP"},
        {CAPTURE_ETHERTYPE, 0x88E5, "MACsec"},
        {CAPTURE_ETHERTYPE, 0x8100, "VLAN tags alone"},
        {CAPTURE_ETHERTYPE, 0x88A8, "VLAN tags alone"},
        {CAPTURE_ETHERTYPE, 0x8808, "Ethernet flow control"},
        {CAPTURE_ETHERTYPE, 0x8809, "slow protocols (LACP)"},
        {CAPTURE_ETHERTYPE, 0x8847, "MPLS"},
        {CAPTURE_ETHERTYPE, 0x8848, "MPLS"},
        {CAPTURE_ETHERTYPE, 0x8863, "PPPoE discovery"},
        {CAPTURE_ETHERTYPE, 0x8864, "PPPoE"},
        {CAPTURE_ETHERTYPE, 0x88E7, "IEEE 802.1ah (PBB)"},
        {CAPTURE_ETHERTYPE, 0x8909, "Cisco metadata"},
        {CAPTURE_ETHERTYPE, 0x8926, "VN-Tag"},
        {CAPTURE_ETHERTYPE, 0x892F, "HSR"},
        {CAPTURE_ETHERTYPE, 0x893F, "E-Tag (IEEE 802.1BR)"},
        {CAPTURE_TUNNEL, TUNNEL_VXLAN, "VXLAN"},
        {CAPTURE_TUNNEL, TUNNEL_GENEVE, "Geneve"},
        {CAPTURE_LLC, 0, "IEEE 802.3 with LLC"},
        {CAPTURE_IP, 1, "ICMP"},
        {CAPTURE_IP, 2, "IGMP"},
        {CAPTURE_IP, 6, "TCP"},
        {CAPTURE_IP, 17, "UDP"},
        {CAPTURE_IP, 47, "GRE"},
        {CAPTURE_IP, 50, "ESP (IPsec)"},
        {CAPTURE_IP, 58, "ICMPv6"},
        {CAPTURE_IP, 115, "L2TPv3"},
        {CAPTURE_IP, 132, "SCTP"},
        {CAPTURE_IP, 0xFF, "IP, cut off or damaged"},
        {CAPTURE_FCIP, 0, "TCP without data (FCIP)"},
        {CAPTURE_FCIP, 1, "FCIP special frame"},
        {CAPTURE_FCIP, 2, "TCP port 3225, no FCIP"},
        {CAPTURE_FCIP, 3, "iFCP, which is not read (capture the FC side of its gateway)"},
        {CAPTURE_FC_TYPE, 0x08, "FC TYPE 08h (SCSI-FCP)"},
        {CAPTURE_FC_TYPE, 0x05, "FC TYPE 05h (IP)"},
        {CAPTURE_FC_TYPE, 0x20, "FC TYPE 20h (FC-CT)"},
        {CAPTURE_FC_TYPE, 0x22, "FC TYPE 22h (SW_ILS)"},
        {CAPTURE_FC_TYPE, 0x28, "FC TYPE 28h (FC-NVMe)"},
        {CAPTURE_FC_TYPE, 0x58, "FC-VI behind an ESP_Header"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].family == family && names[i].number == number)
            return names[i].name;
    return NULL;
}

int fcvi_capture_protocol(uint32_t protocol, char *out, size_t size)
{
    unsigned family = protocol >> 16, number = protocol & 0xFFFF;
    const char *name = name_of((enum capture_protocol)family, number);
    if (name != NULL)
        return snprintf(out, size, "%s", name);
    switch (family) {
    case CAPTURE_ETHERTYPE:
        return snprintf(out, size, "EtherType %04Xh", number);
    case CAPTURE_FC_TYPE:
        return snprintf(out, size, "FC TYPE %02Xh", number);
    case CAPTURE_FC_R_CTL:
        return snprintf(out, size, "FC extended header %02Xh", number);
    case CAPTURE_IP:
        return snprintf(out, size, "IP protocol %u", number);
    case CAPTURE_ERF:
        return snprintf(out, size, "ERF type %u", number);
    case CAPTURE_LINKTYPE:
        return snprintf(out, size, "linktype %u", number);
    default:
        return snprintf(out, size, "other protocols");
    }
}
