/* tamis._calls: the path of a call that repeats an earlier one, for CPython. The package has the same in Python
   (_recipe.py), which is used where this module is not there; it says what a recipe is. */

#include "python/array.h"
#include "python/dlpack.h"
#include "python/recipe.h"

enum {
    INTERFACE = 2, /* grows where Recipe's arguments or the functions' change; python/tamis/_recipe.py has the same */
    ALONE = 1,     /* what a call needs at most: nothing, autograd; python/tamis/torch/_direct.py has the same */
    RECORDED = 2
};

static PyObject *must;

static PyObject *numpy_known(PyObject *module, PyObject *given) {
    (void)module;
    PyObject *ndarray, *unknown, *failed;
    if (!PyArg_ParseTuple(given, "OOO", &ndarray, &unknown, &failed)) {
        return NULL;
    }
    Py_INCREF(array_known.ndarray = ndarray);
    Py_INCREF(array_known.unknown = unknown);
    Py_INCREF(must = failed);
    Py_RETURN_NONE;
}

static PyObject *torch_known(PyObject *module, PyObject *given) {
    (void)module;
    PyObject *tensors, *capsule, *grad_enabled;
    if (!PyArg_ParseTuple(given, "O!OO", &PyTuple_Type, &tensors, &capsule, &grad_enabled)) {
        return NULL;
    }
    const dlpack_exchange *const exchange = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (exchange == NULL) {
        return NULL;
    }
    if (exchange->describe == NULL || exchange->stream_of == NULL) {
        return PyErr_Format(PyExc_RuntimeError, "DLPack's interface lacks a function");
    }
    if (exchange->major != 1) {
        return PyErr_Format(PyExc_RuntimeError, "DLPack's interface has version %u: expected 1",
                            (unsigned)exchange->major);
    }
    array_known.exchange = exchange;
    Py_INCREF(array_known.grad_enabled = grad_enabled);
    Py_INCREF(array_known.tensors = tensors);
    Py_RETURN_NONE;
}

static PyObject *states, *forward_mode;

static PyObject *states_known(PyObject *module, PyObject *given) {
    (void)module;
    PyObject *functions, *levels;
    if (!PyArg_ParseTuple(given, "O!O", &PyTuple_Type, &functions, &levels)) {
        return NULL;
    }
    Py_INCREF(states = functions);
    Py_INCREF(forward_mode = levels);
    Py_RETURN_NONE;
}

/* any_state() is 1 if a state of PyTorch is one in which calls go through its dispatcher, and -1 with an exception. */
static int any_state(void) {
    for (Py_ssize_t number = 0; number < PyTuple_Size(states); number++) {
        PyObject *const state = PyObject_CallObject(PyTuple_GetItem(states, number), NULL);
        const int is = state == NULL ? -1 : PyObject_IsTrue(state);
        Py_XDECREF(state);
        if (is != 0) {
            return is;
        }
    }
    PyObject *const level = PyObject_GetAttrString(forward_mode, "_current_level");
    const long number = level == NULL ? -1 : PyLong_AsLong(level);
    Py_XDECREF(level);
    return PyErr_Occurred() ? -1 : number >= 0;
}

static PyObject *needs(PyObject *module, PyObject *tensors) {
    (void)module;
    const int state = states == NULL || !PyTuple_Check(tensors) ? 1 : any_state();
    bool plain = state == 0, recorded = false;
    for (Py_ssize_t number = 0; plain && number < PyTuple_Size(tensors); number++) {
        PyObject *const one = PyTuple_GetItem(tensors, number);
        if (one != Py_None) {
            plain = array_is_plain(one);
            recorded = recorded || (plain && array_is_recorded(one));
        }
    }
    return state < 0 || PyErr_Occurred() ? NULL : PyLong_FromLong(!plain ? 0 : recorded ? RECORDED : ALONE);
}

static PyObject *none(void) { Py_RETURN_NONE; }

static PyObject *key_of(PyObject *what, const array_form *form) {
    PyObject *const bytes = PyBytes_FromStringAndSize((const char *)form->bytes, (Py_ssize_t)form->size);
    PyObject *const key = bytes == NULL ? NULL : PyTuple_Pack(2, what, bytes);
    Py_XDECREF(bytes);
    return key;
}

static PyObject *key(PyObject *module, PyObject *given) {
    (void)module;
    PyObject *what, *arrays;
    int recorded;
    if (!PyArg_ParseTuple(given, "OO!p", &what, &PyTuple_Type, &arrays, &recorded)) {
        return NULL;
    }
    array_form form = {.size = 0};
    array_memory memory[CALL_ARRAYS];
    const int formed = array_forms(arrays, recorded != 0, &form, memory);
    if (formed <= 0) {
        return formed == 0 ? none() : NULL;
    }
    return key_of(what, &form);
}

static PyObject *repeat(PyObject *module, PyObject *given) {
    (void)module;
    PyObject *recipes, *what, *arrays, *of_alpha, *of_beta;
    int recorded;
    if (!PyArg_ParseTuple(given, "O!OO!pOO", &PyDict_Type, &recipes, &what, &PyTuple_Type, &arrays, &recorded,
                          &of_alpha, &of_beta)) {
        return NULL;
    }
    const double alpha = PyFloat_AsDouble(of_alpha), beta = PyFloat_AsDouble(of_beta);
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        PyErr_Clear(); /* the first call says what is wrong */
        Py_RETURN_NONE;
    }
    array_form form = {.size = 0};
    array_memory memory[CALL_ARRAYS];
    const int formed = array_forms(arrays, recorded != 0, &form, memory);
    if (formed <= 0) {
        return formed == 0 ? none() : NULL;
    }
    PyObject *const name = key_of(what, &form);
    if (name == NULL) {
        return NULL;
    }
    PyObject *const found = PyDict_GetItemWithError(recipes, name);
    PyObject *result = NULL;
    if (found != NULL && (PyObject *)Py_TYPE(found) == recipe_type()) {
        Py_INCREF(found);
        result = recipe_run(found, arrays, memory, alpha, beta, must);
        Py_DECREF(found);
    } else if (!PyErr_Occurred()) {
        Py_INCREF(result = Py_None);
    }
    Py_DECREF(name);
    return result;
}

static PyMethodDef functions[] = {
    {"numpy_known", numpy_known, METH_VARARGS, "numpy_known(ndarray, unknown, must)"},
    {"torch_known", torch_known, METH_VARARGS,
     "torch_known(types of tensors, capsule of the exchange, is_grad_enabled)"},
    {"states_known", states_known, METH_VARARGS, "states_known(functions that return a state of PyTorch, forward_ad)"},
    {"needs", needs, METH_O, "needs(tensors) -> what a call needs at most"},
    {"key", key, METH_VARARGS, "key(what, arrays, recorded) -> the key of a recipe, or None"},
    {"repeat", repeat, METH_VARARGS, "repeat(recipes, what, arrays, recorded, alpha, beta) -> results, or None"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_calls", "Calls that repeat an earlier one.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__calls(void);

PyMODINIT_FUNC PyInit__calls(void) {
    PyObject *const module = PyModule_Create(&definition);
    PyObject *const type = module == NULL ? NULL : recipe_type();
    if (type == NULL || PyModule_AddIntConstant(module, "interface", INTERFACE) != 0 ||
        PyObject_SetAttrString(module, "Recipe", type) != 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
