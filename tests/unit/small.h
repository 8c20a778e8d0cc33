/* A small valid problem that tests spoil in one place at a time. */
#ifndef TAMIS_TESTS_SMALL_H
#define TAMIS_TESTS_SMALL_H

#include <string.h>
#include <tamis/tamis.h>

#include "support/call.h"

enum { SMALL_ROWS = 3, SMALL_COLS = 4, SMALL_NNZ = 5, SMALL_K = 2, SMALL_L = 3 };

typedef struct small {
    int32_t offsets[SMALL_ROWS + 1], columns[SMALL_NNZ], rows[SMALL_NNZ];
    _Alignas(64) float values[SMALL_NNZ];
    _Alignas(64) float a[SMALL_ROWS * SMALL_K];
    _Alignas(64) float b[SMALL_COLS * SMALL_K];
    _Alignas(64) float d[SMALL_COLS * SMALL_L];
    _Alignas(64) float p[SMALL_NNZ];
    _Alignas(64) float out[SMALL_ROWS * SMALL_L];
    tamis_sparse S, coo; /* coo: the same entries out of row order */
    tamis_dense A, B, D, X, E, P;
} small;

/* In fp32, by rows. */
static inline tamis_dense dense_of(float *data, int64_t rows, int64_t cols) {
    return (tamis_dense){.data = data, .rows = rows, .cols = cols};
}

static inline void small_make(small *s) {
    static const int32_t offsets[] = {0, 2, 2, 5}, columns[] = {1, 3, 0, 2, 3}, rows[] = {2, 0, 2, 0, 2};
    memset(s, 0, sizeof *s);
    memcpy(s->offsets, offsets, sizeof offsets);
    memcpy(s->columns, columns, sizeof columns);
    memcpy(s->rows, rows, sizeof rows);
    for (int i = 0; i < SMALL_NNZ; i++) s->values[i] = (float)(i + 1);
    for (int i = 0; i < SMALL_ROWS * SMALL_K; i++) s->a[i] = (float)(i % 3) + 1;
    for (int i = 0; i < SMALL_COLS * SMALL_K; i++) s->b[i] = (float)(i % 4) - 1;
    for (int i = 0; i < SMALL_COLS * SMALL_L; i++) s->d[i] = (float)(i % 5) - 2;
    for (int i = 0; i < SMALL_NNZ; i++) s->p[i] = 77;
    for (int i = 0; i < SMALL_ROWS * SMALL_L; i++) s->out[i] = 77;
    s->S = csr_of(TAMIS_F32, SMALL_ROWS, SMALL_COLS, SMALL_NNZ, s->offsets, s->columns, s->values);
    s->coo = s->S;
    s->coo.format = TAMIS_COO;
    s->coo.offsets = NULL;
    s->coo.row_indices = s->rows;
    s->A = dense_of(s->a, SMALL_ROWS, SMALL_K);
    s->B = dense_of(s->b, SMALL_COLS, SMALL_K);
    s->D = dense_of(s->d, SMALL_COLS, SMALL_L);
    s->E = dense_of(s->out, SMALL_ROWS, SMALL_L);
    s->P = samples_of(&s->S, s->p, TAMIS_F32);
    s->X = s->D;
}

static inline tamis_options small_options(tamis_operation operation) {
    return options_for(operation, SMALL_K, SMALL_L);
}

#endif
