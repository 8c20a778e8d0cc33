#pragma once

/* A call of a function of the library, complete but for addresses, the stream, alpha and beta. */

#include "python/array.h"

/* Returns the type, which this module keeps; NULL with an exception. Its name in Python is Recipe; its constructor's
 * arguments are stated in python/tamis/_recipe.py. */
PyObject *recipe_type(void);

/* recipe_run(recipe, arrays, memory, alpha, beta, must) makes the results, calls the function without Python's lock and
   returns the tuple of results. memory: of `arrays`, with room for CALL_ARRAYS. Returns None if the
   recipe's plan is no longer there or the caller's output may overlap what is read, and NULL with the exception that
   must(status) raises. */
PyObject *recipe_run(PyObject *recipe, PyObject *arrays, array_memory *memory, double alpha, double beta,
                     PyObject *must);
