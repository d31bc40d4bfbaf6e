/* Values of Python as JSON. */
#include "eight.h"
#include "pytext.h"

/* A value being written. */
struct writer {
    struct pytext *out;
    const struct pytext_json *how;
    unsigned depth; /* of members */
};

/* ---- strings ---- */

static void put_escape(struct pytext *t, Py_UCS4 c)
{
    static const char digits[] = "0123456789abcdef";
    const char escape[] = {'\\',          'u', digits[c >> 12 & 15], digits[c >> 8 & 15], digits[c >> 4 & 15],
                           digits[c & 15]};
    pytext_put(t, escape, sizeof escape);
}

static void put_character(struct pytext *t, Py_UCS4 c)
{
    static const char *const named[128] = {['"'] = "\\\"", ['\\'] = "\\\\", ['\n'] = "\\n", ['\r'] = "\\r",
                                           ['\t'] = "\\t", ['\f'] = "\\f",  ['\b'] = "\\b"};
    if (c < 128 && named[c] != NULL)
        pytext_put_string(t, named[c]);
    else if (c > 0xFFFF) {
        put_escape(t, 0xD800 + ((c - 0x10000) >> 10));
        put_escape(t, 0xDC00 + ((c - 0x10000) & 0x3FF));
    } else
        put_escape(t, c);
}

/* Whether a character is in JSON as it is, however it is written. */
static bool is_itself(Py_UCS4 c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/* Whether one of eight characters has to be escaped, or may have to be. */
static bool is_odd(const char *text)
{
    const uint64_t eight = eight_at(text);
    return (eight_above_ascii(eight) | eight_below(eight, ' ') | eight_has(eight, '"') |
            eight_has(eight, '\\')) != 0;
}

/* Whether all stand as they are, and are ASCII. */
static bool are_plain(const char *text, Py_ssize_t length)
{
    enum { AT_ONCE = 8 };
    for (; length >= AT_ONCE; text += AT_ONCE, length -= AT_ONCE)
        if (is_odd(text))
            return false;
    for (; length > 0; text++, length--)
        if (!is_itself((unsigned char)*text))
            return false;
    return true;
}

/* Bytes that are characters, or parts of some that stand as they are. */
static void put_bytes(struct pytext *t, const char *text, Py_ssize_t length, bool ascii_only)
{
    enum { AT_ONCE = 8 };
    if (are_plain(text, length)) { /* nearly always */
        pytext_put(t, text, (size_t)length);
        return;
    }
    Py_ssize_t from = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        while (i + AT_ONCE <= length && !is_odd(text + i))
            i += AT_ONCE;
        if (i == length)
            break;
        const unsigned char c = (unsigned char)text[i];
        if (is_itself(c) || (c >= 0x7F && !ascii_only))
            continue;
        pytext_put(t, text + from, (size_t)(i - from));
        put_character(t, c);
        from = i + 1;
    }
    pytext_put(t, text + from, (size_t)(length - from));
}

static void put_escaped(struct pytext *t, PyObject *value)
{
    const int kind = PyUnicode_KIND(value);
    const void *data = PyUnicode_DATA(value);
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(value); i++) {
        const Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (is_itself(c))
            pytext_put(t, &(char){(char)c}, 1);
        else
            put_character(t, c);
    }
}

static void put_as_utf8(struct pytext *t, Py_UCS4 c)
{
    const char two[] = {(char)(0xC0 | c >> 6), (char)(0x80 | (c & 63))};
    const char three[] = {(char)(0xE0 | c >> 12), (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63))};
    const char four[] = {(char)(0xF0 | c >> 18), (char)(0x80 | (c >> 12 & 63)), (char)(0x80 | (c >> 6 & 63)),
                         (char)(0x80 | (c & 63))};
    if (c < 0x80)
        put_bytes(t, &(char){(char)c}, 1, false);
    else if (c < 0x800)
        pytext_put(t, two, sizeof two);
    else if (c < 0x10000)
        pytext_put(t, three, sizeof three);
    else
        pytext_put(t, four, sizeof four);
}

/* Half a character, which no UTF-8 has, stays visible as an escape. */
static void put_utf8(struct pytext *t, PyObject *value)
{
    const int kind = PyUnicode_KIND(value);
    const void *data = PyUnicode_DATA(value);
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(value); i++) {
        const Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (Py_UNICODE_IS_SURROGATE(c))
            put_escape(t, c);
        else
            put_as_utf8(t, c);
    }
}

static void put_string(const struct writer *w, PyObject *value)
{
    pytext_put(w->out, "\"", 1);
    if (PyUnicode_IS_COMPACT_ASCII(value))
        put_bytes(w->out, PyUnicode_DATA(value), PyUnicode_GET_LENGTH(value), w->how->ascii_only);
    else if (w->how->ascii_only)
        put_escaped(w->out, value);
    else
        put_utf8(w->out, value);
    pytext_put(w->out, "\"", 1);
}

/* ---- what has no members ---- */

/* What Python's encoder makes of it. */
static int put_other(const struct writer *w, PyObject *value)
{
    PyObject *text = PyObject_CallOneArg(w->how->encode, value);
    const int status = text != NULL ? pytext_put_words(w->out, text) : -1;
    Py_XDECREF(text);
    return status;
}

static int put_integer(const struct writer *w, PyObject *value)
{
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0)
        return put_other(w, value);
    pytext_put_number(w->out, number);
    return 0;
}

/* ---- members ---- */

static int put_any(struct writer *w, PyObject *value);

/* What stands before a member. */
static void put_between(const struct writer *w, bool first)
{
    if (!first)
        pytext_put_string(w->out, w->how->between);
    if (!w->how->lines)
        return;
    pytext_put(w->out, "\n", 1);
    for (unsigned i = 0; i < w->depth; i++)
        pytext_put(w->out, " ", 1);
}

static int put_list(struct writer *w, PyObject *value)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
        put_between(w, i == 0);
        if (put_any(w, PySequence_Fast_GET_ITEM(value, i)) != 0)
            return -1;
    }
    return 0;
}

static int put_object(struct writer *w, PyObject *value)
{
    PyObject *name = NULL, *member = NULL;
    Py_ssize_t at = 0;
    bool first = true;
    while (PyDict_Next(value, &at, &name, &member)) {
        put_between(w, first);
        first = false;
        put_string(w, name);
        pytext_put_string(w->out, w->how->behind_name);
        if (put_any(w, member) != 0)
            return -1;
    }
    return 0;
}

static int put_members(struct writer *w, PyObject *value)
{
    const bool object = PyDict_Check(value), some = PyObject_Size(value) > 0;
    if (Py_EnterRecursiveCall(" while a value is written as JSON") != 0)
        return -1;
    Py_INCREF(value); /* the encoder that is asked for parts of it may do anything */
    pytext_put_string(w->out, object ? "{" : "[");
    w->depth++;
    const int status = object ? put_object(w, value) : put_list(w, value);
    w->depth--;
    if (some && w->how->lines)
        put_between(w, true);
    pytext_put_string(w->out, object ? "}" : "]");
    Py_DECREF(value);
    Py_LeaveRecursiveCall();
    return status;
}

static bool has_string_names(PyObject *value)
{
    PyObject *name = NULL;
    Py_ssize_t at = 0;
    while (PyDict_Next(value, &at, &name, NULL))
        if (!PyUnicode_CheckExact(name))
            return false;
    return true;
}

static int put_any(struct writer *w, PyObject *value)
{
    if (PyUnicode_CheckExact(value)) {
        put_string(w, value);
        return 0;
    }
    if (PyLong_CheckExact(value))
        return put_integer(w, value);
    if (PyList_Check(value) || PyTuple_Check(value) || (PyDict_Check(value) && has_string_names(value)))
        return put_members(w, value);
    if (value != Py_None && !PyBool_Check(value))
        return put_other(w, value);
    pytext_put_string(w->out, value == Py_None ? "null" : value == Py_True ? "true" : "false");
    return 0;
}

int pytext_put_value(struct pytext *t, PyObject *value, const struct pytext_json *how)
{
    return put_any(&(struct writer){t, how, 0}, value);
}

PyObject *pytext_indented(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "indented(value, ascii_only, encode)");
        return NULL;
    }
    const int ascii_only = PyObject_IsTrue(given[1]);
    if (ascii_only < 0)
        return NULL;
    struct pytext out = {0};
    const struct pytext_json how = {",", ": ", true, ascii_only != 0, given[2]};
    const int status = pytext_put_value(&out, given[0], &how);
    pytext_put(&out, "\n", 1);
    PyObject *text = status == 0 ? pytext_take(&out) : NULL;
    pytext_free(&out);
    return text;
}
