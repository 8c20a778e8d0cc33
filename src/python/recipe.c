#include "python/recipe.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 10, MOST_BYTES = 2048 };

/* Sources of an argument of the function, or of a place of its structures. python/tamis/_recipe.py has the same
 * numbers.
 */
enum source { CONSTANT, PLACE, ARRAY, STREAM, ALPHA, BETA, OWNER, SOURCES };

typedef struct item {
    int source;
    Py_ssize_t place; /* of a fill, in the structures */
    uintptr_t number; /* the constant, the place that is pointed to, or the array */
} item;

typedef struct recipe {
    PyObject_HEAD uintptr_t function;
    PyObject *structures; /* bytes, copied for each call */
    item *arguments, *fills;
    PyObject *results; /* a tuple: for each None, or (place of the array that is asked for memory or -1, callable or
                          name, its arguments) */
    Py_ssize_t argument_count, fill_count, shown;
    int device;       /* whose current stream is used; -1: none */
    int out;          /* the number of the caller's output, -1: none */
    PyObject *ranges; /* bytes of uintptr_t[][2]: memory of the pattern from first to before second */
    PyObject *owner;  /* of the plan: its attribute `value` is the plan's address, or None */
    PyObject *keep;
} recipe;

/* ------------------------------------------------------------------ making */

static item *items_of(PyObject *given, int width, Py_ssize_t *count) {
    *count = PySequence_Size(given);
    item *const items = *count < 0 ? NULL : PyMem_Calloc((size_t)*count + 1, sizeof *items);
    for (Py_ssize_t number = 0; items != NULL && number < *count; number++) {
        PyObject *const one = PySequence_GetItem(given, number);
        unsigned long long value = 0;
        const int read = one == NULL ? 0
                         : width == 2
                             ? PyArg_ParseTuple(one, "iK", &items[number].source, &value)
                             : PyArg_ParseTuple(one, "niK", &items[number].place, &items[number].source, &value);
        Py_XDECREF(one);
        if (!read) {
            PyMem_Free(items);
            return NULL;
        }
        items[number].number = (uintptr_t)value;
    }
    if (items == NULL && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    return items;
}

static bool are_valid(const item *items, Py_ssize_t count, Py_ssize_t bytes, Py_ssize_t arrays, bool fills) {
    for (Py_ssize_t number = 0; number < count; number++) {
        const item *const at = &items[number];
        const bool inside = (at->source != PLACE || at->number < (uintptr_t)bytes) &&
                            (at->source != ARRAY || at->number < (uintptr_t)arrays);
        const bool placed = !fills || (at->place >= 0 && at->place + (Py_ssize_t)sizeof(double) <= bytes);
        if (at->source < 0 || at->source >= SOURCES || !inside || !placed) {
            PyErr_SetString(PyExc_ValueError, "a recipe refers to what it does not have");
            return false;
        }
    }
    return true;
}

static PyObject *recipe_new(PyTypeObject *type, PyObject *given, PyObject *named) {
    (void)named;
    unsigned long long function;
    PyObject *structures, *arguments, *fills, *results, *ranges, *owner, *keep;
    Py_ssize_t shown;
    int device, out;
    if (!PyArg_ParseTuple(given, "KSOOO!niiSOO", &function, &structures, &arguments, &fills, &PyTuple_Type, &results,
                          &shown, &device, &out, &ranges, &owner, &keep)) {
        return NULL;
    }
    const allocfunc allocate = (allocfunc)(uintptr_t)PyType_GetSlot(type, Py_tp_alloc);
    recipe *const made = (recipe *)allocate(type, 0);
    if (made == NULL) {
        return NULL;
    }
    made->function = (uintptr_t)function;
    made->shown = shown;
    made->device = device;
    made->out = out;
    Py_INCREF(made->ranges = ranges);
    Py_INCREF(made->structures = structures);
    Py_INCREF(made->results = results);
    Py_INCREF(made->owner = owner);
    Py_INCREF(made->keep = keep);
    made->arguments = items_of(arguments, 2, &made->argument_count);
    made->fills = made->arguments == NULL ? NULL : items_of(fills, 3, &made->fill_count);
    const Py_ssize_t bytes = PyBytes_Size(structures);
    if (made->fills == NULL || !are_valid(made->arguments, made->argument_count, bytes, CALL_ARRAYS, false) ||
        !are_valid(made->fills, made->fill_count, bytes, CALL_ARRAYS, true)) {
        Py_DECREF(made);
        return NULL;
    }
    if (bytes > MOST_BYTES || made->argument_count > MOST_ARGUMENTS || PyTuple_Size(results) > CALL_ARRAYS) {
        PyErr_SetString(PyExc_ValueError, "a recipe is too large");
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

static void recipe_free(PyObject *object) {
    recipe *const of = (recipe *)object;
    PyTypeObject *const type = Py_TYPE(object);
    Py_XDECREF(of->structures);
    Py_XDECREF(of->results);
    Py_XDECREF(of->ranges);
    Py_XDECREF(of->owner);
    Py_XDECREF(of->keep);
    PyMem_Free(of->arguments);
    PyMem_Free(of->fills);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

#define ADDRESS(function) ((void *)(uintptr_t)(function)) /* ISO C has no conversion of functions to void * */

PyObject *recipe_type(void) {
    static PyObject *type;
    static PyType_Slot slots[] = {{Py_tp_new, ADDRESS(recipe_new)}, {Py_tp_dealloc, ADDRESS(recipe_free)}, {0, NULL}};
    static PyType_Spec spec = {"tamis._calls.Recipe", sizeof(recipe), 0, Py_TPFLAGS_DEFAULT, slots};
    if (type == NULL) {
        type = PyType_FromSpec(&spec);
    }
    return type;
}

/* ------------------------------------------------------------------ running */

/* make_result(one, arrays) returns a new array by a row of `results`. */
static PyObject *make_result(PyObject *one, PyObject *arrays) {
    Py_ssize_t like;
    PyObject *how, *given;
    if (!PyArg_ParseTuple(one, "nOO!", &like, &how, &PyTuple_Type, &given)) {
        return NULL;
    }
    if (like < 0) {
        return PyObject_CallObject(how, given);
    }
    PyObject *const of = PyTuple_GetItem(arrays, like);
    if (of == NULL) {
        return NULL;
    }
    if (PyTuple_Size(given) == 1) {
        return PyObject_CallMethodObjArgs(of, how, PyTuple_GetItem(given, 0), NULL);
    }
    return PyObject_CallMethodObjArgs(of, how, PyTuple_GetItem(given, 0), PyTuple_GetItem(given, 1), NULL);
}

/* make_results(of, arrays, memory, made) makes the results and what only the call needs. No tuple has them yet:
   Python's code may run meanwhile, and could hold it. */
static bool make_results(const recipe *of, PyObject *arrays, array_memory *memory, PyObject **made) {
    const Py_ssize_t first = PyTuple_Size(arrays), count = PyTuple_Size(of->results);
    if (first + count > CALL_ARRAYS) {
        PyErr_SetString(PyExc_ValueError, "a call has too many arrays");
        return false;
    }
    for (Py_ssize_t number = 0; number < count; number++) {
        PyObject *const one = PyTuple_GetItem(of->results, number);
        memory[first + number].data = NULL;
        if (one == Py_None) {
            Py_INCREF(made[number] = Py_None);
            continue;
        }
        made[number] = make_result(one, arrays);
        if (made[number] == NULL || !array_address(made[number], &memory[first + number].data)) {
            return false;
        }
    }
    return true;
}

static PyObject *tuple_of(PyObject **made, Py_ssize_t count) {
    PyObject *const tuple = PyTuple_New(count);
    for (Py_ssize_t number = 0; tuple != NULL && number < count; number++) {
        Py_INCREF(made[number]);
        PyTuple_SetItem(tuple, number, made[number]);
    }
    return tuple;
}

typedef struct values {
    const array_memory *memory;
    char *structures;
    void *stream, *owner;
    double alpha, beta;
} values;

static uintptr_t value_of(const item *of, const values *in) {
    uintptr_t bits = 0;
    switch ((enum source)of->source) {
    case CONSTANT: return of->number;
    case PLACE: return (uintptr_t)(in->structures + of->number);
    case ARRAY: return (uintptr_t)in->memory[of->number].data;
    case STREAM: return (uintptr_t)in->stream;
    case OWNER: return (uintptr_t)in->owner;
    case ALPHA: memcpy(&bits, &in->alpha, sizeof bits); return bits;
    case BETA: memcpy(&bits, &in->beta, sizeof bits); return bits;
    case SOURCES: break;
    }
    return bits;
}

typedef uintptr_t word;
/* clang-format off */
#define CALL(count, types, ...) case count: return ((int (*) types)function)(__VA_ARGS__);
static int call_with(uintptr_t function, Py_ssize_t count, const word *a) {
    switch (count) {
    CALL(3, (word, word, word), a[0], a[1], a[2])
    CALL(4, (word, word, word, word), a[0], a[1], a[2], a[3])
    CALL(5, (word, word, word, word, word), a[0], a[1], a[2], a[3], a[4])
    CALL(6, (word, word, word, word, word, word), a[0], a[1], a[2], a[3], a[4], a[5])
    CALL(7, (word, word, word, word, word, word, word), a[0], a[1], a[2], a[3], a[4], a[5], a[6])
    CALL(8, (word, word, word, word, word, word, word, word), a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7])
    CALL(9, (word, word, word, word, word, word, word, word, word), a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8])
    CALL(10, (word, word, word, word, word, word, word, word, word, word), a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9])
    }
    return -1;
}
#undef CALL
/* clang-format on */

/* owner_value(owner, value) reads the plan's address. Returns 1, 0 if the plan is no longer there, and -1 with an
 * exception. */
static int owner_value(PyObject *owner, void **value) {
    *value = NULL;
    if (owner == Py_None) {
        return 1;
    }
    PyObject *const found = PyObject_GetAttrString(owner, "value");
    if (found == NULL) {
        return -1;
    }
    const bool gone = found == Py_None;
    *value = gone ? NULL : PyLong_AsVoidPtr(found);
    Py_DECREF(found);
    return PyErr_Occurred() ? -1 : !gone;
}

/* out_overlaps(of, arrays, memory) is true if the caller's output may share bytes with an array or with the pattern. */
static bool out_overlaps(const recipe *of, PyObject *arrays, const array_memory *memory) {
    if (of->out < 0) {
        return false;
    }
    const array_memory *const out = &memory[of->out];
    for (Py_ssize_t number = 0; number < PyTuple_Size(arrays); number++) {
        if (number != of->out && memory[number].begin < out->end && out->begin < memory[number].end) {
            return true;
        }
    }
    const Py_ssize_t count = PyBytes_Size(of->ranges) / (Py_ssize_t)sizeof(uintptr_t[2]);
    const char *const ranges = PyBytes_AsString(of->ranges);
    for (Py_ssize_t number = 0; number < count; number++) {
        uintptr_t range[2];
        memcpy(range, ranges + (size_t)number * sizeof range, sizeof range);
        if (range[0] < out->end && out->begin < range[1]) {
            return true;
        }
    }
    return false;
}

PyObject *recipe_run(PyObject *object, PyObject *arrays, array_memory *memory, double alpha, double beta,
                     PyObject *must) {
    const recipe *const of = (const recipe *)object;
    _Alignas(16) char structures[MOST_BYTES];
    uintptr_t arguments[MOST_ARGUMENTS];
    PyObject *made[CALL_ARRAYS] = {NULL};
    values in = {.memory = memory, .structures = structures, .alpha = alpha, .beta = beta};
    PyObject *shown = NULL;
    const int there = owner_value(of->owner, &in.owner);
    if (there < 0) {
        return NULL;
    }
    if (there == 0 || out_overlaps(of, arrays, memory)) {
        Py_RETURN_NONE;
    }
    if (make_results(of, arrays, memory, made) && (of->device < 0 || array_stream(of->device, &in.stream))) {
        memcpy(structures, PyBytes_AsString(of->structures), (size_t)PyBytes_Size(of->structures));
        for (Py_ssize_t number = 0; number < of->fill_count; number++) {
            const uintptr_t value = value_of(&of->fills[number], &in);
            memcpy(structures + of->fills[number].place, &value, sizeof value);
        }
        for (Py_ssize_t number = 0; number < of->argument_count; number++) {
            arguments[number] = value_of(&of->arguments[number], &in);
        }
        PyThreadState *const state = PyEval_SaveThread();
        const int status = call_with(of->function, of->argument_count, arguments);
        PyEval_RestoreThread(state);
        if (status == 0) {
            shown = tuple_of(made, of->shown);
        } else {
            Py_XDECREF(PyObject_CallFunction(must, "i", status)); /* which raises */
        }
    }
    for (int number = 0; number < CALL_ARRAYS; number++) {
        Py_XDECREF(made[number]);
    }
    return shown;
}
