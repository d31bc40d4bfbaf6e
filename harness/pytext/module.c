/* The module `_fcvi_text`. */
#include "pytext.h"

static const char *const names[PYTEXT_NAMES] = {
    "advance", "request", "send_frame", "now_us",      "next_us", "knows_next", "inbox", "frame",
    "method",  "params",  "delimiters", "earliest_us", "time_us", "done",       "error", "result",
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
    return status == 0 ? PyModule_AddIntConstant(module, "MOST_IDLE", PYTEXT_MOST_IDLE) : -1;
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

int pytext_flag(PyObject *of, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(of, name);
    if (value == NULL)
        return -1;
    const int set = PyObject_IsTrue(value);
    Py_DECREF(value);
    return set;
}

/* A function as a table of methods has it. */
#define FUNCTION(function) ((PyCFunction)(void (*)(void))(function))

/* _fcvi_text.pyi tells what each of them does. */
static PyMethodDef functions[] = {{"traced", FUNCTION(pytext_traced), METH_FASTCALL, NULL},
                                  {"rows", FUNCTION(pytext_rows), METH_FASTCALL, NULL},
                                  {"items", FUNCTION(pytext_items), METH_FASTCALL, NULL},
                                  {"indented", FUNCTION(pytext_indented), METH_FASTCALL, NULL},
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
