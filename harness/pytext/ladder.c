/* The frames of a case for its capture and its ladder. */
#include "eight.h"
#include "pytext.h"
#include "reports.h"

#include <string.h>

/* ---- frames as C takes them ---- */

/* The attribute of an object as a number from 0 to most; -1 with an exception. */
static long long number_of(PyObject *of, PyObject *name, long long most)
{
    PyObject *value = PyObject_GetAttr(of, name);
    if (value == NULL)
        return -1;
    const long long number = PyLong_AsLongLong(value);
    Py_DECREF(value);
    if (number >= 0 && number <= most)
        return number;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_OverflowError, "%U is out of range", name);
    return -1;
}

static int is_of_device(PyObject *frame, const struct pytext_names *names)
{
    PyObject *sender = PyObject_GetAttr(frame, names->sender);
    if (sender == NULL)
        return -1;
    const int dut = PyUnicode_Check(sender) ? PyUnicode_CompareWithASCIIString(sender, "dut") == 0 : 0;
    Py_DECREF(sender);
    return dut;
}

/* Appends the bytes of an object, and says how many. */
static int put_bytes(struct pytext *t, PyObject *bytes, uint32_t *length)
{
    Py_buffer view;
    if (bytes == NULL || PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) != 0)
        return -1;
    const bool fits = view.len <= UINT32_MAX;
    if (fits)
        pytext_put(t, view.buf, (size_t)view.len);
    else
        PyErr_SetString(PyExc_OverflowError, "a frame is too long");
    *length = (uint32_t)view.len;
    PyBuffer_Release(&view);
    return fits ? 0 : -1;
}

struct traced {
    const struct pytext_names *names;
    struct pytext structures, data, options;
    uint8_t crc_ok, crc_bad;
    PyObject *comments; /* gives the options of a frame that has something to tell; None: none of them */
};

static int put_data(struct traced *t, PyObject *frame, uint32_t *length)
{
    PyObject *data = PyObject_GetAttr(frame, t->names->data);
    const int status = put_bytes(&t->data, data, length);
    Py_XDECREF(data);
    return status;
}

static int put_options(struct traced *t, PyObject *frame, uint32_t *length)
{
    *length = 0;
    if (t->comments == Py_None)
        return 0;
    const int note = pytext_flag(frame, t->names->note),
              found = note == 0 ? pytext_flag(frame, t->names->findings) : note;
    if (found <= 0)
        return found;
    PyObject *options = PyObject_CallOneArg(t->comments, frame);
    const int status = put_bytes(&t->options, options, length);
    Py_XDECREF(options);
    return status;
}

static int put_traced(struct traced *t, PyObject *frame)
{
    struct calls_traced f = {0};
    const long long time_us = number_of(frame, t->names->time_us, INT64_MAX);
    const long long sof = time_us < 0 ? -1 : number_of(frame, t->names->sof, UINT8_MAX);
    const long long eof = sof < 0 ? -1 : number_of(frame, t->names->eof, UINT8_MAX);
    const int crc_ok = eof < 0 ? -1 : pytext_flag(frame, t->names->crc_ok);
    const int outbound = crc_ok < 0 ? -1 : is_of_device(frame, t->names);
    if (outbound < 0 || put_data(t, frame, &f.length) != 0 || put_options(t, frame, &f.comments) != 0)
        return -1;
    f.time_us = (uint64_t)time_us;
    f.sof = (uint8_t)sof;
    f.eof = (uint8_t)eof;
    f.crc = crc_ok ? t->crc_ok : t->crc_bad;
    f.outbound = (uint8_t)outbound;
    pytext_put(&t->structures, (const char *)&f, sizeof f);
    return 0;
}

static int put_all(struct traced *t, PyObject *frames)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(frames); i++)
        if (put_traced(t, PySequence_Fast_GET_ITEM(frames, i)) != 0)
            return -1;
    return 0;
}

PyObject *pytext_traced(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "traced(frames, crc_ok, crc_bad, comments)");
        return NULL;
    }
    const long crc_ok = PyLong_AsLong(given[1]), crc_bad = PyErr_Occurred() ? -1 : PyLong_AsLong(given[2]);
    if (PyErr_Occurred())
        return NULL;
    PyObject *frames = PySequence_Fast(given[0], "frames is no sequence");
    if (frames == NULL)
        return NULL;
    struct traced t = {.names = PyModule_GetState(module),
                       .crc_ok = (uint8_t)crc_ok,
                       .crc_bad = (uint8_t)crc_bad,
                       .comments = given[3]};
    PyObject *found = NULL;
    if (put_all(&t, frames) == 0) {
        PyObject *structures = pytext_take(&t.structures), *data = pytext_take(&t.data),
                 *options = pytext_take(&t.options);
        if (structures != NULL && data != NULL && options != NULL)
            found = PyTuple_Pack(3, structures, data, options);
        Py_XDECREF(structures);
        Py_XDECREF(data);
        Py_XDECREF(options);
    }
    Py_DECREF(frames);
    pytext_free(&t.structures);
    pytext_free(&t.data);
    pytext_free(&t.options);
    return found;
}

/* ---- rows ---- */

/* What the marks stand for is told by FRAGMENTS (fcvi/report/plain.py). */
#define ROW "\x01"
#define SENT "\x02"
#define SENT_SEEN "\x03"
#define SENT_LOST "\x04"
#define AWAITED "\x05"
#define CAME "\x06"
#define CAME_LOST "\x07"
#define SUMMARY "\x08"
#define END "\x0e"
#define DETAILS "\x0f"
#define FIELDS "\x10"
#define DETAILS_END "\x11"
#define ROW_END "\x12"
#define SMALL "\x14"
#define NOT_AWAITED "\x15"

struct ladder {
    const struct pytext_names *names;
    struct pytext out;
    const char *brief, *end; /* texts that are left, each with its NUL */
    PyObject *escape;
    bool fields;
    Py_ssize_t rows;
};

struct span {
    const char *at;
    size_t length;
};

/* The next of the brief texts; none when they are over. */
static struct span next_text(struct ladder *l)
{
    const char *end = l->brief < l->end ? memchr(l->brief, '\0', (size_t)(l->end - l->brief)) : NULL;
    struct span text = {l->brief, 0};
    if (end != NULL) {
        text.length = (size_t)(end - l->brief);
        l->brief = end + 1;
    }
    return text;
}

static void put_span(struct ladder *l, struct span text)
{
    pytext_put(&l->out, text.at, text.length);
}

static int put_words(struct ladder *l, PyObject *words)
{
    return pytext_put_words(&l->out, words);
}

/* What the suite noted of a frame. */
static int put_remark(struct ladder *l, PyObject *frame)
{
    PyObject *note = PyObject_GetAttr(frame, l->names->note);
    const int some = note != NULL ? PyObject_IsTrue(note) : -1;
    if (some <= 0) {
        Py_XDECREF(note);
        return some;
    }
    PyObject *escaped = PyObject_CallOneArg(l->escape, note);
    Py_DECREF(note);
    pytext_put_string(&l->out, " " SMALL "(");
    const int status = escaped != NULL ? put_words(l, escaped) : -1;
    pytext_put_string(&l->out, ")" END);
    Py_XDECREF(escaped);
    return status;
}

/* What is on both sides of a frame of the tester, or what was awaited beside one of the device. owed: None,
 * when nothing was. */
static int put_sides(struct ladder *l, PyObject *frame, struct span name, PyObject *owed)
{
    const int lost = pytext_flag(frame, l->names->lost),
              of_device = lost < 0 ? -1 : is_of_device(frame, l->names);
    if (of_device < 0)
        return -1;
    if (!of_device) {
        pytext_put_string(&l->out, SENT);
        put_span(l, name);
        pytext_put_string(&l->out, lost ? SENT_LOST : SENT_SEEN);
        return 0;
    }
    pytext_put_string(&l->out, AWAITED);
    if (owed == Py_None)
        pytext_put_string(&l->out, NOT_AWAITED);
    else if (put_words(l, owed) != 0)
        return -1;
    pytext_put_string(&l->out, lost ? CAME_LOST : CAME);
    return 0;
}

static int put_row(struct ladder *l, Py_ssize_t number, PyObject *frame, PyObject *owed)
{
    const struct span summary = next_text(l), fields = next_text(l);
    const char *blank = summary.length != 0 ? memchr(summary.at, ' ', summary.length) : NULL;
    const struct span name = {summary.at, blank != NULL ? (size_t)(blank - summary.at) : summary.length};
    const struct span rest = {blank != NULL ? blank + 1 : "",
                              blank != NULL ? summary.length - name.length - 1 : 0};
    const long long time_us = number_of(frame, l->names->time_us, INT64_MAX);
    if (time_us < 0)
        return -1;
    pytext_put_string(&l->out, l->rows > 0 ? "\n" ROW : ROW);
    pytext_put_duration(&l->out, time_us);
    if (put_sides(l, frame, name, owed) != 0)
        return -1;
    put_span(l, name);
    pytext_put_string(&l->out, SUMMARY);
    pytext_put_number(&l->out, number);
    pytext_put_string(&l->out, ": ");
    put_span(l, rest);
    pytext_put_string(&l->out, END);
    if (put_remark(l, frame) != 0)
        return -1;
    if (l->fields) {
        pytext_put_string(&l->out, DETAILS);
        pytext_put_number(&l->out, number);
        pytext_put_string(&l->out, FIELDS);
        put_span(l, fields);
        pytext_put_string(&l->out, DETAILS_END);
    }
    pytext_put_string(&l->out, ROW_END);
    l->rows++;
    return 0;
}

/* The rows of what was awaited in vain, or not to come, behind so many frames; at: the first that is left of
 * them. */
static int put_beside(struct ladder *l, PyObject *beside, Py_ssize_t *at, Py_ssize_t after, Py_ssize_t most)
{
    while (*at < PyList_GET_SIZE(beside) && l->rows < most) {
        PyObject *pair = PyList_GET_ITEM(beside, *at);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "beside is no list of pairs");
            return -1;
        }
        const Py_ssize_t behind = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0));
        if (behind == -1 && PyErr_Occurred())
            return -1;
        if (behind != after)
            return 0;
        if (l->rows++ > 0)
            pytext_put(&l->out, "\n", 1);
        if (put_words(l, PyTuple_GET_ITEM(pair, 1)) != 0)
            return -1;
        ++*at;
    }
    return 0;
}

static int put_rows(struct ladder *l, PyObject *frames, PyObject *owed, PyObject *beside, Py_ssize_t most)
{
    Py_ssize_t at = 0;
    for (Py_ssize_t number = 0; number <= PyList_GET_SIZE(frames) && l->rows < most; number++) {
        if (number > 0) {
            PyObject *number_of_frame = PyLong_FromSsize_t(number);
            PyObject *words = number_of_frame != NULL ? PyDict_GetItemWithError(owed, number_of_frame) : NULL;
            Py_XDECREF(number_of_frame);
            if (PyErr_Occurred() ||
                put_row(l, number, PyList_GET_ITEM(frames, number - 1), words != NULL ? words : Py_None) != 0)
                return -1;
        }
        if (put_beside(l, beside, &at, number, most) != 0)
            return -1;
    }
    return 0;
}

PyObject *pytext_rows(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    if (count != 7 || !PyList_Check(given[0]) || !PyDict_Check(given[2]) || !PyList_Check(given[3])) {
        PyErr_SetString(PyExc_TypeError, "rows(frames, brief, owed, beside, fields, most, escape)");
        return NULL;
    }
    const int fields = PyObject_IsTrue(given[4]);
    const Py_ssize_t most = PyLong_AsSsize_t(given[5]);
    Py_buffer brief;
    if (fields < 0 || PyErr_Occurred() || PyObject_GetBuffer(given[1], &brief, PyBUF_SIMPLE) != 0)
        return NULL;
    struct ladder l = {
        .names = PyModule_GetState(module), .brief = brief.buf, .escape = given[6], .fields = fields != 0};
    l.end = l.brief + brief.len;
    PyObject *rows = put_rows(&l, given[0], given[2], given[3], most) == 0 ? pytext_take(&l.out) : NULL;
    pytext_free(&l.out);
    PyBuffer_Release(&brief);
    return rows;
}

/* ---- steps ---- */

/* Whether a text is plain ASCII without control characters. */
static bool is_plain(const char *text, Py_ssize_t length)
{
    enum { AT_ONCE = 8 };
    for (; length >= AT_ONCE; text += AT_ONCE, length -= AT_ONCE)
        if ((eight_above_ascii(eight_at(text)) | eight_below(eight_at(text), ' ')) != 0)
            return false;
    for (; length > 0; text++, length--)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

/* Of plain text. */
static void put_escaped(struct pytext *t, const char *text, size_t length)
{
    for (;;) {
        const size_t plain = eight_unescaped(text, length);
        pytext_put(t, text, plain);
        if (plain == length)
            return;
        pytext_put_string(t, eight_escape(text[plain]));
        text += plain + 1;
        length -= plain + 1;
    }
}

/* Text in a markup; what is not plain is left to a function of Python. */
static int put_markup(struct pytext *t, PyObject *text, PyObject *escape)
{
    if (PyUnicode_IS_COMPACT_ASCII(text) && is_plain(PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text))) {
        put_escaped(t, PyUnicode_DATA(text), (size_t)PyUnicode_GET_LENGTH(text));
        return 0;
    }
    PyObject *escaped = PyObject_CallOneArg(escape, text);
    const int status = escaped != NULL ? pytext_put_words(t, escaped) : -1;
    Py_XDECREF(escaped);
    return status;
}

struct steps {
    struct pytext out, words; /* words: of one item */
    PyObject *told, *escape;
    struct pytext_json how;
};

/* What is in words: into the list. */
static int put_words_of_item(struct steps *s)
{
    if (s->words.failed) {
        PyErr_NoMemory();
        return -1;
    }
    if (is_plain(s->words.at, (Py_ssize_t)s->words.length)) {
        put_escaped(&s->out, s->words.at, s->words.length);
        return 0;
    }
    PyObject *text = PyUnicode_FromStringAndSize(s->words.at, (Py_ssize_t)s->words.length);
    const int status = text != NULL ? put_markup(&s->out, text, s->escape) : -1;
    Py_XDECREF(text);
    return status;
}

/* What a call or a notification said: (time in us, name, parameters), in the words of its class. */
static int put_told(struct steps *s, PyObject *told)
{
    const long long time_us = PyLong_AsLongLong(PyTuple_GET_ITEM(told, 0));
    if (time_us == -1 && PyErr_Occurred())
        return -1;
    s->words.length = 0;
    pytext_put_number(&s->words, time_us);
    pytext_put_string(&s->words, " us: ");
    if (pytext_put_words(&s->words, PyTuple_GET_ITEM(told, 1)) != 0)
        return -1;
    pytext_put(&s->words, " ", 1);
    if (pytext_put_value(&s->words, PyTuple_GET_ITEM(told, 2), &s->how) != 0)
        return -1;
    return put_words_of_item(s);
}

static int put_item(struct steps *s, PyObject *value)
{
    int status = -1;
    pytext_put_string(&s->out, "<li>");
    if ((PyObject *)Py_TYPE(value) == s->told && PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 3)
        status = put_told(s, value);
    else {
        PyObject *text = PyObject_Str(value);
        if (text != NULL)
            status = put_markup(&s->out, text, s->escape);
        Py_XDECREF(text);
    }
    pytext_put_string(&s->out, "</li>");
    return status;
}

PyObject *pytext_items(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count != 4 || !PyList_Check(given[0])) {
        PyErr_SetString(PyExc_TypeError, "items(values, told, escape, encode)");
        return NULL;
    }
    struct steps s = {.told = given[1], .escape = given[2], .how = {", ", ": ", false, true, given[3]}};
    int status = 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(given[0]); i++)
        status = put_item(&s, PyList_GET_ITEM(given[0], i));
    PyObject *items = status == 0 ? pytext_take(&s.out) : NULL;
    pytext_free(&s.out);
    pytext_free(&s.words);
    return items;
}
