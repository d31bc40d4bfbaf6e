// What libtins alone takes for a capture: its packets, and the streams of TCP put in order. For `fcvi lint` to be compared with.
#include <cstdint>
#include <cstdio>
#include <tins/sniffer.h>
#include <tins/tcp_ip/stream.h>
#include <tins/tcp_ip/stream_follower.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fputs("usage: bare_tins CAPTURE\n", stderr);
        return 2;
    }
    std::uint64_t packets = 0, bytes = 0;
    Tins::TCPIP::StreamFollower follower;
    follower.new_stream_callback([&](Tins::TCPIP::Stream &stream) {
        stream.client_data_callback([&](Tins::TCPIP::Stream &s) { bytes += s.client_payload().size(); });
        stream.server_data_callback([&](Tins::TCPIP::Stream &s) { bytes += s.server_payload().size(); });
    });
    Tins::FileSniffer(argv[1]).sniff_loop([&](Tins::Packet &packet) {
        packets++;
        follower.process_packet(packet);
        return true;
    });
    std::printf("%llu packets, %llu bytes\n", static_cast<unsigned long long>(packets), static_cast<unsigned long long>(bytes));
    return 0;
}
