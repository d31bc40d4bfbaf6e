/* See conf.h. */
#include "conf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024, MS = 1000 };

static const char usual[] = "/etc/vipl.conf";

bool conf_host(const char *text, uint8_t host[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    memcpy(host, mapped, sizeof mapped);
    return inet_pton(AF_INET, text, host + sizeof mapped) == 1 || inet_pton(AF_INET6, text, host) == 1;
}

static bool number(const char *text, int base, uint64_t most, uint64_t *out)
{
    char *rest;
    errno = 0;
    *out = strtoull(text, &rest, base);
    return errno == 0 && *text >= '0' && *rest == '\0' && *out <= most;
}

static bool ms(const char *text, uint64_t *us)
{
    bool good = number(text, 10, UINT64_C(3600) * MS, us) && *us > 0;
    *us *= MS;
    return good;
}

static bool add_host(const char *text, struct fcvi_port_identity *i)
{
    return i->hosts < FCVI_MAX_HOSTS && conf_host(text, i->host[i->hosts++]);
}

/* One member of a NIC. */
static bool member(const char *key, const char *value, struct conf_nic *nic)
{
    struct fcvi_port_config *c = &nic->config;
    uint64_t n = 0;
    bool good = true;
    if (strcmp(key, "wire") == 0) {
        good = strlen(value) < sizeof nic->wire;
        snprintf(nic->wire, sizeof nic->wire, "%s", value);
    } else if (strcmp(key, "host") == 0) {
        good = add_host(value, &c->self);
    } else if (strcmp(key, "port_name") == 0) {
        good = number(value, 16, UINT64_MAX, &c->self.port_name);
    } else if (strcmp(key, "node_name") == 0) {
        good = number(value, 16, UINT64_MAX, &c->self.node_name);
    } else if (strcmp(key, "n_port_id") == 0) {
        good = number(value, 16, 0xFFFFEF, &n) && n > 0;
        c->self.n_port_id = (uint32_t)n;
    } else if (strcmp(key, "e_d_tov") == 0) {
        good = ms(value, &c->e_d_tov_us);
    } else if (strcmp(key, "r_a_tov") == 0) {
        good = ms(value, &c->r_a_tov_us);
    } else if (strcmp(key, "incoming") == 0) {
        good = ms(value, &c->vitcp.incoming_timeout_us);
    } else if (strcmp(key, "class") == 0) {
        good = number(value, 10, 3, &n) && n >= 2;
        c->service_class = (uint8_t)n;
    } else if (strcmp(key, "edition") == 0) {
        good = strcmp(value, "2007") == 0 || strcmp(value, "rev1") == 0;
        c->revision = strcmp(value, "rev1") == 0 ? FCVI_EDITION_REV1 : FCVI_EDITION_2007;
    } else if (strcmp(key, "discriminators") == 0) {
        good = strcmp(value, "pad") == 0 || strcmp(value, "strict") == 0;
        nic->strict_discriminators = strcmp(value, "strict") == 0;
    } else {
        good = false;
    }
    return good;
}

bool conf_members(char *text, struct conf_nic *nic, char why[CONF_WHY])
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest)) {
        char *value = strchr(word, '=');
        if (value != NULL)
            *value++ = '\0';
        if (value == NULL || !member(word, value, nic)) {
            snprintf(why, CONF_WHY, "'%.60s' is no member of a NIC, or its value is wrong", word);
            return false;
        }
    }
    const uint64_t search = nic->config.r_a_tov_us != 0 ? nic->config.r_a_tov_us : CONF_R_A_TOV_US;
    if (nic->config.e_d_tov_us >= search) { /* no address would be asked for twice (8.3) */
        snprintf(why, CONF_WHY, "e_d_tov is %llu ms and has to be less than r_a_tov, %llu ms",
                 (unsigned long long)nic->config.e_d_tov_us / MS, (unsigned long long)search / MS);
        return false;
    }
    return true;
}

static bool add_name(struct conf *conf, const char *name, const char *address)
{
    struct fcvi_vipl_name *more = realloc(conf->names, (conf->name_count + 1) * sizeof *more);
    char *copy = more != NULL ? strdup(name) : NULL;
    if (more != NULL)
        conf->names = more;
    if (copy == NULL || !conf_host(address, more[conf->name_count].host)) {
        free(copy);
        return false;
    }
    more[conf->name_count++].name = copy;
    return true;
}

/* Both are "VINIC" or "VINIC0" (VI-DG 6.5), or they are the same. */
static bool is_device(const char *name, const char *device)
{
    static const char first[] = "VINIC0";
    const char *a = strcmp(name, "VINIC") == 0 ? first : name,
               *b = strcmp(device, "VINIC") == 0 ? first : device;
    return strcmp(a, b) == 0;
}

/* A line without its mark of UTF-8, its comment and its end; false: it goes on farther than there is room. */
static bool is_whole(FILE *file, bool first, char line[LINE])
{
    static const char mark[] = "\xef\xbb\xbf";
    const bool whole = strchr(line, '\n') != NULL || feof(file) != 0;
    if (first && strncmp(line, mark, sizeof mark - 1) == 0)
        memmove(line, line + sizeof mark - 1, strlen(line) - (sizeof mark - 1) + 1);
    line[strcspn(line, "#\r\n")] = '\0';
    return whole;
}

bool conf_read(const char *device, struct conf *conf, struct conf_nic *nic, char why[CONF_WHY])
{
    static const char address[] = "address=";
    const char *set = getenv("VIPL_CONF"), *path = set != NULL ? set : usual;
    char line[LINE], words[CONF_WHY] = "";
    bool found = false;
    FILE *file = fcvi_vipl_file(path);
    why[0] = '\0';
    if (file == NULL && (set != NULL || errno != ENOENT))
        snprintf(why, CONF_WHY, "%.128s: %s", path, errno != 0 ? strerror(errno) : "it is no file");
    for (unsigned at = 1; file != NULL && why[0] == '\0' && fgets(line, sizeof line, file) != NULL; at++) {
        const bool whole = is_whole(file, at == 1, line);
        char *rest = NULL, *name = strtok_r(line, " \t", &rest);
        if (name == NULL && whole)
            continue;
        rest += name != NULL ? strspn(rest, " \t") : 0;
        if (!whole) {
            snprintf(words, sizeof words, "the line is longer than %d bytes, or binary", LINE - 2);
        } else if (strncmp(rest, address, sizeof address - 1) == 0) {
            rest[strcspn(rest, " \t")] = '\0';
            if (!add_name(conf, name, rest + sizeof address - 1))
                snprintf(words, sizeof words, "'%.60s' is no address", rest + sizeof address - 1);
        } else if (is_device(name, device) && found) {
            snprintf(words, sizeof words, "'%.60s' has been defined before", name);
        } else if (is_device(name, device)) {
            found = conf_members(rest, nic, words);
        }
        if (words[0] != '\0')
            snprintf(why, CONF_WHY, "%.60s:%u: %.120s", path, at, words);
    }
    if (file != NULL && ferror(file))
        snprintf(why, CONF_WHY, "%.128s: %s", path, strerror(errno));
    if (file != NULL)
        fclose(file);
    return found && why[0] == '\0';
}

void conf_free(struct conf *conf)
{
    for (size_t i = 0; i < conf->name_count; i++)
        free((void *)(uintptr_t)conf->names[i].name);
    free(conf->names);
}
