/* Formats that Wireshark's editcap converts, archives, and text. */
#include "formats.h"

#include <fcvi/access.h>
#include <stdbool.h>
#include <string.h>

#define CONVERT "convert it by: editcap FILE FILE.pcapng"
#define UNPACK "which is not read; unpack it, and name the capture that it holds"

struct magic {
    size_t at, length;
    const char *bytes, *hint;
};

/* Bare ERF has no magic: a time, a type of record, and a length that leads to the next one. */
static bool is_erf(const uint8_t *b, size_t length)
{
    enum { HEADER = 16, LAST_TYPE = 48, TYPE = 8, SIZE = 10 };
    size_t at = 0;
    unsigned records = 0;
    while (at + HEADER <= length) {
        const size_t size = (size_t)fcvi_load(b + at + SIZE, 2), type = b[at + TYPE] & 0x7Fu;
        if (type == 0 || type > LAST_TYPE || size < HEADER)
            return false;
        records++;
        at += size;
    }
    return records > 1 || (records == 1 && at == length);
}

static bool is_text(const uint8_t *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((b[i] < ' ' && (b[i] < '\t' || b[i] > '\r')) || b[i] == 0x7F)
            return false;
    return length != 0;
}

const char *fcvi_format_hint(const uint8_t *b, size_t length)
{
    static const struct magic known[] = {
        {0, 8, "snoop\0\0\0", "a snoop file, which is not read; " CONVERT},
        {0, 4, "GMBU", "a file of Network Monitor, which is not read; " CONVERT},
        {0, 4, "RTSS", "a file of Network Monitor, which is not read; " CONVERT},
        {0, 4, "XCP\0", "a file of NetXRay, which is not read; " CONVERT},
        {0, 16, "TRSNIFF data    ", "a Sniffer file, which is not read; " CONVERT},
        {0, 5, "\x7fver\0", "a file of OmniPeek, which is not read; " CONVERT},
        {0, 7, "iptrace", "a file of AIX iptrace, which is not read; " CONVERT},
        {0, 2, "\xff\xfe", "text in UTF-16, no capture; a hexadecimal dump is read with --from hex"},
        {0, 2, "\xfe\xff", "text in UTF-16, no capture; a hexadecimal dump is read with --from hex"},
        {0, 4, "PK\x03\x04", "a ZIP archive, " UNPACK},
        {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive, " UNPACK},
        {0, 4, "Rar!", "a RAR archive, " UNPACK},
        {257, 5, "ustar", "a tar archive, " UNPACK},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (length >= known[i].at + known[i].length &&
            memcmp(b + known[i].at, known[i].bytes, known[i].length) == 0)
            return known[i].hint;
    if (is_text(b, length < 256 ? length : 256))
        return "unknown file format; it looks like text, and a hexadecimal dump is read with --from hex";
    if (is_erf(b, length))
        return "a bare ERF file, which is not read; " CONVERT;
    return NULL;
}
