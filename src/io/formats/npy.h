/* NumPy's .npy: one array, with a header that is a Python dictionary. */
#ifndef TAMIS_IO_NPY_H
#define TAMIS_IO_NPY_H

#include <stdbool.h>
#include <stdint.h>
#include <tamis/tamis.h>

enum { TAMIS_NPY_DIMENSIONS = 8 };

typedef struct tamis_npy {
    const char *name; /* for messages */
    char kind;        /* f i u b, S and U for text */
    int size;         /* bytes of an element (of U: characters) */
    bool swapped;     /* big-endian */
    bool fortran_order;
    int dimensions;
    int64_t shape[TAMIS_NPY_DIMENSIONS];
    int64_t count; /* elements */
    const unsigned char *data;
    int64_t behind; /* bytes behind the elements */
} tamis_npy;

/* Parses the header and checks that all elements are present. The file has `size` bytes; the first `known` are in
   memory and must hold the header. */
tamis_status tamis_npy_open(const char *name, const unsigned char *bytes, int64_t known, int64_t size, tamis_npy *npy);

/* tamis_npy_need_number refuses non-numeric element types; tamis_npy_need_integer also non-integers. */
tamis_status tamis_npy_need_number(const tamis_npy *npy);
tamis_status tamis_npy_need_integer(const tamis_npy *npy);

/* Return element `at` in memory order. Unsigned numbers beyond int64 become INT64_MAX. */
double tamis_npy_real(const tamis_npy *npy, int64_t at);
int64_t tamis_npy_integer(const tamis_npy *npy, int64_t at);

/* Counts the integers among the first `count` elements that a double does not represent exactly. */
int64_t tamis_npy_inexact(const tamis_npy *npy, int64_t count);

/* Writes a header for `dimensions` sizes; the elements follow. descr: "<f4". Returns its length. */
enum { TAMIS_NPY_HEADER = 256 };
int tamis_npy_header(char *header, const char *descr, bool fortran_order, int dimensions, const int64_t *shape);

#endif
