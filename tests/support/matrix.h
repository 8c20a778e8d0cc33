/*
 * Arrays and dense matrices where a device wants them, with a copy on the host: any type, layout, stride, alignment and
 * batch, each in a heap block of exactly its size so that AddressSanitizer sees the first byte too far. What lies
 * between and around elements is poison, all bits set, which is NaN in every type: nobody may use it or write there.
 */
#ifndef TAMIS_TESTS_MATRIX_H
#define TAMIS_TESTS_MATRIX_H

#include <tamis/tamis.h>

#include "base/random.h"
#include "support/own.h"

typedef struct twin {
    tamis_device *device; /* NULL before it is sent */
    char *host;
    void *memory; /* the device's; NULL where it computes on the host's */
    size_t bytes, front, left_out;
} twin;

/* What must work ends the program. */
void test_must(tamis_status status);
bool test_has_memory(tamis_device *device);
void *test_room(int64_t count, size_t size); /* zeros, and one more */
double *test_doubles(int64_t count);

/* Poison. The first element comes `front` bytes after the block's begin, on OpenCL at it: a cl_mem is no address. */
twin twin_make(size_t bytes, size_t front);
void twin_send(twin *a, tamis_device *device);
void twin_fetch(const twin *a);
void twin_forget(twin *a); /* the device's copy */
void twin_free(twin *a);
OWN_VALUE(twin, twin_free)
void *twin_here(const twin *a); /* the first element */
void *twin_there(const twin *a);

/* Element i of an array of that type, as a double, and back. */
double test_load(const void *array, tamis_type type, int64_t i);
void test_store(void *array, tamis_type type, int64_t i, double value);

/* Where element (i, j) of a batch's member lies, counted in elements. */
int64_t test_position(const tamis_dense *X, int64_t member, int64_t i, int64_t j);

/* Elements from the first to the last one of a batch. */
int64_t test_extent(const tamis_dense *X, int64_t batch);

/* Rows first .. first + rows - 1. */
tamis_dense test_rows_of(const tamis_dense *X, int64_t first, int64_t rows);

/* Elements of one member, row by row; to be freed. */
double *test_values(const tamis_dense *X, int64_t member);

/* How a matrix lies. Zeros: row-major, packed, alone. */
typedef struct matrix_place {
    tamis_layout layout;
    int64_t padding, front, behind, apart; /* elements between rows (or columns), before, after, between members */
    int64_t members;
    bool within; /* members lie beside one another in each row */
} matrix_place;

typedef struct matrix {
    twin twin;
    int64_t members;
    tamis_dense here, there; /* there: what a call gets, once it is sent */
} matrix;

matrix matrix_room(tamis_type type, int64_t rows, int64_t cols, matrix_place place); /* poison */
matrix matrix_like(const matrix *m);                                                 /* one that lies so: poison */
void matrix_free(matrix *m);
const tamis_dense *matrix_send(tamis_device *device, matrix *m);
void matrix_fetch(matrix *m);
void matrix_draw(matrix *m, double low, double high, tamis_random *random); /* elements in [low, high) */
void matrix_poison(matrix *m);

/* An element of the host's copy, as of the last fetch, of the first member. */
double matrix_get(const matrix *m, int64_t i, int64_t j);
void matrix_set(matrix *m, int64_t i, int64_t j, double value);

/* The same of a member. */
double matrix_at(const matrix *m, int64_t member, int64_t i, int64_t j);
void matrix_put(matrix *m, int64_t member, int64_t i, int64_t j, double value);

/* All elements, packed, a member after another; the first is to be freed. */
double *matrix_values(const matrix *m);
void matrix_fill(matrix *m, const double *values);

/* The content of the host's block; to be freed. */
void *matrix_copy(const matrix *m);
void matrix_restore(matrix *m, const void *copy);

/* The first byte of the block that is no element's and has been written to, -1 for none. */
int64_t matrix_touched(const matrix *m);

#endif
