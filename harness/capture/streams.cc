// TCP streams by libtins' DataTracker, which puts the bytes of one direction in order. No exception leaves this file.
#include "streams.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <map>
#include <tins/tcp_ip/data_tracker.h>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using Tins::TCPIP::DataTracker;
using Address = std::array<uint8_t, STREAMS_ADDRESS>;
using Port = std::pair<Address, uint16_t>;

// A direction of a connection. Connections of two VLANs may have the same addresses and ports.
struct Name {
    Port from, to;
    uint32_t network;
    bool operator<(const Name &n) const
    {
        return std::tie(from, to, network) < std::tie(n.from, n.to, n.network);
    }
};

// A segment that the receiver acknowledges while it is not in the capture never comes; segments of two taps may be swapped,
// so that one that waits alone proves nothing. Without acknowledgements the number of those that wait decides.
constexpr std::size_t SWAPPED = 2, WAITING = 64, WAITING_BYTES = 1 << 18, LINKS = 1 << 16, PIECES = 4096;

// Bytes between what is seen first of a stream whose beginning is not seen, and its beginning, at most.
constexpr uint32_t NEAR = 1 << 24;
constexpr uint32_t LARGEST = 1U << 30; // window, with the largest scale (RFC 7323, 2.3)

struct Direction {
    DataTracker tracker;
    uint32_t stream, link, first;
    int syn; // its SYN was seen
    std::list<Name>::iterator used;
    std::vector<streams_piece> waiting; // segments of which bytes wait
    uint32_t answers = 0;               // what its SYN acknowledges: the first byte of the other direction
    uint32_t told = first;              // where it ends, as a FIN, a RST or the other direction says
};

bool before(uint32_t a, uint32_t b)
{
    return static_cast<int32_t>(a - b) < 0;
}

} // namespace

struct streams {
    streams_events events;
    std::map<Name, Direction> directions;
    std::map<std::tuple<Address, Address, uint32_t>, uint32_t> links;
    std::vector<uint32_t> idle;
    std::list<Name> used; // the one longest ago first
    uint32_t next = 0, next_link = 0;

    // The segment that a byte came in.
    static streams_piece piece_of(const Direction &d, uint32_t at, const streams_piece &now)
    {
        if (!before(at, now.sequence) && before(at, now.end))
            return now;
        for (const auto &p : d.waiting)
            if (!before(at, p.sequence) && before(at, p.end))
                return p;
        return now;
    }

    void give(Direction &d, const streams_piece &now)
    {
        auto &bytes = d.tracker.payload();
        if (bytes.empty())
            return;
        const uint32_t end = d.tracker.sequence_number();
        for (auto left = static_cast<uint32_t>(bytes.size()); left != 0;) {
            const uint32_t at = end - left;
            streams_piece piece = piece_of(d, at, now);
            piece.offset = at - piece.sequence;
            const uint32_t count = before(at, piece.end) ? std::min(left, piece.end - at) : left;
            piece.link = d.link;
            piece.bytes = bytes.data() + bytes.size() - left;
            piece.length = count;
            events.data(events.context, d.stream, &piece);
            left -= count;
        }
        bytes.clear();
        if (!d.waiting.empty())
            settle(d, end);
    }

    // Of the segments that waited these are over: what of them was not given had come in another.
    void settle(Direction &d, uint32_t end)
    {
        auto over = [end](const streams_piece &p) { return !before(end, p.end); };
        if (events.repeated != nullptr)
            for (const auto &p : d.waiting)
                if (over(p))
                    events.repeated(events.context, d.stream, &p);
        d.waiting.erase(std::remove_if(d.waiting.begin(), d.waiting.end(), over), d.waiting.end());
    }

    void put(Direction &d, uint32_t sequence, DataTracker::payload_type bytes, const streams_piece &now)
    {
        d.tracker.process_payload(sequence, std::move(bytes));
        give(d, now);
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
        put(d, sequence, std::move(bytes), streams_piece{0, 0, sequence, sequence, 0, 0, 0, 0, nullptr, 0}); // all of it waited
    }

    // The two addresses; where the other direction is in another VLAN, its number.
    uint32_t link_of(const Name &name)
    {
        const Address &a = name.from.first, &b = name.to.first;
        auto key = a < b ? std::make_tuple(a, b, name.network) : std::make_tuple(b, a, name.network);
        if (links.size() >= LINKS)
            links.clear(); // a number is never used for another link
        auto other = find_other(name);
        auto made = links.emplace(key, other != directions.end() ? other->second.link : next_link);
        next_link += made.first->second == next_link ? 1 : 0;
        return made.first->second;
    }

    // The other direction. A switch that mirrors a port may tag what goes in and not what comes out: where the VLAN itself
    // has none, it is the only one of another VLAN that has no partner there.
    std::map<Name, Direction>::iterator find_other(const Name &name)
    {
        const auto own = directions.find(Name{name.to, name.from, name.network});
        if (own != directions.end())
            return own;
        auto found = directions.end();
        for (auto i = directions.lower_bound(Name{name.to, name.from, 0});
             i != directions.end() && i->first.from == name.to && i->first.to == name.from; ++i) {
            if (directions.find(Name{name.from, name.to, i->first.network}) != directions.end())
                continue;
            if (found != directions.end())
                return directions.end();
            found = i;
        }
        return found;
    }

    // Bytes before the end that the capture shows, and that did not come. An acknowledgement may count a FIN that is not there.
    void miss_end(const Direction &d)
    {
        const uint32_t missing = d.told - d.tracker.sequence_number();
        if (d.syn != 0 && missing > 1 && missing < NEAR)
            events.begins(events.context, d.stream, 1);
    }

    static void tell_end(Direction &d, uint32_t end)
    {
        if (before(d.told, end))
            d.told = end;
    }

    void forget(std::map<Name, Direction>::iterator i)
    {
        miss_end(i->second);
        if (events.repeated != nullptr)
            for (const auto &p : i->second.waiting)
                events.repeated(events.context, i->second.stream, &p);
        events.begins(events.context, i->second.stream, 0);
        idle.push_back(i->second.stream);
        used.erase(i->second.used);
        directions.erase(i);
    }

    uint32_t number()
    {
        if (idle.empty() && next == events.most)
            forget(directions.find(used.front()));
        if (idle.empty())
            return next++;
        const uint32_t stream = idle.back();
        idle.pop_back();
        return stream;
    }

    uint32_t number_of(const Name &name) const
    {
        auto found = directions.find(name);
        return found != directions.end() ? found->second.stream : events.most;
    }

    Direction &begin(const Name &name, uint32_t sequence, int syn)
    {
        const uint32_t stream = number();
        Direction d{DataTracker(sequence), stream, link_of(name), sequence, syn, used.insert(used.end(), name), {}};
        const auto other = find_other(name);
        events.begins(events.context, stream, 0);
        const streams_opening opening{other != directions.end() ? other->second.stream : events.most, sequence, syn};
        if (events.opened != nullptr)
            events.opened(events.context, stream, &opening);
        return directions.emplace(name, std::move(d)).first->second;
    }

    static bool too_much(const Direction &d)
    {
        std::size_t bytes = 0;
        const auto &waiting = d.tracker.buffered_payload();
        for (const auto &i : waiting)
            bytes += i.second.size();
        return !waiting.empty() && (waiting.size() > WAITING || bytes > WAITING_BYTES || d.waiting.size() > PIECES);
    }

    // What of the segment came before is told; what comes too early waits.
    void take_bytes(Direction &d, streams_segment &s)
    {
        const auto end = static_cast<uint32_t>(s.sequence + s.length);
        const streams_piece now{s.record, s.time_us, s.sequence, end, s.acknowledged, 0, s.flags, 0, nullptr, 0};
        const uint32_t at = d.tracker.sequence_number();
        const bool old = !before(at, end);
        if (events.repeated != nullptr && before(s.sequence, at) && s.length != 0) {
            streams_piece again = now;
            again.bytes = s.data;
            again.length = old ? s.length : at - s.sequence;
            events.repeated(events.context, d.stream, &again);
        }
        s.fate = old ? STREAMS_REPEATED : STREAMS_GIVEN;
        if (!old && before(at, s.sequence)) {
            s.fate = STREAMS_WAITS;
            d.waiting.push_back(now);
        }
        put(d, s.sequence, DataTracker::payload_type(s.data, s.data + s.length), now);
    }

    void take_data(const Name &name, streams_segment &s)
    {
        auto found = directions.find(name);
        Direction &d = found != directions.end() ? found->second : begin(name, s.sequence, 0);
        used.splice(used.end(), used, d.used);
        s.stream = d.stream;
        take_bytes(d, s);
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

    void take_acknowledgement(const Name &name, uint32_t acknowledged)
    {
        auto found = find_other(name);
        if (found == directions.end())
            return;
        Direction &d = found->second;
        tell_end(d, acknowledged);
        while (d.tracker.buffered_payload().size() >= SWAPPED && before(d.tracker.sequence_number(), acknowledged))
            pass_gap(d);
    }

    // Whether the other direction may be of the connection that a SYN is of. One that answers says where the other begins;
    // captures that are written from a trace leave that 0.
    static bool is_partner(const Direction &other, const streams_segment &s)
    {
        if ((s.flags & STREAMS_ACK) == 0) // its answer may stand before it, where each direction has a clock of its own
            return other.tracker.sequence_number() == other.first || other.answers == s.sequence + 1;
        return s.acknowledged == 0 || other.first == s.acknowledged || (other.syn == 0 && other.first - s.acknowledged < NEAR);
    }

    // A new connection between the same ports; a SYN that comes again begins nothing.
    void take_syn(const Name &name, const streams_segment &s)
    {
        auto found = directions.find(name);
        if (found != directions.end() && found->second.first == s.sequence + 1)
            return;
        if (found != directions.end())
            forget(found);
        found = find_other(name);
        if (found != directions.end() && !is_partner(found->second, s))
            forget(found);
        Direction &d = begin(name, s.sequence + 1, 1);
        if ((s.flags & STREAMS_ACK) != 0)
            d.answers = s.acknowledged;
    }

    // A reset beyond every window that there can be: its receiver drops it, and both ends go on (RFC 9293, 3.10.7.4).
    static bool is_void(const Direction &d, const streams_segment &s)
    {
        const uint32_t ahead = s.sequence - d.tracker.sequence_number();
        return ahead >= LARGEST && ahead < 2 * LARGEST;
    }

    void take(streams_segment &s)
    {
        s.stream = events.most;
        Address from, to;
        std::memcpy(from.data(), s.from, from.size());
        std::memcpy(to.data(), s.to, to.size());
        const Name name{{from, s.from_port}, {to, s.to_port}, s.network};
        if ((s.flags & STREAMS_RST) != 0) {
            auto found = directions.find(name);
            if (found == directions.end() || is_void(found->second, s))
                return;
            const auto other = find_other(name);
            if (other != directions.end() && (s.flags & STREAMS_ACK) != 0)
                tell_end(other->second, s.acknowledged);
            tell_end(found->second, s.sequence);
            forget(found);
            return;
        }
        if ((s.flags & STREAMS_SYN) != 0)
            take_syn(name, s);
        else if (s.length + s.missing != 0)
            take_data(name, s);
        else
            s.stream = number_of(name);
        if ((s.flags & STREAMS_FIN) != 0 && s.stream != events.most)
            tell_end(directions.find(name)->second, s.sequence + s.length + s.missing + 1);
        if ((s.flags & STREAMS_ACK) != 0)
            take_acknowledgement(name, s.acknowledged);
    }

    void flush()
    {
        for (auto &i : directions)
            while (!i.second.tracker.buffered_payload().empty())
                pass_gap(i.second);
        for (auto &i : directions)
            miss_end(i.second);
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
