/* The file that names NICs and hosts for VipOpenNic and VipNSInit: VIPL_CONF, else /etc/vipl.conf.
 *
 * A line is a name and then members of the form key=value; # begins a comment. With `wire` it is a NIC, with
 * `address` a host. */
#ifndef FCVI_HOST_CONF_H
#define FCVI_HOST_CONF_H

#include <fcvi/port.h>
#include <fcvi/vipl_host.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONF_SPEC = 128, CONF_NAME = 64, CONF_WHY = 256, CONF_R_A_TOV_US = 10000000 /* unless it is set */ };

/** What a line says of a NIC; what it leaves open is zero, of numbers as of bytes. */
struct conf_nic {
    char wire[CONF_SPEC]; /* vitcp:ADDR:PORT or fcoe:IFACE */
    struct fcvi_port_config config;
    bool strict_discriminators; /* fewer than 16 bytes are refused on FC-VI 2007 */
};

struct conf {
    struct fcvi_vipl_name *names;
    size_t name_count;
};

/** An address of IPv4, as ::ffff:a.b.c.d, or of IPv6. */
bool conf_host(const char *text, uint8_t host[16]);
/** Members of a NIC. False with one line in why. */
bool conf_members(char *text, struct conf_nic *nic, char why[CONF_WHY]);
/** Read the file: the hosts into conf, and the NIC of that name. True when it is there; else with a line in
 * why when the file is wrong or cannot be read, and an empty one when it has no such NIC. */
bool conf_read(const char *device, struct conf *conf, struct conf_nic *nic, char why[CONF_WHY]);
void conf_free(struct conf *conf);

#endif
