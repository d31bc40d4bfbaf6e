/* Notes what passes between the suite and a device: the base of RecordingDut (fcvi/engine/record.py), which
 * tells what it notes. */
#include "pytext.h"

#include <structmember.h>

struct recorder {
    PyObject_HEAD const struct pytext_names *names;
    PyObject *inner;                         /* the device */
    PyObject *inbox;                         /* its notifications */
    PyObject *broken, *unavailable;          /* the exceptions that are noted */
    PyObject *now_us, *next_us, *knows_next; /* as after the last operation */
    PyObject *open;                          /* a list of (number, reply): requests without an answer */
    struct pytext_json how;                  /* JSON is written: without white space */
    struct pytext asked;                     /* the beginning of a line: what the operation under way is */
    struct pytext lines;                     /* each with its line break */
    Py_ssize_t known;                        /* notifications before the operation under way */
    long long number;                        /* of the last request */
    unsigned idle;                           /* operations behind the last line of which nothing came */
};

/* ---- what came of an operation ---- */

/* A number that an attribute has, as JSON; it may be of any class. */
static int put_attribute(struct recorder *r, PyObject *of, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(of, name);
    if (value == NULL)
        return -1;
    const int status = pytext_put_value(&r->lines, value, &r->how);
    Py_DECREF(value);
    return status;
}

/* What the params have of a delimiter: nothing, if it has no name. */
static int put_delimiter(struct pytext *out, PyObject *frame, PyObject *name, PyObject *members)
{
    PyObject *code = PyObject_GetAttr(frame, name);
    if (code == NULL)
        return -1;
    PyObject *member = PyDict_GetItemWithError(members, code);
    Py_DECREF(code);
    if (member == NULL)
        return PyErr_Occurred() ? -1 : 0;
    if (PyUnicode_Check(member))
        return pytext_put_words(out, member);
    PyErr_SetString(PyExc_TypeError, "a member of delimiters is no str");
    return -1;
}

static int put_data(const struct recorder *r, struct pytext *out, PyObject *frame)
{
    PyObject *data = PyObject_GetAttr(frame, r->names->data);
    Py_buffer view;
    const int status = data != NULL ? PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) : -1;
    Py_XDECREF(data); /* the view holds it */
    if (status != 0)
        return -1;
    pytext_put_hex(out, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return 0;
}

/* The params of a frame. delimiters: the two dicts of its class. */
static int put_params(const struct recorder *r, struct pytext *out, PyObject *frame, PyObject *delimiters)
{
    if (!PyTuple_Check(delimiters) || PyTuple_GET_SIZE(delimiters) != 2 ||
        !PyDict_Check(PyTuple_GET_ITEM(delimiters, 0)) || !PyDict_Check(PyTuple_GET_ITEM(delimiters, 1))) {
        PyErr_SetString(PyExc_TypeError, "the delimiters of a frame are no pair of dicts");
        return -1;
    }
    const int crc_ok = pytext_flag(frame, r->names->crc_ok);
    pytext_put_string(out, "{\"hex\":\"");
    if (crc_ok < 0 || put_data(r, out, frame) != 0)
        return -1;
    pytext_put_string(out, crc_ok ? "\",\"crc\":\"ok\"" : "\",\"crc\":\"bad\"");
    if (put_delimiter(out, frame, r->names->sof, PyTuple_GET_ITEM(delimiters, 0)) != 0 ||
        put_delimiter(out, frame, r->names->eof, PyTuple_GET_ITEM(delimiters, 1)) != 0)
        return -1;
    pytext_put(out, "}", 1);
    return 0;
}

static int put_frame(const struct recorder *r, struct pytext *out, PyObject *frame)
{
    PyObject *delimiters = PyObject_GetAttr(frame, r->names->delimiters);
    const int status = delimiters != NULL ? put_params(r, out, frame, delimiters) : -1;
    Py_XDECREF(delimiters);
    return status;
}

/* What a notification says: a frame, or its parameters. */
static int put_said(struct recorder *r, PyObject *note)
{
    PyObject *frame = PyObject_GetAttr(note, r->names->frame);
    if (frame == NULL)
        return -1;
    const int status =
        frame == Py_None ? put_attribute(r, note, r->names->params) : put_frame(r, &r->lines, frame);
    Py_DECREF(frame);
    return status;
}

static int put_note(struct recorder *r, PyObject *note)
{
    pytext_put(&r->lines, "[", 1);
    if (put_attribute(r, note, r->names->method) != 0)
        return -1;
    pytext_put(&r->lines, ",", 1);
    if (put_said(r, note) != 0)
        return -1;
    pytext_put(&r->lines, ",", 1);
    if (put_attribute(r, note, r->names->earliest_us) != 0)
        return -1;
    pytext_put(&r->lines, ",", 1);
    const int status = put_attribute(r, note, r->names->time_us);
    pytext_put(&r->lines, "]", 1);
    return status;
}

static int put_notes(struct recorder *r)
{
    const Py_ssize_t count = PyObject_Size(r->inbox);
    const char *before = ",\"notes\":[";
    for (Py_ssize_t i = r->known; i < count; i++) {
        PyObject *note = PySequence_GetItem(r->inbox, i);
        if (note == NULL)
            return -1;
        pytext_put_string(&r->lines, before);
        before = ",";
        const int status = put_note(r, note);
        Py_DECREF(note);
        if (status != 0)
            return -1;
    }
    if (count > r->known)
        pytext_put(&r->lines, "]", 1);
    return count < 0 ? -1 : 0;
}

static int put_answer(struct recorder *r, PyObject *number, PyObject *reply)
{
    PyObject *error = PyObject_GetAttr(reply, r->names->error);
    if (error == NULL)
        return -1;
    pytext_put(&r->lines, "[", 1);
    int status = pytext_put_value(&r->lines, number, &r->how);
    pytext_put_string(&r->lines, error != Py_None ? ",{\"error\":" : ",{\"result\":");
    if (status == 0)
        status = error != Py_None ? pytext_put_value(&r->lines, error, &r->how)
                                  : put_attribute(r, reply, r->names->result);
    Py_DECREF(error);
    pytext_put_string(&r->lines, "},");
    if (status == 0)
        status = put_attribute(r, reply, r->names->time_us);
    pytext_put(&r->lines, "]", 1);
    return status;
}

/* What was answered since the last line. */
static int put_answers(struct recorder *r)
{
    const char *before = ",\"done\":[";
    Py_ssize_t at = 0;
    while (at < PyList_GET_SIZE(r->open)) {
        PyObject *pair = PyList_GET_ITEM(r->open, at);
        PyObject *reply = PyTuple_GET_ITEM(pair, 1);
        const int done = pytext_flag(reply, r->names->done);
        if (done < 0)
            return -1;
        if (!done) {
            at++;
            continue;
        }
        pytext_put_string(&r->lines, before);
        before = ",";
        if (put_answer(r, PyTuple_GET_ITEM(pair, 0), reply) != 0 || PySequence_DelItem(r->open, at) != 0)
            return -1;
    }
    if (*before == ',' && before[1] == '\0')
        pytext_put(&r->lines, "]", 1);
    return 0;
}

/* ---- lines ---- */

/* Says in the last line how often nothing came of an advance by no time. */
static void fold(struct recorder *r)
{
    if (r->idle == 0)
        return;
    r->lines.length -= 2; /* its bracket and its line break */
    pytext_put_string(&r->lines, ",\"idle\":");
    pytext_put_number(&r->lines, r->idle);
    pytext_put_string(&r->lines, "}\n");
    r->idle = 0;
}

static int take_attribute(PyObject *of, PyObject *name, PyObject **into)
{
    PyObject *value = PyObject_GetAttr(of, name);
    if (value == NULL)
        return -1;
    Py_XSETREF(*into, value);
    return 0;
}

static int mirror(struct recorder *r)
{
    return take_attribute(r->inner, r->names->now_us, &r->now_us) != 0 ||
                   take_attribute(r->inner, r->names->next_us, &r->next_us) != 0 ||
                   take_attribute(r->inner, r->names->knows_next, &r->knows_next) != 0
               ? -1
               : 0;
}

static int put_line(struct recorder *r)
{
    pytext_put(&r->lines, r->asked.at, r->asked.length);
    pytext_put_string(&r->lines, ",\"now\":");
    if (mirror(r) != 0 || pytext_put_value(&r->lines, r->now_us, &r->how) != 0)
        return -1;
    const int knows = PyObject_IsTrue(r->knows_next);
    if (knows != 0)
        pytext_put_string(&r->lines, ",\"next\":");
    if (knows < 0 || (knows && pytext_put_value(&r->lines, r->next_us, &r->how) != 0))
        return -1;
    return put_notes(r) == 0 && put_answers(r) == 0 ? 0 : -1;
}

/* The operation is over. A line that cannot be written to its end is not there at all. */
static int end(struct recorder *r)
{
    fold(r);
    const size_t before = r->lines.length;
    r->lines.failed |= r->asked.failed;
    if (put_line(r) != 0) {
        r->lines.length = before;
        return -1;
    }
    return 0;
}

static PyObject *ended(struct recorder *r)
{
    if (end(r) != 0)
        return NULL;
    pytext_put_string(&r->lines, "}\n");
    return Py_NewRef(Py_None);
}

/* The operation failed with the exception that is set, and stays set. Other exceptions than those of a device
 * are not noted. */
static void failed(struct recorder *r)
{
    const bool unavailable = PyErr_ExceptionMatches(r->unavailable);
    if (!unavailable && !PyErr_ExceptionMatches(r->broken))
        return;
    PyObject *type = NULL, *error = NULL, *trace = NULL;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    const size_t before = r->lines.length;
    PyObject *words = PyObject_Str(error);
    if (words != NULL && end(r) == 0) {
        pytext_put_string(&r->lines, unavailable ? ",\"unavailable\":" : ",\"error\":");
        if (pytext_put_value(&r->lines, words, &r->how) == 0)
            pytext_put_string(&r->lines, "}\n");
        else
            r->lines.length = before;
    }
    Py_XDECREF(words);
    PyErr_Clear();
    PyErr_Restore(type, error, trace);
}

/* With an exception when it has none. */
static bool has_device(const struct recorder *r)
{
    if (r->inner != NULL)
        return true;
    PyErr_SetString(PyExc_RuntimeError, "no device is recorded: call around() first");
    return false;
}

/* An operation begins: with this text. */
static int begin(struct recorder *r, const char *asked)
{
    if (!has_device(r))
        return -1;
    r->asked.length = 0;
    r->asked.failed = false;
    pytext_put_string(&r->asked, asked);
    r->known = PyObject_Size(r->inbox);
    return r->known < 0 ? -1 : 0;
}

/* ---- methods ---- */

static PyObject *request(struct recorder *r, PyObject *const *given, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "request(method, params)");
        return NULL;
    }
    if (begin(r, "{\"op\":\"request\",\"n\":") != 0)
        return NULL;
    pytext_put_number(&r->asked, ++r->number);
    pytext_put_string(&r->asked, ",\"method\":");
    if (pytext_put_value(&r->asked, given[0], &r->how) != 0)
        return NULL;
    pytext_put_string(&r->asked, ",\"params\":");
    if (pytext_put_value(&r->asked, given[1], &r->how) != 0)
        return NULL;
    PyObject *reply = PyObject_CallMethodObjArgs(r->inner, r->names->request, given[0], given[1], NULL);
    if (reply == NULL) {
        failed(r);
        return NULL;
    }
    PyObject *pair = Py_BuildValue("(LO)", r->number, reply);
    if (pair == NULL || PyList_Append(r->open, pair) != 0)
        Py_CLEAR(reply);
    Py_XDECREF(pair);
    if (reply == NULL || end(r) != 0) {
        Py_XDECREF(reply);
        return NULL;
    }
    pytext_put_string(&r->lines, "}\n");
    return reply;
}

static PyObject *send_frame(struct recorder *r, PyObject *frame)
{
    if (begin(r, "{\"op\":\"notify\",\"method\":\"frame\",\"params\":") != 0 ||
        put_frame(r, &r->asked, frame) != 0)
        return NULL;
    PyObject *sent = PyObject_CallMethodOneArg(r->inner, r->names->send_frame, frame);
    if (sent == NULL) {
        failed(r);
        return NULL;
    }
    Py_DECREF(sent);
    return ended(r);
}

/* Whether something was answered; -1 with an exception. */
static int is_answered(const struct recorder *r)
{
    int done = 0;
    for (Py_ssize_t i = 0; done == 0 && i < PyList_GET_SIZE(r->open); i++)
        done = pytext_flag(PyTuple_GET_ITEM(PyList_GET_ITEM(r->open, i), 1), r->names->done);
    return done;
}

/* Whether an attribute of the device is as it was; -1 with an exception. */
static int is_same(PyObject *of, PyObject *name, PyObject *was)
{
    PyObject *value = PyObject_GetAttr(of, name);
    if (value == NULL)
        return -1;
    const int same = value == was ? 1 : PyObject_RichCompareBool(value, was, Py_EQ);
    Py_DECREF(value);
    return same;
}

/* Whether nothing happened since the last line; -1 with an exception. */
static int is_as_before(const struct recorder *r)
{
    if (r->lines.length == 0 || r->idle >= PYTEXT_MOST_IDLE)
        return 0;
    const Py_ssize_t known = PyObject_Size(r->inbox);
    if (known != r->known)
        return known < 0 ? -1 : 0;
    int same = is_same(r->inner, r->names->now_us, r->now_us);
    if (same == 1)
        same = is_same(r->inner, r->names->next_us, r->next_us);
    if (same == 1)
        same = is_same(r->inner, r->names->knows_next, r->knows_next);
    if (same != 1)
        return same;
    const int answered = is_answered(r);
    return answered < 0 ? -1 : !answered;
}

static PyObject *advance(struct recorder *r, PyObject *us)
{
    if (begin(r, "{\"op\":\"advance\",\"us\":") != 0 || pytext_put_value(&r->asked, us, &r->how) != 0)
        return NULL;
    PyObject *done = PyObject_CallMethodOneArg(r->inner, r->names->advance, us);
    if (done == NULL) {
        failed(r);
        return NULL;
    }
    Py_DECREF(done);
    const int some = PyObject_IsTrue(us), idle = some == 0 ? is_as_before(r) : some < 0 ? -1 : 0;
    if (idle < 0)
        return NULL;
    if (!idle)
        return ended(r);
    r->idle++;
    return Py_NewRef(Py_None);
}

/* What is under way is nobody's business any more. */
static int forget(struct recorder *r)
{
    PyObject *open = PyList_New(0);
    if (open == NULL)
        return -1;
    Py_XSETREF(r->open, open);
    return 0;
}

static PyObject *around(struct recorder *r, PyObject *const *given, Py_ssize_t count)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "around(inner, encode, broken, unavailable)");
        return NULL;
    }
    PyObject *module = PyType_GetModuleByDef(Py_TYPE(r), &pytext_module);
    if (module == NULL)
        return NULL;
    r->names = PyModule_GetState(module);
    if (forget(r) != 0 || take_attribute(given[0], r->names->inbox, &r->inbox) != 0)
        return NULL;
    Py_XSETREF(r->inner, Py_NewRef(given[0]));
    Py_XSETREF(r->how.encode, Py_NewRef(given[1]));
    r->how.between = ",";
    r->how.behind_name = ":";
    r->how.ascii_only = true;
    Py_XSETREF(r->broken, Py_NewRef(given[2]));
    Py_XSETREF(r->unavailable, Py_NewRef(given[3]));
    return mirror(r) == 0 ? Py_NewRef(Py_None) : NULL;
}

/* For operations that Python does itself. */
static PyObject *asked(struct recorder *r, PyObject *text)
{
    const char *words = PyUnicode_AsUTF8(text);
    return words != NULL && begin(r, words) == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *asked_to_reset(struct recorder *r, PyObject *config)
{
    if (begin(r, "{\"op\":\"reset\",\"params\":") != 0 || pytext_put_value(&r->asked, config, &r->how) != 0 ||
        forget(r) != 0)
        return NULL;
    r->number = 0;
    r->known = 0;
    return Py_NewRef(Py_None);
}

static PyObject *came(struct recorder *r, PyObject *none)
{
    (void)none;
    return has_device(r) ? ended(r) : NULL;
}

static PyObject *came_to_nothing(struct recorder *r, PyObject *error)
{
    if (!has_device(r))
        return NULL;
    if (!PyExceptionInstance_Check(error)) {
        PyErr_SetString(PyExc_TypeError, "came_to_nothing(exception)");
        return NULL;
    }
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    failed(r);
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

static PyObject *mirrored(struct recorder *r, PyObject *none)
{
    (void)none;
    return has_device(r) && mirror(r) == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *take(struct recorder *r, PyObject *none)
{
    (void)none;
    fold(r);
    return forget(r) == 0 ? pytext_take(&r->lines) : NULL;
}

/* ---- the type ---- */

static int traverse(struct recorder *r, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(r));
    Py_VISIT(r->inner);
    Py_VISIT(r->inbox);
    Py_VISIT(r->how.encode);
    Py_VISIT(r->broken);
    Py_VISIT(r->unavailable);
    Py_VISIT(r->now_us);
    Py_VISIT(r->next_us);
    Py_VISIT(r->knows_next);
    Py_VISIT(r->open);
    return 0;
}

static int clear(struct recorder *r)
{
    Py_CLEAR(r->inner);
    Py_CLEAR(r->inbox);
    Py_CLEAR(r->how.encode);
    Py_CLEAR(r->broken);
    Py_CLEAR(r->unavailable);
    Py_CLEAR(r->now_us);
    Py_CLEAR(r->next_us);
    Py_CLEAR(r->knows_next);
    Py_CLEAR(r->open);
    return 0;
}

static void dealloc(struct recorder *r)
{
    PyTypeObject *type = Py_TYPE(r);
    PyObject_GC_UnTrack(r);
    (void)clear(r);
    pytext_free(&r->asked);
    pytext_free(&r->lines);
    type->tp_free(r);
    Py_DECREF(type);
}

/* A function as a table of methods has it. */
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* _fcvi_text.pyi tells what each of them does. */
static PyMethodDef methods[] = {{"around", METHOD(around), METH_FASTCALL, NULL},
                                {"request", METHOD(request), METH_FASTCALL, NULL},
                                {"send_frame", METHOD(send_frame), METH_O, NULL},
                                {"advance", METHOD(advance), METH_O, NULL},
                                {"asked", METHOD(asked), METH_O, NULL},
                                {"asked_to_reset", METHOD(asked_to_reset), METH_O, NULL},
                                {"came", METHOD(came), METH_NOARGS, NULL},
                                {"came_to_nothing", METHOD(came_to_nothing), METH_O, NULL},
                                {"mirrored", METHOD(mirrored), METH_NOARGS, NULL},
                                {"take", METHOD(take), METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"now_us", T_OBJECT_EX, offsetof(struct recorder, now_us), READONLY, NULL},
    {"next_us", T_OBJECT_EX, offsetof(struct recorder, next_us), READONLY, NULL},
    {"knows_next", T_OBJECT_EX, offsetof(struct recorder, knows_next), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Notes what passes between the suite and a device, as lines of JSON."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL}};

PyType_Spec pytext_recorder = {.name = "_fcvi_text.Recorder",
                               .basicsize = sizeof(struct recorder),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                               .slots = slots};
