#pragma once

/* Arrays of NumPy and tensors of PyTorch: their addresses, and what determines their views besides addresses. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { CALL_ARRAYS = 24, FORM_BYTES = 1024 };

/* Objects of other packages, kept for ever, as their modules are never unloaded. */
typedef struct array_types {
    PyObject *ndarray;
    PyObject *tensors; /* the tuple of PyTorch's own types */
    PyObject *unknown; /* called where an array is of neither: PyTorch may have been imported since */
    PyObject *grad_enabled;
    const struct dlpack_exchange *exchange;
} array_types;

extern array_types array_known;

/* The form of several arrays, as bytes that are equal for equal types, shapes, strides, devices and equal addresses
 * among them. */
typedef struct array_form {
    size_t size;
    unsigned char bytes[FORM_BYTES];
} array_form;

/* The memory of an array: the address of its first element, and the bytes from `begin` to before `end` that it spans.
 */
typedef struct array_memory {
    void *data;
    uintptr_t begin, end;
} array_memory;

/* array_is_plain(object): a tensor of PyTorch's own types with memory. array_is_recorded(object): autograd must record
   a call with this tensor. False with an exception where an attribute cannot be read. */
bool array_is_plain(PyObject *object);
bool array_is_recorded(PyObject *object);

/* array_forms(tuple, recorded, form, memory) writes the form of the tuple's arrays, each None, an array, or an address,
   and their memory. recorded: tensors may require gradients. Returns 1; 0, without an exception, if an array has no
   form: it is of another type, sparse, lazily negated, on no device, or has too many dimensions. -1 with an exception
   that is no error, such as KeyboardInterrupt. */
int array_forms(PyObject *tuple, bool recorded, array_form *form, array_memory *memory);

/* array_address(object, data) reads the address of an array that was just made. Returns false with an exception set. */
bool array_address(PyObject *object, void **data);

/* array_stream(device, stream) reads PyTorch's current stream of a CUDA device. Returns false with an exception set. */
bool array_stream(int device, void **stream);
