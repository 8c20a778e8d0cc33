#include "python/array.h"

#include <stdint.h>
#include <string.h>

#include "python/dlpack.h"

/* NumPy's array interface of C (https://numpy.org/doc/stable/reference/arrays.interface.html). */
typedef struct numpy_interface {
    int two, dimensions;
    char kind;
    int item_size, flags;
    int64_t *shape, *strides; /* Py_ssize_t, which is as wide */
    void *data;
    PyObject *descr;
} numpy_interface;

array_types array_known;

static bool write_form(array_form *form, const void *from, size_t size) {
    if (form->size + size > FORM_BYTES) {
        return false;
    }
    memcpy(form->bytes + form->size, from, size);
    form->size += size;
    return true;
}

static PyObject *interned(PyObject **name, const char *text) {
    if (*name == NULL) {
        *name = PyUnicode_InternFromString(text);
    }
    return *name;
}

/* is(found, value) releases an object and says if it was this one. */
static bool is(PyObject *found, PyObject *value) {
    Py_XDECREF(found);
    return found == value;
}

bool array_is_recorded(PyObject *object) {
    static PyObject *name;
    PyObject *const requires = PyObject_GetAttr(object, interned(&name, "requires_grad"));
    Py_XDECREF(requires);
    return requires != NULL && requires != Py_False &&
           !is(PyObject_CallObject(array_known.grad_enabled, NULL), Py_False);
}

/* A lazily negated tensor (the imaginary part of a conjugate) has other numbers in memory. */
static bool is_negated(PyObject *object) {
    static PyObject *name;
    return !is(PyObject_CallMethodObjArgs(object, interned(&name, "is_neg"), NULL), Py_False);
}

static bool is_tensor(PyObject *type) {
    const Py_ssize_t count = array_known.tensors == NULL ? 0 : PyTuple_Size(array_known.tensors);
    for (Py_ssize_t number = 0; number < count; number++) {
        if (PyTuple_GetItem(array_known.tensors, number) == type) {
            return true;
        }
    }
    return false;
}

bool array_is_plain(PyObject *object) {
    static PyObject *name;
    return is_tensor((PyObject *)Py_TYPE(object)) && is(PyObject_GetAttr(object, interned(&name, "is_meta")), Py_False);
}

static array_memory memory_of(void *data, int dimensions, const int64_t *shape, const int64_t *strides, int64_t unit,
                              int64_t size) {
    array_memory of = {data, (uintptr_t)data, (uintptr_t)data + (uintptr_t)size};
    for (int number = 0; number < dimensions; number++) {
        const int64_t reach = (shape[number] - 1) * strides[number] * unit;
        if (shape[number] == 0) {
            return (array_memory){data, 0, 0};
        }
        of.begin += reach < 0 ? (uintptr_t)reach : 0;
        of.end += reach > 0 ? (uintptr_t)reach : 0;
    }
    return of;
}

static bool form_of_tensor(PyObject *object, bool recorded, array_form *form, array_memory *memory) {
    dlpack_tensor of;
    if (array_known.exchange == NULL || is_negated(object) ||
        (!recorded && (array_is_recorded(object) || PyErr_Occurred())) ||
        array_known.exchange->describe(object, &of) != 0) {
        return false;
    }
    const int64_t item = of.type_bits / 8;
    *memory = memory_of((char *)of.data + of.byte_offset, of.ndim, of.shape, of.strides, item, item);
    const int32_t head[] = {'t', of.device_type, of.device_id, of.ndim, of.type_code, of.type_bits};
    const size_t size = (size_t)of.ndim * sizeof *of.shape;
    return write_form(form, head, sizeof head) && write_form(form, of.shape, size) &&
           write_form(form, of.strides, size);
}

static PyObject *capsule_of(PyObject *object, const numpy_interface **found) {
    static PyObject *name;
    PyObject *const capsule = PyObject_GetAttr(object, interned(&name, "__array_struct__"));
    *found = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, NULL);
    return capsule;
}

/* The type of the items, which lives as long as its module; NULL: no floating-point numbers. bf16 is an extension,
   whose kind is V, as that of structures. */
static PyObject *type_of(PyObject *object, const numpy_interface *of) {
    if (of->kind != 'f' && (of->kind != 'V' || of->item_size != 2)) {
        return NULL;
    }
    PyObject *const dtype = PyObject_GetAttrString(object, "dtype");
    PyObject *const type = dtype == NULL ? NULL : PyObject_GetAttrString(dtype, "type");
    Py_XDECREF(dtype);
    return type;
}

static bool form_of_ndarray(PyObject *object, array_form *form, array_memory *memory) {
    const numpy_interface *of;
    PyObject *const capsule = capsule_of(object, &of);
    bool found = false;
    PyObject *const type = of == NULL ? NULL : type_of(object, of);
    const uintptr_t address = (uintptr_t)type;
    if (type != NULL) {
        *memory = memory_of(of->data, of->dimensions, of->shape, of->strides, 1, of->item_size);
        const int32_t head[] = {'n', of->item_size, of->flags, of->dimensions};
        const size_t size = (size_t)of->dimensions * sizeof *of->shape;
        found = write_form(form, head, sizeof head) && write_form(form, of->shape, size) &&
                write_form(form, of->strides, size) && write_form(form, &address, sizeof address);
    }
    Py_XDECREF(type);
    Py_XDECREF(capsule);
    return found;
}

static bool form_of(PyObject *object, bool recorded, array_form *form, array_memory *memory) {
    *memory = (array_memory){NULL, 0, 0};
    if (object == Py_None) {
        return write_form(form, "0", 1);
    }
    PyObject *const type = (PyObject *)Py_TYPE(object);
    if (type == array_known.ndarray) {
        return form_of_ndarray(object, form, memory);
    }
    if (type == (PyObject *)&PyLong_Type) {
        memory->data = PyLong_AsVoidPtr(object);
        return write_form(form, "p", 1);
    }
    if (!is_tensor(type)) {
        PyObject *const found = array_known.unknown == NULL ? NULL : PyObject_CallObject(array_known.unknown, NULL);
        Py_XDECREF(found);
        if (found == NULL || !is_tensor(type)) {
            return false;
        }
    }
    return form_of_tensor(object, recorded, form, memory);
}

int array_forms(PyObject *tuple, bool recorded, array_form *form, array_memory *memory) {
    const Py_ssize_t count = PyTuple_Size(tuple);
    bool found = count >= 0 && count <= CALL_ARRAYS;
    for (Py_ssize_t number = 0; found && number < count; number++) {
        found = form_of(PyTuple_GetItem(tuple, number), recorded, form, &memory[number]);
        unsigned char same = 0;
        while (same < number && memory[same].data != memory[number].data) {
            same++;
        }
        found = found && write_form(form, &same, 1);
    }
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear(); /* what has no form is called in the other way, which reports errors */
        return 0;
    }
    return found;
}

bool array_address(PyObject *object, void **data) {
    array_form form = {.size = 0};
    if (is_tensor((PyObject *)Py_TYPE(object))) {
        dlpack_tensor of;
        if (array_known.exchange->describe(object, &of) != 0) {
            return false;
        }
        *data = (char *)of.data + of.byte_offset;
        return true;
    }
    array_memory memory;
    if (!form_of_ndarray(object, &form, &memory)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "new_empty returned neither a tensor nor an array of NumPy");
        }
        return false;
    }
    *data = memory.data;
    return true;
}

bool array_stream(int device, void **stream) {
    *stream = NULL;
    return array_known.exchange != NULL && array_known.exchange->stream_of(DLPACK_CUDA, device, stream) == 0;
}
