/* The name service (VI-DG 3.9): the names that the host of the NIC gave, or those of a file. */
#include "internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 1024 };

/* An address of IPv4 is ::ffff:a.b.c.d, as VI/TCP has it. */
static bool host_of(const char *word, uint8_t host[HOST_LENGTH])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    memcpy(host, mapped, sizeof mapped);
    return inet_pton(AF_INET, word, host + sizeof mapped) == 1 || inet_pton(AF_INET6, word, host) == 1;
}

static bool add(struct nic *nic, const uint8_t host[HOST_LENGTH], const char *name)
{
    struct fcvi_vipl_name *names = realloc(nic->names, (nic->name_count + 1) * sizeof *names);
    if (names == NULL)
        return false;
    nic->names = names;
    struct fcvi_vipl_name *n = &names[nic->name_count];
    memcpy(n->host, host, HOST_LENGTH);
    n->name = strdup(name);
    if (n->name == NULL)
        return false;
    nic->name_count++;
    return true;
}

static int take_line(struct nic *nic, char *line)
{
    uint8_t host[HOST_LENGTH];
    char *rest = NULL;
    line[strcspn(line, "#\r\n")] = '\0';
    const char *word = strtok_r(line, " \t", &rest);
    if (word == NULL)
        return VIP_SUCCESS;
    if (!host_of(word, host))
        return VIP_INVALID_PARAMETER;
    while ((word = strtok_r(NULL, " \t", &rest)) != NULL)
        if (!add(nic, host, word))
            return VIP_ERROR_RESOURCE;
    return VIP_SUCCESS;
}

static bool is_file(const struct stat *s)
{
    struct stat null;
    return S_ISREG(s->st_mode) ||
           (S_ISCHR(s->st_mode) && stat("/dev/null", &null) == 0 && s->st_rdev == null.st_rdev);
}

FILE *fcvi_vipl_file(const char *path)
{
    struct stat is;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    FILE *file = NULL;
    errno = 0;
    if (fstat(fd, &is) == 0 && is_file(&is))
        file = fdopen(fd, "r");
    const int why = errno;
    if (file == NULL)
        (void)close(fd);
    errno = why;
    return file;
}

static int read_file(struct nic *nic, const char *path)
{
    char line[LINE];
    int vip = VIP_SUCCESS;
    FILE *file = fcvi_vipl_file(path);
    if (file == NULL)
        return VIP_INVALID_PARAMETER;
    nic->names = calloc(1, sizeof *nic->names); /* not NULL even without a name: see table */
    if (nic->names == NULL)
        vip = VIP_ERROR_RESOURCE;
    while (vip == VIP_SUCCESS && fgets(line, sizeof line, file) != NULL) {
        const bool whole = strchr(line, '\n') != NULL || feof(file) != 0; /* not too long, nor binary */
        vip = whole ? take_line(nic, line) : VIP_INVALID_PARAMETER;
    }
    if (vip == VIP_SUCCESS && ferror(file))
        vip = VIP_INVALID_PARAMETER;
    (void)fclose(file);
    return vip;
}

void vipl_names_free(struct nic *nic)
{
    for (size_t i = 0; i < nic->name_count; i++)
        free((void *)(uintptr_t)nic->names[i].name);
    free(nic->names);
    nic->names = NULL;
    nic->name_count = 0;
    nic->names_open = false;
}

static const struct fcvi_vipl_name *table(const struct nic *nic, size_t *count)
{
    const struct fcvi_vipl_nic *info = &nic->object.device->info;
    *count = nic->names != NULL ? nic->name_count : info->name_count;
    return nic->names != NULL ? nic->names : info->names;
}

VIP_RETURN VipNSInit(VIP_NIC_HANDLE NicHandle, VIP_PVOID NSInitInfo)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    if (nic->names_open)
        return vipl_leave(d, VIP_ERROR_NAMESERVICE);
    int vip = NSInitInfo != NULL ? read_file(nic, NSInitInfo) : VIP_SUCCESS;
    if (vip == VIP_SUCCESS)
        nic->names_open = true;
    else
        vipl_names_free(nic);
    return vipl_leave(d, vip);
}

/* The table, then the host of the NIC, whose answer may take a while: the lock is not held meanwhile. */
static int by_name(const struct nic *nic, const char *name, uint8_t host[HOST_LENGTH], VIP_ULONG index)
{
    struct device *d = nic->object.device;
    size_t count;
    const struct fcvi_vipl_name *names = table(nic, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(names[i].name, name) != 0 || index-- > 0)
            continue;
        memcpy(host, names[i].host, HOST_LENGTH);
        return VIP_SUCCESS;
    }
    if (nic->names != NULL || d->info.resolve == NULL || index > UINT32_MAX)
        return VIP_ERROR_NAMESERVICE;
    vipl_device_unlock(d);
    bool found = d->info.resolve(d->context, name, (uint32_t)index, host);
    vipl_device_lock(d);
    return found ? VIP_SUCCESS : VIP_ERROR_NAMESERVICE;
}

VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE NicHandle, VIP_CHAR *Name, VIP_NET_ADDRESS *Address,
                              VIP_ULONG NameIndex)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    /* VI-DG 3.9.2 has the caller say the room; programs of the time leave it 0 and have enough (A113) */
    const bool room =
        Address != NULL && (Address->HostAddressLen == 0 || Address->HostAddressLen >= HOST_LENGTH);
    if (Name == NULL || !room)
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    uint8_t host[HOST_LENGTH];
    int vip = nic->names_open ? by_name(nic, Name, host, NameIndex) : VIP_ERROR_NAMESERVICE;
    if (vip == VIP_SUCCESS) {
        Address->HostAddressLen = HOST_LENGTH;
        Address->DiscriminatorLen = 0;
        memcpy(vipl_address_host(Address), host, HOST_LENGTH);
    }
    return vipl_leave(d, vip);
}

static int by_address(const struct nic *nic, VIP_NET_ADDRESS *address, char *out, VIP_ULONG *length)
{
    size_t count;
    const struct fcvi_vipl_name *names = table(nic, &count);
    for (size_t i = 0; i < count; i++) {
        if (memcmp(names[i].host, vipl_address_host(address), HOST_LENGTH) != 0)
            continue;
        size_t size = strlen(names[i].name) + 1;
        if (*length < size) {
            *length = (VIP_ULONG)size;
            return VIP_INVALID_PARAMETER;
        }
        memcpy(out, names[i].name, size);
        *length = (VIP_ULONG)(size - 1);
        return VIP_SUCCESS;
    }
    return VIP_ERROR_NAMESERVICE;
}

VIP_RETURN VipNSGetHostByAddr(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *Address, VIP_CHAR *Name,
                              VIP_ULONG *NameLen)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    struct device *d = nic->object.device;
    if (Address == NULL || Address->HostAddressLen != HOST_LENGTH || NameLen == NULL ||
        (Name == NULL && *NameLen > 0))
        return vipl_leave(d, VIP_INVALID_PARAMETER);
    return vipl_leave(d, nic->names_open ? by_address(nic, Address, Name, NameLen) : VIP_ERROR_NAMESERVICE);
}

VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE NicHandle)
{
    struct nic *nic = vipl_enter(NicHandle, KIND_NIC);
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    int vip = nic->names_open ? VIP_SUCCESS : VIP_ERROR_NAMESERVICE;
    vipl_names_free(nic);
    return vipl_leave(nic->object.device, vip);
}
