// TCP streams by libtins' DataTracker, which puts the bytes of one direction in order. No exception leaves this file.
#include "streams.h"

#include <array>
#include <cstring>
#include <map>
#include <tins/tcp_ip/data_tracker.h>
#include <utility>
#include <vector>

namespace {

using Tins::TCPIP::DataTracker;
using Address = std::array<uint8_t, STREAMS_ADDRESS>;
using Port = std::pair<Address, uint16_t>;
using Name = std::pair<Port, Port>;

enum Flag : uint8_t { SYN = 0x02, RST = 0x04, ACK = 0x10 };

// A segment that the receiver acknowledges while it is not in the capture never comes; segments of two taps may be swapped,
// so that one that waits alone proves nothing. Without acknowledgements the number of those that wait decides.
constexpr std::size_t SWAPPED = 2, WAITING = 64, WAITING_BYTES = 1 << 18, LINKS = 1 << 16;

struct Direction {
    DataTracker tracker;
    uint32_t stream, link;
    uint64_t used;
};

bool before(uint32_t a, uint32_t b)
{
    return static_cast<int32_t>(a - b) < 0;
}

} // namespace

struct streams {
    streams_events events;
    std::map<Name, Direction> directions;
    std::map<std::pair<Address, Address>, uint32_t> links;
    std::vector<uint32_t> idle;
    uint32_t next = 0, next_link = 0;
    uint64_t clock = 0;

    void give(Direction &d)
    {
        auto &bytes = d.tracker.payload();
        if (!bytes.empty())
            events.data(events.context, d.stream, d.link, bytes.data(), bytes.size());
        bytes.clear();
    }

    void put(Direction &d, uint32_t sequence, DataTracker::payload_type bytes)
    {
        d.tracker.process_payload(sequence, std::move(bytes));
        give(d);
    }

    // What is missing before the first bytes that wait does not come.
    void pass_gap(Direction &d)
    {
        auto &waiting = d.tracker.buffered_payload();
        auto first = waiting.begin();
        for (auto i = waiting.begin(); i != waiting.end(); ++i)
            if (before(i->first, first->first))
                first = i;
        const uint32_t sequence = first->first;
        DataTracker::payload_type bytes = std::move(first->second);
        waiting.erase(first);
        d.tracker.advance_sequence(sequence);
        events.begins(events.context, d.stream, 1);
        put(d, sequence, std::move(bytes));
    }

    uint32_t link_of(const Address &a, const Address &b)
    {
        auto key = a < b ? std::make_pair(a, b) : std::make_pair(b, a);
        if (links.size() >= LINKS)
            links.clear(); // a number is never used for another link
        auto made = links.emplace(key, next_link);
        next_link += made.second ? 1 : 0;
        return made.first->second;
    }

    void forget(std::map<Name, Direction>::iterator i)
    {
        events.begins(events.context, i->second.stream, 0);
        idle.push_back(i->second.stream);
        directions.erase(i);
    }

    uint32_t number()
    {
        if (idle.empty() && next == STREAMS_MOST) {
            auto oldest = directions.begin();
            for (auto i = directions.begin(); i != directions.end(); ++i)
                if (i->second.used < oldest->second.used)
                    oldest = i;
            forget(oldest);
        }
        if (idle.empty())
            return next++;
        const uint32_t stream = idle.back();
        idle.pop_back();
        return stream;
    }

    Direction &begin(const Name &name, uint32_t sequence)
    {
        const uint32_t stream = number();
        Direction d{DataTracker(sequence), stream, link_of(name.first.first, name.second.first), clock};
        events.begins(events.context, stream, 0);
        return directions.emplace(name, std::move(d)).first->second;
    }

    static bool too_much(const Direction &d)
    {
        std::size_t bytes = 0;
        const auto &waiting = d.tracker.buffered_payload();
        for (const auto &i : waiting)
            bytes += i.second.size();
        return waiting.size() > WAITING || bytes > WAITING_BYTES;
    }

    void take_data(const Name &name, streams_segment &s)
    {
        auto found = directions.find(name);
        Direction &d = found != directions.end() ? found->second : begin(name, s.sequence);
        d.used = clock;
        s.stream = d.stream;
        put(d, s.sequence, DataTracker::payload_type(s.data, s.data + s.length));
        if (s.missing != 0) {
            while (!d.tracker.buffered_payload().empty())
                pass_gap(d);
            const auto end = static_cast<uint32_t>(s.sequence + s.length + s.missing);
            d.tracker.advance_sequence(end);
            events.begins(events.context, d.stream, 1);
        }
        while (too_much(d))
            pass_gap(d);
    }

    void take_acknowledgement(const Name &other, uint32_t acknowledged)
    {
        auto found = directions.find(other);
        if (found == directions.end())
            return;
        Direction &d = found->second;
        while (d.tracker.buffered_payload().size() >= SWAPPED && before(d.tracker.sequence_number(), acknowledged))
            pass_gap(d);
    }

    void take(streams_segment &s)
    {
        s.stream = STREAMS_MOST;
        Address from, to;
        std::memcpy(from.data(), s.from, from.size());
        std::memcpy(to.data(), s.to, to.size());
        const Name name{{from, s.from_port}, {to, s.to_port}}, other{name.second, name.first};
        clock++;
        auto found = directions.find(name);
        if ((s.flags & (SYN | RST)) != 0 && found != directions.end())
            forget(found);
        if ((s.flags & RST) != 0)
            return;
        if ((s.flags & SYN) != 0)
            begin(name, s.sequence + 1);
        else if (s.length + s.missing != 0)
            take_data(name, s);
        if ((s.flags & ACK) != 0)
            take_acknowledgement(other, s.acknowledged);
    }

    void flush()
    {
        for (auto &i : directions)
            while (!i.second.tracker.buffered_payload().empty())
                pass_gap(i.second);
    }
};

namespace {

streams *open_streams(const streams_events *events)
{
    try {
        auto *s = new streams;
        s->events = *events;
        return s;
    } catch (...) {
        return nullptr;
    }
}

int take_segment(streams *s, streams_segment *segment)
{
    try {
        s->take(*segment);
        return 0;
    } catch (...) {
        return -1;
    }
}

int flush_streams(streams *s)
{
    try {
        s->flush();
        return 0;
    } catch (...) {
        return -1;
    }
}

void close_streams(streams *s)
{
    delete s;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const streams_calls fcvi_streams_calls = {open_streams, take_segment,
                                                                                           flush_streams, close_streams};
