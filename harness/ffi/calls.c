#include "calls.h"

#include <arpa/inet.h>

static int32_t offset_of(const struct fcvi_frame *view, const uint8_t *part)
{
    return part == NULL ? -1 : (int32_t)(part - view->input.bytes);
}

static struct fcvi_input input_of(const uint8_t *bytes, size_t length, unsigned sof, unsigned eof,
                                  unsigned crc)
{
    return (struct fcvi_input){bytes, length, (uint8_t)sof, (uint8_t)eof, (uint8_t)crc};
}

size_t calls_decode(const uint8_t *bytes, size_t length, unsigned sof, unsigned eof, unsigned crc,
                    struct fcvi_frame *view, struct fcvi_findings *findings, int32_t *parts)
{
    return calls_decode_edition(bytes, length, sof, eof, crc, FCVI_EDITION_2007, view, findings, parts);
}

size_t calls_decode_edition(const uint8_t *bytes, size_t length, unsigned sof, unsigned eof, unsigned crc,
                            unsigned edition, struct fcvi_frame *view, struct fcvi_findings *findings,
                            int32_t *parts)
{
    const struct fcvi_input input = input_of(bytes, length, sof, eof, crc);
    findings->count = 0;
    findings->worst = 0;
    fcvi_decode_edition(&input, (enum fcvi_edition)edition, view, findings);
    parts[CALLS_KIND] = view->kind;
    parts[CALLS_IU] = view->iu;
    parts[CALLS_DH_OFFSET] = offset_of(view, view->dh);
    parts[CALLS_DH_LENGTH] = view->dh_length;
    parts[CALLS_PAYLOAD_OFFSET] = offset_of(view, view->payload);
    parts[CALLS_PAYLOAD_LENGTH] = (int32_t)view->payload_length;
    parts[CALLS_FILL] = view->fill;
    return findings->count;
}

void calls_receive(struct fcvi_port *port, uint64_t now, const uint8_t *bytes, size_t length, unsigned sof,
                   unsigned eof, unsigned crc)
{
    const struct fcvi_input input = input_of(bytes, length, sof, eof, crc);
    fcvi_port_receive(port, now, &input);
}

size_t calls_next(struct fcvi_port *port, uint64_t now, struct fcvi_event *event, uint8_t *out,
                  size_t capacity, struct fcvi_transmitted *meta, uint64_t *due)
{
    if (fcvi_port_event(port, event))
        return CALLS_EVENT;
    const size_t length = fcvi_port_transmit(port, now, out, capacity, meta);
    if (length > 0)
        return length;
    if (fcvi_port_event(port, event)) /* frames to itself may be all that it sent (5.3.4) */
        return CALLS_EVENT;
    *due = fcvi_port_deadline(port);
    return CALLS_QUIET;
}

void calls_follow(struct fcvi_monitor *monitor, const uint8_t *bytes, size_t length, unsigned sof,
                  unsigned eof, unsigned crc, uint64_t number, uint64_t time_us)
{
    const struct fcvi_input input = input_of(bytes, length, sof, eof, crc);
    struct fcvi_findings findings = {0};
    struct fcvi_frame view;
    fcvi_decode(&input, &view, &findings);
    calls_judge(monitor, &view, number, time_us, 0, findings.worst > 1u + FCVI_NOTICE, NULL);
}

size_t calls_judge(struct fcvi_monitor *monitor, const struct fcvi_frame *view, uint64_t number,
                   uint64_t time_us, uint32_t network, bool broken, struct fcvi_monitor_findings *found)
{
    const struct fcvi_monitor_frame seen = {view, number, time_us, network, broken};
    if (found != NULL)
        found->count = 0;
    fcvi_monitor_frame(monitor, &seen, found);
    return found == NULL ? 0 : found->count;
}

_Static_assert(CALLS_ADDRESS == INET6_ADDRSTRLEN, "room for the longest address");

void calls_address(const uint8_t *bytes, char *out)
{
    inet_ntop(AF_INET6, bytes, out, CALLS_ADDRESS); /* with room for the longest it cannot fail */
}
