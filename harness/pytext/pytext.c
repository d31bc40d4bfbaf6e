/* Text that grows. */
#include "pytext.h"

#include <stdlib.h>

enum { FIRST_ROOM = 1 << 16, KEPT_ROOM = 1 << 22 };

char *pytext_more(struct pytext *t, size_t more)
{
    if (t->failed || more > SIZE_MAX / 4 - t->length) {
        t->failed = true;
        return NULL;
    }
    size_t room = t->room != 0 ? t->room : FIRST_ROOM;
    while (room <= t->length + more)
        room *= 2;
    if (room != t->room) {
        char *at = realloc(t->at, room);
        if (at == NULL) {
            t->failed = true;
            return NULL;
        }
        t->at = at;
        t->room = room;
    }
    return t->at + t->length;
}

static char nibble(unsigned value)
{
    return (char)(value + (value > 9 ? 'a' - 10 : '0'));
}

void pytext_put_hex(struct pytext *t, const unsigned char *bytes, size_t length)
{
    if (length > SIZE_MAX / 2) {
        t->failed = true;
        return;
    }
    char *to = pytext_more(t, 2 * length);
    if (to == NULL)
        return;
    for (size_t i = 0; i < length; i++) { /* so that the compiler does many at once */
        to[2 * i] = nibble(bytes[i] >> 4);
        to[2 * i + 1] = nibble(bytes[i] & 15);
    }
    t->length += 2 * length;
}

int pytext_put_words(struct pytext *t, PyObject *words)
{
    if (PyUnicode_Check(words) && PyUnicode_IS_COMPACT_ASCII(words)) {
        pytext_put(t, PyUnicode_DATA(words), (size_t)PyUnicode_GET_LENGTH(words));
        return 0;
    }
    PyObject *bytes = PyUnicode_AsEncodedString(words, "utf-8", "backslashreplace");
    if (bytes == NULL)
        return -1;
    pytext_put(t, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return 0;
}

void pytext_put_number(struct pytext *t, int64_t number)
{
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (number < 0)
        *--at = '-';
    pytext_put(t, at, (size_t)(digits + sizeof digits - at));
}

/* The digits behind the point, without the zeros at their end. */
static void put_fraction(struct pytext *t, uint64_t part, unsigned digits)
{
    char text[8] = ".";
    if (part == 0)
        return;
    for (unsigned i = digits; i > 0; i--, part /= 10)
        text[i] = (char)('0' + part % 10);
    while (text[digits] == '0')
        digits--;
    pytext_put(t, text, digits + 1);
}

void pytext_put_duration(struct pytext *t, int64_t us)
{
    const uint64_t all = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    if (us < 0)
        pytext_put(t, "-", 1);
    const uint64_t unit = all < 1000 ? 1 : all < 1000000 ? 1000 : 1000000;
    pytext_put_number(t, (int64_t)(all / unit));
    put_fraction(t, all % unit, unit == 1000 ? 3 : 6);
    pytext_put_string(t, unit == 1 ? " us" : unit == 1000 ? " ms" : " s");
}

PyObject *pytext_take(struct pytext *t)
{
    PyObject *taken = NULL;
    if (t->failed)
        PyErr_NoMemory();
    else
        taken = PyBytes_FromStringAndSize(t->at, (Py_ssize_t)t->length);
    if (t->room > KEPT_ROOM)
        pytext_free(t);
    t->length = 0;
    t->failed = false;
    return taken;
}

void pytext_free(struct pytext *t)
{
    free(t->at);
    *t = (struct pytext){0};
}
