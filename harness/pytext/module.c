/* The module `_fcvi_text`. */
#include "pytext.h"

static const char *const names[PYTEXT_NAMES] = {
    "advance", "request", "send_frame", "now_us",      "next_us", "knows_next", "inbox", "frame",
    "method",  "params",  "text",       "earliest_us", "time_us", "done",       "error", "result",
    "data",    "sof",     "eof",        "crc_ok",      "sender",  "note",       "lost",  "findings"};

static PyObject **state(PyObject *module)
{
    return PyModule_GetState(module);
}

static int load(PyObject *module)
{
    for (size_t i = 0; i < PYTEXT_NAMES; i++)
        if ((state(module)[i] = PyUnicode_InternFromString(names[i])) == NULL)
            return -1;
    PyObject *recorder = PyType_FromModuleAndSpec(module, &pytext_recorder, NULL);
    const int status = recorder != NULL ? PyModule_AddObjectRef(module, "Recorder", recorder) : -1;
    Py_XDECREF(recorder);
    return status;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    if (state(module) != NULL)
        for (size_t i = 0; i < PYTEXT_NAMES; i++)
            Py_VISIT(state(module)[i]);
    return 0;
}

static int clear(PyObject *module)
{
    if (state(module) != NULL)
        for (size_t i = 0; i < PYTEXT_NAMES; i++)
            Py_CLEAR(state(module)[i]);
    return 0;
}

static void unload(void *module)
{
    (void)clear(module);
}

static PyMethodDef functions[] = {{"traced", (PyCFunction)(void (*)(void))pytext_traced, METH_FASTCALL,
                                   "traced(frames, crc_ok, crc_bad, comments): TraceFrames as C takes them: "
                                   "an array of struct calls_traced, their bytes "
                                   "one behind the other, and so their options of pcapng.\n\ncrc_ok, "
                                   "crc_bad: the codec's. comments: gives the options of a "
                                   "frame that has a note or findings; None for none at all."},
                                  {"rows", (PyCFunction)(void (*)(void))pytext_rows, METH_FASTCALL,
                                   "rows(frames, brief, owed, beside, fields, most, escape): the rows of a "
                                   "ladder as UTF-8, with a control character for "
                                   "each piece of markup.\n\nframes: a list of TraceFrames. brief: for each "
                                   "of them its summary and its fields, each with a "
                                   "NUL behind it. owed: by the number of a frame, what was awaited. beside: "
                                   "(behind how many frames, the row). fields: "
                                   "whether rows show them. most: rows. escape: for what the suite noted."},
                                  {"items", (PyCFunction)(void (*)(void))pytext_items, METH_FASTCALL,
                                   "items(values, told, escape, encode): each value in words as an item of a "
                                   "list in HTML, as UTF-8.\n\ntold: the class of "
                                   "values that are a time, a name and parameters. escape: for words that "
                                   "are more than printable ASCII. encode: JSON with "
                                   "the separators ', ' and ': ', for what is of a class of its own."},
                                  {"indented", (PyCFunction)(void (*)(void))pytext_indented, METH_FASTCALL,
                                   "indented(value, ascii_only, encode): JSON as json.dumps(value, indent=1) "
                                   "writes it, as UTF-8. Names of members are "
                                   "strings. encode: for what is of a class of its own."},
                                  {"frame", (PyCFunction)(void (*)(void))pytext_frame, METH_FASTCALL,
                                   "frame(data, crc_ok, sof, eof): the params of a frame notification as "
                                   "JSON. sof, eof: their members, each behind a comma; "
                                   "\"\" for none. All of it is ASCII."},
                                  {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, load}, {0, NULL}};

PyModuleDef pytext_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_fcvi_text",
    .m_doc = "What passed between suite and device as text: lines of evidence, and rows of ladders.",
    .m_size = sizeof(struct pytext_names),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = unload};

PyMODINIT_FUNC PyInit__fcvi_text(void);
PyMODINIT_FUNC PyInit__fcvi_text(void)
{
    return PyModuleDef_Init(&pytext_module);
}
