/** What Python objects are as text: lines of evidence and rows of ladders. They are the module `_fcvi_text`;
 * _fcvi_text.pyi tells what each part of it does. Not part of the product's interface. */
#ifndef FCVI_HARNESS_PYTEXT_H
#define FCVI_HARNESS_PYTEXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- text that grows ---- */

/** Bytes; all zero is an empty one. room: how many bytes there are from at on. failed: there was no memory
 * for something, and the text is not whole. */
struct pytext {
    char *at;
    size_t length, room;
    bool failed;
};

/** Room for so many bytes more; the caller writes them and adds to length. NULL when there is none, and then
 * the text has failed. */
char *pytext_more(struct pytext *t, size_t more);

/** Append. Once it has failed there may be no room for anything more. */
static inline void pytext_put(struct pytext *t, const char *bytes, size_t length)
{
    char *to = t->room - t->length > length ? t->at + t->length : pytext_more(t, length);
    if (to == NULL || length == 0) /* bytes may be NULL then */
        return;
    memcpy(to, bytes, length);
    t->length += length;
}

static inline void pytext_put_string(struct pytext *t, const char *string)
{
    pytext_put(t, string, strlen(string));
}

/** Append bytes as hexadecimal digits, two each. */
void pytext_put_hex(struct pytext *t, const unsigned char *bytes, size_t length);
/** Append a str of Python as UTF-8; half a character, which no UTF-8 has, stays visible as an escape. Returns
 * 0, or -1 with an exception. */
int pytext_put_words(struct pytext *t, PyObject *words);
void pytext_put_number(struct pytext *t, int64_t number);
/** A time as words.duration says it: "5 us", "1.5 ms", "2 s". */
void pytext_put_duration(struct pytext *t, int64_t us);

/** The text as bytes; NULL with MemoryError when it is not whole. It is empty from then on. */
PyObject *pytext_take(struct pytext *t);

/** Give the room back. */
void pytext_free(struct pytext *t);

/* ---- JSON ---- */

/** How JSON is written. encode: a function of Python that writes a value in the same way (without line
 * breaks), asked for what is of a class of its own. */
struct pytext_json {
    const char *between, *behind_name; /**< what stands between two members, and behind a name */
    bool lines;      /**< each member on a line of its own, a blank deeper than what it is in */
    bool ascii_only; /**< other characters as escapes */
    PyObject *encode;
};

/** Append a value, byte for byte as Python's json module writes it. Returns 0, or -1 with an exception, and
 * the text then has a part of the value. */
int pytext_put_value(struct pytext *t, PyObject *value, const struct pytext_json *how);

/* ---- the module ---- */

/** The names of attributes that are looked up; a module's state. */
struct pytext_names {
    PyObject *advance, *request, *send_frame, *now_us, *next_us, *knows_next, *inbox, *frame, *method,
        *params, *delimiters, *earliest_us, *time_us, *done, *error, *result, *data, *sof, *eof, *crc_ok,
        *sender, *note, *lost, *findings;
};

extern PyModuleDef pytext_module;
extern PyType_Spec pytext_recorder;

/** Whether the attribute of an object is true; -1 with an exception. */
int pytext_flag(PyObject *of, PyObject *name);

/** Operations that one line of evidence stands for at most: a trace may be a stranger's, so its reader has a
 * bound. Python knows it as MOST_IDLE. */
enum { PYTEXT_MOST_IDLE = 100 };

/** The functions of the module. */
PyObject *pytext_traced(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *pytext_rows(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *pytext_items(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *pytext_indented(PyObject *module, PyObject *const *given, Py_ssize_t count);

/** How many objects pytext_names has, which is a structure of nothing else. */
enum { PYTEXT_NAMES = sizeof(struct pytext_names) / sizeof(PyObject *) };

#endif
