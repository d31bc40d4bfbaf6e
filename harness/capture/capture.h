/* Captures through libpcap: FC-2 frames out of them and into them.
 *
 * Read: linktype 224 (FC_2), 225 (FC_2_WITH_FRAME_DELIMS) and what carries EtherTypes: FCoE, Cisco's port
 * analyzer adapter (Boardwalk) and MDS header, FCIP over TCP; of each the VFT header. pcap, and pcapng with
 * interfaces of several linktypes. Written: linktype 224, 225 and FCoE as pcap. */
#ifndef FCVI_CAPTURE_H
#define FCVI_CAPTURE_H

#include <fcvi/codec.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CAPTURE_FC_2 = 224, CAPTURE_FC_2_DELIMS = 225, CAPTURE_ETHERNET = 1 };

enum { CAPTURE_LONGEST = 24 + 2112 }; /* bytes of an FC-2 frame, without SOF, CRC and EOF */

enum capture_kind {
    CAPTURE_FRAME,     /* an FC-2 frame */
    CAPTURE_CUT,       /* an FC-2 frame that the capture holds only in part (snap length) */
    CAPTURE_FIP,       /* FCoE Initialization Protocol: no FC-2 frame */
    CAPTURE_FOREIGN,   /* another protocol */
    CAPTURE_MALFORMED, /* an envelope that holds no FC-2 frame */
    CAPTURE_PART /* a TCP segment with a part of an FC-2 frame, or a fragment of an IP datagram: the rest
                    comes later or never */
};

struct capture;

/** What few records are. */
enum capture_unusual {
    CAPTURE_GAP = 1,     /* the capture says that frames were lost before this record */
    CAPTURE_FURTHER = 2, /* not the first FC-2 frame of its record */
    CAPTURE_LATE = 4,  /* an FC-2 frame of TCP segments that still waited for others when the capture ended */
    CAPTURE_PARTS = 8, /* made of more than one segment or fragment */
    CAPTURE_APPENDED =
        16, /* bytes that are no FCS stand behind the trailer of FCoE, and the CRC is right without them */
    CAPTURE_FRAGMENT = 32, /* of CAPTURE_PART: a fragment of an IP datagram, which may be of any protocol */
    CAPTURE_BARE = 64,     /* foreign by the linktype, and begins as an FC-2 frame of FC-VI or a login does */
    CAPTURE_CRC_WORD = 128 /* the CRC is wrong, and crc_word has it as it stands behind the frame */
};

/** One record. frame.bytes points into the capture's buffer until the next call. */
struct capture_record {
    uint64_t number; /* 1-based in the file; the FC-2 frames of one TCP segment have the same */
    uint64_t time_us;
    uint32_t
        network;  /* VLANs, VSAN and FCIP link of the record, 0 without: frames of one belong to one Fabric */
    uint8_t kind; /* enum capture_kind */
    uint8_t unusual;     /* of enum capture_unusual */
    const char *problem; /* CAPTURE_MALFORMED: what is wrong, else NULL */
    struct fcvi_input frame;
    /* what is not named for a kind or an unusual record is not set in the others */
    uint32_t protocol; /* CAPTURE_FOREIGN: for fcvi_capture_protocol; of TCP the frame is its IP packet */
    uint32_t whole; /* CAPTURE_CUT: bytes that the whole FC-2 frame had, 0 when that is not known. TCP: bytes
                       that the IP packet had */
    uint32_t parts; /* CAPTURE_PARTS: records of kind CAPTURE_PART before, of which the frame is made too */
    uint32_t crc_word; /* CAPTURE_CRC_WORD */
    /* CAPTURE_FIP: the Ethernet addresses of its sender and receiver, 0 when not known; the frame is what FIP
     * says */
    uint64_t source, target;
};

/** What the capture point made of frames, and not their senders: it was left out, and is not judged. */
enum { CAPTURE_SENDERS = 8 };
struct capture_artefact {
    uint64_t frames, first;           /* first: number of the first of them */
    uint32_t sender[CAPTURE_SENDERS]; /* N_Port_IDs, */
    uint32_t senders;                 /* of which there are so many */
};
struct capture_artefacts {
    struct capture_artefact crc, sof, eof;
    bool is_constant; /* the CRC words that were left out are `word` */
    uint32_t word;
};

/** How a clock was wrong: so much is added to the time of what a port sent, from a record on. */
#define CAPTURE_ANYBODY UINT32_MAX
struct capture_shift {
    uint32_t s_id; /* N_Port_ID; of TCP a hash of the IP address; CAPTURE_ANYBODY */
    uint64_t from; /* number of a record in the file */
    int64_t us;
};
/** The sender of TCP from an IP address, as capture_shift has it. */
uint32_t fcvi_capture_tcp_sender(const uint8_t *address, size_t length);
/** The order in which records are handed out: by time, where they are no more than a window apart. */
struct capture_order {
    uint64_t window_us; /* 0: as they are in the file */
    const struct capture_shift *shift;
    size_t shifts;
    bool renumber; /* records are numbered as they are handed out */
};

/** Protocols of records that are foreign: family << 16 | number. */
enum capture_protocol {
    CAPTURE_ETHERTYPE = 1,
    CAPTURE_IP,       /* by the protocol's number; EtherType and version do not matter */
    CAPTURE_LLC,      /* an IEEE 802.3 length in place of an EtherType */
    CAPTURE_LINKTYPE, /* nothing is known of the whole interface */
    CAPTURE_ERF,      /* a type of ERF record that is no Ethernet */
    CAPTURE_FCIP,    /* TCP port 3225 without FC-2 frames: 0 no data, 1 a special frame (RFC 3821), 2 no FCIP,
                        3 iFCP (RFC 4172) */
    CAPTURE_TUNNEL,  /* enum capture_tunnel: what it wraps cannot be read */
    CAPTURE_FC_TYPE, /* FC-2 frames of another FC-4 or of a service */
    CAPTURE_FC_R_CTL, /* extended headers that are not looked behind */
    CAPTURE_EMPTY     /* records without a byte, as zeros in a file read */
};
enum capture_tunnel { TUNNEL_VXLAN = 1, TUNNEL_GENEVE };
/** The protocol of records that are TCP, but not FCIP. */
enum { CAPTURE_TCP = CAPTURE_IP << 16 | 6 };
/** A foreign protocol in words; like snprintf. */
int fcvi_capture_protocol(uint32_t protocol, char *out, size_t size);

/** Open a file, "-" for standard input; what gzip, zstd, xz, lz4 or bzip2 wrote is unpacked. NULL on failure,
 * with one line in error (size bytes). */
struct capture *fcvi_capture_open(const char *path, char *error, size_t size);

/** Read no more than so many bytes of it, as they are when they are unpacked; 0: all. Then it is broken
 * there. */
void fcvi_capture_limit(struct capture *capture, uint64_t bytes);

/** Hand records out in another order, from the first on. -1 without memory. */
int fcvi_capture_reorder(struct capture *capture, const struct capture_order *order);

/** With renumber: the numbers in the file of the records that were handed out, in that order; NULL without.
 * Good until the next call. */
const uint64_t *fcvi_capture_numbers(const struct capture *capture, size_t *count);

/** What was left out of the records so far. */
const struct capture_artefacts *fcvi_capture_artefacts(const struct capture *capture);

/** Next record: 1 there is one, 0 the end, -1 the file is broken here (error says how), 2 a signal may have
 * come while it waited for one: ask again. */
int fcvi_capture_next(struct capture *capture, struct capture_record *out, char *error, size_t size);

/** Bytes taken of the file as it lies on the disk, and its size; 0 when that is not known. */
void fcvi_capture_progress(const struct capture *capture, uint64_t *read, uint64_t *size);
/** Records so far that are fragments of IP datagrams that are not whole. */
uint64_t fcvi_capture_fragments(const struct capture *capture);
/** A file on a disk: what it holds is there at once. */
bool fcvi_capture_is_file(const struct capture *capture);

/** Close the capture and free what it holds. */
void fcvi_capture_close(struct capture *capture);

struct capture_writer;

/** Create a pcap file of one of the three linktypes. NULL on failure, with one line in error. */
struct capture_writer *fcvi_capture_create(const char *path, int linktype, char *error, size_t size);

/** Write one frame. A delimiter that is not known is derived from the header for 225 and FCoE. 0, or -1 when
 * the frame is longer than FC-2 allows. */
int fcvi_capture_write(struct capture_writer *writer, uint64_t time_us, const struct fcvi_input *frame);

/** Returns 0, or -1 when not everything could be written. */
int fcvi_capture_finish(struct capture_writer *writer);

/** The bytes of one record of linktype 225: SOF, frame, CRC, EOF. Returns the length, 0 when capacity is too
 * small. crc BAD writes a CRC that is wrong. */
size_t fcvi_capture_delimited(const struct fcvi_input *frame, uint8_t *out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
