/* What a stranger has said so far, and what is to become of it: nothing is spent on who has not said, in one
 * short line, what a client says. */
#ifndef FCVI_LINES_FIRST_H
#define FCVI_LINES_FIRST_H

#include <stddef.h>

enum {
    FIRST_LONGEST = 4096, /* bytes of a first line with its LF */
    FIRST_ANSWER = 8192   /* room for an answer */
};

enum first {
    FIRST_MORE, /* the line has not ended */
    FIRST_IN,   /* a client */
    FIRST_OUT   /* to be sent away, with the answer if there is one */
};

/** The verdict about what has come. token: what hello has to name; "" where none is asked for. answer: a line
 * of FIRST_ANSWER bytes at most, with its LF and a NUL; "" where nothing is said. */
enum first first_line(const char *said, size_t length, const char *token, char *answer);
/** The line that tells of an error without a request. */
void first_refusal(int code, const char *words, char *answer);

#endif
