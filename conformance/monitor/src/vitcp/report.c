/* What the sender of a PDU is told. */
#include "connection.h"

struct fcvi_place fcvi_vitcp_monitor_place(const char *name, uint16_t byte, uint16_t size)
{
    return (struct fcvi_place){name, byte, size, (uint8_t)(size * 8 - 1), 0};
}

void fcvi_vitcp_monitor_breach(const struct vitcp_now *n, struct fcvi_place place, uint64_t seen,
                               const char *id, const char *words, const char *required, uint64_t value)
{
    if (n->from->tester) {
        n->from->unsettled = true;
        return;
    }
    n->m->breach = true;
    fcvi_report_parts(n->findings, place, seen, FCVI_VIOLATION, id, NULL, words, required, value);
}

void fcvi_vitcp_monitor_notice(const struct vitcp_now *n, struct fcvi_place place, uint64_t seen,
                               const char *id, const char *erratum, const char *words, uint64_t value)
{
    if (!n->from->tester)
        fcvi_report_parts(n->findings, place, seen, FCVI_NOTICE, id, erratum, words, NULL, value);
}
