/* A mutator that knows FC-VI: for libFuzzer, AFL++ or any loop of your own, for our parser or yours.
 *
 * It takes a frame apart by the field table, changes fields, lengths and kinds of IU, and puts it together
 * again, so that what it makes still gets past the first checks of a parser. Inputs have one of three
 * formats:
 *
 *   one frame    header and Data_Field as they stand on the wire, from R_CTL on, then `trailer` bytes that
 * are the target's own (delimiters, settings), then with `crc` the CRC over header and Data_Field. frames
 * records one after the other: two bytes of length L (big-endian), SOF code, EOF code, two bytes of delay in
 * milliseconds before the frame, then L bytes of frame. What is cut off at the end is not a record.
 *
 *   pdus         PDUs of VI/TCP by profile T0, one behind the other as a stream has them, then `trailer`
 * bytes of the target's own. Divided by Segment Length; what begins none is left as it is or dropped.
 *
 * No function here allocates or keeps state: equal arguments give equal bytes. */
#ifndef FCVI_MUTATOR_H
#define FCVI_MUTATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FCVI_RECORD_HEAD = 6 };

struct fcvi_mutator_format {
    bool frames;     /* records; trailer and crc are then not looked at */
    uint8_t trailer; /* one frame: bytes of the target's own behind it */
    bool
        crc; /* one frame: the last 4 bytes are its CRC. Right again after most mutations, wrong after some */
    bool pdus; /* PDUs of VI/TCP, and a trailer; crc is then not looked at */
    bool rev1; /* one frame or frames: IUs are made by the tables of FC-VI Rev 1.0 (1999), not by those of
                  2007. One that only one edition has is changed by its own, whatever is said here */
};

/** Change `size` bytes in place; the result has at most max_size bytes. An input that is not of the format is
 * replaced by one that is. Returns the new size, at least 1 when max_size is at least 64. */
size_t fcvi_mutate(uint8_t *data, size_t size, size_t max_size, uint64_t seed,
                   const struct fcvi_mutator_format *format);

/** Make a third input of two: fields of one frame in the other, or records of both in turn. out shall not
 * overlap the others. Returns its size, at most max_size; 0 when neither is of the format. */
size_t fcvi_crossover(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                      size_t max_size, uint64_t seed, const struct fcvi_mutator_format *format);

#ifndef FCVI_MUTATOR_WITHOUT_TARGET
/** What a target may define to say its format to the hooks of the shared object; without it the environment
 * variable FCVI_MUTATOR says it: "frame" (the default), "frame,trailer=2", "frame,crc", "frames",
 * "pdus,trailer=1", "frame,edition=rev1". */
extern const struct fcvi_mutator_format fcvi_fuzz_format;
#endif

#ifdef __cplusplus
}
#endif

#endif
